"""Lengths of time that are parameters: planners have to know them, and Spark's ``sql`` was given their values."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

from sparkcep.query import PatternQuery, string_literal
from sparkcep.session.analyzer import Arguments

_MICROSECOND = dt.timedelta(microseconds=1)
#: A parameter alone: by its name, as positional ones have one of ours.
_PARAMETER = re.compile(r"\s*:\s*(\w+)\s*")


def with_lengths(query: PatternQuery, args: Arguments) -> PatternQuery:
    """The query with literals where WITHIN, SLIDE, UNCERTAINTY and STEP are parameters. ``args``: by name."""
    if not isinstance(args, dict) or not args:
        return query
    values = args

    def known(text: str | None) -> str | None:
        found = _PARAMETER.fullmatch(text or "")
        return (found and found[1] in values and literal(values[found[1]])) or text

    uncertainty = query.uncertainty
    if uncertainty is not None:
        uncertainty = replace(uncertainty, width=known(uncertainty.width), step=known(uncertainty.step))
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
