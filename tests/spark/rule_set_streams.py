"""Rule sets through the streaming operator in this process: Spark plans, prepares rows and writes what comes out.

Rows come in any split and any order within the watermark's delay; the operator is made anew from its bytes, and rules
may come and go on the way.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.engines.by_spec import ENGINES
from sparkcep.exec.streaming.blobs import BUCKET, TIME, WANTED
from sparkcep.exec.streaming.body import bucket_operator
from sparkcep.exec.streaming.step import kept_columns
from sparkcep.planner.engines.shared.plan import SharedPlan
from sparkcep.query import SOURCE
from sparkcep.session.rules.run import RuleSet, SharedPass

#: Of a match: all but its number, which of blocks is another one over a stream; maps know no order.
ITEMS = "rule, u, start_time, end_time, to_json(events) AS events, to_json(measures) AS measures, match_id"
CALL = "(TABLE({}) PARTITION BY u ORDER BY t, rules => TABLE(rules_table), event_type => type, id => x)"
#: Later than all watermarks, in microseconds.
END = 10**16


@dataclass
class Phase:
    """A run of a query between two restarts. ``log``: prepared rows of the whole log, by their numbers."""

    plan: SharedPlan
    log: pa.Table


@contextmanager
def planned() -> Iterator[list[SharedPlan]]:
    """The plans of rule sets that are made meanwhile."""
    found: list[SharedPlan] = []
    before = RuleSet.shared_sql

    def noted(self: RuleSet, shared: SharedPass) -> str:
        found.append(shared.plan)
        return before(self, shared)

    RuleSet.shared_sql = noted  # type: ignore[method-assign]
    try:
        yield found
    finally:
        RuleSet.shared_sql = before  # type: ignore[method-assign]


def with_views(spark: SparkSession, rows: Sequence[tuple[object, ...]], columns: str, folder: Path) -> DataFrame:
    """The views rules_log and rules_stream of a log, whose ``t`` become seconds. Nothing is read of the stream."""
    frame = spark.createDataFrame(list(rows), columns.replace("decimal(6, 2)", "string"))
    items = {"t": "timestamp_seconds(t) AS t", "d": "CAST(d AS DECIMAL(6, 2)) AS d"}
    log = frame.selectExpr(*(items.get(c, c) for c in frame.columns))
    log.createOrReplaceTempView("rules_log")
    folder.mkdir(exist_ok=True)
    stream = spark.readStream.schema(log.schema).parquet(str(folder))
    stream.withWatermark("t", "1 second").createOrReplaceTempView("rules_stream")
    return log


def create_rules(spark: SparkSession, rules: Mapping[str, str]) -> None:
    """The view rules_table."""
    spark.createDataFrame(list(rules.items()), "name string, rule string").createOrReplaceTempView("rules_table")


def phase(spark: SparkSession, rules: Mapping[str, str], log: DataFrame) -> Phase | None:
    """How a set runs over the stream; None where no rule shares its operator."""
    create_rules(spark, rules)
    with planned() as plans, suppress(PatternAnalysisError):  # none of the rules can run
        spark.sql(f"SELECT {ITEMS} FROM pattern_rules{CALL.format('rules_stream')}")
    if not plans:
        return None
    (plan,) = plans
    assert plan.stream is not None
    prepared = spark.sql(plan.before(), **{SOURCE: log})
    rows = prepared.toArrow()
    wanted = rows.column(WANTED).to_pylist()
    assert all(wanted)
    engine = ENGINES[type(plan.spec)]
    names = kept_columns(plan.input.shape, engine.columns(plan.spec, plan.input.shape), plan.stream.plan)
    columns = to_arrow_schema(prepared.select(*names).schema, timezone="UTC")
    stream = replace(plan.stream, plan=replace(plan.stream.plan, columns=columns))
    return Phase(replace(plan, stream=stream), rows.select(names).drop_columns([c for c in (BUCKET,) if c in names]))


def in_operator(
    spark: SparkSession, phases: Sequence[Phase], batches: Sequence[Sequence[int]], begins: Sequence[int],
    delay: int, random: Random, stride: int = 0,
) -> list[Counter[tuple[Any, ...]]]:  # fmt: skip
    """What comes out in each phase, numbers with it.

    Args:
        batches: numbers of rows of each micro-batch. begins: the micro-batch at which each phase begins, the first at
            0. delay: of the watermark, in seconds. stride: by how many microseconds, at least, the watermark goes on
            behind the last row.
    """
    state: bytes | None = None
    watermark, seen, wake = -(10**9), -(10**9), None
    found: list[list[pa.RecordBatch]] = [[] for _ in phases]
    at = 0
    operator = _operator(phases[0])
    times = [int(t.timestamp() * 1e6) for t in phases[0].log.column(TIME).to_pylist()]

    def step(new: list[pa.Table], mark: int) -> None:
        nonlocal state, wake
        done = operator.step(state, new, mark)
        assert done.late == done.untimed == done.changed == 0
        assert done.wake is None or done.wake > mark
        state, wake = done.state, done.wake
        if done.rows is not None:
            found[at].append(done.rows)

    for number, rows in enumerate(batches):
        if at + 1 < len(phases) and number == begins[at + 1]:
            at += 1
            operator = _operator(phases[at])
        elif random.random() < 0.3:
            operator = _operator(phases[at])
        if rows or (wake is not None and wake <= watermark):
            step([phases[at].log.take(pa.array(rows, pa.int64()))] if rows else [], watermark)
        seen = max([seen, *(times[n] for n in rows)])
        watermark = max(watermark, seen - delay * 1_000_000 - 1)
    while wake is not None and wake <= END:
        watermark = max(wake, watermark + stride)
        step([], watermark)
    return [_rows(spark, p.plan, own) for p, own in zip(phases, found, strict=True)]


def _operator(of: Phase) -> Any:
    plan = of.plan
    assert plan.stream is not None
    return bucket_operator(ENGINES[type(plan.spec)], plan.input.shape, plan.spec, plan.stream.plan)


def _rows(spark: SparkSession, plan: SharedPlan, found: list[pa.RecordBatch]) -> Counter[tuple[Any, ...]]:
    if not found:
        return Counter()
    frame = spark.createDataFrame(pa.Table.from_batches(found))
    made = spark.sql(plan.output.sql(), **{SOURCE: frame})
    made.createOrReplaceTempView("rules_found")
    return Counter(tuple(r) for r in spark.sql(f"SELECT match_number, {ITEMS} FROM rules_found").collect())


def micro_batches(random: Random, times: Sequence[int], delay: int) -> list[list[int]]:
    """Row numbers of each micro-batch; none comes more than the delay (in seconds) behind a later one."""
    lags = [random.randint(0, delay) for _ in times]
    order = sorted(range(len(times)), key=lambda n: (times[n] + lags[n], n))
    out: list[list[int]] = []
    while order:
        size = random.choice((0, 1, 2, 5, 20, 60))
        out.append(order[:size])
        order = order[size:]
    return out


def with_within(random: Random, rule: str) -> str:
    """A rule of random_rule with WITHIN of some seconds."""
    if "WITHIN" in rule:
        return re.sub(r"WITHIN (\d+)", r"WITHIN INTERVAL \1 SECOND", rule)
    within = f"WITHIN INTERVAL {random.randint(0, 6)} SECOND"
    if rule.startswith("MATCH_RECOGNIZE"):
        return rule.replace(" DEFINE", f" {within} DEFINE")
    places = [rule.find(f" {word} ") for word in ("EVENT SELECTION", "MATCHES", "STRICT TIME", "RETURN")]
    at = min([p for p in places if p >= 0], default=len(rule))
    return f"{rule[:at]} {within}{rule[at:]}"


def numbered(rows: Mapping[tuple[Any, ...], int]) -> bool:
    """Whether the matches of each rule in each partition have the numbers from 1 on."""
    numbers: dict[tuple[Any, Any], list[int]] = {}
    for (number, rule, u, *_), count in rows.items():
        numbers.setdefault((rule, u), []).extend([number] * count)
    return all(sorted(own) == list(range(1, len(own) + 1)) for own in numbers.values())


def without_numbers(rows: Mapping[tuple[Any, ...], int]) -> Counter[tuple[Any, ...]]:
    """Rows without their first column."""
    out: Counter[tuple[Any, ...]] = Counter()
    for (_, *row), count in rows.items():
        out[tuple(row)] += count
    return out
