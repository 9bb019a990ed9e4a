-- title: A system tool connects to another machine and writes a program
-- level: high
-- tags: attack.command_and_control, attack.t1105
-- owner: endpoint
PATTERN SEQ(process p, network n, file f)
WHERE [process.entity_id] AND p.process.name IN ('certutil.exe', 'bitsadmin.exe', 'curl', 'wget')
  AND f.event.action = 'create' AND f.file.extension IN ('exe', 'dll', 'ps1', 'sh')
WITHIN 5 minutes
MATCHES FIRST
RETURN p.process.name AS tool, coalesce(n.destination.domain, n.destination.ip) AS origin, f.file.path AS path
