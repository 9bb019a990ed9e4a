-- title: A new account becomes a member of a group, and logs in, all within an hour
-- level: high
-- tags: attack.persistence, attack.t1098, attack.t1136.001
-- owner: identity
PARTITION BY user.name
PATTERN SEQ(iam c, iam g, authentication l)
WHERE c.event.action = 'user-created' AND g.event.action = 'group-member-added' AND l.event.outcome = 'success'
WITHIN 1 hour
MATCHES FIRST
RETURN l.user.name AS user, l.source.ip AS address
