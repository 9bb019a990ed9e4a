-- An address that is warned of comes back after more than two minutes.
PATTERN SEQ(warned w, warned v)
WHERE v.ts > w.ts + INTERVAL 2 MINUTES
MATCHES NON OVERLAPPING
