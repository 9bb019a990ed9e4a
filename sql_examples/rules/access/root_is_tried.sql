-- Three failed passwords of root within half a minute.
PATTERN SEQ(failed f{3,})
WHERE f[i].user = 'root'
WITHIN 30 seconds
MATCHES NON OVERLAPPING
