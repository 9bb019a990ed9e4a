-- V shape: departure delays that fall three times in a row and then rise three times in a row, deepest first. The
-- shape every MATCH_RECOGNIZE tutorial draws on stock prices, here on aircraft.
SELECT tailnum, delay_before, bottom, delay_after, path
FROM flights MATCH_RECOGNIZE (
  PARTITION BY tailnum
  ORDER BY departure
  MEASURES top.dep_delay AS delay_before,
           LAST(down.dep_delay) AS bottom,
           LAST(up.dep_delay) AS delay_after,
           array_join(array_agg(origin || '-' || dest), ' ') AS path
  AFTER MATCH SKIP TO LAST up
  PATTERN (top down{3,} up{3,})
  DEFINE down AS dep_delay < PREV(dep_delay),
         up AS dep_delay > PREV(dep_delay)
)
ORDER BY least(delay_before, delay_after) - bottom DESC, tailnum
LIMIT 3;

-- Result:
-- | tailnum | delay_before | bottom | delay_after | path |
-- | --- | --- | --- | --- | --- |
-- | N26545 | 274 | 0 | 353 | EWR-ATL EWR-DTW EWR-DAY EWR-MKE EWR-CAE EWR-ATL EWR-STL |
-- | N812UA | 230 | -5 | 264 | EWR-BOS EWR-DFW EWR-SFO EWR-PHX EWR-PBI EWR-BOS EWR-AUS |
-- | N8659B | 189 | -13 | 241 | JFK-ROC JFK-PHL JFK-IND JFK-RDU JFK-ROC JFK-PHL JFK-PHL JFK-PIT |
