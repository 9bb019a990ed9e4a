-- In any order: aircraft that left for Boston, for Chicago and for Washington one after the other within a day, in
-- whichever order. Which order is the most common?
SELECT cities, count(*) AS times
FROM flights MATCH_RECOGNIZE (
  PARTITION BY tailnum
  ORDER BY departure
  MEASURES concat_ws(' ', array_agg(CLASSIFIER())) AS cities
  PATTERN (PERMUTE(boston, chicago, washington))
  WITHIN INTERVAL 1 DAY
  DEFINE boston AS dest = 'BOS',
         chicago AS dest IN ('ORD', 'MDW'),
         washington AS dest IN ('DCA', 'IAD')
)
GROUP BY cities
ORDER BY times DESC, cities;

-- Result:
-- | cities | times |
-- | --- | --- |
-- | BOSTON WASHINGTON CHICAGO | 12 |
-- | WASHINGTON BOSTON CHICAGO | 3 |
-- | BOSTON CHICAGO WASHINGTON | 1 |
-- | CHICAGO BOSTON WASHINGTON | 1 |
-- | CHICAGO WASHINGTON BOSTON | 1 |
