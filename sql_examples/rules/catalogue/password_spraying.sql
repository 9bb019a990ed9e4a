-- title: One address fails with five different users
-- level: high
-- tags: attack.credential_access, attack.t1110.003
-- owner: identity
PARTITION BY source.ip
PATTERN SEQ(authentication f{5,})
WHERE f[i].event.outcome = 'failure' AND count(DISTINCT f[].user.name) >= 5
WITHIN 10 minutes
MATCHES NON OVERLAPPING
RETURN f[1].source.ip AS address, count(DISTINCT f[].user.name) AS users, count(f[].time) AS failures
