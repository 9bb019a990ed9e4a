-- Minutes of ten stocks: nine patterns of trading, in one pass. The bars are the view `stock_minute_bars`: symbol, ts, open,
-- high, low, close, volume.

SELECT rule, count(DISTINCT symbol) AS symbols, count(*) AS matches, min(start_time) AS first
FROM pattern_rules(
  TABLE(SELECT *, 'A' AS type FROM stock_minute_bars) PARTITION BY symbol ORDER BY ts,
  rules => 'sql_examples/rules/trading',
  event_type => type)
GROUP BY rule
ORDER BY rule;
