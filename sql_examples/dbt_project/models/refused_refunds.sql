{{ config(materialized='view') }}
-- A view over a pattern's table: a persistent view cannot hold the pattern itself.
SELECT order_id, paid_at FROM {{ ref('returns') }} WHERE NOT refunded
