-- title: A user logs in from inside, and minutes later from outside
-- level: medium
-- tags: attack.initial_access, attack.t1078
-- owner: identity
PARTITION BY user.name
PATTERN SEQ(authentication a, authentication b)
WHERE a.event.outcome = 'success' AND cidr_match(a.source.ip, '10.0.0.0/8', 'fd00::/8')
  AND b.event.outcome = 'success' AND NOT cidr_match(b.source.ip, '10.0.0.0/8', 'fd00::/8')
WITHIN 5 minutes
MATCHES LATEST
RETURN b.user.name AS user, a.source.ip AS inside, b.source.ip AS outside, b.time - a.time AS apart
