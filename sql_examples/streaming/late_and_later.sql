-- While it happens: which aircraft leaves late, then very late, and does not leave on time within the ten hours behind
-- that? `departures` is a stream of flights with a watermark on `departure`; each row comes when its answer is certain.
FROM departures
PARTITION BY tailnum ORDER BY departure EVENT TYPE event
PATTERN SEQ('late' first, 'very late' second, !'on time' recovered)
WHERE second.dep_delay >= 2 * first.dep_delay
WITHIN 10 hours
RETURN first.tailnum AS tailnum, first.departure AS left_late, first.dep_delay AS delay,
       second.departure AS left_later, second.dep_delay AS then_delay, second.dest AS dest;
