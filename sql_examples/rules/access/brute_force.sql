-- Ten failed passwords of one address within a minute.
PATTERN SEQ(failed f{10,})
WITHIN 1 minute
MATCHES NON OVERLAPPING
RETURN count(f[].pos) AS failures
