-- Reliability: which aircraft left New York on time most often in a row, with no more than 14 days from first to last?
SELECT tailnum, carrier, departures, date(since) AS since, date(until) AS until
FROM flights MATCH_RECOGNIZE (
  PARTITION BY tailnum
  ORDER BY departure
  MEASURES LAST(carrier) AS carrier,
           count(*) AS departures,
           FIRST(departure) AS since,
           LAST(departure) AS until
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (on_time{10,})
  WITHIN INTERVAL 14 DAYS
  DEFINE on_time AS event = 'on time'
)
ORDER BY departures DESC, tailnum
LIMIT 5;

-- Result:
-- | tailnum | carrier | departures | since | until |
-- | --- | --- | --- | --- | --- |
-- | N955UW | US | 37 | 2013-11-02 | 2013-11-15 |
-- | N358JB | B6 | 36 | 2013-08-15 | 2013-08-27 |
-- | N737MQ | MQ | 32 | 2013-02-12 | 2013-02-26 |
-- | N184JB | B6 | 30 | 2013-11-15 | 2013-11-25 |
-- | N323JB | B6 | 30 | 2013-10-13 | 2013-10-27 |
