-- SASE++ Q6, option 1: a load that never falls from reading to reading. Skip till next match, the default, takes 0.1, 0.2
-- and 0.25; under skip till any match there are 19 such subsequences.

CREATE OR REPLACE TEMPORARY VIEW loads AS
SELECT TIMESTAMP'2014-06-22 08:00:00' + make_dt_interval(0, 0, minute) AS time, type, task_id, val FROM VALUES
  (0, 'ReducerStart', 1, NULL), (1, 'LoadStd', 1, 0.1), (2, 'LoadStd', 1, 0.2), (3, 'LoadStd', 1, 0.15), (4, 'LoadStd', 1, 0.19), (5, 'LoadStd', 1, 0.25),
  (6, 'ReducerEnd', 1, NULL), (7, 'ReducerStart', 2, NULL), (8, 'ReducerEnd', 2, NULL) AS t(minute, type, task_id, val);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

SELECT 'skip_till_next_match' AS strategy, task_id, count(*) AS matches FROM (
FROM loads
Pattern seq(ReducerStart a, LoadStd+ b[ ], ReducerEnd c)
Where [task_id] ∧ b[i].val >= b[i-1].val
Within 10 minutes
Return a.task_id) GROUP BY task_id
UNION ALL
SELECT 'skip_till_any_match', task_id, count(*) FROM (
FROM loads
Pattern seq(ReducerStart a, LoadStd+ b[ ], ReducerEnd c)
Where skip_till_any_match ∧ [task_id] ∧ b[i].val >= b[i-1].val
Within 10 minutes
Return a.task_id) GROUP BY task_id;

-- Result:
-- | strategy | task_id | matches |
-- | --- | --- | --- |
-- | skip_till_any_match | 1 | 19 |
-- | skip_till_next_match | 1 | 1 |
