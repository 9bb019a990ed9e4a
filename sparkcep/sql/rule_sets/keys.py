"""PARTITION BY and ORDER BY of a rule set, which blocks and clauses have from it where they are its rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import KeyExpression, SortKey
from sparkcep.sql.lexicon import pair_parentheses, tokenize
from sparkcep.sql.sort_item import SortItem
from sparkcep.sql.statement import Statement
from sparkcep.sql.token_text import TokenText


@dataclass(frozen=True, slots=True)
class LogKeys:
    """PARTITION BY and ORDER BY of a rule set; and the expression of the event type with the names in it, for those
    that say none, where it is more than a column's name. ``event_id``: the expression that tells events apart, empty
    where the call names none."""

    partition_by: tuple[KeyExpression, ...]
    order_by: tuple[SortKey, ...]
    event_type: str = ""
    names: frozenset[str] = frozenset()
    event_id: str = ""

    def with_own(self, rule_keys: Sequence[KeyExpression]) -> tuple[KeyExpression, ...]:
        """PARTITION BY of a rule: the set's, and the rule's own behind it, in an order that is not the rule's, so that
        rules with the same keys read the same partitions. `(a, b)` are two keys."""
        more = {part.folded: part for key in rule_keys for part in _parts(key)}
        seen = {key.folded for key in self.partition_by}
        return (*self.partition_by, *(more[folded] for folded in sorted(more) if folded not in seen))


def _parts(key: KeyExpression) -> list[KeyExpression]:
    tokens = tokenize(key.expression)
    text = TokenText(key.expression, tokens, pair_parentheses(tokens))
    return [replace(key, expression=text.written(*span)) for span in text.between_commas(0, len(tokens))]


def refuse_order(statement: Statement, order_by: Sequence[SortItem]) -> None:
    """Raise where a rule says an order of its own.

    Raises:
        PatternAnalysisError: CEP_RULE_KEYS.
    """
    if order_by:
        raise PatternAnalysisError(
            "CEP_RULE_KEYS",
            "A rule has no ORDER BY: all rules of a set share that of the set.",
            text=statement.text,
            position=statement.tokens[order_by[0].expression[0]].start,
            hint="write it after the table: pattern_rules(TABLE(log) PARTITION BY case ORDER BY time, rules => ...)",
        )
