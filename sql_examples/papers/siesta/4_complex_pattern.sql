-- SIESTA's complex pattern: negation, Kleene star and Kleene plus, types that come again.

CREATE OR REPLACE TEMPORARY VIEW traces AS
SELECT name, pos, type FROM VALUES ('ABDEABCDE'), ('ABDABBCDE'), ('ABCDEABCDE'), ('ABDEEABBBCDE'), ('ABDEACDE') AS t(name)
LATERAL VIEW posexplode(split(name, '')) AS pos, type;
SET spark.sparkcep.log.case = name;
SET spark.sparkcep.log.time = pos;
SET spark.sparkcep.log.event = type;

SELECT name, events.variable, events.position FROM (FROM traces PATTERN <A,B,!C,D,E*,A,B+,C,D,E>);

-- Result:
-- | name | variable | position |
-- | --- | --- | --- |
-- | ABDABBCDE | [A, B, D, A, B, B, C, D, E] | [0, 1, 2, 3, 4, 5, 6, 7, 8] |
-- | ABDEABCDE | [A, B, D, E, A, B, C, D, E] | [0, 1, 2, 3, 4, 5, 6, 7, 8] |
-- | ABDEEABBBCDE | [A, B, D, E, E, A, B, B, B, C, D, E] | [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] |
