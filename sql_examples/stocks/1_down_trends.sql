-- How many down-trends have two sectors in each year, and how deep do they go? A down-trend is any sequence of falling
-- prices of one stock, its months not necessarily next to each other; they are counted, never built.

SELECT sector, year(window.start + INTERVAL 100 DAYS) AS year, trends, round(average, 2) AS average, lowest
FROM (
  FROM stocks ORDER BY month
  PATTERN stocks S+
  WHERE [symbol] AND S.price > NEXT(S).price
  GROUP BY sector
  WITHIN 365 days
  RETURN sector, COUNT(*) AS trends, AVG(S.price) AS average, MIN(S.price) AS lowest
)
WHERE sector <> 'computers'
ORDER BY sector, window;

-- Result:
-- | sector | year | trends | average | lowest |
-- | --- | --- | --- | --- | --- |
-- | internet | 2004 | 6 | 167.14 | 102.37 |
-- | internet | 2005 | 20 | 257.79 | 180.51 |
-- | internet | 2006 | 50 | 407.16 | 362.62 |
-- | internet | 2007 | 22 | 570.09 | 449.45 |
-- | internet | 2008 | 479 | 440.88 | 292.96 |
-- | internet | 2009 | 13 | 433.97 | 337.99 |
-- | internet | 2010 | 4 | 534.73 | 526.80 |
-- | retail | 2000 | 879 | 43.46 | 15.56 |
-- | retail | 2001 | 239 | 12.66 | 5.97 |
-- | retail | 2002 | 32 | 16.54 | 14.10 |
-- | retail | 2003 | 16 | 45.30 | 21.85 |
-- | retail | 2004 | 136 | 42.34 | 34.13 |
-- | retail | 2005 | 42 | 38.34 | 32.36 |
-- | retail | 2006 | 145 | 36.18 | 26.89 |
-- | retail | 2007 | 16 | 76.44 | 37.67 |
-- | retail | 2008 | 191 | 66.53 | 42.70 |
-- | retail | 2009 | 16 | 92.48 | 58.82 |
-- | retail | 2010 | 4 | 123.29 | 118.40 |
