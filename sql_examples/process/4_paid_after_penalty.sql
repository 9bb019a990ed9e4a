-- Road traffic fines: fines of which nothing was paid before the penalty, and which a payment after it kept from credit
-- collection; days from the penalty to the payment, by vehicle class.

SELECT vehicleclass, count(*) AS fines, min(days) AS shortest, max(days) AS longest FROM (
  FROM road_traffic_fines
  PARTITION BY case_id ORDER BY ts, pos EVENT TYPE activity
  PATTERN SEQ('Create Fine' f, !'Payment', 'Add penalty' n, 'Payment' p, !'Send for Credit Collection')
  MATCHES FIRST
  RETURN f.vehicleclass, datediff(p.ts, n.ts) AS days
)
GROUP BY vehicleclass
ORDER BY vehicleclass;

-- Result:
-- | vehicleclass | fines | shortest | longest |
-- | --- | --- | --- | --- |
-- | A | 13638 | 0 | 1940 |
-- | C | 285 | 0 | 709 |
-- | M | 170 | 0 | 756 |
