-- title: Failures ten minutes apart or more, so that no lock-out sees them, and no other login in between
-- level: medium
-- tags: attack.credential_access, attack.t1110.001
-- owner: identity
PARTITION BY user.name
PATTERN SEQ(authentication a, authentication f{3,} UNTIL (authentication other))
WHERE a.event.outcome = 'failure' AND f[1].time >= a.time + INTERVAL 10 MINUTES
  AND f[i].event.outcome = 'failure' AND f[i].time >= f[i-1].time + INTERVAL 10 MINUTES
WITHIN 1 day
MATCHES NON OVERLAPPING
RETURN a.user.name AS user, count(f[].time) + 1 AS failures, f[f.LEN].time - a.time AS span
