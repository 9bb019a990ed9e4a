-- Imprecise timestamps, Query 1: did starting a task push the CPU of its node over 95 %, until the task finished? Hadoop
-- logs to half a second, Ganglia reports a node every 15 seconds: a reading is from somewhere around its time.

CREATE OR REPLACE TEMPORARY VIEW cluster AS
SELECT TIMESTAMP'2012-06-01 10:00:00' + make_dt_interval(0, 0, 0, second) AS time, * EXCEPT (second) FROM VALUES
  (20, 'TaskStart', 1, 7, NULL, 'hadoop'), (22, 'CPU', NULL, 7, 97, 'ganglia'), (27, 'TaskFinish', 1, 7, NULL, 'hadoop'),
  (37, 'CPU', NULL, 7, 60, 'ganglia'), (24, 'TaskStart', 2, 8, NULL, 'hadoop'), (26, 'CPU', NULL, 8, 99, 'ganglia'),
  (48, 'TaskFinish', 2, 8, NULL, 'hadoop'), (56, 'CPU', NULL, 8, 65, 'ganglia') AS t(second, type, taskId, nodeId, value, source);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

SELECT a.taskId AS task, c.time AS finished, start_lower, end_upper, round(confidence, 6) AS confidence FROM (
FROM cluster
PATTERN SEQ(TaskStart a, CPU b, TaskFinish c, CPU d)
WHERE a.taskId = c.taskId AND b.nodeId = a.nodeId AND d.nodeId = a.nodeId AND b.value > 95% AND d.value <= 70% AND skip_till_any_match(a, b, c, d)
WITHIN 15 seconds
UNCERTAINTY CASE source WHEN 'ganglia' THEN 7.5 SECONDS ELSE 0.5 SECONDS END STEP 500 MILLISECONDS
RETURN a, b, c);

-- Result:
-- | task | finished | start_lower | end_upper | confidence |
-- | --- | --- | --- | --- | --- |
-- | 1 | 2012-06-01 10:00:27 | 2012-06-01 10:00:19.5 | 2012-06-01 10:00:35.5 | 0.161637 |
