-- Up eight minutes in a row.
PATTERN SEQ(A a, A+ b[])
WHERE b[1].close > a.close AND b[i].close > b[i-1].close AND count(b[].close) >= 8
EVENT SELECTION STRICT CONTIGUITY
MATCHES NON OVERLAPPING
RETURN a.close AS before, max(b[].close) AS top
