-- SASE++ Q3: reducers one of whose data pulls took more than twice the average of those so far and itself. The condition
-- is on the last pull, so every run that ends with such a pull is a match: in task 1 the third, in task 2 none.

CREATE OR REPLACE TEMPORARY VIEW pulls AS
SELECT TIMESTAMP'2014-06-22 08:00:00' + make_dt_interval(0, 0, 0, second) AS time, type, task_id, period FROM VALUES
  (0, 'ReducerStart', 1, 8), (1, 'ReducerStart', 2, 9), (10, 'DataPull', 1, 2), (11, 'DataPull', 2, 4), (20, 'DataPull', 1, 1), (30, 'DataPull', 1, 12),
  (31, 'DataPull', 2, 6), (40, 'DataPull', 1, 3) AS t(second, type, task_id, period);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

FROM pulls
Pattern seq(ReducerStart a, DataPull+ b[ ])
Where [task_id] ∧ (b[b.LEN].period > 2 × avg(b[ ].period))
Within 10 minutes
Return a.(task_id, period);

-- Result:
-- | task_id | period |
-- | --- | --- |
-- | 1 | 8 |
