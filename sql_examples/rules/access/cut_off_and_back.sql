-- Cut off after too many failures, and back within a minute.
PATTERN SEQ(cut c, failed f)
WITHIN 1 minute
MATCHES NON OVERLAPPING
