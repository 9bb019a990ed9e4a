-- title: Long host names of one domain, one after the other: data leaves by way of DNS
-- level: medium
-- tags: attack.exfiltration, attack.t1048.003, attack.t1071.004
-- owner: network
-- suppress: 1 hour
PATTERN SEQ(network n{6,})
WHERE [process.entity_id] AND n[i].destination.port = 53 AND length(n[i].destination.domain) > 40
  AND substring_index(n[i].destination.domain, '.', -2) = substring_index(n[i-1].destination.domain, '.', -2)
WITHIN 10 minutes
MATCHES NON OVERLAPPING
RETURN substring_index(n[1].destination.domain, '.', -2) AS domain, count(n[].time) AS names
