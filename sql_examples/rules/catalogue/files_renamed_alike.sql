-- title: A process gives many files one new extension
-- level: critical
-- tags: attack.impact, attack.t1486
-- owner: endpoint
-- suppress: 10 minutes
PATTERN SEQ(file r{8,})
WHERE [process.entity_id] AND r[i].event.action = 'rename' AND r[i].file.extension = r[i-1].file.extension
WITHIN 1 minute
MATCHES NON OVERLAPPING
RETURN r[1].process.name AS process, r[1].file.extension AS extension, count(r[].time) AS files
