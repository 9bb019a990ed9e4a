-- title: Files are packed, and much goes out to other networks
-- level: high
-- tags: attack.collection, attack.t1560.001, attack.exfiltration, attack.t1041
-- owner: network
PATTERN SEQ(process a, network+ n)
WHERE a.process.name IN ('7z.exe', 'rar.exe', 'zip', 'tar')
  AND NOT cidr_match(n[i].destination.ip, '10.0.0.0/8', 'fd00::/8') AND sum(n[].bytes) > 100000000
WITHIN 30 minutes
MATCHES NON OVERLAPPING
RETURN a.process.name AS packer, a.user.name AS user, sum(n[].bytes) AS bytes, count(n[].time) AS connections
