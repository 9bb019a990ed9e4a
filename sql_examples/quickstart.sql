-- Ten rows, one pattern: find the V shapes in a price series.
--   sparkcep sql -f sql_examples/quickstart.sql

CREATE TEMPORARY VIEW ticker AS
SELECT * FROM VALUES
  ('ACME', DATE'2026-01-01', 12.0), ('ACME', DATE'2026-01-02', 17.5), ('ACME', DATE'2026-01-03', 19.0),
  ('ACME', DATE'2026-01-04', 16.0), ('ACME', DATE'2026-01-05', 13.0), ('ACME', DATE'2026-01-06', 15.5),
  ('ACME', DATE'2026-01-07', 18.0), ('ACME', DATE'2026-01-08', 14.0), ('ACME', DATE'2026-01-09', 11.5),
  ('ACME', DATE'2026-01-10', 14.5) AS t(symbol, day, price);

-- One row per V: where it starts, its bottom and its end.
SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY day
  MEASURES top.day AS top_day, LAST(down.day) AS bottom_day, LAST(down.price) AS bottom, LAST(up.day) AS end_day
  ONE ROW PER MATCH
  AFTER MATCH SKIP TO LAST up
  PATTERN (top down+ up+)
  DEFINE down AS price < PREV(price),
         up   AS price > PREV(price)
) AS v
ORDER BY top_day;

-- All rows of the matches, each with its role; a match may also be joined, filtered and grouped like any relation.
SELECT v.match, v.role, t.day, t.price
FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY day
  MEASURES MATCH_NUMBER() AS match, CLASSIFIER() AS role
  ALL ROWS PER MATCH
  AFTER MATCH SKIP TO LAST up
  PATTERN (top down+ up+)
  DEFINE down AS price < PREV(price),
         up   AS price > PREV(price)
) AS v
JOIN ticker AS t USING (symbol, day)
ORDER BY v.match, t.day;
