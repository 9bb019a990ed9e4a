-- GRETA, section 10: the selectivity of the predicate between adjacent events, S.price * X < NEXT(S).price for X of 1.05
-- to 1.2. Of 100, 104, 106, 120, 111 more and more up-trends fall away; at 1.2 the five events are left alone.
-- Spark's 1.05 is a DECIMAL, and so is its product with an INT: such a predicate, too, is read from one tree per state.

CREATE OR REPLACE TEMPORARY VIEW Stock AS
SELECT * FROM VALUES (1, 100), (2, 104), (3, 106), (4, 120), (5, 111) AS t(time, price);
SET spark.sparkcep.log.time = time;

SELECT '1.05' AS x, trends FROM (FROM Stock PATTERN Stock S+ WHERE S.price * 1.05 < NEXT(S).price RETURN COUNT(*) AS trends)
UNION ALL
SELECT '1.10', trends FROM (FROM Stock PATTERN Stock S+ WHERE S.price * 1.1 < NEXT(S).price RETURN COUNT(*) AS trends)
UNION ALL
SELECT '1.15', trends FROM (FROM Stock PATTERN Stock S+ WHERE S.price * 1.15 < NEXT(S).price RETURN COUNT(*) AS trends)
UNION ALL
SELECT '1.20', trends FROM (FROM Stock PATTERN Stock S+ WHERE S.price * 1.2 < NEXT(S).price RETURN COUNT(*) AS trends);

-- Result:
-- | x | trends |
-- | --- | --- |
-- | 1.05 | 12 |
-- | 1.10 | 9 |
-- | 1.15 | 7 |
-- | 1.20 | 5 |
