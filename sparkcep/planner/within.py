"""WITHIN and SLIDE: a length that cannot be added to the ORDER BY key is refused where it stands."""

from __future__ import annotations

import re

from sparkcep.errors import PatternAnalysisError
from sparkcep.expr.types import TIMES, parse_type
from sparkcep.planner.lengths import fixed_distance
from sparkcep.planner.plan import Analyzer
from sparkcep.query import PatternQuery, unescape

#: A text that says how long.
_DURATION_TEXT = re.compile(r"\s*'\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*'\s*", re.IGNORECASE)
#: What epochs count, in microseconds.
_UNITS = (("milliseconds", 1000), ("seconds", 1_000_000))
_NUMBER = re.compile(r"\s*(\d+)(?:\.\d*)?\s*L?\s*", re.IGNORECASE)


def check_length(query: PatternQuery, clause: str, key_type: str, analyze: Analyzer) -> None:
    """Refuse a length of another kind than the ORDER BY key.

    Args:
        clause: WITHIN or SLIDE. key_type: Spark's type of the first ORDER BY key.

    Raises:
        PatternAnalysisError: CEP_WITHIN_TYPE.
    """
    text, position = query.length(clause)
    if text is None:
        return
    kind = parse_type(key_type)
    key = unescape(query.order_by[0].expression).strip("`")
    if not (kind.is_numeric or kind.kind in TIMES):
        raise PatternAnalysisError(
            "CEP_WITHIN_TYPE",
            f"{clause} needs an ORDER BY key of a date, timestamp or numeric type; {key} is {key_type}.",
            text=query.text or None, position=position, hint="cast the ORDER BY key",
        )  # fmt: skip
    units = "bigint" if kind.is_numeric else "date" if kind.kind == "date" else "timestamp_ntz"
    if fixed_distance(text, units) is not None:
        return
    given = analyze([text])[0][1]
    found = parse_type(given)
    fits = found.is_numeric if kind.is_numeric else given.startswith("interval")
    if fits or (kind.kind == "date" and found.kind == "int"):
        return
    shown = "an interval" if given.startswith("interval") else given
    needed = "a number" if kind.is_numeric else "an interval"
    raise PatternAnalysisError(
        "CEP_WITHIN_TYPE",
        f"{clause} needs {needed} for the ORDER BY key {key} ({key_type}); {unescape(text)} is {shown}.",
        text=query.text or None,
        position=position,
        hint=(_as_number if kind.is_numeric else _as_interval)(clause, text, key),
    )


def _as_number(clause: str, text: str, key: str) -> str:
    """What was meant, where the key is a number."""
    said = _DURATION_TEXT.fullmatch(text)
    if said and not said[2]:
        return f"{clause} {said[1]}"
    micros = fixed_distance(f"INTERVAL {said[1]} {said[2]}" if said else text, "timestamp_ntz")
    units = [f"{clause} {micros // n} where {key} counts {unit}" for unit, n in _UNITS if micros and micros % n == 0]
    return ", ".join(units) or f"order by a time: timestamp_millis({key}) where {key} counts milliseconds"


def _as_interval(clause: str, text: str, key: str) -> str:
    """What was meant, where the key is a time."""
    said = _DURATION_TEXT.fullmatch(text)
    if said and said[2]:
        return f"{clause} INTERVAL {said[1]} {said[2].upper()}"
    number = _NUMBER.fullmatch(text) or said
    count = number[1] if number else "10"
    return f"{clause} INTERVAL {count} SECONDS, or MINUTES, HOURS, DAYS"
