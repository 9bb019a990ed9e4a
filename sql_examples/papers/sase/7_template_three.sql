-- The template with a third component, whose price lies between those of the first and the last trade. In A, 505 breaks
-- the contiguity.

CREATE OR REPLACE TEMPORARY VIEW trades AS
SELECT time, 'stock' AS type, * EXCEPT (time) FROM VALUES
  (1, 'A', 500, 300), (2, 'B', 1000, 300), (3, 'A', 510, 200), (3, 'B', 1010, 160), (4, 'A', 505, 180), (4, 'B', 1020, 100), (5, 'A', 520, 100), (5, 'B', 1005, 200),
  (6, 'A', 515, 160), (7, 'A', 511, 120), (8, 'A', 507, 170)
  AS t(time, symbol, price, volume);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

SELECT 'partition_contiguity' AS strategy, prices, b, c FROM (
FROM trades
pattern(stock+ a[ ], stock b, stock c) where partition_contiguity { [symbol] and a[1].price % 500 = 0 and a[i].price > a[i-1].price and b.volume < 150
  and c.price > a[1].price and c.price < a[a.LEN].price } within 7
return collect_list(a[ ].price) as prices, b.price as b, c.price as c)
UNION ALL
SELECT 'skip_till_next_match', prices, b, c FROM (
FROM trades
pattern(stock+ a[ ], stock b, stock c) where skip_till_next_match { [symbol] and a[1].price % 500 = 0 and a[i].price > a[i-1].price and b.volume < 150
  and c.price > a[1].price and c.price < a[a.LEN].price } within 7
return collect_list(a[ ].price) as prices, b.price as b, c.price as c);

-- Result:
-- | strategy | prices | b | c |
-- | --- | --- | --- | --- |
-- | partition_contiguity | [1000, 1010] | 1020 | 1005 |
-- | skip_till_next_match | [1000, 1010] | 1020 | 1005 |
-- | skip_till_next_match | [500, 510, 520] | 511 | 507 |
-- | skip_till_next_match | [500, 510] | 520 | 507 |
