-- SASE++ Q6, option 1, over load readings of which only the three minutes around them are known: a load that never falls
-- from reading to reading, in the order that the readings may have had; matches that are as likely as not.

CREATE OR REPLACE TEMPORARY VIEW loads AS
SELECT TIMESTAMP'2014-06-22 08:00:00' + make_dt_interval(0, 0, minute) AS time, type, task_id, val FROM VALUES
  (0, 'ReducerStart', 1, NULL), (1, 'LoadStd', 1, 0.1), (2, 'LoadStd', 1, 0.2), (4, 'LoadStd', 1, 0.15), (5, 'LoadStd', 1, 0.25),
  (7, 'ReducerEnd', 1, NULL) AS t(minute, type, task_id, val);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

SELECT task_id, loads, round(confidence, 6) AS confidence FROM (
FROM loads
Pattern seq(ReducerStart a, LoadStd+ b[ ], ReducerEnd c)
Where [task_id] ∧ b[i].val >= b[i-1].val
Within 10 minutes
UNCERTAINTY CASE type WHEN 'LoadStd' THEN 1 MINUTE ELSE 0 MINUTES END STEP 30 SECONDS
CONFIDENCE >= 0.05
Return a.task_id, collect_list(b[].val) AS loads);

-- Result:
-- | task_id | loads | confidence |
-- | --- | --- | --- |
-- | 1 | [0.10, 0.15, 0.25] | 0.1232 |
-- | 1 | [0.10, 0.20, 0.25] | 0.56 |
-- | 1 | [0.20, 0.25] | 0.44 |
