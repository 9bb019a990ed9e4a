{{ config(materialized='pattern_table') }}
-- Orders that were paid and not shipped within two days, as far as the log tells.
FROM {{ ref('order_events') }} PARTITION BY order_id ORDER BY at EVENT TYPE event
PATTERN SEQ(paid p, !shipped s) WITHIN 2 days MATCHES FIRST OMIT CENSORED MATCHES
RETURN order_id, p.at AS paid_at, p.amount
