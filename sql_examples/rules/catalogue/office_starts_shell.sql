-- title: An office program starts a shell
-- level: high
-- tags: attack.execution, attack.t1204.002, attack.t1059
-- owner: endpoint
-- suppress: 10 minutes
PATTERN SEQ(process p)
WHERE p.process.parent.name IN ('winword.exe', 'excel.exe', 'outlook.exe')
  AND p.process.name IN ('cmd.exe', 'powershell.exe', 'wscript.exe')
RETURN p.process.parent.name AS program, p.process.name AS shell, p.user.name AS user
