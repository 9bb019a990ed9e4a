-- title: Three wrong passwords for sudo, then it starts a process
-- level: medium
-- tags: attack.privilege_escalation, attack.t1548.003
-- owner: endpoint
PARTITION BY user.name
PATTERN SEQ(authentication f{3,}, process p)
WHERE f[i].event.outcome = 'failure' AND f[i].process.name = 'sudo' AND p.process.parent.name = 'sudo'
WITHIN 5 minutes
MATCHES NON OVERLAPPING
RETURN p.user.name AS user, count(f[].time) AS failures, p.process.name AS process
