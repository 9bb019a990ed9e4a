-- title: A file is written, run and deleted within minutes
-- level: high
-- tags: attack.defense_evasion, attack.t1070.004
-- owner: endpoint
PATTERN SEQ(file c, process p, file d)
WHERE c.event.action = 'create' AND p.process.executable = c.file.path
  AND d.event.action = 'delete' AND d.file.path = c.file.path
WITHIN 5 minutes
RETURN c.file.path AS path, p.user.name AS user, d.time - c.time AS lived
