"""Bind the RETURN of a block: items per match; where it aggregates over all trends, see :class:`TrendBinder`."""

from __future__ import annotations

import re

from sparkcep.query import GROUP_ID, Aggregate, Measure, Navigation, RowExpression, Scalar, Slot, quote
from sparkcep.sql.block.conditions import ConditionBinder, slot, split_arguments
from sparkcep.sql.block.items import Item, Items, Returns
from sparkcep.sql.block.parser import BlockSyntax
from sparkcep.sql.block.references import Reader
from sparkcep.sql.block.scope import ANY_EVENT, BlockScope, Part, Reference
from sparkcep.sql.block.trends import TrendBinder
from sparkcep.sql.lexicon import Token
from sparkcep.sql.match_functions import AGGREGATES


class ReturnBinder:
    """Binds the RETURN, GROUP BY and HAVING of one block.

    Args:
        constants: case-folded columns that are the same in all events of a match.

    Raises:
        PatternAnalysisError: CEP_NEGATED_VARIABLE, CEP_DUPLICATE_COLUMN, CEP_AMBIGUOUS_COLUMN, CEP_INDEX and those of
            :class:`TrendBinder` and :class:`Reader`.
    """

    def __init__(
        self, scope: BlockScope, conditions: ConditionBinder, syntax: BlockSyntax, constants: frozenset[str]
    ) -> None:
        self.scope = scope
        self.s = scope.statement
        self.conditions = conditions
        self.syntax = syntax
        self.constants = constants
        self.items = Items(scope)
        self.out = self.items.out

    def bind(self) -> Returns:
        """Measures of one match, or aggregates over all trends."""
        items = [self.items.item(low, high) for low, high in self.syntax.returns]
        trends = TrendBinder(self.items, self.syntax, items)
        if trends.are_asked_for():
            trends.bind()
        else:
            for item in items:
                self.measure(item)
        return self.out

    # -- per match -------------------------------------------------------------------------------------------------

    def measure(self, item: Item) -> None:
        """Add the columns of one item: whole events, `a.(x, y)` or an expression."""
        s, low = self.s, item.low
        token = s.tokens[low]
        variable = self.scope.variable(token)
        shape = " ".join(t.text for t in s.tokens[low + 1 : low + 3])
        if variable and shape == ". (" and item.high - low > 3:
            self.columns_of(item, variable, token)
        elif variable and item.high - low == 1:
            event = RowExpression((self.event(),))
            value = Navigation(event, self.items.keys(variable, token), False, 0, 0, False, token.start)
            self.add(item, token.text, token.text, value)
        elif variable and item.high - low == 3 and shape == "[ ]":
            event = RowExpression((self.event(),))
            keys = self.items.keys(variable, token)
            events = Aggregate("array_agg", (event,), False, keys, False, False, None, token.start)
            self.add(item, token.text, self.items.text(item), events)
        else:
            self.expression(item)

    def event(self) -> str:
        """A whole event: a struct of all columns."""
        self.out.whole_events = True
        return f"struct({', '.join(quote(c) for c in self.scope.columns if c != GROUP_ID)})"

    def add(self, item: Item, name: str, text: str, *pieces: str | Slot) -> None:
        """Add a measure. ``name``: without an alias; ``text``: instead of it where that name is taken."""
        scalar = Scalar(pieces, self.s.tokens[item.low].start)
        self.out.measures.append(Measure(self.items.unique(item, name, text), scalar))

    def columns_of(self, item: Item, variable: str, token: Token) -> None:
        """`a.(x, y)`"""
        close = self.scope.closers.get(item.low + 2, item.high)
        if close != item.high - 1 or item.alias is not None:
            place = item.alias or self.s.tokens[min(close + 1, item.high - 1)]
            raise self.scope.error("CEP_SYNTAX_ERROR", "',' is expected after a.(x, y).", place)
        for a, b in split_arguments(self.scope, item.low + 3, close):
            name = self.s.tokens[a]
            if b - a != 1 or name.kind not in ("word", "quoted"):
                raise self.scope.error("CEP_SYNTAX_ERROR", "A column is expected here.", name)
            if self.scope.is_column(name.text):
                text = self.scope.render(name.start, name.end)
            elif name.upper == "TIMESTAMP" and self.scope.order_key:
                text = self.scope.order_key
            else:
                raise self.scope.no_column(name)
            value = Navigation(RowExpression((text,)), self.items.keys(variable, token), False, 0, 0, False, name.start)
            self.add(item, name.text, f"{token.text}.{name.text}", value)

    def expression(self, item: Item) -> None:
        """Add an item that is one expression.

        Raises:
            PatternAnalysisError: CEP_AMBIGUOUS_COLUMN, CEP_NEXT, CEP_INDEX.
        """
        reader = Reader(self.scope, AGGREGATES, lambda name: name.casefold() in self.constants, hoists=True)
        parts: list[Part] = []
        for part in reader.read(item.low, item.high):
            if isinstance(part, str) or part.variable == ANY_EVENT:
                parts.append(part)
                continue
            self.items.keys(part.variable, part.token)
            if part.next:
                raise self.scope.error("CEP_NEXT", "NEXT can be used in conditions only.", part.token)
            normal = self.conditions.normal(part)
            if normal.index.moves:
                raise self.scope.error(
                    "CEP_INDEX",
                    f"RETURN has no i; {part.variable} has several events.",
                    part.token,
                    f"{part.variable}[1].x, {part.variable}[{part.variable}.LEN].x or an aggregate over "
                    f"{part.variable}[].x",
                )
            parts.append(normal)
        if reader.bare is not None:
            raise self.scope.error(
                "CEP_AMBIGUOUS_COLUMN",
                f"{reader.bare.text} does not say which event it belongs to.",
                reader.bare,
                f"write {self.scope.variables[0]}.{reader.bare.text}",
            )
        pieces = [
            p if isinstance(p, str) else slot(p, self.items.keys(p.variable, p.token), running=False) for p in parts
        ]
        self.add(item, self.default_name(item, parts), self.items.text(item), *pieces)

    def default_name(self, item: Item, parts: list[Part]) -> str:
        """As Spark would: the last part of a column, else the text."""
        head, *tail = parts
        column = isinstance(head, Reference) and head.call is None
        if column and all(isinstance(p, str) and re.fullmatch(r"(\s*\.\s*[\w`]+)+", p) for p in tail):
            return self.s.tokens[item.high - 1].text
        return self.items.text(item)
