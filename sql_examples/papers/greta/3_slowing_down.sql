-- GRETA Q3: how many vehicles slow down, and how fast they drive, where no accident explains it. The accident in segment
-- 2 stands before its later positions in every window that holds it; [P.vehicle] binds positions only.

CREATE OR REPLACE TEMPORARY VIEW Traffic AS
SELECT TIMESTAMP'2017-08-28 09:00:00' + make_dt_interval(0, 0, minute) AS time, type, segment, vehicle, speed FROM VALUES
  (0, 'Position', 1, 'a', 60), (0, 'Position', 1, 'b', 70), (1, 'Position', 1, 'a', 50), (1, 'Position', 1, 'b', 80),
  (0, 'Position', 2, 'c', 40), (1, 'Accident', 2, NULL, NULL), (2, 'Position', 2, 'c', 20) AS t(minute, type, segment, vehicle, speed);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

SELECT segment, `COUNT(*)` AS trends, round(`AVG(P.speed)`, 2) AS speed, date_format(window.start, 'HH:mm') AS window
FROM (
FROM Traffic
RETURN segment, COUNT(*), AVG(P.speed)  PATTERN SEQ(NOT Accident A, Position P+)  WHERE [P.vehicle, segment] AND P.speed > NEXT(P).speed  GROUP-BY segment  WITHIN 5 minutes SLIDE 1 minute
);

-- Result:
-- | segment | trends | speed | window |
-- | --- | --- | --- | --- |
-- | 1 | 2 | 65.0 | 08:56 |
-- | 1 | 2 | 65.0 | 09:01 |
-- | 1 | 5 | 61.67 | 08:57 |
-- | 1 | 5 | 61.67 | 08:58 |
-- | 1 | 5 | 61.67 | 08:59 |
-- | 1 | 5 | 61.67 | 09:00 |
-- | 2 | 1 | 20.0 | 09:02 |
-- | 2 | 1 | 40.0 | 08:56 |
-- | 2 | 1 | 40.0 | 08:57 |
-- | 2 | 2 | 33.33 | 08:58 |
-- | 2 | 2 | 33.33 | 08:59 |
-- | 2 | 2 | 33.33 | 09:00 |
