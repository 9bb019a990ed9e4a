-- SIESTA, section 4.4: a worker passed rooms A, B and C; which least error of the clocks would make it B, A, C, with at
-- most 2 from A to C? The only optimum costs 3: B 3 -> 2, A 2 -> 3, C 6 -> 5.

CREATE OR REPLACE TEMPORARY VIEW main AS
SELECT * FROM VALUES ('worker 1', 2, 'A'), ('worker 1', 3, 'B'), ('worker 1', 6, 'C') AS t(worker, at, room);
SET spark.sparkcep.log.case = worker;
SET spark.sparkcep.log.time = at;
SET spark.sparkcep.log.event = room;

FROM <<main>>
PATTERN <(B,_),(A,_),(C,_)>
WHERE (time, within, 2, 2, 3)
EXPLAIN-NON-ANSWERS (4, 1, 1);

-- Result:
-- | worker | cost | changes | reason | component | event | run | warnings |
-- | --- | --- | --- | --- | --- | --- | --- | --- |
-- | worker 1 | 3 | [{B, 1, 3, 2, -1}, {A, 0, 2, 3, 1}, {C, 2, 6, 5, -1}] | NULL | NULL | NULL | [] | [in no partition is B followed by A, no pair of A and C meets (time, within, 2, 2, 3)] |
