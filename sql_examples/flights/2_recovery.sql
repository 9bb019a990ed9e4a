-- Recovery: how often does an aircraft that leaves more than an hour late make up for it within the same day, so that a
-- later departure is on time again, and how many departures does that take?
SELECT flights_until_recovered, count(*) AS times
FROM flights MATCH_RECOGNIZE (
  PARTITION BY tailnum
  ORDER BY departure
  MEASURES count(*) - 1 AS flights_until_recovered
  PATTERN (bad still_late* recovered)
  WITHIN INTERVAL 18 HOURS
  DEFINE bad AS dep_delay > 60,
         still_late AS dep_delay > 15,
         recovered AS dep_delay <= 0
)
GROUP BY ALL
ORDER BY ALL;

-- Result:
-- | flights_until_recovered | times |
-- | --- | --- |
-- | 1 | 3697 |
-- | 2 | 367 |
-- | 3 | 4 |
