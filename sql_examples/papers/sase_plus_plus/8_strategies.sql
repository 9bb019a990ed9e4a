-- SASE++ Figure 3: one pattern under the three strategies.

CREATE OR REPLACE TEMPORARY VIEW events AS SELECT * FROM VALUES (1, 'a'), (2, 'a'), (5, 'b'), (6, 'b'), (7, 'c') AS t(time, type);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = type;

SELECT 'strict contiguity' AS strategy, events.time AS times FROM (FROM events PATTERN(a, b+, c) WITHIN 10 EVENT SELECTION STRICT CONTIGUITY)
UNION ALL
SELECT 'skip till next match', events.time FROM (FROM events PATTERN(a, b+, c) WITHIN 10)
UNION ALL
SELECT 'skip till any match', events.time FROM (FROM events PATTERN(a, b+, c) WITHIN 10 EVENT SELECTION SKIP TILL ANY MATCH);

-- Result:
-- | strategy | times |
-- | --- | --- |
-- | skip till any match | [1, 5, 6, 7] |
-- | skip till any match | [1, 5, 7] |
-- | skip till any match | [1, 6, 7] |
-- | skip till any match | [2, 5, 6, 7] |
-- | skip till any match | [2, 5, 7] |
-- | skip till any match | [2, 6, 7] |
-- | skip till next match | [1, 5, 6, 7] |
-- | skip till next match | [2, 5, 6, 7] |
-- | strict contiguity | [2, 5, 6, 7] |
