"""A log that grows at random, and pattern tables over it that are held against full runs."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from ..conftest import IS_CONNECT

HEAD = "FROM {log} PARTITION BY u ORDER BY ts, i EVENT TYPE e"
CLAUSE = "{log} MATCH_RECOGNIZE (PARTITION BY u ORDER BY ts, i"
WHOLE = "everything is matched again"
#: Queries of every engine, by name.
QUERIES = {
    "non_overlapping": HEAD + " PATTERN SEQ(A x, B y, C z) MATCHES NON OVERLAPPING WITHIN 20 SECONDS",
    "every_match": HEAD + " PATTERN SEQ(A x, B y) WITHIN 9 SECONDS EVENT SELECTION SKIP TILL ANY MATCH",
    "first": "SELECT y.ts AS at FROM (" + HEAD + " PATTERN SEQ(A x, B y) MATCHES FIRST RETURN y) q WHERE y.i > 3",
    "kleene": HEAD + " PATTERN SEQ(A x, B+ y[], C z) WITHIN 12 SECONDS EVENT SELECTION SKIP TILL ANY MATCH COLLAPSED",
    "absent": HEAD + " PATTERN SEQ(A x, !B n) WITHIN 8 SECONDS OMIT CENSORED MATCHES",
    "chosen": HEAD + " PATTERN SEQ(A x, B y) MATCHES NON OVERLAPPING WITHIN 8 SECONDS OMIT CENSORED MATCHES",
    "timed_out": HEAD + " PATTERN SEQ(A x, B y) WITHIN 8 SECONDS MATCHES ALL WITH TIMED OUT OMIT CENSORED MATCHES",
    "running": HEAD
    + " PATTERN SEQ(A x, B+ y[]) WHERE y[i].i > y[i-1].i WITHIN 12 SECONDS RETURN x.i AS u, sum(y[].i) AS s",
    "trends": HEAD + " PATTERN SEQ(A x, B+ y[]) WITHIN 10 SECONDS RETURN COUNT(*) AS n, MAX(y.i) AS most",
    "by_case": HEAD + " PATTERN SEQ(A x, B+ y[]) WITHIN 10 SECONDS GROUP BY u RETURN COUNT(*) AS u, MAX(y.i) AS most",
    "sliding": HEAD + " PATTERN (SEQ(A+, B))+ WITHIN 20 SECONDS SLIDE 10 SECONDS RETURN COUNT(*) AS n",
    "imprecise": HEAD.replace(", i", "") + " PATTERN SEQ(A x, B y) WITHIN 9 SECONDS UNCERTAINTY 1 SECOND STEP 1 SECOND",
    "clause": "SELECT s AS start, n FROM " + CLAUSE + """ MEASURES A.ts AS s, count(B.*) AS n
        PATTERN (A B+ C?) DEFINE A AS e = 'A', B AS e = 'B', C AS e = 'C') m WHERE n < 4""",
    "all_rows": "SELECT * FROM " + CLAUSE + """ MEASURES classifier() AS c, running sum(i) AS s ALL ROWS PER MATCH
        AFTER MATCH SKIP TO NEXT ROW PATTERN (A X{0,2} B) DEFINE A AS e = 'A', B AS e = 'B')""",
    "same_rows": "SELECT 1 AS one FROM (" + HEAD + " PATTERN SEQ(A x, B y) WITHIN 5 SECONDS)",
    "filtered": "WITH s AS (SELECT u, ts, i, upper(e) AS e FROM {log} WHERE i % 5 <> 0) " + HEAD.replace("{log}", "s")
    + " PATTERN SEQ(A x, B y) MATCHES NON OVERLAPPING",
    "of_part": HEAD.replace("PARTITION BY u", "PARTITION BY length(u), u") + " PATTERN SEQ(B x, A y) WITHIN 9 SECONDS",
    "one_case": HEAD.replace("PARTITION BY u ", "") + " PATTERN SEQ(A x, B y, C z) MATCHES NON OVERLAPPING",
}  # fmt: skip
SCHEMA = pa.schema({"u": pa.string(), "ts": pa.timestamp("us", tz="UTC"), "i": pa.int64(), "e": pa.string()})


@dataclass(slots=True)
class World:
    """A folder of Parquet files as the view ``log``, changed by random batches.

    On Spark Connect, which tells nothing of a DataFrame's view, it is a table's view. Spark lists the files of a table
    once, until it is asked to do so again.
    """

    spark: SparkSession
    folder: Path
    random: Random
    log: str = "pt_log"
    clock: int = 0
    events: int = 0
    batches: list[str] = field(default_factory=list)

    def begin(self, rows: int) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        if IS_CONNECT:
            self.spark.sql(f"DROP TABLE IF EXISTS {self.log}_files")
            columns = "u string, ts timestamp, i bigint, e string"
            self.spark.sql(f"CREATE TABLE {self.log}_files ({columns}) USING parquet LOCATION '{self.folder}'")
        self.batch(rows)

    def batch(self, rows: int | None = None) -> str:
        """Add a file, now and then with late events; or correct, repeat or delete one. Gives what was done."""
        r = self.random
        done = "grown" if rows is not None or r.random() < 0.7 else r.choice(["corrected", "deleted", "repeated"])
        files = sorted(self.folder.glob("*.parquet"))
        if done == "repeated":
            shutil.copy(r.choice(files), self.folder / f"{len(files):04d}-again.parquet")
        elif done == "deleted" and len(files) > 1:
            r.choice(files).unlink()
        elif done == "corrected":
            file = r.choice(files)
            table = pq.read_table(file).to_pylist()
            for row in r.sample(table, min(3, len(table))):
                row["e"] = r.choice("ABCD")
            pq.write_table(pa.Table.from_pylist(table, SCHEMA), file)
        else:
            cases = [None, *(f"u{r.randrange(12)}" for _ in range(4))]
            made = [self.event(r.choice(cases)) for _ in range(rows or r.randrange(1, 25))]
            pq.write_table(pa.Table.from_pylist(made, SCHEMA), self.folder / f"{self.events:06d}.parquet")
        self.view()
        self.batches.append(done)
        return done

    def view(self) -> None:
        """The log, with the files that there are."""
        if IS_CONNECT:
            self.spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {self.log} AS SELECT * FROM {self.log}_files")
            return
        reader = self.spark.read.schema("u string, ts timestamp, i bigint, e string")
        reader.parquet(str(self.folder)).createOrReplaceTempView(self.log)

    def event(self, case: str | None) -> dict[str, Any]:
        r = self.random
        self.clock += r.choice([0, 0, 1, 1, 2, 4])
        self.events += 1
        late = r.choice([0, 0, 0, 0, 3, 15])
        seconds = max(self.clock - late, 0)
        return {"u": case, "ts": seconds * 1_000_000, "i": self.events, "e": r.choice("AAABBBCCD")}

    def query(self, name: str) -> str:
        return QUERIES[name].replace("{log}", self.log)

    def create(self, name: str, table: str) -> None:
        self.spark.sql(f"DROP PATTERN TABLE IF EXISTS {table}")
        self.spark.sql(f"CREATE PATTERN TABLE {table} AS {self.query(name)}")

    def difference(self, name: str, table: str) -> str:
        """How a table differs from a full run of its query, or its replayed changes from the table; empty: nowise."""
        run = self.spark.sql(self.query(name))
        names = ", ".join(f"`{c}`" for c in run.columns)
        full = counted(run.collect())
        kept = counted(self.spark.sql(f"SELECT {names} FROM {table}").collect())
        if full != kept:
            return f"{name}: lacks {full - kept}, has {kept - full}"
        rows = self.spark.sql(f"SELECT match_id, {names} FROM {table}").collect()
        if len({row[0] for row in rows}) != len(rows):
            return f"{name}: a match_id is there twice"
        feed = self.spark.sql(
            f"SELECT change, version, match_id, {names} FROM pattern_table_changes('{table}')"
        ).collect()
        replayed: Counter[str] = Counter()
        for version in sorted({row[1] for row in feed}):
            for change, sign in (("withdraw", -1), ("insert", 1)):
                for row in feed:
                    if row[1] == version and row[0] == change:
                        replayed[str(row[2:])] += sign
        if set(replayed.values()) - {0, 1} or +replayed != counted(rows):
            return f"{name}: changes give {+replayed - counted(rows)}, not {counted(rows) - replayed}"
        return ""


def counted(rows: list[Any]) -> Counter[str]:
    """Rows by their texts, of which each is as often as it is there."""
    return Counter(str(tuple(row)) for row in rows)
