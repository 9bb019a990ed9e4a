-- SASE++ Q4: data read and written since a job's start, at each of its operations.

CREATE OR REPLACE TEMPORARY VIEW io AS
SELECT TIMESTAMP'2014-06-22 08:00:00' + make_dt_interval(0, hour) AS time, type, task_id, size FROM VALUES
  (0, 'JobStart', 1, NULL), (1, 'DataIO', 1, 100), (2, 'DataIO', 2, 999), (3, 'DataIO', 1, 50), (30, 'DataIO', 1, 7) AS t(hour, type, task_id, size);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

FROM io
Pattern seq(JobStart a, DataIO+ b[ ])
Where [task_id]
Within 1 day
Return a.timestamp, b[b.LEN].timestamp, sum(b[ ].size);

-- Result:
-- | timestamp | b[b.LEN].timestamp | sum(b[ ].size) |
-- | --- | --- | --- |
-- | 2014-06-22 08:00:00 | 2014-06-22 09:00:00 | 100 |
-- | 2014-06-22 08:00:00 | 2014-06-22 11:00:00 | 150 |
