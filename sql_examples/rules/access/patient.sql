-- Failures at least two minutes apart, with none between them: slow enough not to be noticed.
PATTERN SEQ(failed f, !failed n, failed g)
WHERE g.ts >= f.ts + INTERVAL 2 MINUTES
MATCHES NON OVERLAPPING
