"""``sparkcep.explore(df)``: a log at a glance in a notebook, and a pattern that is put together by clicking."""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkcep.data.content import by_content
from sparkcep.data.discovery import Discovered, LogColumns, discover, quoted
from sparkcep.data.roles import guess_roles, sampled
from sparkcep.data.times import time_reading
from sparkcep.errors import SparkCepError, near_hint
from sparkcep.pictures.durations import UNITS, in_words
from sparkcep.pictures.explorer_snapshot import snapshot
from sparkcep.progress import activity
from sparkcep.query import in_backticks, string_literal
from sparkcep.session import hook
from sparkcep.session.messages.printed import short_message

#: Cases that are drawn, and events of each.
CASES, EVENTS = 20, 60
KINDS = ("once", "one or more", "none")


@dataclass(frozen=True, slots=True)
class Step:
    """A part of the sequence. ``kind``: one of KINDS."""

    type: str
    kind: str = "once"


class Exploration:
    """A log and the questions that are asked about it; the widget shows what this answers.

    Args:
        frame: the log. columns: its columns by role. name: of its view in SQL. facts: about how it was read.
    """

    def __init__(self, frame: DataFrame, columns: LogColumns, name: str, facts: Sequence[str] = ()) -> None:
        self.frame, self.columns, self.name, self.facts = frame, columns, name, facts
        self.spark = frame.sparkSession
        frame.createOrReplaceTempView(in_backticks(name))
        self.log: Discovered = discover(frame, columns, name)

    @property
    def summary(self) -> dict[str, Any]:
        """The log at a glance."""
        log = self.log

        def lasting(value: float) -> str:
            return in_words(value) if log.clock else f"{value:,.6g}"

        variants = [
            {"cases": n, "share": f"{n / max(1, log.cases):.1%}", "events": list(v)[:12]}
            for v, n in (log.variants or ())[:5]
        ]
        return {
            "facts": [
                f"{log.events:,} events", f"{log.cases:,} cases", f"{len(log.types):,} event types",
                f"{log.variant_count:,} variants" if log.variants is not None else "long cases",
                f"{log.first} to {log.last}",
                f"a case lasts {lasting(log.median_duration)} (median), up to {lasting(log.most_duration)}",
                *self.facts,
            ],
            "types": [{"name": t.name, "events": t.events, "cases": t.cases} for t in log.types],
            "variants": variants,
            "columns": {"case": ", ".join(self.columns.case), "time": self.columns.time, "event": self.columns.event},
            "clock": log.clock, "longest": log.most_duration,
        }  # fmt: skip

    def sql(self, steps: Sequence[Step], within: float | None = None, unit: str = "days") -> str:
        """The pattern block of some steps.

        Args:
            within: the longest a match may take, in this unit (of UNITS), or in the units of a numeric time.

        Raises:
            SparkCepError: CEP_ARGUMENTS where nothing is taken, there is no such unit, or a time is negative.
        """
        if not any(s.kind != "none" for s in steps):
            raise SparkCepError("CEP_ARGUMENTS", "A pattern takes at least one event.")
        if unit not in UNITS:
            raise SparkCepError("CEP_ARGUMENTS", f"There is no unit {unit}.", hint=", ".join(UNITS))
        if within is not None and within < 0:
            raise SparkCepError("CEP_ARGUMENTS", "The time within which a match ends is not negative.")
        parts = [_part(step, f"v{n}") for n, step in enumerate(steps, 1)]
        case = f" PARTITION BY {', '.join(map(quoted, self.columns.case))}" if self.columns.case else ""
        tie = f", {quoted(self.columns.tiebreak)}" if self.columns.tiebreak else ""
        lines = [
            f"FROM {quoted(self.name)}{case} ORDER BY {quoted(self.columns.time)}{tie} "
            f"EVENT TYPE {quoted(self.columns.event)}",
            f"PATTERN SEQ({', '.join(parts)})",
        ]
        if within is not None:
            lines.append(f"WITHIN {_interval(within, unit) if self.log.clock else f'{within:g}'}")
        return "\n".join([*lines, "MATCHES NON OVERLAPPING"])

    def matches(self, sql: str) -> dict[str, Any]:
        """How many matches there are, and the first cases that have some, event by event.

        Raises:
            pyspark.errors.PySparkException: what is wrong with the pattern.
        """
        frame = hook.sql(self.spark, sql)
        keys = list(self.columns.case)
        named = [F.col(quoted(k)).alias(f"k{n}") for n, k in enumerate(keys)]
        by = [f"k{n}" for n in range(len(keys))]
        grouped = (
            frame.select(*named, "match_number", "events")
            .groupBy(*by)
            .agg(F.count("*").alias("n"), F.flatten(F.collect_list(F.transform(
                "events", lambda e: F.struct(e["position"].alias("p"), F.lit(0).alias("x"), e["variable"].alias("v"))
            ))).alias("taken"))
        )  # fmt: skip
        total = grouped.agg(F.count("*"), F.coalesce(F.sum("n"), F.lit(0))).collect()[0]
        rows = grouped.orderBy(*by).limit(CASES).collect() if by else grouped.collect()
        events = self._events([tuple(r[k] for k in by) for r in rows])
        cases = []
        for row in rows:
            key = tuple(row[k] for k in by)
            taken = {t["p"]: t["v"] for t in row["taken"]}
            shown = events.get(key, [])
            start = max(0, min(taken, default=0) - 3)
            cases.append({
                "case": ", ".join("NULL" if v is None else str(v) for v in key) or "the log",
                "matches": row["n"], "since": shown[min(taken)][1] if taken and min(taken) < len(shown) else "",
                "before": start, "after": max(0, len(shown) - start - EVENTS),
                "events": [
                    {"type": e, "time": t, "taken": taken.get(n)}
                    for n, (e, t) in enumerate(shown[start : start + EVENTS], start)
                ],
            })  # fmt: skip
        return {"cases": total[0], "matches": total[1], "shown": cases}

    def _events(self, keys: Sequence[tuple[Any, ...]]) -> dict[tuple[Any, ...], list[tuple[str, str]]]:
        columns = self.columns
        names = [f"k{n}" for n in range(len(columns.case))]
        tie = F.col(quoted(columns.tiebreak)) if columns.tiebreak else F.lit(0)
        event = F.col(quoted(columns.event)).cast("string")
        frame = self.frame
        if names:
            tests = [
                functools.reduce(lambda a, b: a & b, [F.col(quoted(c)).eqNullSafe(F.lit(v))
                                                      for c, v in zip(columns.case, key, strict=True)])
                for key in keys
            ]  # fmt: skip
            if not tests:
                return {}
            frame = frame.where(functools.reduce(lambda a, b: a | b, tests))
        at = F.col(quoted(columns.time))
        item = F.struct(at.alias("o"), tie.alias("b"), event.alias("e"), at.cast("string").alias("t"))
        rows = (
            frame.groupBy(*(F.col(quoted(c)).alias(n) for c, n in zip(columns.case, names, strict=True)))
            .agg(F.array_sort(F.collect_list(item)).alias("events"))
            .collect()
        )
        return {tuple(r[n] for n in names): [(e["e"], e["t"]) for e in r["events"]] for r in rows}

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """What the widget shows for its state: the SQL and, where ``run`` is true, matches or an error's text."""
        try:
            steps = [Step(s["type"], s.get("kind", "once")) for s in request.get("steps", ())]
            sql = self.sql(
                steps, None if request.get("within") is None else float(request["within"]), request.get("unit", "days")
            )
        except (SparkCepError, ValueError) as error:
            return {"sql": "", "error": str(error) if request.get("steps") else ""}
        if not request.get("run"):
            return {"sql": sql}
        try:
            return {"sql": sql, **self.matches(sql)}
        except PySparkException as error:
            return {"sql": sql, "error": short_message(error, sql)}


def _interval(length: float, unit: str) -> str:
    """A length of time in the largest unit that it is a whole number of; only seconds have a fraction in SQL.

    >>> _interval(1.5, "days")
    '36 hours'
    """
    seconds = length * UNITS[unit]
    found = next((u for u, n in reversed(UNITS.items()) if seconds % n == 0 and n <= UNITS[unit]), "seconds")
    return f"{seconds / UNITS[found]:.10g} {found}"


def _part(step: Step, variable: str) -> str:
    type_ = string_literal(step.type)
    if step.kind == "none":
        return f"NOT {type_} {variable}"
    return f"{type_}+ {variable}[]" if step.kind == "one or more" else f"{type_} {variable}"


def exploration(
    frame: DataFrame, case: str | Sequence[str] | None, time: str | None, event: str | None, tiebreak: str | None,
    name: str,
) -> Exploration:  # fmt: skip
    """A log whose columns are named, or guessed as the command line guesses them.

    Raises:
        SparkCepError: CEP_UNRESOLVED_COLUMN; CEP_LOG_COLUMNS where no time or event type can be told; CEP_TIME_FORMAT,
            CEP_TIME_TYPE where the time is none.
    """
    cases = () if case is None else (case,) if isinstance(case, str) else tuple(case)
    named = {"time": time, "event": event, "tiebreak": tiebreak, "case": ",".join(cases) or None}
    for column in (*cases, time, event, tiebreak):
        if column is not None and column not in frame.columns:
            raise SparkCepError(
                "CEP_UNRESOLVED_COLUMN", f"The log has no column {column}.",
                hint=near_hint(column, frame.columns, f"its columns are {', '.join(frame.columns)}"),
            )  # fmt: skip
    samples = sampled(frame)
    guesses = guess_roles(samples, {r: c for r, c in named.items() if c is not None})
    facts: list[str] = []
    if (time := guesses["time"].column) is not None:
        try:
            reading = time_reading(frame, time)
        except SparkCepError as error:
            read = f"df.withColumn({time!r}, F.to_timestamp({time!r}, 'dd.MM.yyyy HH:mm'))"
            raise SparkCepError(error.error_class, error.sentence, hint=read) from None
        if reading is not None:
            frame = frame.withColumn(time, F.expr(reading.sql))
            facts.append(f"{time} is read as {reading.format}")
        guesses = by_content(frame, guesses, samples)
    for role in ("time", "event"):
        if guesses[role].column is None:
            raise SparkCepError(
                "CEP_LOG_COLUMNS", f"sparkcep cannot tell the {role}: {guesses[role].why}.", hint=f'{role}="column"'
            )
    guessed = guesses["case"].column
    columns = LogColumns(
        cases or ((guessed,) if guessed else ()), str(time), str(guesses["event"].column), guesses["tiebreak"].column
    )
    return Exploration(frame, columns, name, facts)


#: Frames by the view that explore() made of them.
_views: weakref.WeakValueDictionary[str, DataFrame] = weakref.WeakValueDictionary()


def _free_name(frame: DataFrame) -> str:
    """A view's name that the session does not have, or that an earlier call gave this very frame."""
    for number in itertools.count(1):
        name = "log" if number == 1 else f"log_{number}"
        if _views.get(name) is frame or not frame.sparkSession.catalog.tableExists(name):
            _views[name] = frame
            return name
    raise AssertionError


def explore(
    frame: DataFrame, *, case: str | Sequence[str] | None = None, time: str | None = None, event: str | None = None,
    tiebreak: str | None = None, name: str | None = None,
) -> Any:  # fmt: skip
    """Look at a log in a notebook: types, variants, durations. Build a pattern by clicking and see which cases match.

    Args:
        frame: the events.
        case: the column of the case, or several. If it is not given, it is guessed, as are the next three.
        time: the column of the time.
        event: the column of the event type.
        tiebreak: the column that orders events with the same time.
        name: the temporary view that the widget's SQL reads; it replaces a view of this name. By default ``log``, or
            ``log_2`` and so on if there is a table or view of that name.

    Returns:
        A widget (anywidget) that shows itself as the last value of a cell. Its ``.sql`` is the pattern as SQL.

    Raises:
        SparkCepError: CEP_NOTEBOOK_MISSING without anywidget; CEP_LOG_COLUMNS if no time or event type is found;
            CEP_UNRESOLVED_COLUMN, CEP_TIME_FORMAT, CEP_TIME_TYPE.
    """
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise SparkCepError(
            "CEP_NOTEBOOK_MISSING", "anywidget is not installed.", hint="pip install 'sparkcep[notebook]'"
        ) from None
    with activity("Looking at the log"):
        explored = exploration(frame, case, time, event, tiebreak, name or _free_name(frame))

    class Explorer(anywidget.AnyWidget):  # type: ignore[misc]
        _esm = Path(__file__).with_name("explorer.js")
        _css = Path(__file__).with_name("explorer.css")
        summary = traitlets.Dict(explored.summary).tag(sync=True)
        request = traitlets.Dict({}).tag(sync=True)
        answer = traitlets.Dict({}).tag(sync=True)
        snapshots = traitlets.List()

        @property
        def sql(self) -> str:
            """The pattern as SQL."""
            return str(self.answer.get("sql", ""))

        @traitlets.observe("request")  # type: ignore[untyped-decorator]
        def _asked(self, change: Any) -> None:
            self.answer = {**explored.answer(change["new"]), "number": change["new"].get("number", 0)}
            for shown in self.snapshots:
                shown.update(self._snapshot())

        def _snapshot(self) -> Any:
            from IPython.display import HTML

            return HTML(snapshot(self.summary, self.request, self.answer))

        def _ipython_display_(self) -> None:
            """The widget, and its last state for pages without a kernel, which the widget hides where it lives."""
            from IPython.core.getipython import get_ipython
            from IPython.display import display

            shown = self._repr_mimebundle_()
            data, metadata = shown if isinstance(shown, tuple) else (shown, {})
            display(data, metadata=metadata, raw=True)
            if hasattr(get_ipython(), "kernel"):
                self.snapshots.append(display(self._snapshot(), display_id=True))

    return Explorer()
