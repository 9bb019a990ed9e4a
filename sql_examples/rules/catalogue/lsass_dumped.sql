-- title: The memory of lsass is written to a file
-- level: critical
-- tags: attack.credential_access, attack.t1003.001
-- owner: endpoint
PATTERN SEQ(process p, file f)
WHERE [process.entity_id] AND exists(p.process.args, x -> wildcard_match(x, '*lsass*')) AND f.file.extension = 'dmp'
WITHIN 1 minute
MATCHES FIRST
RETURN p.process.name AS process, p.user.name AS user, f.file.path AS path
