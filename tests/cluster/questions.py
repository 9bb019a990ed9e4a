"""Every engine, layout, index and function once, by a driver of its own: a program that needs nothing of this checkout.

    python questions.py --data FOLDER --out FILE [--master URL | --remote URL] [--conf KEY=VALUE ...] [--only NAME ...]

Prints `start NAME` and `end NAME` around each, so that whoever runs it may kill something meanwhile, and writes the
answers by their names, rows as sorted texts, or an error's text.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

LOG = "PARTITION BY k ORDER BY n"
BLOCK = f"{LOG} EVENT TYPE e"
ROWS = {"spark.sparkcep.exec.layout": "rows"}
LISTS = {"spark.sparkcep.exec.layout": "lists"}
#: Name, settings, statements (the answer is the last one's).
QUESTIONS: list[tuple[str, dict[str, str], list[str]]] = [
    ("lists", LISTS, [
        f"SELECT * FROM events MATCH_RECOGNIZE ({LOG} MEASURES a.n AS a, LAST(b.v) AS v, c.n AS c PATTERN (a b+ c) "
        "DEFINE b AS v > a.v, c AS v < LAST(b.v))"]),
    ("fold", {}, [
        f"SELECT * FROM events MATCH_RECOGNIZE ({LOG} MEASURES a.n AS a, c.n AS c PATTERN (a x*? c) "
        "DEFINE a AS e = 'A', c AS e = 'C')"]),
    ("rows", ROWS, [
        f"SELECT k, n, v, number FROM events MATCH_RECOGNIZE ({LOG} MEASURES MATCH_NUMBER() AS number "
        "ALL ROWS PER MATCH PATTERN (a b+ c) DEFINE b AS v > a.v, c AS v < LAST(b.v))"]),
    ("ranges", ROWS, [
        "SELECT * FROM (SELECT *, n * 100000 + k AS m FROM events) MATCH_RECOGNIZE (ORDER BY m MEASURES a.m AS a, "
        "LAST(b.v) AS v, c.n AS c PATTERN (a b+ c) WITHIN 20 DEFINE b AS v > a.v, c AS v < LAST(b.v))"]),
    ("runs", {}, [
        f"FROM events {BLOCK} PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].v > a.v EVENT SELECTION SKIP TILL ANY MATCH "
        "RETURN k, a.n AS a, SUM(b[].v) AS b, c.n AS c"]),
    ("next", ROWS, [
        f"FROM events {BLOCK} PATTERN SEQ(A a, !D d, B b, C c) WHERE c.v > a.v RETURN k, a.n AS a, c.n AS c"]),
    ("collapsed", {}, [
        f"FROM events {BLOCK} PATTERN SEQ(A a, B+ b[], C c) EVENT SELECTION SKIP TILL ANY MATCH COLLAPSED"]),
    ("trends", {}, [
        f"FROM events {BLOCK} PATTERN SEQ(A+ a[], B b) WHERE a[i].v > a[i-1].v EVENT SELECTION SKIP TILL ANY MATCH "
        "GROUP BY k RETURN k, COUNT(*) AS trends, SUM(a.v) AS v"]),
    ("uncertain", {}, [
        f"FROM few {BLOCK} PATTERN SEQ(A a, B b, C c) WHERE c.v > a.v UNCERTAINTY 1 "
        "RETURN k, a.n AS a, b.n AS b, c.n AS c"]),
    ("non_answers", {}, [f"FROM few {BLOCK} PATTERN SEQ(A a, B b, C c) WITHIN 30 EXPLAIN NON ANSWERS (20, 8, 4)"]),
    ("function", {}, [
        f"CREATE OR REPLACE TEMPORARY PATTERN FUNCTION abc AS {BLOCK} PATTERN SEQ(A a, B b, C c) RETURN k, c.n AS c",
        "SELECT * FROM abc(TABLE(few))"]),
    ("index", {}, [
        "CREATE PATTERN INDEX log ON parquet.`{data}/growing` (CASE k, TIME n, EVENT e) INCLUDE (v)",
        "SELECT * FROM pattern_statistics(log, 'A B C')"]),
    ("indexed", {}, [
        f"FROM parquet.`{{data}}/growing` {BLOCK} PATTERN SEQ(D a, D b, D c, D d) RETURN k, a.n AS a, d.n AS d"]),
    ("refreshed", {}, [
        "MORE", "REFRESH PATTERN INDEX log", "SELECT * FROM pattern_continuations(log, 'A B')"]),
    ("described", {}, ["SHOW PATTERN INDEXES"]),
]  # fmt: skip


def prepare(spark: object, data: Path, cases: int) -> None:
    """The events, by one session for all others."""
    made = (
        f"SELECT id % {cases} AS k, id DIV {cases} * 3 + hash(id) % 2 AS n, "
        f"substr('ABCDE', 1 + pmod(hash(id, 1), 5), 1) AS e, pmod(hash(id, 2), 1000) AS v "
        f"FROM range(0, {cases * 12}, 1, 8)"
    )
    spark.sql(made).write.parquet(f"{data}/events")  # type: ignore[attr-defined]
    for name, below in (("few", 300), ("growing", cases)):
        spark.sql(f"SELECT * FROM ({made}) WHERE k < {below}").write.parquet(f"{data}/{name}")  # type: ignore[attr-defined]


def answers(spark: object, data: Path, only: list[str]) -> dict[str, list[str]]:
    """Rows of each question as sorted texts."""
    out: dict[str, list[str]] = {}
    for name in ("events", "few"):
        spark.read.parquet(f"{data}/{name}").createOrReplaceTempView(name)  # type: ignore[attr-defined]
    for name, settings, statements in QUESTIONS:
        if only and name not in only:
            continue
        for key, value in settings.items():
            spark.conf.set(key, value)  # type: ignore[attr-defined]
        print("start", name, flush=True)
        started = time.perf_counter()
        try:
            out[name] = ask(spark, data, statements)
        except Exception as error:  # its text is the answer
            out[name] = ["error", type(error).__name__, str(error)]
        for key in settings:
            spark.conf.unset(key)  # type: ignore[attr-defined]
        print("end", name, f"{time.perf_counter() - started:.1f}", len(out[name]), flush=True)
    return out


def ask(spark: object, data: Path, statements: list[str]) -> list[str]:
    for statement in statements:
        if statement == "MORE":
            spark.sql(  # type: ignore[attr-defined]
                "SELECT k, 1000 + n AS n, e, v FROM few"
            ).coalesce(1).write.mode("append").parquet(f"{data}/growing")
            continue
        rows = spark.sql(statement.replace("{data}", str(data))).collect()  # type: ignore[attr-defined]
    if statement == "SHOW PATTERN INDEXES":
        rows = [row[3:5] for row in rows]  # sizes and lists of pairs depend on who packs them
    return sorted(str(tuple(row)) for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--remote")
    parser.add_argument("--conf", action="append", default=[])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--prepare", type=int, metavar="CASES", help="make the events, and nothing else")
    arguments = parser.parse_args()

    import sparkcep

    session = sparkcep.local_session(
        arguments.master, arguments.remote, dict(item.split("=", 1) for item in arguments.conf)
    )
    if arguments.prepare:
        prepare(session, arguments.data, arguments.prepare)
        return
    found = {"from": sparkcep.__file__, "answers": answers(session, arguments.data, arguments.only)}
    arguments.out.write_text(json.dumps(found))
    sys.stdout.flush()
    session.stop()
    os._exit(0)  # a Connect client's threads need not be waited for


if __name__ == "__main__":
    main()
