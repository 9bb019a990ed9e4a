"""The items of a block's RETURN: their tokens, aliases and output names."""

from __future__ import annotations

from dataclasses import dataclass, field

from sparkcep.query import KeyExpression, Measure, Trend, TrendExpression, folded
from sparkcep.sql.block.conditions import Keys
from sparkcep.sql.block.scope import ANY_EVENT, BlockScope
from sparkcep.sql.lexicon import CLOSES_OPERAND, NO_ALIASES, Token

_OPERATOR_WORDS = frozenset("AND OR NOT IS IN LIKE ILIKE RLIKE BETWEEN DIV XOR WHEN THEN ELSE CASE AS".split())


@dataclass(frozen=True, slots=True)
class Item:
    """One item: its token range and the name behind it, if it has one."""

    low: int
    high: int
    alias: Token | None


@dataclass(slots=True)
class Returns:
    """What RETURN asks for; ``output`` and ``having`` as in PatternQuery. ``whole_events``: all columns of the input
    are used."""

    measures: list[Measure] = field(default_factory=list)
    trends: list[Trend] = field(default_factory=list)
    group_by: list[KeyExpression] = field(default_factory=list)
    output: list[TrendExpression] = field(default_factory=list)
    having: TrendExpression | None = None
    whole_events: bool = False


class Items:
    """Reads items of one block and names the columns of ``out``.

    Raises:
        PatternAnalysisError: CEP_NEGATED_VARIABLE, CEP_DUPLICATE_COLUMN.
    """

    def __init__(self, scope: BlockScope) -> None:
        self.scope = scope
        self.s = scope.statement
        self.out = Returns()

    def item(self, low: int, high: int) -> Item:
        """An item without its alias, with or without AS."""
        tokens = self.s.tokens
        last = tokens[high - 1]
        if last.kind not in ("word", "quoted") or high - low < 2:
            return Item(low, high, None)
        if high - low >= 3 and self.s.word(high - 2) == "AS":
            return Item(low, high - 2, last)
        before = tokens[high - 2]
        if high - low >= 4 and self.s.word(high - 3) == "AS" and before.kind in ("word", "quoted"):
            raise self.scope.error("CEP_SYNTAX_ERROR", f"{last.text!r} is not expected here.", last)
        complete = (
            before.kind in ("quoted", "string", "number")
            or before.upper in (*CLOSES_OPERAND, "%")
            or (before.kind == "word" and before.upper not in _OPERATOR_WORDS)
        )
        return Item(low, high - 1, last) if complete and last.upper not in NO_ALIASES else Item(low, high, None)

    def text(self, item: Item) -> str:
        """As the user wrote it."""
        return self.s.text[self.s.tokens[item.low].start : self.s.tokens[item.high - 1].end]

    def keys(self, variable: str, token: Token) -> Keys:
        """Keys of a variable's components that a match has events of."""
        if variable == ANY_EVENT:
            return tuple(c.key for c in self.scope.components if not c.negated)
        keys = tuple(c.key for c in self.scope.components if c.variable == variable and not c.negated)
        if not keys:
            raise self.scope.error("CEP_NEGATED_VARIABLE", f"{variable} is negated: a match has no event of it.", token)
        return keys

    def unique(self, item: Item, name: str, text: str) -> str:
        """The output name: the alias, else the name that Spark would give, or the item's text where that is taken."""

        def fold(name: str) -> str:
            return folded(name, self.scope.case_sensitive)

        taken = {fold(m.name) for m in self.out.measures} | {fold(e.name) for e in self.out.output}
        if item.alias is not None:
            if fold(item.alias.text) in taken:
                raise self.scope.error(
                    "CEP_DUPLICATE_COLUMN",
                    f"Two items are named {item.alias.text}.",
                    item.alias,
                    "give it another name",
                )
            return item.alias.text
        number = 1
        while fold(name) in taken:
            name = text if number == 1 else f"{text}_{number}"
            number += 1
        return name
