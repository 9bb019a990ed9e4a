"""`-- suppress: 1 hour` above a rule: how long after one of its alerts further ones of the same key are left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import reduce

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import quote, string_literal
from sparkcep.sql.rule_sets.rule import Rule

_UNTIL = "_suppressed_until"
#: Blanks and comments, which a rule begins with.
_COMMENT = re.compile(r"\s+|--(?P<line>[^\n]*)|/\*.*?\*/", re.DOTALL)
_SUPPRESS = re.compile(r"\s*suppress\s*:\s*(?P<length>.*?)\s*", re.IGNORECASE | re.DOTALL)
_UNIT = re.compile(r"(\d+)\s+(microsecond|millisecond|second|minute|hour|day|week|month|year)s?\s*", re.IGNORECASE)


def suppressed_for(rule: Rule) -> tuple[str, ...]:
    """The period of a rule, as SQL of what is added to a time: numbers or intervals; empty where it has none.

    Raises:
        PatternAnalysisError: CEP_RULE_SUPPRESS.
    """
    found, at = None, 0
    while (comment := _COMMENT.match(rule.text, at)) is not None:
        at = comment.end()
        line = _SUPPRESS.fullmatch(comment["line"] or "")
        if line is None:
            continue
        place = comment.start("line") + line.start("length")
        if found is not None:
            raise _refused(rule, "The rule has two lines that suppress alerts.", place, "leave one of them")
        found = line["length"], place
    return () if found is None else _terms(rule, *found)


def _terms(rule: Rule, text: str, place: int) -> tuple[str, ...]:
    """Months and days cannot be one interval."""
    given = text
    if text.startswith(":") and text[1:] in rule.parameters:
        given = re.sub(r"(?i)^\s*interval\b|'", "", rule.parameters[text[1:]]).strip()
    if given.isdigit():
        return (f"CAST({given} AS BIGINT)",)
    if re.fullmatch(r"\d+\.\d+", given):
        return (given,)
    if not given or _UNIT.sub("", given):
        raise _refused(
            rule, f"{text or 'Nothing'} is no length of time.", place,
            "-- suppress: 30 minutes; or a number, where the log's time is one",
        )  # fmt: skip
    return tuple(f"INTERVAL {number} {unit}" for number, unit in _UNIT.findall(given))


def _refused(rule: Rule, sentence: str, place: int, hint: str) -> PatternAnalysisError:
    """CEP_RULE_SUPPRESS; the caller raises it."""
    return PatternAnalysisError("CEP_RULE_SUPPRESS", sentence, text=rule.text, position=place, hint=hint)


def fits(period: Sequence[str], time: str) -> bool:
    """Whether a period can be added to times of a Spark type."""
    if period[0].startswith("INTERVAL"):
        return time.startswith(("timestamp", "date"))
    return time.startswith(("tinyint", "smallint", "int", "bigint", "decimal", "float", "double"))


def without_suppressed(columns: Sequence[str], keys: int, periods: Mapping[str, Sequence[str]]) -> str:
    """A statement over ``{rows}``, the rows of a rule set, that leaves out those that come too soon behind another.

    The first alert of a rule and key is kept; those that end within the period behind its end are not; then the next
    is the first again.

    Args:
        columns: of the set. keys: how many of them, behind the first, say which partition of the log a row is of.
        periods: SQL by the rule's name.
    """
    until = next(name for name in (_UNTIL + "_" * n for n in range(len(columns) + 1)) if name not in columns)
    ends = [f"WHEN {string_literal(rule)} THEN {reduce(_plus, period, 'end_time')}" for rule, period in periods.items()]
    names = [quote(name) for name in columns]
    measures = ", ".join(f"kept.{name} AS {name}" for name in names[1 + keys :])
    return f"""SELECT {", ".join(names)} FROM (SELECT *, CASE rule {" ".join(ends)} END AS {until} FROM {{rows}})
MATCH_RECOGNIZE (
  PARTITION BY {", ".join(names[: 1 + keys])} ORDER BY end_time, start_time, match_number
  MEASURES {measures}
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
  PATTERN (kept silent*) DEFINE silent AS end_time < kept.{until}
)"""


def _plus(time: str, length: str) -> str:
    return f"try_add({time}, {length})"  # behind the last time there is nothing to leave out
