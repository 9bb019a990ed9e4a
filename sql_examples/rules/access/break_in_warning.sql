-- The address does not map back to its name, and a password is tried.
PATTERN SEQ(warned w, failed f)
WITHIN 1 minute
MATCHES NON OVERLAPPING
RETURN f.user AS user
