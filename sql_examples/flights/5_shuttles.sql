-- Shuttles: aircraft that fly to the same two destinations in turn, A-B-A-B, at least twice each. Which pairs are served
-- that way most often, and how long does it go on? The conditions compare rows of one match with each other.
SELECT least(one, other) AS destination, greatest(one, other) AS other_destination,
       count(*) AS runs, max(departures) AS longest_run
FROM flights MATCH_RECOGNIZE (
  PARTITION BY tailnum
  ORDER BY departure
  MEASURES a.dest AS one, b.dest AS other, count(*) AS departures
  PATTERN (a b (a_again b_again)+)
  DEFINE b AS dest <> a.dest,
         a_again AS dest = a.dest,
         b_again AS dest = b.dest
)
GROUP BY ALL
ORDER BY runs DESC, destination, other_destination
LIMIT 5;

-- Result:
-- | destination | other_destination | runs | longest_run |
-- | --- | --- | --- | --- |
-- | LAX | SFO | 423 | 20 |
-- | DFW | ORD | 222 | 8 |
-- | CLT | PHX | 203 | 14 |
-- | ATL | CAK | 166 | 20 |
-- | DFW | MIA | 164 | 10 |
