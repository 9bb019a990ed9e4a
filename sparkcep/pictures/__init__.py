"""Pictures of patterns, of what is left of a log on the way to their matches, and of the matches.

>>> from sparkcep import pictures
>>> pictures.pattern(spark, "FROM log PATTERN SEQ(A a, B+ b[], !C c, D d)").save("pattern.html")
>>> pictures.timeline(spark, "FROM log PATTERN SEQ(A a, B b)")        # shown in a notebook

Each is a ``Picture``: a Vega-Lite specification (``.spec``), made by plain Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from sparkcep.pictures.picture import Picture

__all__ = ["Picture", "continuations", "funnel", "pattern", "rules", "timeline"]


def pattern(spark: SparkSession, query: str, args: Any = None, **kwargs: Any) -> Picture:
    """The patterns of a statement, as planned: components, quantifiers, negations, strategy, conditions.

    Runs nothing. A statement with several patterns gives one picture below the other.

    Args:
        query: the statement.
        args: values of its parameters, as for ``sparkcep.sql``.
        kwargs: values for ``{name}`` in the text, as for ``sparkcep.sql``.

    Raises:
        SparkCepError: CEP_PICTURE where the statement has no pattern, and whatever is wrong with it.
    """
    from sparkcep.pictures.graph import pattern_picture
    from sparkcep.pictures.source import planned

    return pattern_picture(planned(spark, query, args, kwargs).relations)


def funnel(spark: SparkSession, query: str, args: Any = None, **kwargs: Any) -> Picture:
    """How many cases and events are left after each step: log, index, filters before matching, result.

    Runs the query. Arguments and errors as for ``pattern``.
    """
    from sparkcep.pictures.funnel_chart import funnel_picture
    from sparkcep.pictures.source import planned

    return funnel_picture(planned(spark, query, args, kwargs))


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
    """Matches over time, a row for each case and a line for each match, with the case's other events.

    The result must have the columns ``match_number`` and ``events``, as a pattern block without RETURN has; or rows of
    events, as MATCH_RECOGNIZE with ALL ROWS PER MATCH gives, and the names of their columns. Runs the query.

    Args:
        matches: at most so many are drawn, in order of case and start.
        case: the column of the case, or several.
        match: the column of MATCH_NUMBER().
        time: the column of the time.
        variable: the column of CLASSIFIER().
        since_start: time since the match's first event, in a unit that fits (in those of a numeric time), instead of
            the time itself. By default where matches are short beside the time over which they are spread.
        query: the statement.
        args: values of its parameters, as for ``sparkcep.sql``.
        kwargs: values for ``{name}`` in the text, as for ``sparkcep.sql``.

    Raises:
        SparkCepError: CEP_PICTURE where the result has not these columns.
    """
    from sparkcep.pictures.timeline_chart import timeline_picture

    names = {"match": match, "time": time, "variable": variable}
    cases = None if case is None else [case] if isinstance(case, str) else list(case)
    return timeline_picture(spark, query, args, kwargs, matches, cases, names, since_start)


def continuations(spark: SparkSession, log: str, pattern: str, mode: str = "accurate", k: int = 10) -> Picture:
    """Which event types follow a sequence: ``pattern_continuations`` as bars.

    Args:
        log: a pattern index, or a table that has one.
        pattern: event types, ``'A B'``.
        mode: ``accurate``, ``fast`` or ``hybrid``, as for the table function.
        k: how many event types at most.

    Raises:
        PatternIndexError: as the table function does.
    """
    from sparkcep.pictures.continuation_chart import continuations_picture

    return continuations_picture(spark, log, pattern, mode, k)


def rules(spark: SparkSession, query: str, args: Any = None, *, cells: int = 60, **kwargs: Any) -> Picture:
    """Matches of rules over time: a row for each rule, the one with the most matches first, a cell for each stretch.

    The result must have the columns ``rule`` and ``start_time``, as ``pattern_rules`` has. Runs the query twice, once
    for the stretch of time that there is.

    Args:
        cells: so many stretches of equal length.
        query: the statement.
        args: values of its parameters, as for :func:`sparkcep.sql`.
        kwargs: values for ``{name}`` in the text, as for :func:`sparkcep.sql`.

    Raises:
        SparkCepError: CEP_PICTURE where the result has not these columns.
    """
    from sparkcep.pictures.rule_chart import rules_picture

    return rules_picture(spark, query, args, kwargs, cells)
