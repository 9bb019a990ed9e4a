-- Five users that are not known here within five minutes.
PATTERN SEQ(unknown u{5,})
WITHIN 5 minutes
MATCHES NON OVERLAPPING
