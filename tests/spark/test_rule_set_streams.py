"""Rule sets over streams: the rows of the set over the same log at rest, whatever comes when, and whatever rules come
and go on the way."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from sparkcep.errors import PatternAnalysisError, PatternWarning, SparkCepError

from ..conftest import IS_CONNECT, configured, drawn
from .rule_set_streams import (
    CALL,
    ITEMS,
    Phase,
    create_rules,
    in_operator,
    micro_batches,
    numbered,
    phase,
    with_views,
    with_within,
    without_numbers,
)
from .rule_texts import COLUMNS, random_log, random_rule

ONE_BUCKET = {"spark.sparkcep.streaming.buckets": "1"}
classic = pytest.mark.skipif(IS_CONNECT, reason="looks at plans")


def batch(spark: SparkSession) -> Counter[tuple[Any, ...]]:
    """Rows of the set over the log at rest."""
    found = spark.sql(f"SELECT {ITEMS} FROM pattern_rules{CALL.format('rules_log')}").collect()
    return Counter(tuple(row) for row in found)


def shared(rows: Counter[tuple[Any, ...]], names: set[str]) -> Counter[tuple[Any, ...]]:
    return Counter({row: count for row, count in rows.items() if row[0] in names})


def names_of(of: Phase) -> set[str]:
    return {rule.name for rule in of.plan.spec.rules}


def random_rules(random: Random, many: int, prefix: str = "r") -> dict[str, str]:
    rules = {f"{prefix}{n}": with_within(random, random_rule(random)) for n in range(many)}
    seldom = [name for name in rules if random.random() < 0.3]
    return rules | {name: f"-- suppress: {random.randint(0, 8)} seconds\n{rules[name]}" for name in seldom}


def unplaced(rows: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """Rows whose events have no positions."""
    out: Counter[tuple[Any, ...]] = Counter()
    for row, count in rows.items():
        out[tuple(re.sub(r'"position":\d+,', "", str(v)) for v in row)] += count
    return out


def check_stream(spark: SparkSession, seed: int, rules_of_set: int, folder: Path) -> int:
    """A random set over a random log, at rest and as a stream, in which a part of the rules comes and goes; gives how
    many rows were compared."""
    random = Random(seed)
    rows = random_log(random, 40)
    log = with_views(spark, rows, COLUMNS, folder)
    stay, gone, new = (random_rules(random, 1 + rules_of_set // d, p) for d, p in ((2, "s"), (4, "g"), (4, "n")))
    delay = random.randint(0, 4)
    batches = micro_batches(random, [int(str(row[1])) for row in rows], delay)
    begins = [0, random.randint(1, max(1, len(batches) - 1))]
    with configured(spark, ONE_BUCKET), warnings.catch_warnings():
        warnings.simplefilter("ignore", PatternWarning)
        # Another order gives all numbers to others.
        phases = [phase(spark, stay | gone, log), phase(spark, dict(sorted((new | stay).items())), log)]
        if phases[0] is None or phases[1] is None:
            return 0
        first, second = in_operator(spark, [p for p in phases if p is not None], batches, begins, delay, random)
        names = names_of(phases[0]) & names_of(phases[1]) & stay.keys()
        spark.createDataFrame(list((stay | gone).items()), "name string, rule string").createOrReplaceTempView(
            "rules_table"
        )
        expected = batch(spark)
        found = shared(without_numbers(first + second), names)
        assert found == shared(expected, names), (seed, found - expected, shared(expected, names) - found)
        old = names_of(phases[0]) & gone.keys()
        assert not shared(without_numbers(first), old) - expected, seed
        own = names_of(phases[1]) & new.keys()
        begun = behind(spark, rows, batches[: begins[1]], new)
        fresh = shared(without_numbers(second), own)
        assert unplaced(fresh) == unplaced(shared(begun, own)), (seed, fresh, shared(begun, own))
        every = {name for name, text in (stay | new).items() if not text.startswith("-- suppress")}
        kept = {r: n for r, n in (first + second).items() if r[1] in (names | own) & every}
        assert numbered(kept), seed
    return sum(found.values()) + sum(fresh.values())


def behind(
    spark: SparkSession, rows: list[tuple[object, ...]], before: list[list[int]], rules: dict[str, str]
) -> Counter[tuple[Any, ...]]:
    """Rows of a set at rest over what is later in each partition than all that had come."""
    last: dict[object, int] = {}
    for number in (n for batch in before for n in batch):
        u, t = rows[number][:2]
        last[u] = max(last.get(u, -1), int(str(t)))
    later = [row for row in rows if int(str(row[1])) > last.get(row[0], -1)]
    if not later:
        return Counter()
    frame = spark.createDataFrame(later, COLUMNS.replace("decimal(6, 2)", "string"))
    items = {"t": "timestamp_seconds(t) AS t", "d": "CAST(d AS DECIMAL(6, 2)) AS d"}
    frame.selectExpr(*(items.get(c, c) for c in frame.columns)).createOrReplaceTempView("rules_log")
    spark.createDataFrame(list(rules.items()), "name string, rule string").createOrReplaceTempView("rules_table")
    return batch(spark)


@classic
@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.full) for n in range(2, 8))])
def test_days_are_as_long_as_clocks_make_them(spark: SparkSession, seed: int, tmp_path: Path) -> None:
    """Over the night in which Berlin's day has 23 hours."""
    random = Random(seed)
    begins, minutes = 1_774_656_000, 40  # 28 March 2026, 00:00 UTC
    rows = [(u, begins + int(str(t)) * 60 * minutes, *rest) for u, t, *rest in random_log(random, 60)]
    log = with_views(spark, rows, COLUMNS, tmp_path / "in")
    lengths = ("1 DAY", "23 HOUR", "25 HOUR", "2 DAY", "1 HOUR")
    rules = {
        name: re.sub(r"INTERVAL \d+ SECOND", lambda _: f"INTERVAL {random.choice(lengths)}", text)
        for name, text in random_rules(random, 12).items()
    }
    delay = random.randint(0, 4) * 60 * minutes
    batches = micro_batches(random, [int(str(row[1])) for row in rows], delay)
    zone = {"spark.sql.session.timeZone": "Europe/Berlin", **ONE_BUCKET}
    with configured(spark, zone), warnings.catch_warnings():
        warnings.simplefilter("ignore", PatternWarning)
        whole = phase(spark, rules, log)
        assert whole is not None
        (found,) = in_operator(spark, [whole], batches, [0], delay, random, stride=1_700_000_000)
        create_rules(spark, rules)
        expected = shared(batch(spark), names_of(whole))
        got = without_numbers(found)
        assert got == expected, (seed, got - expected, expected - got)
    assert sum(expected.values()) > 0


@classic
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.full)])
def test_equal_to_the_log_at_rest(spark: SparkSession, seed: int, tmp_path: Path) -> None:
    assert check_stream(spark, seed, 8, tmp_path / "in") > 0


@classic
@pytest.mark.long
@pytest.mark.parametrize("seed", drawn(range(1000, 1400)))
def test_equal_to_the_log_at_rest_at_length(spark: SparkSession, seed: int, tmp_path: Path) -> None:
    check_stream(spark, seed, seed % 16 + 1, tmp_path / "in")


RULES = {
    "rise": "PATTERN SEQ(A a, B b) WHERE b.x > a.x WITHIN 6 seconds",
    "missing": "PATTERN SEQ(A a, !B b) WITHIN 4 seconds",
    "groups": "PATTERN SEQ(A a, B+ b[], C c) WITHIN 5 seconds MATCHES NON OVERLAPPING RETURN count(b[].x) AS n",
    "run": "MATCH_RECOGNIZE (MEASURES A.x AS x, count(*) AS n PATTERN (A B+) WITHIN INTERVAL 5 SECONDS "
    "DEFINE A AS type = 'A', B AS B.x >= PREV(B.x))",
}
#: By the file of the stream behind which the query is started anew: what rules run then.
LIFE = {0: ("rise", "missing", "groups"), 2: ("run", "missing", "rise"), 4: ("missing", "rise", "groups")}


@pytest.mark.full
def test_rules_come_and_go_at_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    random = Random(7)
    later = ((u, int(str(t)) + 3 * int(str(u)), *rest) for u, t, *rest in random_log(random, 60))
    rows: list[tuple[object, ...]] = sorted(later, key=lambda row: row[1])
    rows += [(99, 1000 + n, "D", 0, 0.0, "0.00", "p") for n in range(2)]  # move the watermark behind all others
    with_views(spark, rows, COLUMNS, tmp_path / "in")
    log = spark.table("rules_log").toArrow()
    size = len(rows) // 5
    with configured(spark, {"spark.sparkcep.streaming.buckets": "2"}):
        for part in range(6):
            own = log.slice(part * size, size if part < 5 else None)
            pq.write_table(own, tmp_path / "in" / f"{part}.parquet")
            names = LIFE[max(p for p in LIFE if p <= part)]
            spark.createDataFrame([(n, RULES[n]) for n in names], "name string, rule string").createOrReplaceTempView(
                "rules_table"
            )
            text = f"SELECT {ITEMS} FROM pattern_rules{CALL.format('rules_stream')}"
            writer = spark.sql(text).writeStream.format("parquet").trigger(availableNow=True)
            query = writer.option("checkpointLocation", str(tmp_path / "cp")).start(str(tmp_path / "out"))
            assert query.awaitTermination(240)
        found = Counter(tuple(r) for r in spark.read.parquet(str(tmp_path / "out")).collect())
        spark.createDataFrame(list(RULES.items()), "name string, rule string").createOrReplaceTempView("rules_table")
        expected = batch(spark)
    # What stays is whole; of what comes late, or back, nothing is there that the log at rest does not have.
    for name in ("rise", "missing"):
        assert shared(found, {name}) == shared(expected, {name})
        assert shared(found, {name})
    assert set(unplaced(shared(found, {"groups", "run"}))) <= set(unplaced(expected))
    assert shared(found, {"groups"})
    assert shared(found, {"run"})


def refused(spark: SparkSession, text: str) -> PatternAnalysisError:
    with pytest.raises(PatternAnalysisError) as caught:
        spark.sql(text)
    return caught.value


def test_what_is_refused_and_what_explain_says(spark: SparkSession, tmp_path: Path) -> None:
    with_views(spark, [(1, 1, "A", 1, 1.0, "1.00", "p")], COLUMNS, tmp_path / "in")
    rules = {"kept": RULES["rise"], "endless": "PATTERN SEQ(A a, B b)", "end": "PATTERN SEQ(A a, B b) WITHIN 1 month",
             "sliced": "PATTERN SEQ(A a, B b) WHERE [s] WITHIN 5 seconds"}  # fmt: skip
    spark.createDataFrame(list(rules.items()), "name string, rule string").createOrReplaceTempView("rules_table")
    call = f"pattern_rules{CALL.format('rules_stream')}"
    (plan,) = spark.sql(f"EXPLAIN SELECT * FROM {call}").collect()[0]
    assert "Rule set: 1 rule reads one stream, in one operator with one state" in plan
    assert "emitted: 1 rule: a match is emitted when the watermark reaches its last event" in plan
    assert "kept: rows once for all rules" in plan
    assert "Rule endless is refused: [CEP_STREAMING_WITHIN]" in plan
    report = spark.sql(f"SELECT * FROM pattern_rule_errors{CALL.format('rules_stream')} ORDER BY rule").collect()
    classes = [row.error_class.removeprefix("CEP_STREAMING_") for row in report]
    assert classes == ["UNSUPPORTED", "WITHIN", "UNSUPPORTED"]
    assert "WITHIN is of months or an expression" in report[0].message
    assert "it is partitioned by a key of its own" in report[2].message
    assert report[2].hint.startswith("let a stream of its own run it")
    error = refused(spark, f"SELECT * FROM {call.replace('ORDER BY t', 'ORDER BY x')}")
    assert error.error_class == "CEP_STREAMING_WATERMARK"
    assert "order by t, ascending" in str(error)
    assert "^" in str(error)
    with configured(spark, {"spark.sparkcep.planner.sharedInput.enabled": "false"}):
        assert "RESET" in str(refused(spark, f"SELECT * FROM {call}"))
    with configured(spark, {"spark.sparkcep.streaming.operator": "transform"}):
        assert refused(spark, f"SELECT * FROM {call}").error_class == "CEP_STREAMING_UNSUPPORTED"


@classic
@pytest.mark.parametrize("strategy", ["SKIP TILL NEXT MATCH", "SKIP TILL ANY MATCH"])
def test_conditions_look_back_behind_within(spark: SparkSession, strategy: str, tmp_path: Path) -> None:
    events = [(1, 0, "A", 1), (1, 100, "A", 5), (1, 101, "B", 5), (1, 200, "D", 5), (2, 500, "A", 1)]
    log = with_views(spark, [(*event, 1.0, "1.00", "p") for event in events], COLUMNS, tmp_path / "in")
    rule = f"""MATCH_RECOGNIZE (EVENT TYPE type MEASURES A.x AS x EVENT SELECTION {strategy} PATTERN (A B)
        WITHIN INTERVAL 5 SECONDS DEFINE A AS A.x > PREV(A.x))"""
    with configured(spark, ONE_BUCKET):
        found = phase(spark, {"prev": rule}, log)
        assert found is not None
        (rows,) = in_operator(spark, [found], [[n] for n in range(5)], [0], 0, Random(0))
        assert without_numbers(rows) == batch(spark) != Counter()


@classic
def test_another_log_is_another_state(spark: SparkSession, tmp_path: Path) -> None:
    log = with_views(spark, [(1, 1, "A", 1, 1.0, "1.00", "p")], COLUMNS, tmp_path / "in")
    with configured(spark, ONE_BUCKET):
        first = phase(spark, {"a": RULES["rise"]}, log)
        with configured(spark, {"spark.sql.session.timeZone": "Europe/Berlin"}):
            second = phase(spark, {"a": RULES["rise"]}, log)
    assert first is not None
    assert second is not None
    with pytest.raises(SparkCepError) as caught:
        in_operator(spark, [first, second], [[0], []], [0, 1], 0, Random(0))
    assert caught.value.error_class == "CEP_STREAMING_STATE_CHANGED"
    assert "the session's time zone is Europe/Berlin and was " in str(caught.value)


@classic
def test_a_log_with_more_columns_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    events = [(1, 1, "A", 1, 1.0, "1.00", "p"), (1, 2, "B", 5, 1.0, "1.00", "p"), (1, 3, "B", 6, 1.0, "1.00", "p")]
    rule = {
        "ab": "PATTERN SEQ(A a, B b) EVENT SELECTION SKIP TILL ANY MATCH WITHIN 10 seconds RETURN a.x AS a, b.x AS b"
    }
    with configured(spark, ONE_BUCKET):
        first = phase(spark, rule, with_views(spark, events, COLUMNS, tmp_path / "in"))
        more = [(*event, "new") for event in events]
        log = with_views(spark, more, f"{COLUMNS}, w string", tmp_path / "in")
        second = phase(spark, rule, log)
        assert first is not None
        assert second is not None
        rows = in_operator(spark, [first, second], [[0, 1], [2]], [0, 1], 0, Random(0))
        assert without_numbers(rows[0] + rows[1]) == batch(spark) != Counter()
