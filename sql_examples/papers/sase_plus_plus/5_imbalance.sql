-- SASE++ Q5 with certain times: reducers during which the cluster was out of balance, with balance before and after.

CREATE OR REPLACE TEMPORARY VIEW cluster AS
SELECT TIMESTAMP'2014-06-22 08:00:00' + make_dt_interval(0, 0, 0, second) AS time, type, task_id FROM VALUES
  (0, 'Balance', 1), (1, 'Balance', 2), (10, 'ReducerStart', 1), (11, 'ReducerStart', 2), (20, 'Imbalance', 1), (30, 'Imbalance', 1), (40, 'ReducerEnd', 1),
  (41, 'ReducerEnd', 2), (50, 'Imbalance', 2), (60, 'Balance', 1), (61, 'Balance', 2) AS t(second, type, task_id);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

FROM cluster
Pattern seq(Balance a, ReducerStart b, Imbalance+ c[], ReducerEnd d, Balance e)
Where [task_id]
Within 10 minutes
Return a.task_id;

-- Result:
-- | task_id |
-- | --- |
-- | 1 |
