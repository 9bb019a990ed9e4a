"""What windows of a grouped SELECT name: parts of its text that its GROUP BY computes for each of its rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkcep.errors import PatternAnalysisError
from sparkcep.sql.clause.row_pattern import variable_name
from sparkcep.sql.correlation import is_name
from sparkcep.sql.match_functions import NAVIGATION, is_aggregate
from sparkcep.sql.statement import Statement, WindowCall, WindowedSelect
from sparkcep.sql.token_text import Range
from sparkcep.sql.windows.parser import WindowSyntax
from sparkcep.sql.windows.sides import variables_of

#: Functions of a grouping that are no aggregates.
_OF_GROUPING = frozenset({"GROUPING", "GROUPING_ID"})
#: Behind a part that is no call, these begin what is no operand of it.
_ENDS_PART = frozenset({"ASC", "DESC", "NULLS", "LIMIT", "OFFSET", "AS"})
_BEGINS_PART = frozenset({"BY", "SELECT", "DISTINCT", "ALL"})


def grouped_by(s: Statement, windowed: WindowedSelect) -> list[Range]:
    """Expressions of GROUP BY; those in ROLLUP, CUBE and GROUPING SETS by themselves."""
    assert windowed.grouped is not None
    low, high = windowed.grouped
    if s.word(low) != "GROUP":
        return []
    k = low + 2
    while k < high and s.word(k) != "HAVING":
        k = s.pairs.get(k, k) + 1
    return list(_elements(s, low + 2, k))


def _elements(s: Statement, low: int, high: int) -> Iterator[Range]:
    for a, b in s.between_commas(low, high) if low < high else []:
        if s.word(b - 2) == "WITH" and s.word(b - 1) in ("ROLLUP", "CUBE"):
            yield from _elements(s, a, b - 2)
        elif s.word(b - 1) == "ALL" and b - a == 1:
            continue
        elif s.pairs.get(a + 1) == b - 1 and s.word(a) in ("ROLLUP", "CUBE"):
            yield from _elements(s, a + 2, b - 1)
        elif s.pairs.get(a) == b - 1:
            yield from _elements(s, a + 1, b - 1)
        elif (
            sets := next((k for k in range(a, b) if s.word(k) == "GROUPING" and s.word(k + 1) == "SETS"), None)
        ) is None:
            yield a, b
        else:
            yield from _elements(s, a, sets)
            yield from _elements(s, sets + 3, b - 1)


def same_text(s: Statement, low: int, high: int) -> tuple[str, ...]:
    """A range of tokens as what is equal where Spark reads the same; case of words does not count."""
    return tuple(
        t.text.casefold() if t.kind in ("word", "quoted") else f"{t.kind} {s.text[t.start : t.end]}"
        for t in s.tokens[low:high]
    )


@dataclass(frozen=True, slots=True)
class GroupedParts:
    """Finds the parts of a text that GROUP BY computes: aggregates of its groups, its expressions, and windows
    without patterns over its rows.

    Args:
        expressions: what is grouped by and no plain name. ungrouped: tells of a name, with a qualifier or None, that it
            is a column of FROM which each group has many values of. own_aggregates: users' aggregates.
    """

    s: Statement
    windowed: WindowedSelect
    expressions: Collection[tuple[str, ...]]
    ungrouped: Callable[[str | None, str], bool]
    own_aggregates: Collection[str]

    def of_windows(self, windows: Mapping[int, WindowSyntax]) -> Iterator[Range]:
        """Of PARTITION BY, ORDER BY, MEASURES and DEFINE of windows with patterns."""
        for window in windows.values():
            clause, names = window.clause, variables_of(window)
            for low, high in clause.partition_by:
                yield from self.find(low, high)
            for item in clause.order_by:
                yield from self.find(*item.expression)
            for named in [*clause.measures, *clause.definitions]:
                yield from self.find(*named.expression, names)

    def find(self, low: int, high: int, names: frozenset[str] | None = None) -> Iterator[Range]:
        """Those of a range of tokens, outermost ones.

        Args:
            names: in DEFINE and MEASURES, the pattern variables: an aggregate that stands in no function over rows of
                the match is one itself, unless it reads what only the rows of a group have.

        Raises:
            PatternAnalysisError: CEP_WINDOW_QUERY, an aggregate over what a window gives.
        """
        s = self.s
        calls = {c.low: c for c in self.windowed.calls}
        k = low
        while k < high:
            if s.opens_subquery(k):
                k = s.pairs.get(k, high) + 1
            elif k in calls:
                yield from self.of_call(calls[k])
                k = calls[k].end
            elif (end := self.expression(k, low, high)) is not None:
                yield k, end
                k = end
            elif s.tokens[k].kind == "word" and s.operator(k + 1) == "(" and k + 1 in s.pairs:
                end = self.behind_call(k)
                if s.word(end) == "OVER":
                    stop = s.pairs.get(end + 1, end + 1) + 1
                    yield k, stop
                    k = stop
                elif self.is_aggregate(k) and (names is None or self.of_group(k, s.pairs[k + 1], names)):
                    self.check(k, end)
                    yield k, end
                    k = end
                elif names is not None and (self.is_aggregate(k) or s.word(k) in NAVIGATION):
                    yield from self.find(k + 2, end)
                    k = end
                else:
                    k += 1
            else:
                k += 1

    def of_call(self, call: WindowCall) -> Iterator[Range]:
        """Those of a call over a window with a pattern: of its arguments and its FILTER."""
        k = call.low
        while k < call.over:
            if self.s.operator(k) == "(":
                yield from self.find(k + 1, self.s.pairs[k])
                k = self.s.pairs[k]
            k += 1

    def expression(self, k: int, low: int, high: int) -> int | None:
        """Behind an expression of GROUP BY that begins at a token; None where none does."""
        s = self.s
        if s.operator(k - 1) == ".":
            return None
        for expression in self.expressions:
            end = k + len(expression)
            if end > high or same_text(s, k, end) != expression:
                continue
            whole = (s.operator(k + 1) == "(" and s.pairs.get(k + 1) == end - 1) or is_name(s, k, end)
            begins = k == low or s.operator(k - 1) in ("(", ",") or s.word(k - 1) in _BEGINS_PART
            ends = end == high or s.operator(end) in (")", ",") or s.word(end) in _ENDS_PART
            goes_on = s.operator(end) in (".", "[", "(") or s.word(end) == "OVER"
            if (whole and not goes_on) or (begins and ends):
                return end
        return None

    def is_aggregate(self, k: int) -> bool:
        """Whether a call, by its name at a token, is one that a grouping computes."""
        word = self.s.word(k)
        is_call = self.s.word(k - 1) not in ("LIKE", "ILIKE") and self.s.operator(k - 1) != "."
        return is_call and (word in _OF_GROUPING or is_aggregate(word, self.own_aggregates))

    def behind_call(self, k: int) -> int:
        """Behind a call with what belongs to it: WITHIN GROUP, FILTER, IGNORE NULLS."""
        s, end = self.s, self.s.pairs[k + 1] + 1
        if s.word(end) == "WITHIN" and s.word(end + 1) == "GROUP" and end + 2 in s.pairs:
            end = s.pairs[end + 2] + 1
        if s.word(end) == "FILTER" and end + 1 in s.pairs:
            end = s.pairs[end + 1] + 1
        if s.word(end) in ("IGNORE", "RESPECT") and s.word(end + 1) == "NULLS":
            end += 2
        return end

    def of_group(self, call: int, high: int, names: frozenset[str]) -> bool:
        """Whether an aggregate in DEFINE or MEASURES is the group's: it reads what only rows of a group have."""
        s = self.s
        if s.word(call) in _OF_GROUPING:
            return True
        inside = range(call + 2, high)
        if any(self.is_aggregate(k) and s.operator(k + 1) == "(" for k in inside):
            return False
        for k in inside:
            token = s.tokens[k]
            if token.kind not in ("word", "quoted") or s.operator(k - 1) == "." or s.operator(k + 1) == "(":
                continue
            if s.operator(k + 1) != ".":
                if self.ungrouped(None, token.text):
                    return True
            elif variable_name(token) not in names and self.ungrouped(token.text, s.tokens[k + 2].text):
                return True
        return False

    def check(self, low: int, high: int) -> None:
        """Refuse an aggregate over what windows give, which come behind the grouping.

        Raises:
            PatternAnalysisError: CEP_WINDOW_QUERY.
        """
        for call in self.windowed.calls:
            if low <= call.low < high:
                raise PatternAnalysisError(
                    "CEP_WINDOW_QUERY",
                    "A grouping cannot aggregate what its windows give: they see its rows.",
                    text=self.s.text,
                    position=self.s.tokens[call.low].start,
                    hint="call the window in a subquery, and group around it: SELECT ... FROM (SELECT ...) t GROUP BY",
                )


def plain_names(s: Statement, ranges: Sequence[Range]) -> list[Range]:
    """Those of GROUP BY's expressions that are names of columns, with qualifiers or without."""
    return [(low, high) for low, high in ranges if is_name(s, low, high)]
