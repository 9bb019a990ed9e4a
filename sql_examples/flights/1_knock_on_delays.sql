-- Knock-on delays: on which days did an aircraft leave later and later, at least 20 minutes worse on every
-- departure, until it was two hours behind? The five that grew most.
SELECT tailnum, date(first_departure) AS day, flights, delay_at_first, delay_at_last
FROM flights MATCH_RECOGNIZE (
  PARTITION BY tailnum
  ORDER BY departure
  MEASURES FIRST(departure) AS first_departure,
           count(*) AS flights,
           FIRST(dep_delay) AS delay_at_first,
           LAST(dep_delay) AS delay_at_last
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (start worse{2,})
  WITHIN INTERVAL 1 DAY
  DEFINE start AS dep_delay < 60,
         worse AS dep_delay >= PREV(dep_delay) + 20
)
WHERE delay_at_last >= 120
ORDER BY delay_at_last - delay_at_first DESC, tailnum
LIMIT 5;

-- Result:
-- | tailnum | day | flights | delay_at_first | delay_at_last |
-- | --- | --- | --- | --- | --- |
-- | N705TW | 2013-07-05 | 3 | 27 | 589 |
-- | N758EV | 2013-08-07 | 3 | -5 | 520 |
-- | N326US | 2013-05-19 | 3 | -7 | 401 |
-- | N564JB | 2013-03-12 | 3 | -3 | 383 |
-- | N307JB | 2013-07-10 | 3 | -4 | 381 |
