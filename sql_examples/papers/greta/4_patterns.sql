-- The patterns of GRETA's running example, counted on a1 b2 c2 a3 e3 a4 c5 d6 b7 a8 b9, and SEQ(A+, B, A, A+, B+) on
-- a1 b2 a3 a4 b5. Trends next to a negation are those of the paper where time has to grow from event to event.

CREATE OR REPLACE TEMPORARY VIEW figure AS
SELECT substring(e, 1, 1) AS type, int(substring(e, 2)) AS time FROM VALUES
  ('A1'), ('B2'), ('C2'), ('A3'), ('E3'), ('A4'), ('C5'), ('D6'), ('B7'), ('A8'), ('B9') AS t(e);
CREATE OR REPLACE TEMPORARY VIEW short AS SELECT type, time FROM VALUES ('A', 1), ('B', 2), ('A', 3), ('A', 4), ('B', 5) AS t(type, time);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

SELECT '(SEQ(A+, B))+' AS pattern, trends FROM (FROM figure PATTERN (SEQ(A+, B))+ RETURN COUNT(*) AS trends)
UNION ALL
SELECT '(SEQ(A+, NOT SEQ(C, NOT E, D), B))+', trends FROM (FROM figure PATTERN (SEQ(A+, NOT SEQ(C, NOT E, D), B))+ RETURN COUNT(*) AS trends)
UNION ALL
SELECT 'SEQ(A+, NOT E)', trends FROM (FROM figure PATTERN SEQ(A+, NOT E) STRICT TIME RETURN COUNT(*) AS trends)
UNION ALL
SELECT 'SEQ(NOT E, A+)', trends FROM (FROM figure PATTERN SEQ(NOT E, A+) STRICT TIME RETURN COUNT(*) AS trends)
UNION ALL
SELECT 'SEQ(A+, B, A, A+, B+)', trends FROM (FROM short PATTERN SEQ(A+, B, A, A+, B+) RETURN COUNT(*) AS trends);

-- Result:
-- | pattern | trends |
-- | --- | --- |
-- | (SEQ(A+, B))+ | 43 |
-- | (SEQ(A+, NOT SEQ(C, NOT E, D), B))+ | 13 |
-- | SEQ(A+, B, A, A+, B+) | 1 |
-- | SEQ(A+, NOT E) | 14 |
-- | SEQ(NOT E, A+) | 12 |
