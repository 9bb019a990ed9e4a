-- The same over Kafka, as a table of your catalog or a view made in Python:
--   spark.readStream.format("kafka").option("kafka.bootstrap.servers", "broker:9092").option("subscribe", "departures")
--        .load().selectExpr("from_json(CAST(value AS STRING), 'tailnum STRING, departure TIMESTAMP, event STRING') AS d")
--        .select("d.*").createOrReplaceTempView("departures_raw")
-- Three cancellations of one aircraft in a row within two days, as soon as the third is behind the watermark.
SELECT * FROM STREAM departures_raw WATERMARK departure DELAY OF INTERVAL 10 MINUTES MATCH_RECOGNIZE (
  PARTITION BY tailnum
  ORDER BY departure
  MEASURES FIRST(C.departure) AS since, LAST(C.departure) AS until
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (C{3})
  WITHIN INTERVAL 2 DAYS
  DEFINE C AS event = 'cancelled'
);
