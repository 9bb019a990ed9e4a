-- A fine that is sent more than a year after it was made out.
PATTERN SEQ('Create Fine' f, 'Send Fine' s)
WHERE s.ts > f.ts + INTERVAL 365 DAYS
MATCHES FIRST
RETURN s.ts - f.ts AS took, s.expense AS expense
