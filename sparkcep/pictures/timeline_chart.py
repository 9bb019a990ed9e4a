"""Matches over time, a row each: the events they took, and the other events of their case (pm4py's dotted chart)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkcep.data.roles import TEMPORAL
from sparkcep.errors import SparkCepError
from sparkcep.pictures.matched_events import (
    case_columns,
    events_of_matches,
    first_matches,
    labels,
    needs,
    other_events,
    time_column,
)
from sparkcep.pictures.picture import Picture
from sparkcep.pictures.timeline_marks import case_of, chart
from sparkcep.session.originals import plain_sql
from sparkcep.session.statement import run_statement

_HINT = (
    "leave out RETURN, or name the columns: case=, match=, time=, variable= of MATCH_RECOGNIZE with ALL ROWS PER MATCH"
)


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
        rows, keys, type_ = events_of_matches(frame, cases, "timeline", _HINT)
    taken = [r.asDict() for r in first_matches(rows, keys, ["match"], matches + 1).collect()]
    # The events of a match are together, and those of one more than is drawn come last.
    found = list(dict.fromkeys((case_of(e, keys), e["match"]) for e in taken))
    more = len(found) > matches
    if more:
        taken = [e for e in taken if (case_of(e, keys), e["match"]) != found[-1]]
    others = [] if given else other_events(run, keys, dict.fromkeys(case_of(e, keys) for e in taken))
    return Picture(chart(taken, others, keys, type_ in TEMPORAL, labels(run), since_start, more))


def _named_rows(frame: DataFrame, cases: Sequence[str], names: Mapping[str, str]) -> tuple[DataFrame, list[str], str]:
    """Rows of events from columns that the user names."""
    types = {f.name: f.dataType.simpleString() for f in frame.schema.fields}
    for need in ("match", "time", "variable"):
        if names.get(need) not in types:
            raise needs("timeline", f"a column for {need}=", _HINT)
    for key in cases:
        if key not in types:
            raise needs("timeline", f"the column {key}", _HINT)
    type_ = types[names["time"]]
    rows = frame.select(
        *case_columns(cases), F.col(f"`{names['match']}`").alias("match"),
        F.col(f"`{names['variable']}`").alias("variable"), time_column(F.col(f"`{names['time']}`"), type_),
    )  # fmt: skip
    return rows, list(cases), type_
