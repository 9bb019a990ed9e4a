-- Down for three minutes or more, then up for two or more.
MATCH_RECOGNIZE (
  MEASURES A.close AS top, LAST(down.close) AS bottom, LAST(up.close) AS back
  PATTERN (A down{3,} up{2,})
  DEFINE down AS close < PREV(close), up AS close > PREV(close)
)
