-- title: A security agent stops and is not back within five minutes
-- level: high
-- tags: attack.defense_evasion, attack.t1562.001
-- owner: endpoint
PATTERN SEQ(process e, !process s)
WHERE e.event.action = 'end' AND e.process.name IN ('auditd', 'edr-agent', 'MsMpEng.exe')
  AND s.event.action = 'start' AND s.process.name = e.process.name
WITHIN 5 minutes
RETURN e.process.name AS agent, e.user.name AS user
