-- Sepsis: how long the inflammation marker CRP rises from reading to reading.

SELECT readings, count(*) AS runs FROM (
  FROM (SELECT * FROM sepsis WHERE crp IS NOT NULL)
  PARTITION BY case_id ORDER BY ts, pos EVENT TYPE activity
  PATTERN 'CRP'+ c[]
  WHERE strict_contiguity AND c[i].crp > c[i-1].crp
  MATCHES NON OVERLAPPING
  RETURN count(c[].crp) AS readings
)
GROUP BY readings
ORDER BY readings;

-- Result:
-- | readings | runs |
-- | --- | --- |
-- | 1 | 1658 |
-- | 2 | 442 |
-- | 3 | 119 |
-- | 4 | 37 |
-- | 5 | 7 |
-- | 6 | 2 |
-- | 7 | 3 |
-- | 8 | 1 |
