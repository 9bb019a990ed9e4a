-- Road traffic fines: twelve constraints of the process, checked in one pass; how many fines break each. The log is "Road
-- Traffic Fine Management Process", 4TU.ResearchData, as the view `road_traffic_fines`.

SELECT rule, count(DISTINCT case_id) AS fines, count(*) AS matches
FROM pattern_rules(
  TABLE(road_traffic_fines) PARTITION BY case_id ORDER BY (ts, pos),
  rules => 'sql_examples/rules/fines',
  event_type => activity)
GROUP BY rule
ORDER BY rule;
