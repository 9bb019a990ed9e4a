-- The same high twice, with less between them.
MATCH_RECOGNIZE (
  MEASURES A.high AS high
  PATTERN (A low{2,10} B)
  DEFINE low AS low.high < A.high, B AS B.high = A.high
)
