-- A password that is right after one that was wrong.
PATTERN SEQ(failed f+, accepted a)
MATCHES FIRST
