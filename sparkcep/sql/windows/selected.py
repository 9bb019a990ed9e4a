"""The text of a SELECT that has windows with patterns: calls become columns of the relation it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sparkcep.query import quote, unescape
from sparkcep.sql.lexicon import CLOSES_OPERAND, NO_ALIASES, WANTS_OPERAND
from sparkcep.sql.rewriter import Rewriter
from sparkcep.sql.statement import Statement, WindowCall, WindowedSelect


def select_items(s: Statement, windowed: WindowedSelect) -> list[tuple[int, int]]:
    """Token ranges of the SELECT list."""
    low = windowed.select + 1
    return s.between_commas(low + (s.word(low) in ("DISTINCT", "ALL")), windowed.source)


def expression_end(s: Statement, low: int, high: int) -> int:
    """Behind the expression of an item of a SELECT list: where AS or a name begins, or the item's end."""
    last = s.tokens[high - 1]
    if high - low < 2 or last.kind not in ("word", "quoted") or s.word(high - 1) in NO_ALIASES:
        return high
    before = s.tokens[high - 2]
    if before.upper == "AS":
        return high - 2
    named = before.upper in CLOSES_OPERAND if before.kind == "op" else before.upper not in WANTS_OPERAND
    return high - 1 if named else high


def relation_alias(s: Statement, windowed: WindowedSelect) -> int | None:
    """Token by which columns of the one relation in FROM may be qualified; None where there is none."""
    if windowed.joined is not None or windowed.grouped is not None:
        return None
    low, last = windowed.source + 1, windowed.relations_end - 1
    if s.operator(last) == ")":
        before = s.opening(last, low) - 1
        named = before > low and s.tokens[before].kind in ("word", "quoted") and s.operator(before - 1) != "."
        if named and s.word(before) not in ("TABLESAMPLE", "AS"):
            return before  # t(a, b)
        if s.word(before) != "TABLESAMPLE":
            return None
    elif s.tokens[last].kind in ("word", "quoted"):
        return last
    behind = low
    while s.operator(behind + 1) == ".":
        behind += 2
    return behind if s.tokens[behind].kind in ("word", "quoted") and s.operator(behind + 1) != "(" else None


@dataclass(frozen=True, slots=True)
class SelectEdits:
    """Rewrites the SELECT around its source.

    Args:
        columns: the column that answers a call. over: text of the window of those that see the whole partition.
        hidden: what else its relation has that no star is to show. own_names: of items, by their tokens, that have none
            but what Spark would make of their text.
    """

    rewriter: Rewriter
    windowed: WindowedSelect
    columns: Mapping[WindowCall, str]
    over: Mapping[WindowCall, str]
    hidden: Sequence[str] = ()
    own_names: Mapping[tuple[int, int], str] = field(default_factory=dict)

    @property
    def s(self) -> Statement:
        """The statement."""
        return self.rewriter.statement

    def apply(self) -> None:
        """Note the edits."""
        suffixes = dict(self.names())
        for call, column in self.columns.items():
            self.rewriter.put(call.low, call.end, column + suffixes.pop(call.end, ""))
        for call, over in self.over.items():
            self.rewriter.put(call.over, call.end, f"OVER ({over})" + suffixes.pop(call.end, ""))
        for end, suffix in suffixes.items():
            self.rewriter.put(end - 1, end, self.rewriter.tokens_text(end - 1, end) + suffix)
        if self.columns or self.hidden:
            self.hide([*sorted(set(self.columns.values())), *self.hidden])
        self.drop_windows()
        for (low, high), name in self.own_names.items():
            self.rewriter.put(low, high, f"{self.rewriter.tokens_text(low, high)} AS {quote(name)}")

    def names(self) -> Iterator[tuple[int, str]]:
        """Index behind each item that has a call and no name, and the name it gets: its own text, as Spark's would
        show columns of ours."""
        s = self.s
        calls = [*self.columns, *self.over]
        for low, high in select_items(s, self.windowed):
            own = [c for c in calls if low <= c.low < high]
            if not own or (high != max(c.end for c in own) and expression_end(s, low, high) < high):
                continue
            text = " ".join(s.text[s.tokens[low].start : s.tokens[high - 1].end].split())
            # What the user had Spark format has its braces doubled.
            yield high, f" AS {quote(unescape(text) if self.rewriter.formatted else text)}"

    def hide(self, columns: Sequence[str]) -> None:
        """Leave our columns out of the stars in the SELECT list."""
        s, names = self.s, ", ".join(columns)
        alias = relation_alias(s, self.windowed)
        inner = [(k, s.pairs[k]) for k in s.pairs if s.word(k + 1) in ("SELECT", "WITH", "FROM", "VALUES")]
        for k in range(self.windowed.select + 1, self.windowed.source):
            if s.operator(k) != "*" or any(a < k < b and a > self.windowed.select for a, b in inner):
                continue
            before = s.operator(k - 1)
            counted = before == "(" and s.word(k - 2) == "COUNT"
            if counted or not (before in (",", "(", ".") or s.word(k - 1) in ("SELECT", "DISTINCT", "ALL")):
                continue
            if any(c.low <= k < c.end for c in self.columns):
                continue
            name = s.tokens[k - 2].text.casefold()
            if before == "." and (alias is None or name != s.tokens[alias].text.casefold()):
                continue  # of a struct
            if s.word(k + 1) == "EXCEPT" and k + 2 in s.pairs:
                self.rewriter.put(s.pairs[k + 2], s.pairs[k + 2] + 1, f", {names})")
            else:
                self.rewriter.put(k, k + 1, f"* EXCEPT ({names})")

    def drop_windows(self) -> None:
        """Leave Spark the windows without patterns; what groups the rows has taken them with it."""
        if self.windowed.clause is not None:
            kept = "" if self.windowed.grouped is not None else plain_windows(self.rewriter, self.windowed)
            self.rewriter.put(*self.windowed.clause, kept)


def plain_windows(rewriter: Rewriter, windowed: WindowedSelect) -> str:
    """The WINDOW clause with those windows alone that have no pattern; empty where there are none."""
    if windowed.clause is None:
        return ""
    s, named = rewriter.statement, windowed.named
    low, high = windowed.clause
    kept: list[str] = []
    k = low + 1
    while k < high:
        at = named[s.tokens[k].text.casefold()]
        end = s.pairs[at] + 1 if isinstance(at, int) else k + 3
        if windowed.opens(at) not in windowed.patterns:
            name = rewriter.tokens_text(k, k + 1)
            text = _whole(rewriter, windowed, at) if isinstance(at, int) else s.tokens[k + 2].text
            kept.append(f"{name} AS {text}")
        k = end + 1
    return f"WINDOW {', '.join(kept)}" if kept else ""


def _whole(rewriter: Rewriter, windowed: WindowedSelect, opens: int, extending: frozenset[int] = frozenset()) -> str:
    """A window without a pattern, with what it extends in its place: Spark's extend none.

    ``extending``: windows that this one is to be put into; one that extends itself is left to Spark.
    """
    s, low = rewriter.statement, opens + 1
    close = s.pairs[opens]
    base = windowed.opens(s.tokens[low].text.casefold()) if low < close else None
    within = extending | {opens}
    if base is None or base in within or s.word(low + 1) not in ("", "PARTITION", "ORDER", "ROWS", "RANGE"):
        return rewriter.tokens_text(opens, close + 1)
    rest = rewriter.render(s.tokens[low].end, s.tokens[close].start)
    return f"({_whole(rewriter, windowed, base, within)[1:-1]} {rest})"
