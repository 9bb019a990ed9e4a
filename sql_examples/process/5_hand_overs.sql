-- Help desk: tickets that went through the hands of at least three people, each another one than the last, without
-- having waited for anybody between the last of them and the resolution. The log is "Helpdesk", 4TU.ResearchData, as the
-- view `helpdesk`.

SELECT hands, count(*) AS tickets FROM (
  FROM helpdesk
  PARTITION BY case_id ORDER BY ts, pos EVENT TYPE activity
  PATTERN SEQ('Take in charge ticket'+ t[], !'Wait' w, 'Resolve ticket' r)
  WHERE t[i].resource <> t[i-1].resource AND count(t[].pos) >= 3
  MATCHES FIRST
  RETURN count(t[].pos) AS hands
)
GROUP BY hands
ORDER BY hands;

-- Result:
-- | hands | tickets |
-- | --- | --- |
-- | 3 | 21 |
-- | 4 | 2 |
