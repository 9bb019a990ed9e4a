{{ config(materialized='incremental', incremental_strategy='append') }}
-- Orders that were paid and not shipped within two days, once each.
SELECT * FROM (
  FROM {{ ref('order_events') }}
  PARTITION BY order_id ORDER BY at EVENT TYPE event
  PATTERN SEQ(paid p, !shipped s)
  WITHIN 2 days
  MATCHES FIRST
  RETURN order_id, p.at AS paid_at, p.amount
)
{% if is_incremental() %}
WHERE order_id NOT IN (SELECT order_id FROM {{ this }})
{% endif %}
