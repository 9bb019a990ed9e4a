"""A query through an index answers as without it, whatever was indexed when, and wherever events are read from."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import sparkcep
from sparkcep import index
from sparkcep.index.access import ACCESS_PATHS
from sparkcep.index.tables import Definition
from sparkcep.settings import INDEX, INDEX_ACCESS_PATH

from ..conftest import IS_CONNECT

pytestmark = pytest.mark.skipif(
    IS_CONNECT, reason="what is asked of an index is the same there; see inputs.test, and plans.py for random pairs"
)

PATTERNS = """A, B; A, B, C; A+, B; A, B*, C; A, !C, B; A, (B|C), D; A, B?, A; (A, B)+; A, A; A{2,}, B; A, !(C, D), B
A, B, A, B, C; A, A, A, B
A, B, !C; !C, A, B; B+; (A|B), C; A, B, A, B; (A, B)|(C, D); (A|B), (A|B); E, A; A, Z; A*, B; A, (B|Z), C"""
CLAUSES = """(A X* B)|A IS e = 'A', B IS e = 'B', X IS e <> 'B'
(A B+ C?)|A IS e = 'A', B IS e IN ('B', 'C'), C IS e = 'C'
(A X*? B)|A IS e = 'A', B IS e = 'B' AND v > 2
(^ A | B C)|A IS e = 'A', B IS e = 'B', C IS e = 'C' OR v > 4
(PERMUTE(A, B) Y* C)|A IS e = 'A', B IS e = 'B', C IS e = 'C', Y IS e <> 'C'
(A B)|A IS e = 'A', B IS B.v > A.v"""
#: What a log is read through, over {log}; the first is the log itself. Some rename, some filter, some repeat events,
#: and some have columns that look like those of the log and are not.
INPUTS = """{log}
SELECT e, v, k, t, p FROM {log} WHERE t > timestamp_seconds(4)
SELECT k, t, p, e, v FROM {log} WHERE v > 1 OR e = 'B'
SELECT k, t, p, e, v + 1 AS v FROM {log} WHERE e <> 'C'
SELECT * FROM {log} WHERE p % 3 <> 0
SELECT * FROM {log} WHERE k IN ('a', 'b', 'g') AND t < timestamp_seconds(25)
SELECT * FROM {log} WHERE t BETWEEN timestamp_seconds(3) AND timestamp_seconds(12)
SELECT * FROM {log} WHERE k = 'g' OR k > 'b'
SELECT k, at AS t, p, e, v FROM (SELECT *, t AS at FROM {log} WHERE t >= timestamp_seconds(5)) \
WHERE at < timestamp_seconds(18) AND k IN ('a', 'c', 'g', 'h')
WITH own AS (SELECT k AS c, t AS at, p, e, v FROM {log}) \
SELECT c AS k, at AS t, p, e, v FROM own WHERE at > timestamp_seconds(8) AND c <= 'c'
SELECT l.* FROM {log} l JOIN (VALUES ('a'), ('c'), ('h')) d(kk) ON l.k = d.kk WHERE l.t < timestamp_seconds(9)
WITH own AS (SELECT k AS c, t, p, e AS kind, v FROM {log}), few AS (SELECT * FROM own WHERE v < 5) \
SELECT c AS k, t, p, kind AS e, v FROM few
SELECT l.*, d.w FROM {log} l LEFT JOIN (VALUES ('a', 1), ('b', 2)) d(kk, w) ON l.k = d.kk
SELECT l.* FROM {log} l LEFT JOIN (VALUES ('a', 1), ('a', 2), ('g', 3)) d(kk, w) ON l.k = d.kk
SELECT l.* FROM (VALUES ('a'), ('g'), ('z')) d(kk) LEFT JOIN {log} l ON l.k = d.kk
SELECT l.* FROM {log} l LEFT SEMI JOIN (SELECT * FROM {log} WHERE e = 'B') o ON l.k = o.k
SELECT * FROM {log} l WHERE EXISTS (SELECT 1 FROM {log} o WHERE o.k = l.k AND o.v > 3)
SELECT a.k, b.t, a.p, b.e, a.v FROM {log} a JOIN {log} b ON a.k = b.k AND a.p + 1 = b.p
SELECT k, t, CAST(v AS BIGINT) AS p, e, CAST(p AS INT) AS v FROM {log}
SELECT k, t + INTERVAL 3 SECONDS AS t, p, e, v FROM {log}
SELECT k, t, -p AS p, e, v FROM {log}
SELECT CASE WHEN k = 'a' THEN 'b' ELSE k END AS k, t, p, e, v FROM {log}
SELECT k, t, p, CASE WHEN v > 2 THEN 'A' ELSE e END AS e, v FROM {log}
SELECT k, t, p, e, CAST(lag(v) OVER (PARTITION BY k ORDER BY p) AS INT) AS v FROM {log}
SELECT DISTINCT k, t, p, e, v FROM {log}
SELECT * FROM {log} ORDER BY p LIMIT 25
SELECT k, t, p, e, v FROM {log} LATERAL VIEW explode(array(1, 2)) x AS n
SELECT * FROM {log} UNION ALL SELECT * FROM {log} WHERE e = 'A'""".replace("\\\n", "").splitlines()
#: As what they are read; `view` is a temporary one.
HOW = ("view", "stored view", "cte", "subquery")
#: What stands behind a query's pattern, about its cases; and in it, about its times.
ABOVE = ("", "", "", "WHERE k IN ('a', 'g', 'h')", "WHERE k > 'a' AND k < 'g'")
BETWEEN = "BETWEEN timestamp_seconds(4) AND timestamp_seconds(17)"
ROWS = ("ONE ROW PER MATCH", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH WITH UNMATCHED ROWS")


@dataclass(frozen=True)
class Log:
    """Batches of events (case, seconds, tiebreak, type, value); ``indexed``: how many of them the index has seen.

    ``format``: of its files. ``zone``: of the session that asks, the index having been made in UTC. ``types``: further
    event types, in cases of three.
    """

    batches: tuple[tuple[tuple[str, int, int, str, int], ...], ...]
    indexed: int
    options: tuple[tuple[str, Any], ...]
    kind: str
    tiebreak: bool
    include: bool
    format: str = "parquet"
    zone: str = "UTC"
    types: int = 0

    @property
    def repeats(self) -> bool:
        """Whether a case says the same again and again."""
        return any(e[0] in ("g", "h") for e in self.batches[0])


#: More than codes of one character have room for below the surrogates.
MANY_TYPES = 8_400


@st.composite
def logs(draw: st.DrawFn) -> Log:
    event = st.tuples(
        st.sampled_from(["a", "b", "c", "d", "f"]), st.integers(0, 30), st.sampled_from("AABBCCDE"), st.integers(0, 5)
    )
    drawn = draw(st.lists(st.lists(event, max_size=20), min_size=1, max_size=3))
    # A case that repeats itself: what looks for a pattern by going back takes long to find that there is none.
    again = draw(st.sampled_from(["", "", "AB", "A", "ABA"])) * draw(st.integers(1, 15))
    drawn[0] += [("g", t, e, t % 6) for t, e in enumerate(again)]
    # Many pairs that all but match.
    drawn[0] += [("h", t, "A", t % 6) for t in range(draw(st.sampled_from([0, 0, 0, 40])))]
    number = itertools.count()
    batches = tuple(tuple((c, t, next(number), e, v) for c, t, e, v in batch) for batch in drawn)
    short: list[dict[str, Any]] = [{"interval_days": 1, "postings": "timestamps"}, {"interval_days": 1}]
    short.append({"interval_days": 2, "lookback": "5 seconds"})
    options = draw(st.sampled_from([{}, {}, {"lookback": "5 seconds"}, *short]))
    kind = draw(st.sampled_from(["siesta", "siesta", "siesta", "signature", "set_containment"]))
    return Log(
        batches, draw(st.integers(1, len(batches))), tuple(options.items()), kind, draw(st.booleans()),
        draw(st.booleans()), draw(st.sampled_from(["parquet", "parquet", "csv", "json"])),
        draw(st.sampled_from(["UTC", "UTC", "Asia/Tokyo", "Europe/Berlin"])),
        draw(st.sampled_from([0] * 7 + [MANY_TYPES])),
    )  # fmt: skip


@st.composite
def queries(draw: st.DrawFn) -> str:
    """A form that reads {source}, as a SELECT of its number {n} and its rows as text."""
    order = draw(st.sampled_from(["t", "t, p", "t, p", "t, p DESC"]))
    if draw(st.integers(0, 2)) == 0:
        pattern, define = draw(st.sampled_from(CLAUSES.splitlines())).rsplit("|", 1)
        rows = draw(st.sampled_from(ROWS))
        within = draw(st.sampled_from(["", "WITHIN INTERVAL 5 SECONDS"]))
        measures = "MATCH_NUMBER() AS m, FIRST(t) AS low, LAST(t) AS high, LAST(e) AS le" + draw(
            st.sampled_from(["", ", sum(v) AS sv"])
        )
        skip = draw(st.sampled_from(["PAST LAST ROW", "TO NEXT ROW"]))
        above = draw(st.sampled_from(ABOVE))
        return (
            "SELECT {n} AS q, to_json(struct(*)) AS r FROM {source} MATCH_RECOGNIZE (PARTITION BY k ORDER BY "
            f"{order} MEASURES {measures} {rows} AFTER MATCH SKIP {skip} PATTERN {pattern} {within} DEFINE "
            f"{define.replace(' IS ', ' AS ')}) {above}"
        )
    pattern = draw(st.sampled_from([p.strip() for p in PATTERNS.replace("\n", ";").split(";")]))
    strategy = draw(st.sampled_from(["SKIP TILL NEXT MATCH"] * 3 + ["SKIP TILL ANY MATCH", "STRICT CONTIGUITY"]))
    ending = draw(
        st.sampled_from(
            ["", "MATCHES ALL", "MATCHES NON OVERLAPPING RETURN k, e AS first", "MATCHES FIRST", "RETURN k, t AS low",
             "GROUP BY k RETURN k, count(*) AS n"]
        )
    )  # fmt: skip
    if "AS first" in ending or "AS low" in ending:
        ending = ending.replace("e AS first", "A.e AS first").replace("t AS low", "A.t AS low")
        pattern = draw(st.sampled_from(["A, B, C", "A, !C, B", "A, (B|C), D", "A, B*, C", "A, B, !C"]))
    within = draw(st.sampled_from(["", "", "WITHIN 5 SECONDS", "WITHIN 4 SECONDS"]))
    if ending in ("", "MATCHES ALL") and strategy != "STRICT CONTIGUITY" and draw(st.booleans()):
        ending = "UNCERTAINTY 2 SECONDS STEP 1 SECOND"
        pattern = draw(st.sampled_from(["A, B, C", "A, !C, B", "A, (B|C), D", "A, B, !C"]))
    groups = where = ""
    above = draw(st.sampled_from(ABOVE))
    between = "" if "UNCERTAINTY" in ending else draw(st.sampled_from(["", "", BETWEEN]))
    if not ending.startswith(("MATCHES NON", "RETURN")) and draw(st.integers(0, 3)) == 0:
        groups = draw(st.sampled_from(["('a','b')", "('a'),('b','c')", "('a','x'),('a','d','f','b')", "('x','y')"]))
        groups, where, above = f"GROUPS [{groups}]", draw(st.sampled_from(["", "", "WHERE [k]"])), ""
        ending = ending.replace("BY k RETURN k", "BY group_id RETURN group_id")
    return (
        f"SELECT {{n}} AS q, to_json(struct(*)) AS r FROM (FROM {{source}} PARTITION BY k ORDER BY {order} "
        f"EVENT TYPE e PATTERN SEQ({pattern}) {where} {within} {between} {groups} EVENT SELECTION {strategy} {ending}) "
        f"{above}"
    )


def write(batch: tuple[tuple[str, int, int, str, int], ...], path: Path, format_: str = "parquet") -> None:
    if format_ != "parquet":
        rows = [(k, f"1970-01-01 00:00:{t:02}", p, e, v) for k, t, p, e, v in batch]
        as_csv = "".join(",".join(map(str, row)) + "\n" for row in rows)
        as_json = "".join(json.dumps(dict(zip("ktpev", row, strict=True))) + "\n" for row in rows)
        path.write_text(as_csv if format_ == "csv" else as_json)
        return
    columns = list(zip(*batch, strict=True)) or [()] * 5
    table = pa.table(
        {
            "k": pa.array(columns[0], pa.string()),
            "t": pa.array([s * 1_000_000 for s in columns[1]], pa.timestamp("us", tz="UTC")),
            "p": pa.array(columns[2], pa.int64()),
            "e": pa.array(columns[3], pa.string()),
            "v": pa.array(columns[4], pa.int32()),
        }
    )
    pq.write_table(table, path)


#: Other names for the columns of an input.
RENAMED = {"k": "case_no", "t": "at", "p": "line", "e": "kind", "v": "worth"}
NO_INDEX = "no index"
_names = (f"pruned_{k}" for k in itertools.count())


def features(log: Log, through: str, how: str, renamed: bool, form: str) -> list[str]:
    """What is special about a query and its input, in words."""
    is_log = through == "{log}" and not renamed
    return [word for word, has in {
        "any": True, "the log itself": is_log, f"a {how}": not is_log, "renamed columns": renamed,
        "a filter": "WHERE" in through,
        "a filter on time": re.search(r"(WHERE|AND) [^()]*\bt\b", through),
        "a filter on case": re.search(r"WHERE [^()]*\bk\b", through),
        "a filter of cases above": re.search(r"\) WHERE (k|case_no)\b", form), "BETWEEN": BETWEEN in form,
        "a join": "JOIN" in through, "8,400 types": log.types, "adversarial repetition": log.repeats,
        "a text format": log.format != "parquet",
        "a text format under another zone": log.format != "parquet" and log.zone != "UTC",
    }.items() if has]  # fmt: skip


def compared(
    spark: SparkSession, folder: Path, log: Log, forms: list[str], other: str, through: str, how: str, renamed: bool
) -> Counter[tuple[str, str]]:
    """Answers with and without an index, by the planner's choice and by one access path. A day of its option
    interval_days is two seconds, so that times of a log are in several intervals.

    Args:
        through: one of INPUTS. how: one of HOW. renamed: whether the input's columns have other names.

    Returns:
        Pairs by feature of their input, and from where they were read; NO_INDEX for those without.

    Raises:
        AssertionError: some differ.
    """
    with patch.object(Definition, "interval", property(lambda d: d.options.interval_days * 2_000_000)):
        return _compared(spark, folder, log, forms, other, through, how, renamed)


def _compared(
    spark: SparkSession, folder: Path, log: Log, forms: list[str], other: str, through: str, how: str, renamed: bool
) -> Counter[tuple[str, str]]:
    name = next(_names)
    source = f"parquet.`{folder}`"
    if log.format != "parquet":
        source = f"{name}_text"
        columns_sql = "k STRING, t TIMESTAMP, p BIGINT, e STRING, v INT"
        spark.sql(f"CREATE TABLE {source} ({columns_sql}) USING {log.format} OPTIONS (path '{folder}')")
    # Seen before the others, so that these have large codes.
    more = tuple((f"m{n // 3}", n % 3, -n, f"#{n}", 0) for n in range(log.types))
    for k, batch in enumerate((log.batches[0] + more, *log.batches[1:])):
        write(batch, folder / f"part{k}.{log.format}", log.format)
        if log.format != "parquet":
            spark.sql(f"REFRESH TABLE {source}")
        columns = {"case": "k", "time": "t", "event": "e"} | ({"tiebreak": "p"} if log.tiebreak else {})
        if k == 0:
            index.create(
                spark, name, source, **columns, include=["v"] if log.include else [], using=log.kind,
                options=dict(log.options),
            )  # fmt: skip
        elif k < log.indexed:
            index.refresh(spark, name)
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS SELECT * FROM {source}")
    query = through.format(log=source if how == "stored view" and through != "{log}" else name)
    if renamed:
        names = ", ".join(f"{own} AS {other_name}" for own, other_name in RENAMED.items())
        query = f"SELECT {names} FROM ({query})" if query != name else f"SELECT {names} FROM {name}"
        forms = [re.sub(rf"\b({'|'.join(RENAMED)})\b(?!')", lambda m: RENAMED[m[0]], form) for form in forms]
    prefix, read = "", name
    if query != name and "view" in how:
        spark.sql(
            f"CREATE OR REPLACE {'TEMPORARY ' if how == 'view' or through == '{log}' else ''}VIEW {name}_in AS {query}"
        )
        read = f"{name}_in"
    elif query != name:
        prefix, read = (f"WITH own_input AS ({query}) ", "own_input") if how == "cte" else ("", f"({query})")
    texts = [form.replace("{n}", str(n)).replace("{source}", read) for n, form in enumerate(forms)]
    statement = prefix + " UNION ALL ".join(texts)

    def rows(enabled: str, access_path: str = "auto") -> list[tuple[Any, ...]]:
        spark.conf.set(INDEX.key, enabled)
        spark.conf.set(INDEX_ACCESS_PATH.key, access_path)
        return sorted(tuple(r) for r in spark.sql(statement).collect())

    found: Counter[tuple[str, str]] = Counter()
    spark.conf.set("spark.sql.session.timeZone", log.zone)
    try:
        expected = rows("false")
        for access_path in ("auto", other):
            assert rows("true", access_path) == expected, (access_path, sparkcep.explain(spark, statement))
            told = sparkcep.explain(spark, statement)
            plans = told.split("Pattern relation ")[1:]
            assert len(plans) == len(forms), told
            for form, plan in zip(forms, plans, strict=True):
                where = next((path for path in ACCESS_PATHS if f"events from {path}\n" in plan), NO_INDEX)
                found.update((feature, where) for feature in features(log, through, how, renamed, form))
    finally:
        spark.conf.unset(INDEX.key)
        spark.conf.unset(INDEX_ACCESS_PATH.key)
        spark.conf.set("spark.sql.session.timeZone", "UTC")
        index.drop(spark, name)
        index.vacuum(spark, name, 0)
        spark.sql(f"DROP VIEW IF EXISTS {name}_in")
        spark.sql(f"DROP TABLE IF EXISTS {name}_text")
    return found


EXAMPLES = 100 if settings.get_current_profile_name() == "long" else 4
#: What :func:`compared` takes.
PAIRS = {
    "log": logs(), "forms": st.lists(queries(), min_size=5, max_size=8), "other": st.sampled_from(ACCESS_PATHS),
    "through": st.sampled_from(INPUTS), "how": st.sampled_from(HOW), "renamed": st.booleans(),
}  # fmt: skip


@pytest.mark.full
@settings(max_examples=EXAMPLES, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
@given(**PAIRS)
def test_answers_are_the_same(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, log: Log, forms: list[str], other: str, through: str,
    how: str, renamed: bool,
) -> None:  # fmt: skip
    compared(spark, tmp_path_factory.mktemp("log"), log, forms, other, through, how, renamed)


@pytest.mark.parametrize("kind", ["siesta", "signature", "set_containment"])
def test_groups_are_looked_up_by_the_types_of_their_cases(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, kind: str
) -> None:
    folder, name = tmp_path_factory.mktemp("log"), next(_names)
    events = [(1, "A"), (2, "B"), (3, "A"), (4, "C"), (5, "B"), (6, "A"), (7, "A"), (7, "B")]
    events += [(k, "C") for k in range(20, 40)]
    keys, times = pa.array([k for k, _ in events], pa.int32()), pa.array(range(len(events)))
    table = pa.table({"k": keys, "t": times, "e": [e for _, e in events]})
    pq.write_table(table, folder / "part0.parquet")
    index.create(spark, name, f"parquet.`{folder}`", case="k", time="t", event="e", using=kind)
    block = (
        f"FROM parquet.`{folder}` PARTITION BY k ORDER BY t EVENT TYPE e PATTERN SEQ(A a, B b) MATCHES FIRST "
        "GROUPS [(1-2),(3-4),(5,6),(7),(99)] RETURN group_id, a.k AS one, b.k AS other"
    )
    try:
        assert sorted(map(tuple, spark.sql(block).collect())) == [(1, 1, 2), (4, 7, 7)]
        told = sparkcep.explain(spark, block)
        if kind == "signature":
            assert "cases that hold A B (in 5 of 5 groups): 7 of 27" in told
        else:
            # (5, 6) has both types, the other way round: order is not asked for.
            assert "order not used, the cases of a group are merged" in told
            assert "cases that hold A B (in 3 of 5 groups): 5 of 27" in told
        # In a group whose cases stay apart, each case needs all of it.
        apart = block.replace("MATCHES", "WHERE [k] MATCHES")
        assert sorted(map(tuple, spark.sql(apart).collect())) == [(4, 7, 7)]
        assert "groups): " not in sparkcep.explain(spark, apart)
        pq.write_table(table.slice(0, 1), folder / "part1.parquet")
        assert "files that are not indexed may have events of a group's cases" in sparkcep.explain(spark, block)
    finally:
        index.drop(spark, name)
        index.vacuum(spark, name, 0)
