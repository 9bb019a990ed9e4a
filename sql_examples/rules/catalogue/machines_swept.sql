-- title: Six machines of the own network are tried on ports for remote control
-- level: high
-- tags: attack.lateral_movement, attack.t1021, attack.discovery, attack.t1018
-- owner: network
-- suppress: 10 minutes
PATTERN SEQ(network n{6,})
WHERE n[i].destination.port IN (22, 445, 3389) AND cidr_match(n[i].destination.ip, '10.0.0.0/8', 'fd00::/8')
  AND count(DISTINCT n[].destination.ip) >= 6
WITHIN 5 minutes
MATCHES NON OVERLAPPING
RETURN count(DISTINCT n[].destination.ip) AS machines, min(n[].destination.port) AS port
