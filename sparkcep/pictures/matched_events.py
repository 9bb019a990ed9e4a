"""Events of matches, and the other events of their cases, for the pictures that draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from sparkcep.data.roles import TEMPORAL
from sparkcep.errors import SparkCepError
from sparkcep.query import SOURCE, in_backticks
from sparkcep.session.statement import StatementExecution

#: Other events of the cases that are drawn, at most.
MAX_EVENTS = 5000


def needs(picture: str, what: str, hint: str) -> SparkCepError:
    """CEP_PICTURE: the result lacks a column."""
    return SparkCepError("CEP_PICTURE", f"The {picture} needs {what} in the result.", hint=hint)


def events_of_matches(
    frame: DataFrame, cases: Sequence[str] | None, picture: str, hint: str
) -> tuple[DataFrame, list[str], str]:
    """Rows of events from a pattern block's default output, the names of its case columns, and the type of its time.

    Args:
        cases: columns of the case; by default those before match_number. picture, hint: for the error.

    Returns:
        Columns key0 ... and case0 ... (the case as it is, and as text), match, n (place in the match), variable, time
        (text without a zone, or a number), position (place in the case).

    Raises:
        SparkCepError: CEP_PICTURE, the result has no match_number or no events.
    """
    types = {f.name: f.dataType for f in frame.schema.fields}
    described = types["events"].simpleString() if "events" in types else ""
    if "match_number" not in types or not described.startswith("array<struct<variable:"):
        raise needs(picture, "match_number and events", hint)
    keys = list(cases) if cases is not None else frame.columns[: frame.columns.index("match_number")]
    exploded = frame.select(
        *case_columns(keys), F.col("match_number").alias("match"), F.posexplode("events").alias("n", "e")
    )
    type_ = described.split("time:")[1].rstrip(">").split(",")[0]
    names = [f"{name}{i}" for name in ("key", "case") for i in range(len(keys))]
    rows = exploded.select(
        *names, "match", "n", F.col("e.variable").alias("variable"), time_column(F.col("e.time"), type_),
        F.col("e.position").alias("position"),
    )  # fmt: skip
    return rows, keys, type_


def case_columns(keys: Sequence[str]) -> list[Column]:
    """The columns of a case: as they are, to sort by, and as texts."""
    quoted = [in_backticks(k) for k in keys]
    own = [F.col(k).alias(f"key{i}") for i, k in enumerate(quoted)]
    return [*own, *(F.col(k).cast("string").alias(f"case{i}") for i, k in enumerate(quoted))]


def time_column(value: Column, type_: str) -> Column:
    """Without a zone, so that a browser shows the digits that Spark shows; numbers stay numbers."""
    if type_ in TEMPORAL:
        return F.date_format(value, "yyyy-MM-dd'T'HH:mm:ss.SSS").alias("time")
    return value.cast("double").alias("time")


def first_matches(rows: DataFrame, keys: Sequence[str], by: Sequence[str], many: int) -> DataFrame:
    """The events of the first matches, or of the first cases, by case and number.

    Args:
        by: columns besides the case that tell them apart. many: at most so many.
    """
    names = [*(f"key{i}" for i in range(len(keys))), *by]
    if not names:  # the log is the one case
        return rows.orderBy("match", "time")
    some = rows.select(*names).where("match IS NOT NULL" if "match" in by else "true")
    some = some.distinct().orderBy(*names).limit(many).toDF(*(f"_{n}" for n in names))
    same = [rows[n].eqNullSafe(some[f"_{n}"]) for n in names]
    return rows.join(some, same, "left_semi").orderBy(*names, "match", "time")


def other_events(
    run: StatementExecution | None, keys: Sequence[str], cases: Mapping[tuple[str | None, ...], range | None]
) -> list[dict[str, Any]]:
    """All events of the cases that are drawn, where the statement has one pattern whose cases are its result's.

    Args:
        cases: for each the places of the events in their case that are drawn, which the events then tell as
            ``position``; None for all of them.
    """
    if run is None or len(run.relations) != 1 or not cases:
        return []
    (relation,) = run.relations
    plan = relation.plan
    if [name for _, name in plan.input.keys] != list(keys) or not plan.query.order_by:
        return []
    order = plan.query.order_by[0].expression
    type_ = run.analyzer.analyze(plan.query, relation.given, [order])[0][1]
    event = plan.query.event_type or "NULL"
    items = [f"CAST({text} AS STRING) AS case{i}" for i, (text, _) in enumerate(plan.input.keys)]
    items += [f"({order}) AS at", f"CAST({event} AS STRING) AS event"]
    placed = any(places is not None for places in cases.values())
    if placed:
        # As patterns count positions; ties that are left are in the order of their types.
        by = ", ".join([*(k.text for k in plan.query.order_by), event])
        case = ", ".join(text for text, _ in plan.input.keys) or "1"
        items.append(f"row_number() OVER (PARTITION BY {case} ORDER BY {by}) - 1 AS position")
    text = ", ".join(items)
    frame = run.analyzer.run(f"{plan.query.with_prefix}SELECT {text} FROM {{{SOURCE}}}", relation.given)
    tests = []
    for values, places in cases.items():
        parts = [F.col(f"case{i}").eqNullSafe(F.lit(v)) for i, v in enumerate(values)]
        parts += [] if places is None else [F.col("position").between(places.start, places.stop - 1)]
        tests.append(reduce(Column.__and__, parts, F.lit(True)))
    columns = [*(f"case{i}" for i in range(len(keys))), *["position"] * placed]
    frame = frame.where(reduce(Column.__or__, tests)).select(*columns, "event", time_column(F.col("at"), type_))
    frame = frame.where("time IS NOT NULL").limit(MAX_EVENTS)
    return [r.asDict() for r in frame.collect()]


def labels(run: StatementExecution | None) -> Mapping[str, str]:
    """Variables with the event types they take, for a legend."""
    components = [c for r in run.relations for c in r.plan.bound.components] if run is not None else []
    types: dict[str, dict[str, None]] = {}
    for component in components:
        types.setdefault(component.variable, {}).update(dict.fromkeys(component.types))
    return {v: v if not found or v in found else f"{' | '.join(found)} ({v})" for v, found in types.items()}
