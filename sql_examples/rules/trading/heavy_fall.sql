-- Down by one percent within half an hour, on more than 100,000 shares.
PATTERN SEQ(A a, A b)
WHERE b.close < a.close * 0.99 AND b.volume > 100000
WITHIN 30 minutes
MATCHES NON OVERLAPPING
RETURN a.close AS before, b.close AS after
