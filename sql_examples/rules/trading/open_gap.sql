-- A minute that opens half a percent above the last close, a night or a halt between.
PATTERN SEQ(A a, A b)
WHERE b.open > a.close * 1.005 AND b.ts > a.ts + INTERVAL 30 MINUTES
EVENT SELECTION STRICT CONTIGUITY
MATCHES NON OVERLAPPING
RETURN a.close AS close, b.open AS open
