-- SASE++ Q5 as the paper has it: Balance and Imbalance events are read off samples, so that only the 10 seconds around them
-- are known. How sure is it that the cluster was out of balance while the reducer ran?

CREATE OR REPLACE TEMPORARY VIEW cluster AS
SELECT TIMESTAMP'2014-06-22 08:00:00' + make_dt_interval(0, 0, 0, second) AS time, type, task_id FROM VALUES
  (0, 'Balance', 1), (1, 'Balance', 2), (8, 'ReducerStart', 1), (11, 'ReducerStart', 2), (12, 'Imbalance', 1), (30, 'Imbalance', 1), (40, 'ReducerEnd', 1),
  (41, 'ReducerEnd', 2), (50, 'Imbalance', 2), (43, 'Balance', 1), (61, 'Balance', 2) AS t(second, type, task_id);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

FROM cluster
Pattern seq(Balance a, ReducerStart b, Imbalance+ c[], ReducerEnd d, Balance e)
Where [task_id]
Within 10 minutes
UNCERTAINTY CASE WHEN type IN ('Balance', 'Imbalance') THEN 5 SECONDS ELSE 0 SECONDS END STEP 1 SECOND
Return a.task_id, count(c[].task_id) AS imbalances;

-- Result:
-- | task_id | imbalances | start_lower | end_upper | confidence |
-- | --- | --- | --- | --- | --- |
-- | 1 | 1 | 2014-06-22 07:59:55 | 2014-06-22 08:00:48 | 0.13223140495867772 |
-- | 1 | 2 | 2014-06-22 07:59:55 | 2014-06-22 08:00:48 | 0.5950413223140495 |
