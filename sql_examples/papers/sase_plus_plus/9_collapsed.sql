-- SASE++ Figure 4: the seven non-empty subsets of three growing values, and collapsed, one row for all of them.

CREATE OR REPLACE TEMPORARY VIEW tasks AS SELECT 1 AS task_id, * FROM VALUES (1, 'A', NULL), (4, 'B', 6), (5, 'B', 7), (6, 'B', 9), (7, 'C', NULL)
  AS t(time, type, val);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

SELECT 'all' AS output, events.time AS times FROM (
FROM tasks PATTERN SEQ(A a, B+ b[], C c) WHERE [task_id] ^ b[i].val >= b[i-1].val WITHIN 100 EVENT SELECTION SKIP TILL ANY MATCH)
UNION ALL
SELECT 'collapsed', events.time FROM (
FROM tasks PATTERN SEQ(A a, B+ b[], C c) WHERE [task_id] ^ b[i].val >= b[i-1].val WITHIN 100 EVENT SELECTION SKIP TILL ANY MATCH COLLAPSED);

-- Result:
-- | output | times |
-- | --- | --- |
-- | all | [1, 4, 5, 6, 7] |
-- | all | [1, 4, 5, 7] |
-- | all | [1, 4, 6, 7] |
-- | all | [1, 4, 7] |
-- | all | [1, 5, 6, 7] |
-- | all | [1, 5, 7] |
-- | all | [1, 6, 7] |
-- | collapsed | [1, 4, 5, 6, 7] |
