-- SASE++ Q2: how long the reducers of a job ran, with an equivalence test.

CREATE OR REPLACE TEMPORARY VIEW jobs AS
SELECT TIMESTAMP'2014-06-22 08:00:00' + make_dt_interval(0, 0, minute) AS time, type, job_id, task_id, period FROM VALUES
  (0, 'JobStart', 1, NULL, NULL), (1, 'JobStart', 2, NULL, NULL), (5, 'Mapper', 1, 11, 50), (6, 'Mapper', 2, 21, 70), (7, 'Mapper', 1, 12, 70),
  (20, 'Reducer', 1, 13, 100), (30, 'Reducer', 2, 22, 90), (35, 'Reducer', 1, 14, 140), (40, 'JobEnd', 1, NULL, NULL), (1500, 'JobEnd', 2, NULL, NULL)
  AS t(minute, type, job_id, task_id, period);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

FROM jobs
Pattern seq(JobStart a, Reducer+ b[ ], JobEnd c)
Where [job_id]
Within 1 day
Return avg(b[ ].period), max(b[ ].period);

-- Result:
-- | avg(b[ ].period) | max(b[ ].period) |
-- | --- | --- |
-- | 120.0 | 140 |
