-- Three minutes in a row, each inside the range of the one before.
MATCH_RECOGNIZE (
  PATTERN (A inside{3})
  DEFINE inside AS high < PREV(high) AND low > PREV(low)
)
