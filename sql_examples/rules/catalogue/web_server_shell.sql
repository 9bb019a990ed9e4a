-- title: A web server starts a shell that connects to somewhere
-- level: critical
-- tags: attack.persistence, attack.t1505.003
-- owner: endpoint
PATTERN SEQ(process s, network n)
WHERE [process.entity_id] AND s.process.parent.name IN ('nginx', 'httpd', 'w3wp.exe')
  AND s.process.name IN ('sh', 'bash', 'cmd.exe')
WITHIN 10 minutes
MATCHES FIRST
RETURN s.process.parent.name AS server, s.process.name AS shell, n.destination.ip AS address
