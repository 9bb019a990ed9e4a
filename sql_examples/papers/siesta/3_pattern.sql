-- SIESTA's simple pattern: <A,B,C> skips till the next match and gives the first of each trace.

CREATE OR REPLACE TEMPORARY VIEW traces AS
SELECT name, pos, type FROM VALUES ('ABC'), ('AABBC'), ('ACB'), ('BAC'), ('ABXC') AS t(name)
LATERAL VIEW posexplode(split(name, '')) AS pos, type;
SET spark.sparkcep.log.case = name;
SET spark.sparkcep.log.time = pos;
SET spark.sparkcep.log.event = type;

SELECT name, events.position FROM (FROM traces PATTERN <A,B,C>);

-- Result:
-- | name | position |
-- | --- | --- |
-- | AABBC | [0, 2, 4] |
-- | ABC | [0, 1, 2] |
-- | ABXC | [0, 1, 3] |
