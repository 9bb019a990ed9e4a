-- Road traffic fines: fines whose whole amount had been paid, at once or in parts, and that went to credit collection
-- all the same, by the number of payments. The log is "Road Traffic Fine Management Process", 4TU.ResearchData, as the
-- view `road_traffic_fines`.

SELECT payments, count(*) AS fines FROM (
  FROM road_traffic_fines
  PARTITION BY case_id ORDER BY ts, pos EVENT TYPE activity
  PATTERN SEQ('Create Fine' f, 'Payment'+ p[], 'Send for Credit Collection' c)
  WHERE sum(p[].paymentamount) >= f.amount
  MATCHES FIRST
  RETURN count(p[].pos) AS payments
)
GROUP BY payments
ORDER BY payments;

-- Result:
-- | payments | fines |
-- | --- | --- |
-- | 1 | 2064 |
-- | 2 | 11 |
-- | 3 | 2 |
-- | 10 | 1 |
