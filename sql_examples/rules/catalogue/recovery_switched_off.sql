-- title: Shadow copies, backups and repair are taken away, in any order
-- level: critical
-- tags: attack.impact, attack.t1490
-- owner: endpoint
PATTERN SEQ(PERMUTE(process v, process b, process w))
WHERE v.process.name = 'vssadmin.exe' AND array_contains(v.process.args, 'delete')
  AND b.process.name = 'bcdedit.exe' AND array_contains(b.process.args, 'recoveryenabled')
  AND w.process.name = 'wbadmin.exe' AND array_contains(w.process.args, 'delete')
WITHIN 10 minutes
MATCHES NON OVERLAPPING
RETURN v.user.name AS user, v.time AS copies, w.time AS backups, b.time AS repair
