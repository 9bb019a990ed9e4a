"""The pictures of docs/pictures.md, from a made-up log. Needs vl-convert-python."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from sparkcep import pictures
from sparkcep.session.machine.local import local_session

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"

LOG = """CREATE TABLE orders USING parquet AS
SELECT id AS order_id, step AS event,
  TIMESTAMP'2026-01-05 08:00:00'
    + make_dt_interval(id div 400, pos * (2 + CAST(pow(pmod(hash(id), 100) / 35.0, 3) AS INT)),
                       pos * pmod(hash(id, 1), 60)) AS at
FROM range(2000)
LATERAL VIEW posexplode(split(CASE
  WHEN id % 10 = 3 THEN 'placed,reminded,paid,shipped'
  WHEN id % 10 = 7 THEN 'placed,paid,shipped,returned,refunded'
  WHEN id % 25 = 1 THEN 'placed,reminded,reminded,cancelled'
  ELSE 'placed,paid,shipped' END, ',')) e AS pos, step"""
INDEX = "CREATE PATTERN INDEX orders_ix ON orders (CASE order_id, TIME at, EVENT event)"

HEAD = "FROM orders PARTITION BY order_id ORDER BY at EVENT TYPE event "
BLOCK = (
    HEAD + "PATTERN SEQ(placed p, !cancelled c, (reminded | paid)+ r[], returned* back[], shipped s) "
    "WHERE r[i].at > r[i-1].at AND s.at - p.at < INTERVAL 2 DAYS WITHIN 3 days"
)
CLAUSE = """SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY day MEASURES top.day AS top_day
  PATTERN (top down{2,} up+? (level | $)) DEFINE down AS price < PREV(price), up AS price > PREV(price))"""
CANCELLED = HEAD + "PATTERN SEQ(reminded r, cancelled c) WHERE c.at - r.at < INTERVAL 6 HOURS AND hour(c.at) < 4"
RULES = """SELECT * FROM pattern_rules(TABLE(orders) PARTITION BY order_id ORDER BY at, event_type => event,
  rules => TABLE(SELECT * FROM VALUES
    ('returned', 'PATTERN SEQ(shipped s, returned r)'), ('reminded twice', 'PATTERN SEQ(reminded r, reminded s)'),
    ('never paid', 'PATTERN SEQ(placed p, !paid q, cancelled c)'), ('paid at once', 'PATTERN SEQ(placed p, paid q)
      EVENT SELECTION STRICT CONTIGUITY'), ('refunded', 'PATTERN SEQ(returned r, refunded f)') AS r(name, rule)))"""
STEPS = """SELECT * FROM funnel_steps(TABLE(orders) PARTITION BY order_id ORDER BY at EVENT TYPE event,
  steps => ARRAY('placed', 'paid', 'shipped', 'returned'), within => INTERVAL 5 DAYS)"""
RETURNED = HEAD + "PATTERN SEQ(reminded+ r[], (paid | cancelled) e)"


def draw(spark: SparkSession) -> dict[str, pictures.Picture]:
    """The pictures by their names."""
    spark.sql(LOG)
    spark.sql(INDEX)
    spark.sql("CREATE TEMPORARY VIEW ticker AS SELECT 'A' AS symbol, DATE'2026-01-05' AS day, 1.5 AS price")
    out = {"start": pictures.pattern(spark, HEAD + "PATTERN SEQ(paid p, !shipped s) WITHIN 2 days RETURN order_id")}
    out |= {"pattern_block": pictures.pattern(spark, BLOCK), "pattern_clause": pictures.pattern(spark, CLAUSE)}
    spark.conf.set("spark.sparkcep.planner.index.cases", "lists")
    out["pruning"] = pictures.pruning(spark, CANCELLED)
    out["funnel"] = pictures.funnel(spark, STEPS)
    out["waits"] = pictures.waits(spark, HEAD + "PATTERN SEQ(placed p, reminded* r[], paid q, shipped s)")
    out["cases"] = pictures.cases(spark, RETURNED, cases=8)
    out["directly_follows"] = pictures.directly_follows(
        spark, "SELECT * FROM orders", case="order_id", time="at", event="event"
    )
    out["timeline"] = pictures.timeline(spark, RETURNED, matches=12)
    out["rules"] = pictures.rules(spark, RULES, cells=5)
    out["continuations"] = pictures.continuations(spark, "orders", "placed")
    return out


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        conf = {"spark.sql.warehouse.dir": f"{folder}/tables", "spark.sparkcep.index.path": f"{folder}/indexes"}
        spark = local_session("local[2]", None, conf)
        FOLDER.mkdir(exist_ok=True)
        for name, picture in draw(spark).items():
            picture.save(FOLDER / f"{name}.png")
        spark.stop()


if __name__ == "__main__":
    main()
