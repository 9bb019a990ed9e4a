-- Road traffic fines: twelve constraints of the process, checked in one pass; how many fines break each. The log is "Road
-- Traffic Fine Management Process", 4TU.ResearchData, as the view `road_traffic_fines`.

SELECT rule, count(DISTINCT case_id) AS fines, count(*) AS matches
FROM pattern_rules(
  TABLE(road_traffic_fines) PARTITION BY case_id ORDER BY (ts, pos),
  rules => 'sql_examples/rules/fines',
  event_type => activity)
GROUP BY rule
ORDER BY rule;

-- Result:
-- | rule | fines | matches |
-- | --- | --- | --- |
-- | appeal_to_judge_first | 384 | 384 |
-- | collection_after_full_payment | 2078 | 2078 |
-- | fine_never_sent | 46952 | 46952 |
-- | high_fine_paid_at_once | 80 | 80 |
-- | many_payments | 34 | 34 |
-- | notified_late | 398 | 398 |
-- | paid_twice_on_a_day | 1 | 1 |
-- | penalty_despite_appeal | 358 | 358 |
-- | sent_after_a_year | 35 | 35 |
