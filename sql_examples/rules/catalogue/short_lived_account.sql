-- title: An account is created, used and deleted within a day
-- level: high
-- tags: attack.persistence, attack.t1136.001, attack.defense_evasion, attack.t1070
-- owner: identity
PARTITION BY user.name
PATTERN SEQ(iam c, authentication+ l, iam d)
WHERE c.event.action = 'user-created' AND d.event.action = 'user-deleted'
WITHIN 1 day
MATCHES NON OVERLAPPING
RETURN d.user.name AS user, count(l[].time) AS logins, d.time - c.time AS lived
