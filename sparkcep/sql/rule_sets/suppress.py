"""`-- suppress: 1 hour` above a rule: how long after one of its alerts further ones of the same key are left out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import quote, string_literal
from sparkcep.sql.rule_sets.rule import Rule

_LINE = re.compile(r"--[ \t]*suppress[ \t]*:[ \t]*(.*?)[ \t]*$", re.IGNORECASE | re.MULTILINE)
#: Comments and blank lines that a rule begins with.
_HEAD = re.compile(r"(?:[ \t]*(?:--[^\n]*)?(?:\n|$))*")
_LENGTH = re.compile(
    r"\d+(\.\d+)?|(\d+\s+(microsecond|millisecond|second|minute|hour|day|week|month|year)s?\s*)+", re.IGNORECASE
)
_UNTIL = "_suppressed_until"


def suppressed_for(rule: Rule) -> str:
    """The period of a rule, as SQL that can be added to a time; empty where it has none.

    Raises:
        PatternAnalysisError: CEP_RULE_SUPPRESS.
    """
    head = _HEAD.match(rule.text)
    found = None if head is None else _LINE.search(rule.text, 0, head.end())
    if found is None:
        return ""
    text = found[1].removesuffix(";")
    if not _LENGTH.fullmatch(text):
        raise PatternAnalysisError(
            "CEP_RULE_SUPPRESS", f"{text or 'Nothing'} is no length of time.", text=rule.text, position=found.start(1),
            hint="-- suppress: 30 minutes; or a number, where the log's time is one",
        )  # fmt: skip
    return text if text[-1].isdigit() else f"INTERVAL {text}"


def without_suppressed(columns: Sequence[str], keys: int, periods: Mapping[str, str]) -> str:
    """A statement over ``{rows}``, the rows of a rule set, that leaves out those that come too soon behind another.

    The first alert of a rule and key is kept; those that end within the period behind its end are not; then the next
    is the first again.

    Args:
        columns: of the set. keys: how many of them, behind the first, say which partition of the log a row is of.
        periods: SQL by the rule's name.
    """
    until = " ".join(f"WHEN {string_literal(rule)} THEN end_time + {period}" for rule, period in periods.items())
    names = [quote(name) for name in columns]
    measures = ", ".join(f"kept.{name} AS {name}" for name in names[1 + keys :])
    return f"""SELECT {", ".join(names)} FROM (SELECT *, CASE rule {until} END AS {_UNTIL} FROM {{rows}})
MATCH_RECOGNIZE (
  PARTITION BY {", ".join(names[: 1 + keys])} ORDER BY end_time, start_time, match_number
  MEASURES {measures}
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
  PATTERN (kept silent*) DEFINE silent AS end_time < kept.{_UNTIL}
)"""
