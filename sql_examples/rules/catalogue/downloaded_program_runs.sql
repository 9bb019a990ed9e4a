-- title: A program is run minutes after it was downloaded
-- level: low
-- tags: attack.execution, attack.t1204.002
-- owner: endpoint
PATTERN SEQ(file f, process p)
WHERE f.event.action = 'create' AND wildcard_match(f.file.path, r'*\Downloads\*', '/tmp/*')
  AND p.process.executable = f.file.path
WITHIN 10 minutes
MATCHES LATEST
RETURN f.file.path AS path, f.process.name AS written_by, p.time - f.time AS after
