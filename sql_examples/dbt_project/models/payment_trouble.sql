-- Runs of failed payments, and whether they ended in a payment.
SELECT * FROM {{ ref('order_events') }}
MATCH_RECOGNIZE (
  PARTITION BY order_id
  ORDER BY at
  MEASURES
    FIRST(failed.at) AS since,
    count(failed.*) AS failures,
    paid.at IS NOT NULL AS was_paid
  ONE ROW PER MATCH
  PATTERN (failed{2,} paid?)
  DEFINE
    failed AS event = 'payment failed',
    paid AS event = 'paid'
)
