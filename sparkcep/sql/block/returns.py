"""Bind the RETURN of a block: items per match, or aggregates over all trends with their group keys."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sparkcep.query import GROUP_ID, Aggregate, KeyExpression, Measure, Navigation, RowExpression, Scalar, Slot, Trend
from sparkcep.sql.block.conditions import ConditionBinder, Keys, slot, split_arguments
from sparkcep.sql.block.parser import BlockSyntax
from sparkcep.sql.block.references import Reader
from sparkcep.sql.block.scope import ANY_EVENT, BlockScope, Index, Part, Reference
from sparkcep.sql.block.source import plain, quoted
from sparkcep.sql.lexicon import Token
from sparkcep.sql.scalars import AGGREGATES

TREND_FUNCTIONS = frozenset("count sum min max avg mean try_count approx_count".split())
#: The output column of windows.
WINDOW = "window"
_NOT_ALIASES = frozenset("END NULL TRUE FALSE".split())
_OPERATOR_WORDS = frozenset("AND OR NOT IS IN LIKE ILIKE RLIKE BETWEEN DIV XOR WHEN THEN ELSE CASE AS".split())


@dataclass(frozen=True, slots=True)
class Item:
    """One item: its token range and the name behind it, if it has one."""

    low: int
    high: int
    alias: Token | None


@dataclass(slots=True)
class Returns:
    """What RETURN asks for; ``output`` as in PatternQuery. ``whole_events``: all columns of the input are used."""

    measures: list[Measure] = field(default_factory=list)
    trends: list[Trend] = field(default_factory=list)
    group_by: list[KeyExpression] = field(default_factory=list)
    output: list[tuple[str, str]] = field(default_factory=list)
    whole_events: bool = False


class ReturnBinder:
    """Binds the RETURN and GROUP BY of one block.

    Args:
        constants: case-folded columns that are the same in all events of a match.

    Raises:
        PatternAnalysisError: CEP_MIXED_RETURN, CEP_NOT_IN_GROUP_BY, CEP_TREND_RETURN, CEP_TREND_ARGUMENT,
            CEP_NEGATED_VARIABLE, CEP_DUPLICATE_COLUMN, CEP_AMBIGUOUS_COLUMN, CEP_INDEX and those of :class:`Reader`.
    """

    def __init__(
        self, scope: BlockScope, conditions: ConditionBinder, syntax: BlockSyntax, constants: frozenset[str]
    ) -> None:
        self.scope = scope
        self.s = scope.statement
        self.conditions = conditions
        self.syntax = syntax
        self.constants = constants
        self.out = Returns()

    def bind(self) -> Returns:
        """Measures of one match, or aggregates over all trends where GROUP BY, SLIDE or such an aggregate is there."""
        items = [self.item(low, high) for low, high in self.syntax.returns]
        counting = any(self.bare_aggregate(i) is not None for i in items)
        if self.syntax.group_by or self.syntax.slide is not None or counting:
            self.bind_trends(items)
        else:
            for item in items:
                self.measure(item)
        return self.out

    # -- items -----------------------------------------------------------------------------------------------------

    def item(self, low: int, high: int) -> Item:
        """An item without its alias, with or without AS."""
        tokens = self.s.tokens
        last = tokens[high - 1]
        if last.kind not in ("word", "quoted") or high - low < 2:
            return Item(low, high, None)
        if high - low >= 3 and self.s.word(high - 2) == "AS":
            return Item(low, high - 2, last)
        before = tokens[high - 2]
        complete = (
            before.kind in ("quoted", "string", "number")
            or before.upper in (")", "]", "%")
            or (before.kind == "word" and before.upper not in _OPERATOR_WORDS)
        )
        return Item(low, high - 1, last) if complete and last.upper not in _NOT_ALIASES else Item(low, high, None)

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
        taken = {m.name.casefold() for m in self.out.measures} | {n.casefold() for _, n in self.out.output}
        if item.alias is not None:
            if item.alias.text.casefold() in taken:
                raise self.scope.error(
                    "CEP_DUPLICATE_COLUMN",
                    f"Two items are named {item.alias.text}.",
                    item.alias,
                    "give it another name",
                )
            return item.alias.text
        number = 1
        while name.casefold() in taken:
            name = text if number == 1 else f"{text}_{number}"
            number += 1
        return name

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
            value = Navigation(event, self.keys(variable, token), False, 0, 0, False, token.start)
            self.add(item, token.text, token.text, value)
        elif variable and item.high - low == 3 and shape == "[ ]":
            event = RowExpression((self.event(),))
            keys = self.keys(variable, token)
            events = Aggregate("array_agg", (event,), False, keys, False, False, None, token.start)
            self.add(item, token.text, self.text(item), events)
        else:
            self.expression(item)

    def event(self) -> str:
        """A whole event: a struct of all columns."""
        self.out.whole_events = True
        return f"struct({', '.join(quoted(c) for c in self.scope.columns if c != GROUP_ID)})"

    def add(self, item: Item, name: str, text: str, *pieces: str | Slot) -> None:
        """Add a measure. ``name``: without an alias; ``text``: instead of it where that name is taken."""
        scalar = Scalar(pieces, self.s.tokens[item.low].start)
        self.out.measures.append(Measure(self.unique(item, name, text), scalar))

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
            value = Navigation(RowExpression((text,)), self.keys(variable, token), False, 0, 0, False, name.start)
            self.add(item, name.text, f"{token.text}.{name.text}", value)

    def expression(self, item: Item) -> None:
        """Add an item that is one expression.

        Raises:
            PatternAnalysisError: CEP_AMBIGUOUS_COLUMN, CEP_NEXT, CEP_INDEX.
        """
        reader = Reader(self.scope, AGGREGATES, constant=lambda name: name.casefold() in self.constants)
        parts: list[Part] = []
        for part in reader.read(item.low, item.high):
            if isinstance(part, str) or part.variable == ANY_EVENT:
                parts.append(part)
                continue
            self.keys(part.variable, part.token)
            if part.next:
                raise self.scope.error("CEP_NEXT", "NEXT can be used in conditions only.", part.token)
            normal = self.conditions.normal(part)
            if normal.index.moves:
                raise self.scope.error(
                    "CEP_INDEX",
                    f"In RETURN there is no i; {part.variable} has several events.",
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
        pieces = [p if isinstance(p, str) else slot(p, self.keys(p.variable, p.token), running=False) for p in parts]
        self.add(item, self.default_name(item, parts), self.text(item), *pieces)

    def default_name(self, item: Item, parts: list[Part]) -> str:
        """As Spark would: the last part of a column, else the text."""
        head, *tail = parts
        column = isinstance(head, Reference) and head.call is None
        if column and all(isinstance(p, str) and re.fullmatch(r"(\s*\.\s*[\w`]+)+", p) for p in tail):
            return self.s.tokens[item.high - 1].text
        return self.text(item)

    # -- trends ----------------------------------------------------------------------------------------------------

    def bare_aggregate(self, item: Item) -> int | None:
        """Index of an aggregate that is not over `v[]` but over all trends, if the item has one."""
        s = self.s
        for i in range(item.low, item.high):
            if s.word(i).lower() in AGGREGATES | TREND_FUNCTIONS and s.operator(i + 1) == "(":
                close = self.scope.closers.get(i + 1, item.high)
                ranged = any(s.operator(k) == "[" for k in range(i + 2, close))
                if not ranged and s.word(i).lower() in TREND_FUNCTIONS and s.operator(i - 1) != ".":
                    return i
        return None

    def bind_trends(self, items: list[Item]) -> None:
        """Bind all items as aggregates over all trends and group keys.

        Raises:
            PatternAnalysisError: CEP_TREND_RETURN, CEP_NOT_IN_GROUP_BY, CEP_MIXED_RETURN.
        """
        tokens = self.s.tokens
        for low, high in self.syntax.group_by:
            self.out.group_by.append(KeyExpression(plain(self.scope, (low, high)), tokens[low].start))
        keys = {
            tokens[low].text.casefold(): k for (low, _), k in zip(self.syntax.group_by, self.out.group_by, strict=True)
        }
        for item in items:
            token = tokens[item.low]
            at = self.bare_aggregate(item)
            if at is not None:
                self.trend(item, at)
            elif item.high - item.low == 1 and (key := keys.get(token.text.casefold())):
                self.out.output.append((key.expression, self.unique(item, token.text, token.text)))
            elif item.high - item.low == 1 and token.upper == "WINDOW" and not self.scope.is_column(WINDOW):
                self.out.output.append((WINDOW, self.unique(item, token.text, token.text)))
            elif item.high - item.low == 1 and self.scope.is_column(token.text):
                raise self.scope.error(
                    "CEP_NOT_IN_GROUP_BY",
                    f"{token.text} is returned with aggregates over all trends but is not in GROUP BY.",
                    token,
                    f"GROUP BY {token.text}",
                )
            else:
                raise self.scope.error(
                    "CEP_MIXED_RETURN",
                    f"{self.text(item)} is of one match, but the block aggregates over all of them.",
                    token,
                    "aggregates over one match are written avg(b[].x); GROUP BY and SLIDE are for aggregates over all",
                )
        if not self.out.trends:
            position = self.syntax.positions.get("GROUP BY", self.syntax.positions.get("WITHIN", 0))
            token = next(t for t in tokens if t.start >= position)
            raise self.scope.error(
                "CEP_TREND_RETURN", "GROUP BY and SLIDE are for aggregates.", token, "RETURN COUNT(*)"
            )

    def trend(self, item: Item, at: int) -> None:
        """Add an aggregate over all trends; ``at``: its token.

        Raises:
            PatternAnalysisError: CEP_MIXED_RETURN, CEP_TREND_ARGUMENT.
        """
        s = self.s
        token = s.tokens[at]
        close = self.scope.closers.get(at + 1, item.high)
        if at != item.low or close != item.high - 1:
            raise self.scope.error(
                "CEP_MIXED_RETURN",
                "An aggregate over all trends must be a RETURN item of its own.",
                token,
                "compute with it in a query around the block: SELECT s / n FROM (FROM ... RETURN SUM(E.x) AS s, ...)",
            )
        function = {"mean": "avg"}.get(s.word(at).lower(), s.word(at).lower())
        low = at + 2
        distinct = s.word(low) == "DISTINCT"
        low += distinct
        counts = function.endswith("count")
        argument: RowExpression | None = None
        keys: Keys = ()
        variable = self.scope.variable(s.tokens[low]) if close == low + 1 else None
        if counts and close == low + 1 and s.operator(low) == "*":
            pass
        elif counts and variable and not distinct:
            keys = self.keys(variable, s.tokens[low])
        elif counts or distinct or close == low:
            raise self.scope.error(
                "CEP_TREND_ARGUMENT",
                f"{function} over all trends takes " + ("*, DISTINCT * or a pattern variable." if counts else "v.x."),
                token,
                "COUNT(*) counts trends, COUNT(E) events of E in them",
            )
        else:
            argument, keys = self.trend_argument(low, close, function)
        name = self.unique(item, self.text(item), self.text(item))
        self.out.trends.append(Trend(name, function, argument, keys, distinct, token.start))
        self.out.output.append((name, name))

    def trend_argument(self, low: int, high: int, function: str) -> tuple[RowExpression, Keys]:
        """What is aggregated, over columns of one event, and the components whose events count.

        Raises:
            PatternAnalysisError: CEP_TREND_ARGUMENT.
        """
        found: list[tuple[str, Index]] = []
        expression = Reader(self.scope, AGGREGATES).row_expression(low, high, function, found)
        token = self.s.tokens[low]
        if len({v for v, _ in found}) != 1 or any(index is not Index.PLAIN for _, index in found):
            raise self.scope.error(
                "CEP_TREND_ARGUMENT",
                f"{function} over all trends is over columns of one pattern variable.",
                token,
                f"{function.upper()}({self.scope.variables[0]}.x)",
            )
        return expression, self.keys(found[0][0], token)
