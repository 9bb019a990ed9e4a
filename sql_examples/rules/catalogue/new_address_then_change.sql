-- title: An account is changed right after a login from an outside address that is new
-- level: high
-- tags: attack.persistence, attack.t1078, attack.t1098
-- owner: identity
PARTITION BY user.name
PATTERN SEQ(!authentication earlier, authentication l, iam c)
WHERE earlier.event.outcome = 'success' AND earlier.source.ip = l.source.ip
  AND l.event.outcome = 'success' AND NOT cidr_match(l.source.ip, '10.0.0.0/8', 'fd00::/8')
  AND c.time <= l.time + INTERVAL 10 MINUTES
RETURN c.user.name AS user, l.source.ip AS address, c.event.action AS change
