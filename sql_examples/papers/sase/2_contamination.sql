-- SASE+ Q2: every path on which contaminated goods may have travelled. The shipment that left site 1 for site 4
-- begins a path of its own; the one from site 3 comes too late, the one from site 9 is on no path.

CREATE OR REPLACE TEMPORARY VIEW shipments AS
SELECT TIMESTAMP'2008-06-09 08:00:00' + make_dt_interval(0, 0, minute) AS time, event, type, site, from, to FROM VALUES
  (0, 'Alert', 'contaminated', 1, NULL, NULL), (10, 'Shipment', NULL, NULL, 1, 2), (20, 'Shipment', NULL, NULL, 9, 2),
  (30, 'Shipment', NULL, NULL, 1, 4), (40, 'Shipment', NULL, NULL, 2, 3), (50, 'Alert', 'late', 2, NULL, NULL),
  (200, 'Shipment', NULL, NULL, 3, 5) AS t(minute, event, type, site, from, to);
SET spark.sparkcep.log.time = time;
SET spark.sparkcep.log.event = event;

FROM shipments
PATTERN SEQ(Alert a, Shipment+ b[ ])
WHERE skip_till_any_match(a, b[ ]) { a.type = 'contaminated' and b[1].from = a.site and b[i].from = b[i-1].to }
WITHIN 3 hours;

-- Result:
-- | match_number | start_time | end_time | events |
-- | --- | --- | --- | --- |
-- | 1 | 2008-06-09 08:00:00 | 2008-06-09 08:40:00 | [{a, 0, 2008-06-09 08:00:00}, {b, 1, 2008-06-09 08:10:00}, {b, 4, 2008-06-09 08:40:00}] |
-- | 2 | 2008-06-09 08:00:00 | 2008-06-09 08:10:00 | [{a, 0, 2008-06-09 08:00:00}, {b, 1, 2008-06-09 08:10:00}] |
-- | 3 | 2008-06-09 08:00:00 | 2008-06-09 08:30:00 | [{a, 0, 2008-06-09 08:00:00}, {b, 3, 2008-06-09 08:30:00}] |
