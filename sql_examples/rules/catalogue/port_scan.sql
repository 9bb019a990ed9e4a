-- title: Ten ports of one machine are tried within a minute
-- level: medium
-- tags: attack.discovery, attack.t1046
-- owner: network
-- suppress: 10 minutes
PARTITION BY destination.ip
PATTERN SEQ(network n{10,})
WHERE count(DISTINCT n[].destination.port) >= 10
WITHIN 1 minute
MATCHES NON OVERLAPPING
RETURN n[1].destination.ip AS address, count(DISTINCT n[].destination.port) AS ports
