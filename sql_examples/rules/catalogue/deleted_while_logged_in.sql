-- title: An account is deleted while its user is logged in
-- level: medium
-- tags: attack.impact, attack.t1531
-- owner: identity
PARTITION BY user.name
PATTERN SEQ(authentication l, !authentication o, iam d)
WHERE l.event.action = 'login' AND l.event.outcome = 'success' AND o.event.action = 'logout'
  AND d.event.action = 'user-deleted'
WITHIN 8 hours
MATCHES LATEST
RETURN d.user.name AS user, l.time AS since, d.time - l.time AS logged_in
