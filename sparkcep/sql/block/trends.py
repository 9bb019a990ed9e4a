"""Bind aggregates over trends: RETURN items of them, GROUP BY and HAVING."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sparkcep.query import (
    GROUP_KEY,
    TREND_VALUE,
    WINDOW_COLUMN,
    WINDOW_OF_GROUP,
    KeyExpression,
    RowExpression,
    Trend,
    TrendExpression,
    folded,
)
from sparkcep.sql.block.conditions import Keys
from sparkcep.sql.block.items import Item, Items
from sparkcep.sql.block.parser import BlockSyntax
from sparkcep.sql.block.references import Reader
from sparkcep.sql.block.scope import ANY_EVENT, BlockScope, Index, Part, Reference
from sparkcep.sql.block.source import plain
from sparkcep.sql.lexicon import Token
from sparkcep.sql.match_functions import AGGREGATES, is_aggregate
from sparkcep.sql.row_expressions import refuse_parameters
from sparkcep.sql.token_text import Range

TREND_FUNCTIONS = frozenset("count sum min max avg mean try_count try_sum try_avg approx_count".split())
_COMPARISONS = frozenset("= == < > <= >= <> != <=>".split())
#: Operators that bind no more than comparisons do.
_BINDS_LESS = _COMPARISONS | frozenset("AND OR NOT IS IN LIKE ILIKE RLIKE BETWEEN".split())
_BORDERS = frozenset(", WHEN THEN ELSE".split())
_GROUPINGS = frozenset({"ROLLUP", "CUBE", "GROUPING"})


class TrendBinder:
    """Binds what a block asks of all its trends.

    Raises:
        PatternAnalysisError: CEP_MIXED_RETURN, CEP_NOT_IN_GROUP_BY, CEP_TREND_RETURN, CEP_TREND_ARGUMENT, CEP_GROUP_BY,
            CEP_UNSUPPORTED_AGGREGATE and those of :class:`Reader`.
    """

    def __init__(self, items: Items, syntax: BlockSyntax, returned: Sequence[Item]) -> None:
        self.items = items
        self.scope: BlockScope = items.scope
        self.s = items.s
        self.syntax = syntax
        self.returned = returned
        self.out = items.out
        #: How group keys are written, the longest first: tokens and place.
        self.keys: list[tuple[Sequence[str], int]] = []

    def are_asked_for(self) -> bool:
        """Whether an aggregate over all trends, GROUP BY or SLIDE is there.

        Raises:
            PatternAnalysisError: CEP_TREND_RETURN, there is a HAVING and nothing of them.
        """
        syntax = self.syntax
        counting = any(next(self.aggregates(i.low, i.high), None) is not None for i in self.returned)
        if syntax.group_by or syntax.slide is not None or counting:
            return True
        if syntax.having is None:
            return False
        if self.returned and next(self.aggregates(*syntax.having), None) is not None:
            return True
        raise self.scope.error(
            "CEP_TREND_RETURN",
            "HAVING is for aggregates over all trends.",
            self.at("HAVING"),
            "RETURN COUNT(*) ... HAVING COUNT(*) > 1; write a condition on one match in WHERE, or in a "
            "query around the block",
        )

    def at(self, clause: str) -> Token:
        """The token at which a clause begins."""
        position = self.syntax.positions[clause]
        return next(t for t in self.s.tokens if t.start >= position)

    def aggregates(self, low: int, high: int) -> Iterator[int]:
        """Places of aggregates that are not over `v[]` but over all trends; those of subqueries are Spark's."""
        s = self.s
        i = low
        while i < high:
            if s.opens_subquery(i):
                i = self.scope.closers.get(i, high) + 1
                continue
            called = s.word(i).lower() in TREND_FUNCTIONS and s.operator(i + 1) == "(" and s.operator(i - 1) != "."
            if called and not self.is_ranged(i):
                yield i
            i += 1

    def is_ranged(self, i: int) -> bool:
        """Whether the call at a token is over a range of one match's events."""
        close = self.scope.closers.get(i + 1, i + 1)
        return any(self.s.operator(k) == "[" for k in range(i + 2, close))

    def bind(self) -> None:
        """Bind all of it.

        Raises:
            PatternAnalysisError: see the class.
        """
        self.group_by()
        aliases: dict[str, str] = {}
        for item in self.returned:
            reader = TrendReader(self, aliases)
            text = reader.text(item.low, item.high)
            default = self.s.tokens[item.high - 1].text if reader.is_name else self.items.text(item)
            name = self.items.unique(item, default, self.items.text(item))
            self.out.output.append(TrendExpression(name, text, self.s.tokens[item.low].start))
            if item.alias is not None:
                aliases[name.casefold()] = f"({text})"
        if self.syntax.having is not None:
            low, high = self.syntax.having
            text = TrendReader(self, aliases, aliases_first=True).text(low, high)
            self.out.having = TrendExpression("", text, self.s.tokens[low].start)
        if not self.out.trends:
            token = self.at("GROUP BY" if self.syntax.group_by else "WITHIN")
            raise self.scope.error(
                "CEP_TREND_RETURN", "GROUP BY and SLIDE are for aggregates.", token, "RETURN COUNT(*)"
            )

    # -- GROUP BY --------------------------------------------------------------------------------------------------

    def group_by(self) -> None:
        """Group keys: expressions over columns, names of RETURN items or their numbers; `window` groups anyway."""
        for span in self.syntax.group_by:
            low, high = self.resolved(span)
            token = self.s.tokens[low]
            if high - low == 1 and self.is_window(low):
                if self.syntax.within is None:
                    raise self.scope.error(
                        "CEP_SLIDE", "Without WITHIN there is no window.", token, "WITHIN 10 minutes"
                    )
                continue
            self.refuse_in_group_by(low, high)
            self.keys.append((self.spelling(*self.bare(low, high)), len(self.out.group_by)))
            self.out.group_by.append(KeyExpression(plain(self.scope, (low, high)), token.start))
        self.keys.sort(key=lambda k: -len(k[0]))

    def resolved(self, span: Range) -> Range:
        """A group key's tokens: of a RETURN item where it is its number, or its alias and no column.

        Raises:
            PatternAnalysisError: CEP_GROUP_BY, no item has the number.
        """
        low, high = span
        token = self.s.tokens[low]
        if high - low != 1:
            return span
        if token.kind == "number" and token.text.isdigit():
            if not 1 <= int(token.text) <= len(self.returned):
                raise self.scope.error(
                    "CEP_GROUP_BY", f"RETURN has no item {token.text}; it has {len(self.returned)}.", token
                )
            item = self.returned[int(token.text) - 1]
            return item.low, item.high
        if token.kind in ("word", "quoted") and not self.scope.is_column(token.text):
            for item in self.returned:
                if item.alias is not None and item.alias.text.casefold() == token.text.casefold():
                    return item.low, item.high
        return span

    def refuse_in_group_by(self, low: int, high: int) -> None:
        """Raises CEP_GROUP_BY for aggregates, and for grouping sets."""
        s = self.s
        for i in range(low, high):
            called = s.operator(i + 1) == "(" and s.operator(i - 1) != "."
            if called and s.word(i).lower() in AGGREGATES | TREND_FUNCTIONS and s.word(i - 1) not in ("LIKE", "ILIKE"):
                raise self.scope.error(
                    "CEP_GROUP_BY", f"GROUP BY cannot contain the aggregate {s.word(i).lower()}.", s.tokens[i],
                    "conditions on aggregates go into HAVING",
                )  # fmt: skip
        if s.word(low) in _GROUPINGS and s.operator(low + 1 + (s.word(low) == "GROUPING")) == "(":
            raise self.scope.error(
                "CEP_GROUP_BY", f"A block has no {s.word(low)}: each event is of one group.", s.tokens[low],
                "GROUP BY what is finest, and add up in a query around the block",
            )  # fmt: skip

    def is_window(self, i: int) -> bool:
        """Whether a token is the name of the group's window."""
        named = self.s.word(i) == "WINDOW" and self.s.operator(i + 1) != "(" and self.s.operator(i - 1) != "."
        return named and not self.scope.is_column(WINDOW_COLUMN)

    def bare(self, low: int, high: int) -> Range:
        """Without parentheses around all of it."""
        while self.s.operator(low) == "(" and self.scope.closers.get(low) == high - 1 and high - low > 2:
            low, high = low + 1, high - 1
        return low, high

    def spelling(self, low: int, high: int) -> list[str]:
        """Tokens by which two texts are the same expression: names folded, the relation's own left out."""
        out = []
        i = low
        while i < high:
            token = self.s.tokens[i]
            if i + 2 < high and self.is_qualifier(i):
                i += 2
                continue
            out.append(self.folded(token))
            i += 1
        return out

    def folded(self, token: Token) -> str:
        """One token for comparison."""
        if token.kind in ("word", "quoted"):
            return folded(token.text, self.scope.case_sensitive)
        return self.s.text[token.start : token.end]

    def is_qualifier(self, i: int) -> bool:
        """Whether `name .` names the input, as in `t.x`."""
        before = self.s.operator(i - 1) == "."
        return not before and self.scope.is_qualifier(i)

    def key_at(self, i: int, low: int, high: int) -> tuple[int, int] | None:
        """The group key that stands at a token of an expression (``low`` to ``high``), and the token behind it."""
        s = self.s
        if s.operator(i - 1) == ".":
            return None
        for wanted, number in self.keys:
            k = i
            for part in wanted:
                if k + 2 < high and self.is_qualifier(k):
                    k += 2
                if k >= high or self.folded(s.tokens[k]) != part:
                    break
                k += 1
            else:
                if s.operator(k) != "(" and self.stands_alone(wanted, i, k, low, high):
                    return number, k
        return None

    def stands_alone(self, key: Sequence[str], first: int, after: int, low: int, high: int) -> bool:
        """Whether a group key's tokens are an operand of what stands beside them, not parts of other operands."""
        s = self.s
        called = s.tokens[first].kind == "word" and s.operator(first + 1) == "("
        if len(key) == 1 or (called and self.scope.closers.get(first + 1) == after - 1):
            return True
        before = "" if first == low else s.tokens[first - 1].upper
        behind = "" if after == high else s.tokens[after].upper
        own = {t.upper for t in s.tokens[first:after] if t.kind in ("word", "op")}
        # Behind a comparison an operand of arithmetic is whole.
        borders = _BORDERS | (_COMPARISONS if not own & _BINDS_LESS else frozenset())
        return before in borders | {"", "("} and behind in borders | {"", ")", "END"}

    # -- aggregates ------------------------------------------------------------------------------------------------

    def trend(self, at: int) -> str:
        """The column of the aggregate over all trends at a token; the same aggregate is one column.

        Raises:
            PatternAnalysisError: CEP_TREND_ARGUMENT.
        """
        s = self.s
        token = s.tokens[at]
        close = self.scope.closers.get(at + 1, at + 1)
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
            keys = self.items.keys(variable, s.tokens[low])
        elif distinct or close == low:
            raise self.scope.error(
                "CEP_TREND_ARGUMENT",
                f"{function} over all trends takes "
                + ("*, DISTINCT *, a pattern variable or v.x." if counts else "v.x."),
                token,
                "COUNT(*) counts trends, COUNT(E) events of E in them",
            )
        else:
            argument, keys = self.argument(low, close, function)
        name = s.text[token.start : s.tokens[close].end]
        found = Trend(name, function, argument, keys, distinct, token.start)
        for n, known in enumerate(self.out.trends):
            if _same(known, found):
                return f"{TREND_VALUE}{n}"
        self.out.trends.append(found)
        return f"{TREND_VALUE}{len(self.out.trends) - 1}"

    def argument(self, low: int, high: int, function: str) -> tuple[RowExpression, Keys]:
        """What is aggregated, over columns of one event, and the components whose events count: without a variable
        all events of a trend.

        Raises:
            PatternAnalysisError: CEP_TREND_ARGUMENT.
        """
        found: list[tuple[str, Index]] = []
        expression = Reader(self.scope, AGGREGATES).row_expression(low, high, function, found, any_event=True)
        of = {v for v, _ in found}
        token = self.s.tokens[low]
        if len(of) != 1 or any(index is not Index.PLAIN for _, index in found):
            several = sorted(of - {ANY_EVENT})
            raise self.scope.error(
                "CEP_TREND_ARGUMENT",
                f"{function} over all trends is over columns of one pattern variable, or of any event.",
                token,
                " + ".join(f"{function.upper()}({v}.x)" for v in several)
                if len(several) > 1 and function == "sum"
                else f"{function.upper()}({self.scope.variables[0]}.x); {function.upper()}(x) is over all events",
            )
        return expression, self.items.keys(of.pop(), token)


def _same(a: Trend, b: Trend) -> bool:
    return (a.function, a.argument, a.components, a.distinct) == (b.function, b.argument, b.components, b.distinct)


class TrendReader(Reader):
    """Reads an expression over aggregates, group keys and the window into SQL over their columns.

    Args:
        aliases: folded names of items before this one, with what they stand for; ``aliases_first``: also where a column
            has the name.
    """

    def __init__(self, binder: TrendBinder, aliases: Mapping[str, str], aliases_first: bool = False) -> None:
        super().__init__(binder.scope, AGGREGATES, hoists=True)
        self.binder = binder
        self.aliases = aliases
        self.aliases_first = aliases_first
        self.low = self.high = 0
        #: Whether the expression is one name.
        self.is_name = False

    def text(self, low: int, high: int) -> str:
        """SQL of the expression in a token range.

        Raises:
            PatternAnalysisError: CEP_MIXED_RETURN, CEP_NOT_IN_GROUP_BY and those of :class:`Reader`.
        """
        self.low, self.high = low, high
        parts = self.read(low, high)
        for part in parts:
            if isinstance(part, Reference):
                raise self.mixed(part.token)
        if self.bare is not None:
            s = self.scope.statement
            written = f"{self.bare.text} is used with aggregates over all trends but is not in GROUP BY."
            operand = any(self.binder.folded(self.bare) in key for key, _ in self.binder.keys)
            hint = "write the GROUP BY expression as it is there, in parentheses" if operand else None
            raise self.scope.error(
                "CEP_NOT_IN_GROUP_BY", written, self.bare,
                hint or f"GROUP BY {s.text[self.bare.start : self.bare.end]}",
            )  # fmt: skip
        return "".join(p for p in parts if isinstance(p, str))

    def mixed(self, token: Token) -> Exception:
        """CEP_MIXED_RETURN; the caller raises it."""
        return self.scope.error(
            "CEP_MIXED_RETURN",
            f"{token.text} is of one match, but the block aggregates over all of them.",
            token,
            "aggregates over one match are written avg(b[].x); GROUP BY, HAVING and SLIDE are for aggregates over all",
        )

    def known(self, i: int) -> tuple[str, int] | None:
        """A group key, the window, an alias."""
        s = self.scope.statement
        token = s.tokens[i]
        if i in self.parameters:
            return None
        single = token.kind in ("word", "quoted") and s.operator(i + 1) not in (".", "(", "[")
        single = single and s.operator(i - 1) != "." and s.word(i - 1) != "AS"
        alias = self.aliases.get(token.text.casefold()) if single else None
        if alias is not None and self.aliases_first:
            return alias, i + 1
        if (found := self.binder.key_at(i, self.low, self.high)) is not None:
            number, after = found
            self.is_name = self.low == i and after == self.high and s.tokens[after - 1].kind in ("word", "quoted")
            return f"{GROUP_KEY}{number}", after
        if self.binder.is_window(i):
            self.is_name = self.high - self.low == 1
            return WINDOW_OF_GROUP, i + 1
        if alias is not None and not self.scope.is_column(token.text):
            return alias, i + 1
        return None

    def call(self, i: int) -> tuple[Part, int] | None:
        """An aggregate over trends.

        Raises:
            PatternAnalysisError: CEP_UNSUPPORTED_AGGREGATE, CEP_MIXED_RETURN and those of :meth:`TrendBinder.trend`.
        """
        s = self.scope.statement
        name = s.word(i).lower()
        close = self.scope.closers.get(i + 1)
        called = name in TREND_FUNCTIONS or is_aggregate(name, self.scope.own_aggregates)
        if not called or close is None or s.word(i - 1) in ("LIKE", "ILIKE"):
            return super().call(i)
        if self.binder.is_ranged(i):
            raise self.mixed(s.tokens[i])
        if name not in TREND_FUNCTIONS:
            raise self.scope.error(
                "CEP_UNSUPPORTED_AGGREGATE",
                f"{name} cannot be computed over trends that are not constructed.",
                s.tokens[i],
                "over trends there are COUNT, SUM, MIN, MAX, AVG, try_count, try_sum, try_avg and approx_count",
            )
        if s.word(close + 1) == "FILTER":
            raise self.scope.error(
                "CEP_UNSUPPORTED_AGGREGATE", "Aggregates over trends have no FILTER.", s.tokens[close + 1],
                "SUM(CASE WHEN v.x > 0 THEN v.y END) leaves out values of events",
            )  # fmt: skip
        refuse_parameters(self.parameters, self.scope.statement.tokens, i + 2, close, name, self.scope.error)
        return self.binder.trend(i), close + 1
