"""Parse a window with a pattern: its sections as token ranges, before any name is bound."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sparkcep.pattern import Anchor, walk
from sparkcep.sql.clause.parser import ClauseParser, ClauseSyntax
from sparkcep.sql.lexicon import CLOSES_OPERAND
from sparkcep.sql.statement import Statement, WindowedSelect
from sparkcep.sql.token_text import Range

_FRAMES = ("ROWS", "RANGE", "GROUPS")
_FRAME_HINT = "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING, or AND n FOLLOWING"


@dataclass(slots=True)
class WindowSyntax:
    """The sections of one window; ranges are token indexes into the statement.

    ``base``: where the name of the window stands that it extends. ``framed``: where its frame stands, None without one.
    ``frame``: rows that follow, None for UNBOUNDED; an empty range is CURRENT ROW.
    """

    clause: ClauseSyntax
    body: Range
    base: int | None = None
    framed: int | None = None
    frame: Range | None = None
    seek: bool = False


class WindowParser(ClauseParser):
    """Reads one window, which has a pattern or is extended by one that has.

    Raises:
        PatternParseError: CEP_WINDOW_FRAME, CEP_WINDOW_PATTERN, and those of a clause.
    """

    what = "a window with a pattern"
    order = (
        "PARTITION BY", "ORDER BY", "MEASURES", "FRAME", "EXCLUDE", "AFTER MATCH SKIP", "SEARCH", "PATTERN", "SUBSET",
        "DEFINE",
    )  # fmt: skip
    order_hint = (
        "the order is PARTITION BY, ORDER BY, MEASURES, ROWS BETWEEN CURRENT ROW AND ..., AFTER MATCH SKIP, "
        "INITIAL | SEEK, PATTERN, SUBSET, DEFINE"
    )
    beginnings = ("ROWS BETWEEN", "INITIAL", "SEEK")

    def __init__(self, statement: Statement, body: Range, formatted: bool) -> None:
        super().__init__(statement, body, formatted)
        self.window = WindowSyntax(self.out, body)

    def parse_window(self) -> WindowSyntax:
        """The window's token ranges."""
        if self.at < self.end and self.section(self.at) is None and self.s.tokens[self.at].kind in ("word", "quoted"):
            behind = self.at + 1
            if behind == self.end or self.section(behind, after_name=True):
                self.window.base = self.at
                self.at = self.start = behind
        self.parse()
        if self.window.framed is None:
            raise self.error(
                "A window with a pattern needs a frame.",
                "CEP_WINDOW_FRAME",
                hint=f"{_FRAME_HINT}, before AFTER MATCH SKIP and PATTERN",
                at=next(i for i in range(*self.window.body) if self.section(i) == "PATTERN"),
            )
        assert self.out.pattern is not None
        if any(isinstance(node, Anchor) for node in walk(self.out.pattern)):
            at = next(i for i in range(*self.window.body) if self.section(i) == "PATTERN")
            sign = next(k for k in range(at, self.s.pairs[at + 1]) if set(self.s.tokens[k].text) & {"^", "$"})
            raise self.error(
                "^ and $ cannot be used in a window: a match is looked for in each row's frame, not in the partition.",
                "CEP_WINDOW_PATTERN",
                at=sign,
            )
        return self.window

    def section(self, i: int, after_name: bool = False) -> str | None:
        """The section that begins at a token, if one does. ``after_name``: what stands before it is a whole name."""
        w = self.s.word
        first, second = w(i), w(i + 1)
        before = self.s.tokens[i - 1]
        if i < self.end and (i == self.start or after_name or (before.kind != "op" or before.upper in CLOSES_OPERAND)):
            if first in _FRAMES and (second in ("BETWEEN", "UNBOUNDED", "CURRENT") or w(i + 2) == "PRECEDING"):
                return "FRAME"
            if first == "EXCLUDE" and second in ("NO", "CURRENT", "GROUP", "TIES"):
                return "EXCLUDE"
            if first in ("INITIAL", "SEEK") and second in ("PATTERN", "SUBSET", "DEFINE", "AFTER"):
                return "SEARCH"
        return super().section(i, after_name)

    # -- sections --------------------------------------------------------------------------------------------------

    def read_frame(self) -> None:
        """ROWS BETWEEN CURRENT ROW AND { CURRENT ROW | UNBOUNDED FOLLOWING | expression FOLLOWING }

        Raises:
            PatternParseError: CEP_WINDOW_FRAME.
        """
        self.window.framed = start = self.at
        if not self.words("ROWS", "BETWEEN", "CURRENT", "ROW", "AND"):
            rows = self.s.word(start) == "ROWS"
            raise self.error(
                f"The frame of a window with a pattern {'begins with the current row' if rows else 'is one of ROWS'}.",
                "CEP_WINDOW_FRAME",
                hint=_FRAME_HINT,
            )
        if self.words("UNBOUNDED", "FOLLOWING"):
            return
        if self.words("CURRENT", "ROW"):
            self.window.frame = (self.at, self.at)
            return
        low = self.at
        while self.at < self.end and self.s.word(self.at) not in ("FOLLOWING", "PRECEDING"):
            self.at = self.s.pairs.get(self.at, self.at) + 1 if self.s.operator(self.at) == "(" else self.at + 1
        if self.s.word(self.at) != "FOLLOWING" or self.at >= self.end or self.at == low:
            raise self.error(
                "The frame of a window with a pattern must end at the current row or after it.",
                "CEP_WINDOW_FRAME",
                hint=_FRAME_HINT,
                at=low,
            )
        self.window.frame = (low, self.at)
        self.at += 1

    def read_exclude(self) -> None:
        """EXCLUDE NO OTHERS

        Raises:
            PatternParseError: CEP_WINDOW_FRAME.
        """
        if not self.words("EXCLUDE", "NO", "OTHERS"):
            raise self.error(
                "A window with a pattern excludes no rows of its frame.",
                "CEP_WINDOW_FRAME",
                hint="leave EXCLUDE out, or write EXCLUDE NO OTHERS",
            )

    def read_search(self) -> None:
        """INITIAL | SEEK"""
        self.window.seek = self.s.word(self.at) == "SEEK"
        self.at += 1


def parse_window(statement: Statement, windowed: WindowedSelect, opens: int, formatted: bool) -> WindowSyntax:
    """Parse a window with a pattern, with PARTITION BY and ORDER BY of the windows that it extends.

    Args:
        opens: the parenthesis that opens it.

    Raises:
        PatternParseError: see :class:`WindowParser`; CEP_WINDOW_BASE.
    """
    own = WindowParser(statement, (opens + 1, statement.pairs[opens]), formatted)
    window = own.parse_window()
    extended = own
    seen = {opens}
    base = window.base
    while base is not None:
        name = statement.tokens[base].text
        at = windowed.opens(name.casefold())
        own.end = max(own.end, base)  # a base of a base stands elsewhere
        if at is None:
            hint = f"WINDOW has {', '.join(windowed.named)}" if windowed.named else "define it: WINDOW w AS (...)"
            if name.casefold() in windowed.named:
                hint = f"{name} stands for a name that no window has: WINDOW w AS (...)"
            raise own.error(f"There is no window {name}.", "CEP_WINDOW_BASE", at=base, hint=hint)
        if at in seen:
            raise own.error(f"Window {name} extends itself.", "CEP_WINDOW_BASE", at=base)
        seen.add(at)
        before = _BaseParser(statement, (at + 1, statement.pairs[at]), formatted)
        inherited = before.parse_base()
        if inherited is None:
            raise own.error(
                "A window that has a frame or a pattern cannot be extended.", "CEP_WINDOW_BASE", at=base,
                hint="write its PARTITION BY and ORDER BY again",
            )  # fmt: skip
        if extended.out.partition_by:
            raise own.error(
                "A window that extends another has no PARTITION BY of its own.", "CEP_WINDOW_BASE", at=base,
                hint=f"leave it out, or leave {name} out",
            )  # fmt: skip
        if inherited.clause.order_by and window.clause.order_by:
            raise own.error(
                f"Window {name} has an ORDER BY already.", "CEP_WINDOW_BASE", at=base,
                hint=f"leave ORDER BY out, or leave {name} out",
            )  # fmt: skip
        window.clause = replace(
            window.clause,
            partition_by=inherited.clause.partition_by,
            order_by=window.clause.order_by or inherited.clause.order_by,
        )
        extended, base = before, inherited.base
    return window


class _BaseParser(WindowParser):
    """Reads a window that is extended: names, PARTITION BY, ORDER BY and no frame."""

    def parse_base(self) -> WindowSyntax | None:
        """Its token ranges; None where it has more."""
        while self.at < self.end:
            name = self.section(self.at)
            if name in ("PARTITION BY", "ORDER BY"):
                getattr(self, "read_" + name.lower().replace(" ", "_"))()
            elif name is None and self.at == self.start and self.s.tokens[self.at].kind in ("word", "quoted"):
                self.window.base = self.at
                self.at = self.start = self.at + 1
            else:
                return None
        return self.window
