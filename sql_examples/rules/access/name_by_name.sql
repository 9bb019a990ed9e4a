-- Two users that are not known here, of different names, within ten seconds: names from a list.
PATTERN SEQ(unknown u, unknown v)
WHERE v.user <> u.user
WITHIN 10 seconds
MATCHES NON OVERLAPPING
RETURN u.user AS first, v.user AS second
