-- From bad to worse: late, then very late, then cancelled. With EVENT TYPE the names in the pattern are event types
-- and nothing has to be defined.
SELECT date(cancelled_at) AS day, count(*) AS aircraft
FROM flights MATCH_RECOGNIZE (
  PARTITION BY tailnum
  ORDER BY departure
  EVENT TYPE event
  MEASURES LAST(departure) AS cancelled_at
  PATTERN (late+ `very late`+ cancelled)
  WITHIN INTERVAL 1 DAY
)
GROUP BY ALL
ORDER BY aircraft DESC, day
LIMIT 5;

-- Result:
-- | day | aircraft |
-- | --- | --- |
-- | 2013-04-12 | 8 |
-- | 2013-04-19 | 4 |
-- | 2013-01-31 | 3 |
-- | 2013-02-08 | 2 |
-- | 2013-03-07 | 2 |
