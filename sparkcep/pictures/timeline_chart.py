"""Matches over time, a row each: the events they took, and the other events of their case (pm4py's dotted chart)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkcep.errors import SparkCepError
from sparkcep.pictures.picture import Picture
from sparkcep.pictures.timeline_marks import case_of, chart
from sparkcep.query import SOURCE, in_backticks
from sparkcep.session.originals import plain_sql
from sparkcep.session.statement import StatementExecution, run_statement

#: Other events of the cases that are drawn, at most.
MAX_EVENTS = 5000
_HINT = (
    "leave out RETURN, or name the columns: case=, match=, time=, variable= of MATCH_RECOGNIZE with ALL ROWS PER MATCH"
)
_TIMES = ("timestamp", "timestamp_ntz", "date")


def timeline_picture(
    spark: SparkSession,
    query: str,
    args: Any,
    kwargs: dict[str, Any],
    matches: int,
    cases: Sequence[str] | None,
    names: Mapping[str, str | None],
    since_start: bool | None,
) -> Picture:
    """See :func:`sparkcep.pictures.timeline`."""
    if matches < 1:
        raise SparkCepError("CEP_PICTURE", f"matches is {matches}; at least one is drawn.")
    frame, run = run_statement(spark, plain_sql(spark), query, args, kwargs)
    given = {k: v for k, v in names.items() if v is not None}
    if given:
        rows, keys, type_ = _named_rows(frame, cases or [], given)
    else:
        rows, keys, type_ = _events(frame, cases)
    taken = [r.asDict() for r in _first(rows, keys, matches + 1).collect()]
    # The events of a match are together, and those of one more than is drawn come last.
    found = list(dict.fromkeys((case_of(e, keys), e["match"]) for e in taken))
    more = len(found) > matches
    if more:
        taken = [e for e in taken if (case_of(e, keys), e["match"]) != found[-1]]
    others = [] if given else _others(run, keys, {case_of(e, keys) for e in taken})
    return Picture(chart(taken, others, keys, type_ in _TIMES, _labels(run), since_start, more))


def _refused(what: str) -> SparkCepError:
    return SparkCepError("CEP_PICTURE", f"The timeline needs {what} in the result.", hint=_HINT)


def _events(frame: DataFrame, cases: Sequence[str] | None) -> tuple[DataFrame, list[str], str]:
    """Rows of events from a block's default output, the names of its cases, and the type of its time."""
    types = {f.name: f.dataType for f in frame.schema.fields}
    described = types["events"].simpleString() if "events" in types else ""
    if "match_number" not in types or not described.startswith("array<struct<variable:"):
        raise _refused("match_number and events")
    keys = list(cases) if cases is not None else frame.columns[: frame.columns.index("match_number")]
    exploded = frame.select(*_cases(keys), F.col("match_number").alias("match"), F.explode("events").alias("e"))
    type_ = described.split("time:")[1].rstrip(">")
    rows = exploded.select(
        *_numbered(keys), "match", F.col("e.variable").alias("variable"), _time(F.col("e.time"), type_)
    )
    return rows, keys, type_


def _named_rows(frame: DataFrame, cases: Sequence[str], names: Mapping[str, str]) -> tuple[DataFrame, list[str], str]:
    """Rows of events from columns that the user names."""
    types = {f.name: f.dataType.simpleString() for f in frame.schema.fields}
    for need in ("match", "time", "variable"):
        if names.get(need) not in types:
            raise _refused(f"a column for {need}=")
    for key in cases:
        if key not in types:
            raise _refused(f"the column {key}")
    type_ = types[names["time"]]
    rows = frame.select(
        *_cases(cases), F.col(f"`{names['match']}`").alias("match"), F.col(f"`{names['variable']}`").alias("variable"),
        _time(F.col(f"`{names['time']}`"), type_),
    )  # fmt: skip
    return rows, list(cases), type_


def _cases(keys: Sequence[str]) -> list[Column]:
    """The columns of a case: as they are, to sort by, and as texts."""
    quoted = [in_backticks(k) for k in keys]
    own = [F.col(k).alias(f"key{i}") for i, k in enumerate(quoted)]
    return [*own, *(F.col(k).cast("string").alias(f"case{i}") for i, k in enumerate(quoted))]


def _numbered(keys: Sequence[str]) -> list[str]:
    return [f"{name}{i}" for name in ("key", "case") for i in range(len(keys))]


def _time(value: Column, type_: str) -> Column:
    """Without a zone, so that a browser shows the digits that Spark shows; numbers stay numbers."""
    if type_ in _TIMES:
        return F.date_format(value, "yyyy-MM-dd'T'HH:mm:ss.SSS").alias("time")
    return value.cast("double").alias("time")


def _first(rows: DataFrame, keys: Sequence[str], matches: int) -> DataFrame:
    """The events of the first matches, by case and number."""
    by = [f"key{i}" for i in range(len(keys))] + ["match"]
    some = rows.select(*by).where("match IS NOT NULL").distinct().orderBy(*by).limit(matches)
    some = some.toDF(*(f"_{n}" for n in by))
    same = [rows[n].eqNullSafe(some[f"_{n}"]) for n in by]
    return rows.join(some, same, "left_semi").orderBy(*by, "time")


def _others(
    run: StatementExecution | None, keys: Sequence[str], cases: set[tuple[str | None, ...]]
) -> list[dict[str, Any]]:
    """All events of the cases that are drawn, where the statement has one pattern whose cases are its result's."""
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
    text = ", ".join([*items, f"({order}) AS at", f"CAST({event} AS STRING) AS event"])
    frame = run.analyzer.run(f"{plan.query.with_prefix}SELECT {text} FROM {{{SOURCE}}}", relation.given)
    if keys:
        tests = [
            reduce(Column.__and__, [F.col(f"case{i}").eqNullSafe(F.lit(v)) for i, v in enumerate(c)]) for c in cases
        ]
        frame = frame.where(reduce(Column.__or__, tests))
    columns = [f"case{i}" for i in range(len(keys))]
    frame = frame.select(*columns, "event", _time(F.col("at"), type_)).where("time IS NOT NULL").limit(MAX_EVENTS)
    return [r.asDict() for r in frame.collect()]


def _labels(run: StatementExecution | None) -> Mapping[str, str]:
    """Variables with the event types they take, for the legend."""
    components = [c for r in run.relations for c in r.plan.bound.components] if run is not None else []
    types: dict[str, dict[str, None]] = {}
    for component in components:
        types.setdefault(component.variable, {}).update(dict.fromkeys(component.types))
    return {v: v if not found or v in found else f"{' | '.join(found)} ({v})" for v, found in types.items()}
