-- Minutes of ten stocks: nine patterns of trading, in one pass. The bars are the view `stock_minute_bars`: symbol, ts, open,
-- high, low, close, volume.

SELECT rule, count(DISTINCT symbol) AS symbols, count(*) AS matches, min(start_time) AS first
FROM pattern_rules(
  TABLE(SELECT *, 'A' AS type FROM stock_minute_bars) PARTITION BY symbol ORDER BY ts,
  rules => 'sql_examples/rules/trading',
  event_type => type)
GROUP BY rule
ORDER BY rule;

-- Result:
-- | rule | symbols | matches | first |
-- | --- | --- | --- | --- |
-- | double_top | 10 | 955 | 2008-03-07 14:42:00 |
-- | heavy_fall | 2 | 3 | 2013-07-01 13:54:00 |
-- | inside_minutes | 1 | 1 | 2015-12-23 19:48:00 |
-- | jump | 7 | 35 | 2013-06-27 20:06:00 |
-- | long_rise | 7 | 13 | 2013-07-01 13:47:00 |
-- | narrow_then_wide | 7 | 9 | 2013-06-27 20:16:00 |
-- | open_gap | 6 | 7 | 2013-07-01 21:33:00 |
-- | v_shape | 10 | 264 | 2008-03-07 15:30:00 |
-- | volume_burst | 10 | 302 | 2008-03-07 15:07:00 |
