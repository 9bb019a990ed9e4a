{{ config(materialized='view') }}
-- What happened to orders, by other names; the pattern index on the seed serves patterns over this view.
SELECT order_id AS number, at AS happened_at, event AS step, amount FROM {{ ref('order_events') }} WHERE order_id > 0
