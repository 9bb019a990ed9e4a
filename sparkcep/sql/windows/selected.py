"""The text of a SELECT that has windows with patterns: calls become columns of the relation it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkcep.sql.lexicon import NO_ALIASES, WANTS_OPERAND
from sparkcep.sql.rewriter import Rewriter
from sparkcep.sql.statement import Statement, WindowCall, WindowedSelect


def relation_alias(s: Statement, windowed: WindowedSelect) -> int | None:
    """Token by which columns of the one relation in FROM may be qualified; None where there is none."""
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
    """

    rewriter: Rewriter
    windowed: WindowedSelect
    columns: Mapping[WindowCall, str]
    over: Mapping[WindowCall, str]

    @property
    def s(self) -> Statement:
        """The statement."""
        return self.rewriter.statement

    def apply(self) -> None:
        """Note the edits."""
        suffixes = dict(self.names())
        for call, column in self.columns.items():
            self.replace(call.low, call.end, column + suffixes.pop(call.end, ""))
        for call, over in self.over.items():
            self.replace(call.over, call.end, f"OVER ({over})" + suffixes.pop(call.end, ""))
        for end, suffix in suffixes.items():
            token = self.s.tokens[end - 1]
            self.replace(end - 1, end, self.rewriter.render(token.start, token.end) + suffix)
        if self.columns:
            self.hide(sorted(set(self.columns.values())))
        self.drop_windows()

    def replace(self, low: int, high: int, text: str) -> None:
        """From now on a token range reads so."""
        tokens = self.s.tokens
        self.rewriter.edits.append((tokens[low].start, tokens[high - 1].end, text))

    def items(self) -> Iterator[tuple[int, int]]:
        """Token ranges of the SELECT list."""
        s, low = self.s, self.windowed.select + 1
        low += s.word(low) in ("DISTINCT", "ALL")
        k = low
        while k < self.windowed.source:
            if s.operator(k) == ",":
                yield low, k
                low = k + 1
            k = s.pairs.get(k, k) + 1 if s.operator(k) == "(" else k + 1
        yield low, self.windowed.source

    def names(self) -> Iterator[tuple[int, str]]:
        """Index behind each item that has a call and no name, and the name it gets: its own text, as Spark's would
        show columns of ours."""
        s = self.s
        calls = [*self.columns, *self.over]
        for low, high in self.items():
            own = [c for c in calls if low <= c.low < high]
            if not own or (high - 1 != max(c.end for c in own) - 1 and self.has_name(low, high)):
                continue
            text = " ".join(s.text[s.tokens[low].start : s.tokens[high - 1].end].split())
            escaped = text.replace("`", "``")
            if not self.rewriter.formatted:  # else braces come doubled
                escaped = escaped.replace("{", "{{").replace("}", "}}")
            yield high, f" AS `{escaped}`"

    def has_name(self, low: int, high: int) -> bool:
        """Whether an item ends with its name."""
        s, last = self.s, self.s.tokens[high - 1]
        if high - low < 2 or last.kind not in ("word", "quoted") or s.word(high - 1) in NO_ALIASES:
            return False
        before = s.tokens[high - 2]
        if before.upper == "AS":
            return True
        return before.upper in (")", "]") if before.kind == "op" else before.upper not in WANTS_OPERAND

    def hide(self, columns: Sequence[str]) -> None:
        """Leave our columns out of the stars in the SELECT list."""
        s, names = self.s, ", ".join(columns)
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
            if s.word(k + 1) == "EXCEPT" and k + 2 in s.pairs:
                self.replace(s.pairs[k + 2], s.pairs[k + 2] + 1, f", {names})")
            else:
                self.replace(k, k + 1, f"* EXCEPT ({names})")

    def drop_windows(self) -> None:
        """Leave Spark the windows without patterns."""
        if self.windowed.clause is None:
            return
        s, named = self.s, self.windowed.named
        low, high = self.windowed.clause
        kept: list[str] = []
        k = low + 1
        while k < high:
            at = named[s.tokens[k].text.casefold()]
            end = s.pairs[at] + 1 if isinstance(at, int) else k + 3
            if self.windowed.opens(at) not in self.windowed.patterns:
                name = self.rewriter.render(s.tokens[k].start, s.tokens[k].end)
                text = self.whole(at) if isinstance(at, int) else s.tokens[k + 2].text
                kept.append(f"{name} AS {text}")
            k = end + 1
        self.replace(low, high, f"WINDOW {', '.join(kept)}" if kept else "")

    def whole(self, opens: int, extending: frozenset[int] = frozenset()) -> str:
        """A window without a pattern, with what it extends in its place: Spark's extend none.

        ``extending``: windows that this one is to be put into; one that extends itself is left to Spark.
        """
        s, low, close = self.s, opens + 1, self.s.pairs[opens]
        base = self.windowed.opens(s.tokens[low].text.casefold()) if low < close else None
        within = extending | {opens}
        if base is None or base in within or s.word(low + 1) not in ("", "PARTITION", "ORDER", "ROWS", "RANGE"):
            return self.rewriter.render(s.tokens[opens].start, s.tokens[close].end)
        rest = self.rewriter.render(s.tokens[low].end, s.tokens[close].start)
        return f"({self.whole(base, within)[1:-1]} {rest})"
