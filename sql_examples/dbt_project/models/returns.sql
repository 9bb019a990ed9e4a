-- Returned orders: after how many days, and whether the money went back.
SELECT * FROM (
  FROM {{ ref('order_events') }}
  PARTITION BY order_id ORDER BY at EVENT TYPE event
  PATTERN SEQ(paid p, returned r, refunded? f)
  MATCHES FIRST
  RETURN order_id, p.at AS paid_at, datediff(r.at, p.at) AS days, f.at IS NOT NULL AS refunded
)
