-- Everything that was not part of a good spell: WITH UNMATCHED ROWS keeps all flights and says for each which spell of
-- three or more punctual arrivals it belongs to. How do flights outside of spells compare, per carrier?
SELECT carrier, count(*) AS flights, count_if(spell IS NULL) AS outside,
       round(avg(arr_delay) FILTER (WHERE spell IS NOT NULL), 1) AS delay_inside,
       round(avg(arr_delay) FILTER (WHERE spell IS NULL), 1) AS delay_outside
FROM flights MATCH_RECOGNIZE (
  PARTITION BY tailnum
  ORDER BY departure
  MEASURES MATCH_NUMBER() AS spell
  ALL ROWS PER MATCH WITH UNMATCHED ROWS
  PATTERN (punctual{3,})
  DEFINE punctual AS arr_delay <= 0
)
GROUP BY carrier
ORDER BY outside / flights DESC
LIMIT 5;

-- Result:
-- | carrier | flights | outside | delay_inside | delay_outside |
-- | --- | --- | --- | --- | --- |
-- | OO | 32 | 32 | NULL | 11.9 |
-- | FL | 3260 | 2763 | -12.2 | 26.1 |
-- | F9 | 682 | 552 | -12.5 | 30.1 |
-- | YV | 601 | 475 | -17.5 | 25.5 |
-- | EV | 54173 | 38320 | -14.9 | 29.6 |
