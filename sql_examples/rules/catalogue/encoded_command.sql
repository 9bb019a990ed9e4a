-- title: PowerShell gets an encoded command
-- level: medium
-- tags: attack.execution, attack.t1059.001, attack.defense_evasion, attack.t1027
-- owner: endpoint
-- suppress: 30 minutes
PATTERN SEQ(process p)
WHERE wildcard_match(p.process.name, 'powershell*', 'pwsh*')
  AND exists(p.process.args, x -> wildcard_match(x, '-enc*', '-e'))
RETURN p.user.name AS user, p.process.parent.name AS parent, array_join(p.process.args, ' ') AS arguments
