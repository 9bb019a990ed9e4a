"""Pictures of patterns, of their matches, of funnels, and of logs.

>>> from sparkcep import pictures
>>> pictures.pattern(spark, "FROM log PATTERN SEQ(A a, B+ b[], !C c, D d)").save("pattern.html")
>>> pictures.timeline(spark, "FROM log PATTERN SEQ(A a, B b)")        # shown in a notebook

Each function returns a ``Picture``: a Vega-Lite specification (``.spec``), made by plain Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from sparkcep.pictures.picture import Picture

__all__ = [
    "Picture", "cases", "continuations", "directly_follows", "funnel", "pattern", "pruning", "rules", "timeline",
    "waits",
]  # fmt: skip


def pattern(spark: SparkSession, query: str, args: Any = None, **kwargs: Any) -> Picture:
    """The patterns of a statement, as planned: components, quantifiers, negations, strategy, conditions.

    Does not run the statement. Several patterns are drawn one below the other.

    Args:
        query: the statement.
        args: values of its parameters, as for ``sparkcep.sql``.
        kwargs: values for ``{name}`` in the text, as for ``sparkcep.sql``.

    Raises:
        SparkCepError: CEP_PICTURE if the statement has no pattern; the statement's own errors.
    """
    from sparkcep.pictures.graph import pattern_picture
    from sparkcep.pictures.source import planned

    return pattern_picture(planned(spark, query, args, kwargs).relations)


def funnel(spark: SparkSession, query: str, args: Any = None, **kwargs: Any) -> Picture:
    """A funnel: the cases that reach each step, how many are lost before it, and how long it takes.

    Runs the query, such as ``SELECT * FROM funnel_steps(...)``. Arguments as for ``pattern``.

    Raises:
        SparkCepError: CEP_PICTURE if the result lacks columns of ``funnel_steps``.
    """
    from sparkcep.pictures.funnel_chart import funnel_picture

    return funnel_picture(spark, query, args, kwargs)


def pruning(spark: SparkSession, query: str, args: Any = None, **kwargs: Any) -> Picture:
    """How many cases (and, where counted, events) are left after each step: log, index, filters, result.

    Runs the query. Arguments and errors as for ``pattern``.
    """
    from sparkcep.pictures.pruning_chart import pruning_picture
    from sparkcep.pictures.source import planned

    return pruning_picture(planned(spark, query, args, kwargs))


def waits(spark: SparkSession, query: str, args: Any = None, **kwargs: Any) -> Picture:
    """How long matches wait between consecutive events: the spread of the waits, with a row for each step.

    Runs the query. The result must have the columns ``match_number`` and ``events``, like that of a pattern block
    without RETURN. Arguments as for ``pattern``.

    Raises:
        SparkCepError: CEP_PICTURE if the result lacks these columns.
    """
    from sparkcep.pictures.waits_chart import waits_picture

    return waits_picture(spark, query, args, kwargs)


def cases(spark: SparkSession, query: str, args: Any = None, *, cases: int = 20, **kwargs: Any) -> Picture:
    """Cases as lanes, event by event, with frames around the events that matches took.

    Runs the query. The result must have the columns ``match_number`` and ``events``, like that of a pattern block
    without RETURN.

    Args:
        cases: the most cases to draw, of those that have a match.
        query: the statement.
        args: values of its parameters, as for ``sparkcep.sql``.
        kwargs: values for ``{name}`` in the text, as for ``sparkcep.sql``.

    Raises:
        SparkCepError: CEP_PICTURE if the result lacks these columns, the statement has more than one pattern, or
            ``cases`` is less than 1.
    """
    from sparkcep.pictures.cases_chart import cases_picture

    return cases_picture(spark, query, args, kwargs, cases)


def directly_follows(
    spark: SparkSession,
    query: str,
    args: Any = None,
    *,
    case: str | Sequence[str] | None = None,
    time: str | None = None,
    event: str | None = None,
    types: int = 20,
    **kwargs: Any,
) -> Picture:
    """The directly-follows graph of a log or of matches: which event types follow each other, how often, how fast.

    Runs the query. If columns are named, its result is a log; otherwise, the matches of a pattern block without RETURN.

    Args:
        case: the column of the case, or several.
        time: the column of the time.
        event: the column of the event type.
        types: how many event types to draw, the most frequent ones; events of other types are skipped.
        query: the statement, or the name of a table or view.
        args: values of its parameters, as for ``sparkcep.sql``.
        kwargs: values for ``{name}`` in the text, as for ``sparkcep.sql``.

    Raises:
        SparkCepError: CEP_PICTURE if the result lacks these columns, or ``types`` is less than 1.
    """
    from sparkcep.pictures.follows_chart import follows_picture

    return follows_picture(spark, query, args, kwargs, {"case": case, "time": time, "event": event}, types)


def timeline(
    spark: SparkSession,
    query: str,
    args: Any = None,
    *,
    matches: int = 30,
    case: str | Sequence[str] | None = None,
    match: str | None = None,
    time: str | None = None,
    variable: str | None = None,
    since_start: bool | None = None,
    **kwargs: Any,
) -> Picture:
    """Matches over time: a row for each case, and a line for each match.

    Runs the query. The result must have the columns ``match_number`` and ``events``, like that of a pattern block
    without RETURN; the case's other events are then drawn too. Or its rows are events, as MATCH_RECOGNIZE with ALL ROWS
    PER MATCH returns them, and the arguments name their columns.

    Args:
        matches: the most matches to draw, the first ones by case and match number.
        case: the column of the case, or several.
        match: the column of MATCH_NUMBER().
        time: the column of the time.
        variable: the column of CLASSIFIER().
        since_start: show the time since the match's first event, in a suitable unit (a numeric time keeps its own),
            instead of the time itself. By default, if matches are short and far apart.
        query: the statement.
        args: values of its parameters, as for ``sparkcep.sql``.
        kwargs: values for ``{name}`` in the text, as for ``sparkcep.sql``.

    Raises:
        SparkCepError: CEP_PICTURE if the result lacks these columns, or ``matches`` is less than 1.
    """
    from sparkcep.pictures.timeline_chart import timeline_picture

    names = {"match": match, "time": time, "variable": variable}
    cases = None if case is None else [case] if isinstance(case, str) else list(case)
    return timeline_picture(spark, query, args, kwargs, matches, cases, names, since_start)


def continuations(spark: SparkSession, log: str, pattern: str, mode: str = "accurate", k: int = 10) -> Picture:
    """Which event types follow a sequence: ``pattern_continuations`` as bars, the most completions first.

    Args:
        log: a pattern index, or a table that has one.
        pattern: event types, such as ``'A B'``.
        mode: ``accurate``, ``fast`` or ``hybrid``, as for the table function.
        k: the most event types to draw.

    Raises:
        PatternIndexError: the errors of the table function.
    """
    from sparkcep.pictures.continuation_chart import continuations_picture

    return continuations_picture(spark, log, pattern, mode, k)


def rules(spark: SparkSession, query: str, args: Any = None, *, cells: int = 60, **kwargs: Any) -> Picture:
    """Matches of rules over time: a row for each rule, the one with the most matches first, and cells of equal length.

    Runs the query twice, first to find the earliest and latest start. The result must have the columns ``rule`` and
    ``start_time`` (a time or a number), like that of ``pattern_rules``.

    Args:
        cells: into how many cells the time is divided.
        query: the statement.
        args: values of its parameters, as for :func:`sparkcep.sql`.
        kwargs: values for ``{name}`` in the text, as for :func:`sparkcep.sql`.

    Raises:
        SparkCepError: CEP_PICTURE if the result lacks these columns, or ``cells`` is less than 1.
    """
    from sparkcep.pictures.rule_chart import rules_picture

    return rules_picture(spark, query, args, kwargs, cells)
