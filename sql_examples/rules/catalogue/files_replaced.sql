-- title: A process writes a file beside another and deletes that one, again and again
-- level: critical
-- tags: attack.impact, attack.t1486, attack.t1485
-- owner: endpoint
-- suppress: 10 minutes
PATTERN (SEQ(file c[], file d[])){4,}
WHERE [process.entity_id] AND c[i].event.action = 'create' AND d[i].event.action = 'delete'
  AND startswith(c[i].file.path, d[i].file.path)
WITHIN 1 minute
MATCHES NON OVERLAPPING
RETURN c[1].process.name AS process, count(d[].time) AS files, c[1].file.path AS first
