-- Sepsis: patients triaged for sepsis who got no antibiotics within the hour that the guideline allows, by the group
-- that did the triage. The log is "Sepsis Cases", 4TU.ResearchData, as the view `sepsis`.

SELECT org_group, count(*) AS patients FROM (
  FROM sepsis
  PARTITION BY case_id ORDER BY ts, pos EVENT TYPE activity
  PATTERN SEQ('ER Sepsis Triage' t, !'IV Antibiotics' x)
  WITHIN 1 hour
  MATCHES FIRST
  RETURN t.org_group
)
GROUP BY org_group
ORDER BY org_group;

-- Result:
-- | org_group | patients |
-- | --- | --- |
-- | A | 664 |
-- | L | 43 |
