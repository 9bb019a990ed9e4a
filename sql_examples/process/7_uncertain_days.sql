-- Hospital: blood that was cross-matched within twelve hours of an admission. The log knows days only: the hour of an
-- event is any of its day, so that a match has a confidence. The log is "Hospital log" of BPI Challenge 2011,
-- 4TU.ResearchData, as the view `bpi_2011_hospital`.

SELECT round(confidence, 6) AS confidence, count(*) AS pairs, count(DISTINCT case_id) AS patients FROM (
  FROM (SELECT *, date_trunc('DAY', ts) AS day FROM bpi_2011_hospital) log
  PARTITION BY case_id ORDER BY day, pos EVENT TYPE activity
  PATTERN SEQ('190021 klinische opname a002' a, 'kruisproef volledig -drie methoden-' k)
  WITHIN 12 hours
  EVENT SELECTION SKIP TILL ANY MATCH
  UNCERTAINTY (day, day + INTERVAL 23 HOURS) STEP 1 HOUR
  RETURN case_id
)
GROUP BY 1
ORDER BY 1;

-- Result:
-- | confidence | pairs | patients |
-- | --- | --- | --- |
-- | 0.135417 | 704 | 257 |
-- | 0.364583 | 506 | 125 |
