-- title: A password is guessed: five failures or more, then a success
-- level: high
-- tags: attack.credential_access, attack.t1110.001
-- owner: identity
PARTITION BY user.name
PATTERN SEQ(authentication f{5,}, authentication s)
WHERE f[i].event.outcome = 'failure' AND s.event.outcome = 'success'
WITHIN 10 minutes
MATCHES NON OVERLAPPING
RETURN s.user.name AS user, count(f[].time) AS failures, s.source.ip AS address
