-- title: An account is created when nobody is at work
-- level: low
-- tags: attack.persistence, attack.t1136.001
-- owner: identity
PATTERN SEQ(iam c)
WHERE c.event.action = 'user-created' AND (hour(c.time) < 6 OR hour(c.time) >= 22)
RETURN c.user.name AS user, hour(c.time) AS hour
