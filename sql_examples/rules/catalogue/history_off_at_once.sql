-- title: The first thing that a user does after the login is to switch off the history
-- level: medium
-- tags: attack.defense_evasion, attack.t1070.003
-- owner: endpoint
PARTITION BY user.name
PATTERN SEQ(authentication l, process p IMMEDIATELY)
WHERE l.event.outcome = 'success' AND exists(p.process.args, x -> x LIKE '%HISTFILE%' OR x LIKE '%history -c%')
WITHIN 5 minutes
RETURN p.user.name AS user, l.source.ip AS address, p.process.name AS process
