-- title: After a login from outside, something is set to start by itself
-- level: high
-- tags: attack.persistence, attack.t1547.001, attack.t1053
-- owner: endpoint
PARTITION BY user.name
PATTERN SEQ(authentication l, (file f | process t))
UNTIL authentication o
WHERE l.event.outcome = 'success' AND NOT cidr_match(l.source.ip, '10.0.0.0/8', 'fd00::/8')
  AND o.event.action = 'logout'
  AND wildcard_match(f.file.path, r'*\Start Menu\Programs\Startup\*', '/etc/cron*')
  AND t.process.name = 'schtasks.exe' AND array_contains(t.process.args, '/create')
WITHIN 30 minutes
MATCHES NON OVERLAPPING
RETURN l.user.name AS user, l.source.ip AS address, coalesce(f.file.path, t.process.name) AS what
