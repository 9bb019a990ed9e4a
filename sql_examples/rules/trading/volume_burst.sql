-- Ten times the volume of the minute before, and then less than a tenth of it.
PATTERN SEQ(A a, A b, A c)
WHERE b.volume > 10 * a.volume AND c.volume * 10 < b.volume
EVENT SELECTION STRICT CONTIGUITY
MATCHES NON OVERLAPPING
RETURN a.volume AS before, b.volume AS burst
