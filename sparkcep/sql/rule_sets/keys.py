"""PARTITION BY and ORDER BY of a rule set, which blocks and clauses have from it where they are its rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import KeyExpression, SortKey
from sparkcep.sql.sort_item import SortItem
from sparkcep.sql.statement import Statement
from sparkcep.sql.token_text import Range


@dataclass(frozen=True, slots=True)
class LogKeys:
    """PARTITION BY and ORDER BY of a rule set, which its rules do not say themselves; and the expression of the event
    type with the names in it, for those that say none, where it is more than a column's name."""

    partition_by: tuple[KeyExpression, ...]
    order_by: tuple[SortKey, ...]
    event_type: str = ""
    names: frozenset[str] = frozenset()


def refuse_keys(statement: Statement, partition_by: Sequence[Range], order_by: Sequence[SortItem]) -> None:
    """Raise where a rule says keys of its own.

    Raises:
        PatternAnalysisError: CEP_RULE_KEYS.
    """
    written = [*partition_by, *(k.expression for k in order_by)]
    if written:
        raise PatternAnalysisError(
            "CEP_RULE_KEYS",
            "A rule has no PARTITION BY and no ORDER BY: all rules of a set share those of the set.",
            text=statement.text,
            position=statement.tokens[written[0][0]].start,
            hint="write them after the table: pattern_rules(TABLE(log) PARTITION BY case ORDER BY time, rules => ...)",
        )
