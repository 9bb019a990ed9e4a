-- title: A service account logs in from outside
-- level: high
-- tags: attack.initial_access, attack.t1078
-- owner: identity
PATTERN SEQ(authentication l)
WHERE l.event.outcome = 'success' AND wildcard_match(l.user.name, 'svc_*')
  AND NOT cidr_match(l.source.ip, '10.0.0.0/8', 'fd00::/8')
RETURN l.user.name AS user, l.source.ip AS address
