-- SASE+ Q1 with an equivalence test: the same matches, positions counted by tag.

CREATE OR REPLACE TEMPORARY VIEW readings AS
SELECT TIMESTAMP'2008-06-09 08:00:00' + make_dt_interval(0, 0, minute) AS time, type, tag_id FROM VALUES
  (0, 'Shelf', 1), (5, 'Shelf', 2), (10, 'Shelf', 3), (15, 'Shelf', 4), (20, 'Register', 2), (30, 'Exit', 2), (40, 'Exit', 1),
  (50, 'Shelf', 3), (60, 'Exit', 3), (740, 'Exit', 4) AS t(minute, type, tag_id);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

FROM readings
PATTERN SEQ(Shelf a, ~(Register b), Exit c)
WHERE skip_till_next_match(a, b, c) { [tag_id] }
WITHIN 12 hours;

-- Result:
-- | tag_id | match_number | start_time | end_time | events |
-- | --- | --- | --- | --- | --- |
-- | 1 | 1 | 2008-06-09 08:00:00 | 2008-06-09 08:40:00 | [{a, 0, 2008-06-09 08:00:00}, {c, 1, 2008-06-09 08:40:00}] |
-- | 3 | 1 | 2008-06-09 08:10:00 | 2008-06-09 09:00:00 | [{a, 0, 2008-06-09 08:10:00}, {c, 2, 2008-06-09 09:00:00}] |
-- | 3 | 2 | 2008-06-09 08:50:00 | 2008-06-09 09:00:00 | [{a, 1, 2008-06-09 08:50:00}, {c, 2, 2008-06-09 09:00:00}] |
