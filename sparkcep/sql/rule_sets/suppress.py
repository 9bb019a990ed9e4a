"""`-- suppress: 1 hour` above a rule: how long after one of its alerts further ones of the same key are left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import reduce

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import quote, string_literal
from sparkcep.sql.rule_sets.metadata import read_metadata
from sparkcep.sql.rule_sets.rule import Rule

_UNTIL = "_suppressed_until"
_UNIT = re.compile(r"(\d+)\s+(microsecond|millisecond|second|minute|hour|day|week|month|year)s?\s*", re.IGNORECASE)


def suppressed_for(rule: Rule) -> tuple[str, ...]:
    """The period of a rule, as SQL of what is added to a time: numbers or intervals, since months and days cannot be
    one interval; empty where it has none.

    Raises:
        PatternAnalysisError: CEP_RULE_SUPPRESS, CEP_RULE_METADATA.
    """
    said = read_metadata(rule)
    if said.suppress is None:
        return ()
    text = given = said.suppress
    if text.startswith(":") and text[1:] in rule.parameters:
        given = re.sub(r"(?i)^\s*interval\b|'", "", rule.parameters[text[1:]]).strip()
    if given.isdigit():
        return (f"CAST({given} AS BIGINT)",)
    if re.fullmatch(r"\d+\.\d+", given):
        return (given,)
    if not given or _UNIT.sub("", given):
        raise PatternAnalysisError(
            "CEP_RULE_SUPPRESS", f"{text or 'Nothing'} is no length of time.", text=rule.text, position=said.place,
            hint="-- suppress: 30 minutes; or a number, where the log's time is one",
        )  # fmt: skip
    return tuple(f"INTERVAL {number} {unit}" for number, unit in _UNIT.findall(given))


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
        columns: of the set. keys: how many of them, behind the first, say which partition a row is of.
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
