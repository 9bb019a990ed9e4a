-- GRETA Q1: how many down-trends of each company's stock a sector has, in every window of 10 minutes. IBM's 30, 20
-- and 10 make 7 of them (every subsequence is one), the 15 behind them adds itself, 30-15, 20-15 and 30-20-15.

CREATE OR REPLACE TEMPORARY VIEW Stock AS
SELECT TIMESTAMP'2017-08-28 09:00:00' + make_dt_interval(0, 0, 0, second) AS time, company, sector, price FROM VALUES
  (0, 'IBM', 'tech', 30), (4, 'AIG', 'finance', 50), (5, 'IBM', 'tech', 20), (6, 'AIG', 'finance', 51), (8, 'IBM', 'tech', 10),
  (9, 'ORCL', 'tech', 40), (598, 'IBM', 'tech', 15), (604, 'BAC', 'finance', 12) AS t(second, company, sector, price);
SET spark.sparkcep.log.time = time;

SELECT sector, `COUNT(*)` AS trends, date_format(min(window.start), 'HH:mm:ss') AS from_window, date_format(max(window.start), 'HH:mm:ss') AS to_window
FROM (
FROM Stock
RETURN sector, COUNT(*)  PATTERN Stock S+  WHERE [company, sector] AND S.price > NEXT(S).price  GROUP-BY sector  WITHIN 10 minutes SLIDE 10 seconds
) GROUP BY ALL;

-- Result:
-- | sector | trends | from_window | to_window |
-- | --- | --- | --- | --- |
-- | finance | 1 | 09:00:10 | 09:10:00 |
-- | finance | 2 | 08:50:10 | 09:00:00 |
-- | tech | 1 | 09:00:10 | 09:09:50 |
-- | tech | 12 | 09:00:00 | 09:00:00 |
-- | tech | 8 | 08:50:10 | 08:59:50 |
