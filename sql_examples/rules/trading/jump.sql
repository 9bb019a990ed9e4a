-- One minute to the next: up by half a percent.
PATTERN SEQ(A a, A b)
WHERE b.close > a.close * 1.005
EVENT SELECTION STRICT CONTIGUITY
MATCHES NON OVERLAPPING
RETURN a.close AS before, b.close AS after
