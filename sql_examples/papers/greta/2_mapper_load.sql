-- GRETA Q2: the CPU cycles of all rising-load trends of each mapper, in every window of one minute. Loads 10, 30, 20 and
-- 40 rise in 11 subsequences, whose cycles add up to 78; job 2 has not ended.

CREATE OR REPLACE TEMPORARY VIEW Cluster AS
SELECT TIMESTAMP'2017-08-28 09:00:00' + make_dt_interval(0, 0, 0, second) AS time, type, job, mapper, cpu, load FROM VALUES
  (0, 'Start', 1, 7, NULL, NULL), (2, 'Measurement', 1, 7, 1, 10), (5, 'Measurement', 1, 7, 2, 30), (8, 'Measurement', 1, 7, 4, 20),
  (9, 'Measurement', 1, 7, 8, 40), (12, 'End', 1, 7, NULL, NULL), (15, 'Start', 2, 7, NULL, NULL), (16, 'Measurement', 2, 7, 16, 5)
  AS t(second, type, job, mapper, cpu, load);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

SELECT mapper, `SUM(M.cpu)` AS cpu, date_format(window.start, 'HH:mm:ss') AS window
FROM (
FROM Cluster
RETURN mapper, SUM(M.cpu)  PATTERN SEQ(Start S, Measurement M+, End E)  WHERE [job, mapper] AND M.load < NEXT(M).load  GROUP-BY mapper  WITHIN 1 minute SLIDE 30 seconds
);

-- Result:
-- | mapper | cpu | window |
-- | --- | --- | --- |
-- | 7 | 78 | 08:59:30 |
-- | 7 | 78 | 09:00:00 |
