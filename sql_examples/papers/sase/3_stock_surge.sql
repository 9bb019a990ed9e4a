-- SASE+ Q3: a large trade, prices above their average so far, then a sudden fall of the volume. 1005 is not above the
-- average of 1000 and 1020 and is skipped.

CREATE OR REPLACE TEMPORARY VIEW trades AS
SELECT TIMESTAMP'2008-06-09 10:00:00' + make_dt_interval(0, 0, minute) AS time, 'Stock' AS type, symbol, price, volume FROM VALUES
  (0, 'GOOG', 1000, 1010), (1, 'GOOG', 1020, 995), (2, 'IBM', 90, 100), (3, 'GOOG', 1005, 990), (4, 'GOOG', 1030, 900), (5, 'GOOG', 1040, 700)
  AS t(minute, symbol, price, volume);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

FROM trades
PATTERN SEQ(Stock+ a[ ], Stock b)
WHERE skip_till_next_match(a[ ], b) { [symbol] and a[1].volume > 1000 and a[i].price > avg(a[..i-1].price) and b.volume < 80% * a[a.LEN].volume }
WITHIN 1 hour;

-- Result:
-- | symbol | match_number | start_time | end_time | events |
-- | --- | --- | --- | --- | --- |
-- | GOOG | 1 | 2008-06-09 10:00:00 | 2008-06-09 10:05:00 | [{a, 0, 2008-06-09 10:00:00}, {a, 1, 2008-06-09 10:01:00}, {a, 3, 2008-06-09 10:04:00}, {b, 4, 2008-06-09 10:05:00}] |
