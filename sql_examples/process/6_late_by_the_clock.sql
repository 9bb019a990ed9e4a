-- Sepsis: registration, triage, sepsis triage and antibiotics within an hour of it. Of the cases where it was not so, how
-- many would be explained by clocks that are wrong by at most ten minutes each and twenty in all, and what was the
-- matter with the others?

SELECT coalesce(reason, 'repaired') AS outcome, component, count(*) AS cases, max(cost) AS largest FROM (
  FROM sepsis
  PARTITION BY case_id ORDER BY ts, pos EVENT TYPE activity
  PATTERN SEQ('ER Registration' r, 'ER Triage' t, 'ER Sepsis Triage' s, 'IV Antibiotics' a)
  WHERE a.ts - s.ts <= INTERVAL 1 HOUR
  EXPLAIN NON ANSWERS (k => 20 minutes, uncertainty => 10 minutes, step => 1 minute)
)
GROUP BY outcome, component
ORDER BY outcome, component;

-- Result:
-- | outcome | component | cases | largest |
-- | --- | --- | --- | --- |
-- | condition_failed | a | 441 | NULL |
-- | no_event_of_type | a | 226 | NULL |
-- | no_event_of_type | s | 1 | NULL |
-- | no_successor | s | 4 | NULL |
-- | no_successor | t | 2 | NULL |
-- | repaired | NULL | 53 | INTERVAL '0 00:20:00' DAY TO SECOND |
