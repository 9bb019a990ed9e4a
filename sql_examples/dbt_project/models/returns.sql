-- Returned orders: after how many days, and whether the money went back.
SELECT * FROM (
  FROM {{ ref('steps') }}
  PARTITION BY number ORDER BY happened_at EVENT TYPE step
  PATTERN SEQ(paid p, returned r, refunded? f)
  MATCHES FIRST
  RETURN number AS order_id, p.happened_at AS paid_at, datediff(r.happened_at, p.happened_at) AS days,
    f.happened_at IS NOT NULL AS refunded
)
