-- title: A process calls the same address once a minute
-- level: medium
-- tags: attack.command_and_control, attack.t1071.001
-- owner: network
PARTITION BY process.entity_id, destination.ip
PATTERN SEQ(network c{6,})
WHERE c[i].time - c[i-1].time BETWEEN INTERVAL 55 SECONDS AND INTERVAL 65 SECONDS
WITHIN 1 hour
MATCHES NON OVERLAPPING
RETURN c[1].process.name AS process, c[1].destination.ip AS address, count(c[].time) AS calls
