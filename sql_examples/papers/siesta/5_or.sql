-- SIESTA's Or, e = (A,||,[B,C]): the first event is an A, a B or a C; then D.

CREATE OR REPLACE TEMPORARY VIEW traces AS
SELECT name, pos, type FROM VALUES ('AD'), ('XBD'), ('CXD'), ('DA'), ('XD') AS t(name)
LATERAL VIEW posexplode(split(name, '')) AS pos, type;
SET spark.sparkcep.log.case = name;
SET spark.sparkcep.log.time = pos;
SET spark.sparkcep.log.event = type;

SELECT name, events.position FROM (FROM traces PATTERN <(A,||,[B,C]),(D,_)>);

-- Result:
-- | name | position |
-- | --- | --- |
-- | AD | [0, 1] |
-- | CXD | [0, 2] |
-- | XBD | [1, 2] |
