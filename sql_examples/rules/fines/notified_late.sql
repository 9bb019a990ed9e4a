-- The law wants the notification within 90 days of the fine being sent; these took longer.
PATTERN SEQ('Send Fine' s, 'Insert Fine Notification' n)
WHERE n.ts > s.ts + INTERVAL 90 DAYS
MATCHES FIRST
RETURN n.ts - s.ts AS took
