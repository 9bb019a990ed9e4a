"""WITHIN, SLIDE and their like before planning: values of parameters, and constants that no match could be within."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

from pyspark.errors import PySparkException

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import PatternQuery, string_literal, unescape
from sparkcep.session.analyzer import Arguments, SparkAnalyzer

_MICROSECOND = dt.timedelta(microseconds=1)
#: A parameter alone: by its name, as positional ones have one of ours.
_PARAMETER = re.compile(r"\s*:\s*(\w+)\s*")
#: Lengths that are neither NULL nor negative.
_PLAIN = re.compile(r"\s*(\d[\w.]*|INTERVAL\s[\w\s':.]+)\s*", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d]\w*|`(?:[^`]|``)+`")


def checked_lengths(query: PatternQuery, analyzer: SparkAnalyzer) -> PatternQuery:
    """The query by :func:`with_lengths`.

    Raises:
        PatternAnalysisError: CEP_WITHIN_VALUE: WITHIN or SLIDE is NULL or negative in all rows.
    """
    query = with_lengths(query, analyzer.args)
    for clause in ("WITHIN", "SLIDE"):
        text, position = query.length(clause)
        if text is None or query.window is not None:  # a frame's own
            continue
        found, hint = _wrong(query, text, analyzer)
        if found:
            raise PatternAnalysisError(
                "CEP_WITHIN_VALUE", f"{clause} is {found}, so nothing could match.", text=query.text or None,
                position=position, hint=f"{clause} {hint}",
            )  # fmt: skip
    return query


def _wrong(query: PatternQuery, text: str, analyzer: SparkAnalyzer) -> tuple[str, str]:
    """What is wrong with a length that is constant, as Spark computes it, and one as it may be; else empty."""
    names = {n.strip("`").casefold() for n in _NAME.findall(re.sub(r"'[^']*'", "", text))}
    if _PLAIN.fullmatch(text) or names & {c.casefold() for c in query.columns}:
        return "", ""
    analyzer.volatile.append(text)
    select = f"{query.with_prefix}SELECT ({text})"
    try:
        type_ = analyzer.run(select).schema[0].dataType.simpleString()
        moment = "TIMESTAMP_NTZ'2000-03-01'"
        is_interval = type_.startswith("interval")
        negative = f"{moment} + ({text}) < {moment}" if is_interval else f"try_cast(({text}) AS DOUBLE) < 0"
        is_null, is_negative = analyzer.run(f"{select} IS NULL, {negative}").collect()[0]
    except PySparkException:  # it names what rows alone have, or the planner says what is wrong
        return "", ""
    hint = "INTERVAL 10 MINUTES" if is_interval else "10"
    if type_ == "void":
        hint = "INTERVAL 10 MINUTES, or a number where the ORDER BY key is one"
    return ("NULL" if is_null else f"negative ({unescape(text)})" if is_negative else ""), hint


def with_lengths(query: PatternQuery, args: Arguments) -> PatternQuery:
    """The query with literals where WITHIN, SLIDE and UNCERTAINTY's times are parameters. ``args``: by name."""
    if not isinstance(args, dict) or not args:
        return query
    values = args

    def known(text: str | None) -> str | None:
        found = _PARAMETER.fullmatch(text or "")
        return (found and found[1] in values and literal(values[found[1]])) or text

    uncertainty = query.uncertainty
    if uncertainty is not None:
        uncertainty = replace(
            uncertainty, width=known(uncertainty.width), step=known(uncertainty.step),
            at_most=known(uncertainty.at_most),
        )  # fmt: skip
    return replace(query, within=known(query.within), slide=known(query.slide), uncertainty=uncertainty)


def literal(value: Any) -> str | None:
    """A value as SQL has it; None for one of another type than numbers, texts and lengths of time.

    >>> literal(10), literal(dt.timedelta(hours=36)), literal("x"), literal([1])
    ('10', "INTERVAL '129600000000' MICROSECOND", "'x'", None)
    """
    if isinstance(value, str):
        return string_literal(value)
    if isinstance(value, float):
        return f"{value!r}D"
    if isinstance(value, dt.timedelta):
        return f"INTERVAL '{value // _MICROSECOND}' MICROSECOND"
    if isinstance(value, Decimal) and value.is_finite():
        return f"{value:f}BD"
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
