{{ config(materialized='incremental', incremental_strategy='append') }}
-- Orders that were paid and not shipped within two days, once each. Orders that were paid less than two days before the
-- log's last event are not decided yet: they are left to a later run.
SELECT * FROM (
  FROM (
    SELECT * FROM {{ ref('order_events') }}
    -- Where events come up to so many days late, the last days of the log are not complete: later runs look at them.
    WHERE at <= (SELECT max(at) FROM {{ ref('order_events') }}) - INTERVAL '{{ var("late_events_days", 0) }}' DAY
    {% if is_incremental() %}
    -- What was not decided in the last run was paid after all that was.
    AND at >= (SELECT coalesce(max(paid_at), TIMESTAMP '1970-01-01') FROM {{ this }})
    {% endif %}
  ) events
  PARTITION BY order_id ORDER BY at EVENT TYPE event
  PATTERN SEQ(paid p, !shipped s)
  WITHIN 2 days
  MATCHES FIRST
  OMIT CENSORED MATCHES
  RETURN order_id, p.at AS paid_at, p.amount
)
{% if is_incremental() %}
WHERE order_id NOT IN (SELECT order_id FROM {{ this }})
{% endif %}
