-- SIESTA's query template with all of its clauses: in groups of cases, the first A, B, C of each, with at most 60 minutes
-- from A to B. Group 1 has it across cases 1 and 8; in group 2 it comes too late.

CREATE OR REPLACE TEMPORARY VIEW process_name AS
SELECT trace, TIMESTAMP'2024-05-01 08:00:00' + make_dt_interval(0, 0, minute) AS ts, activity FROM VALUES
  (1, 0, 'A'), (2, 5, 'X'), (3, 200, 'B'), (8, 50, 'B'), (8, 70, 'C'), (5, 0, 'A'), (6, 61, 'B'), (7, 62, 'C'),
  (9, 0, 'A'), (9, 1, 'B'), (9, 2, 'C') AS t(trace, minute, activity);
SET spark.sparkcep.log.case = trace;
SET spark.sparkcep.log.time = ts;
SET spark.sparkcep.log.event = activity;

FROM <<process_name>>
PATTERN <(A,_),(B,_),(C,_)>
WHERE (time, within, 60 minutes, 1, 2)
BETWEEN '2024-05-01' AND '2024-05-02'
GROUPS [(1-3,8),(5-7)]
RETURN-ALL false;

-- Result:
-- | group_id | match_number | start_time | end_time | events |
-- | --- | --- | --- | --- | --- |
-- | 1 | 1 | 2024-05-01 08:00:00 | 2024-05-01 09:10:00 | [{A, 0, 2024-05-01 08:00:00}, {B, 2, 2024-05-01 08:50:00}, {C, 3, 2024-05-01 09:10:00}] |
