-- Five minutes without any range, then one of half a percent.
PATTERN SEQ(A a{5,5}, A b)
WHERE a[i].high = a[i].low AND b.high > b.low * 1.005
EVENT SELECTION STRICT CONTIGUITY
MATCHES NON OVERLAPPING
