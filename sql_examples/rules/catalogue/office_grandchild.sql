-- title: An office program starts a shell, and this shell starts a tool
-- level: critical
-- tags: attack.execution, attack.t1204.002, attack.t1059.003
-- owner: endpoint
PATTERN SEQ(process o, process s, process t)
WHERE o.process.name IN ('winword.exe', 'excel.exe', 'outlook.exe')
  AND s.process.parent.entity_id = o.process.entity_id AND s.process.name IN ('cmd.exe', 'powershell.exe')
  AND t.process.parent.entity_id = s.process.entity_id
WITHIN 1 hour
RETURN o.process.name AS program, s.process.name AS shell, t.process.name AS tool
