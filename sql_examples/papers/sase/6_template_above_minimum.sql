-- The template with p3, prices above the least so far: all trades behind the first.

CREATE OR REPLACE TEMPORARY VIEW trades AS
SELECT time, 'stock' AS type, * EXCEPT (time) FROM VALUES
  (1, 'A', 500, 300), (2, 'B', 700, 200), (3, 'A', 510, 200), (4, 'A', 505, 180), (5, 'A', 520, 100), (6, 'A', 515, 160), (7, 'A', 511, 120)
  AS t(time, symbol, price, volume);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

SELECT 'partition_contiguity' AS strategy, prices, volume FROM (
FROM trades
pattern(stock+ a[ ], stock b) where partition_contiguity { [symbol] and a[1].price % 500 = 0 and a[i].price > min(a[..i-1].price) and b.volume < 150 } within 6
return collect_list(a[ ].price) as prices, b.volume)
UNION ALL
SELECT 'skip_till_next_match', prices, volume FROM (
FROM trades
pattern(stock+ a[ ], stock b) where skip_till_next_match { [symbol] and a[1].price % 500 = 0 and a[i].price > min(a[..i-1].price) and b.volume < 150 } within 6
return collect_list(a[ ].price) as prices, b.volume);

-- Result:
-- | strategy | prices | volume |
-- | --- | --- | --- |
-- | partition_contiguity | [500, 510, 505, 520, 515] | 120 |
-- | partition_contiguity | [500, 510, 505] | 100 |
-- | skip_till_next_match | [500, 510, 505, 520, 515] | 120 |
-- | skip_till_next_match | [500, 510, 505] | 100 |
