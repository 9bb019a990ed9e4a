"""A statement as tokens, and the pattern forms in it: spans of the input relation and of the form."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sparkcep.query import unescape
from sparkcep.sql.lexicon import Token
from sparkcep.sql.token_text import TokenText

# Without \b in front, which would be tried at every character.
_PATTERN_WORD = re.compile(r"pattern(?<!\wpattern)\b")
#: Table functions of sparkcep; they stand where a relation may.
RULE_COSTS = "PATTERN_RULE_COSTS"
RULE_FUNCTIONS = ("PATTERN_RULES", "PATTERN_RULE_ERRORS", RULE_COSTS)
RULES_CATALOGUE = "PATTERN_RULES_CATALOGUE"
TABLE_CHANGES = "PATTERN_TABLE_CHANGES"
STREAM_STATE = "PATTERN_STREAM_STATE"
TABLE_FUNCTIONS = (
    "PATTERN_STATISTICS", "PATTERN_CONTINUATIONS", TABLE_CHANGES, STREAM_STATE, RULES_CATALOGUE, *RULE_FUNCTIONS
)  # fmt: skip
#: How the names of templates begin, which stand there too.
TEMPLATE_PREFIXES = ("declare_", "allen_", "funnel")


def mentions_pattern(text: str) -> bool:
    """Whether the text can hold a pattern form at all. If not, the statement is none of ours and is never tokenised."""
    lower = text.lower()  # ten times as fast as a regular expression without case
    if "match_recognize" in lower:
        return True
    if any(prefix in lower for prefix in TEMPLATE_PREFIXES):
        return True
    if "pattern" not in lower:
        return False
    return any(name.lower() in lower for name in TABLE_FUNCTIONS) or bool(_PATTERN_WORD.search(lower))


class OccurrenceKind(enum.Enum):
    """The two surface forms, queries that have windows with patterns, calls of table functions, and those of templates,
    which other text takes the place of."""

    CLAUSE = "MATCH_RECOGNIZE"
    BLOCK = "PATTERN"
    WINDOW = "OVER"
    CALL = "table function"
    TEMPLATE = "template"


@dataclass(frozen=True, slots=True)
class CommonTable:
    """One definition of a WITH list: its name, and its span from the name to the closing parenthesis."""

    name: str
    start: int
    end: int
    recursive: bool


@dataclass(frozen=True, slots=True)
class WindowCall:
    """`function(...) OVER window` or `measure OVER window`: tokens from ``low`` to ``end``, OVER at ``over``.

    ``window``: the window's folded name, or the token of the parenthesis that opens it.
    """

    low: int
    over: int
    end: int
    window: str | int


def opening_of(named: Mapping[str, int | str], name: str) -> int | None:
    """The parenthesis that opens the window of a name, which may stand for another name; None where it has none, as
    names that stand for each other."""
    at: int | str | None = name
    seen: set[str] = set()
    while isinstance(at, str):
        if at in seen:
            return None
        seen.add(at)
        at = named.get(at)
    return at


@dataclass(frozen=True, slots=True)
class WindowedSelect:
    """A SELECT that has windows with patterns, as indexes of tokens.

    ``select``, ``source``: SELECT and FROM. ``relations_end``: behind the relations of FROM, ``source_end``: behind
    WHERE, if there is one. ``joined``: the word or comma by which FROM has more than one relation, or a view of its
    rows; None without. ``grouped``: from GROUP or HAVING to behind them. ``clause``: from WINDOW to behind its last
    window. ``end``: behind the query. ``named``: what each name of WINDOW stands for: the parenthesis that opens it, or
    another name. ``patterns``: parentheses of windows with patterns. ``calls``: over windows with patterns.
    """

    select: int
    source: int
    relations_end: int
    source_end: int
    joined: int | None
    grouped: tuple[int, int] | None
    clause: tuple[int, int] | None
    end: int
    named: dict[str, int | str]
    patterns: tuple[int, ...]
    calls: tuple[WindowCall, ...]

    @property
    def rows_end(self) -> int:
        """Behind what gives the rows that windows see: WHERE, or GROUP BY and HAVING."""
        return self.source_end if self.grouped is None else self.grouped[1]

    @property
    def is_plain(self) -> bool:
        """Whether its rows are those of one relation."""
        return self.joined is None and self.grouped is None

    def opens(self, window: str | int) -> int | None:
        """The parenthesis that opens a window: itself, or that of a folded name; None where a name has none."""
        return window if isinstance(window, int) else opening_of(self.named, window)


@dataclass(slots=True)
class PatternOccurrence:
    """One row pattern clause, pattern block or call of a table function, whose name is its ``keyword``.

    Or FROM and WHERE of a ``windowed`` SELECT, which is where the results of its windows come from.

    ``start`` to ``end`` are the offsets of what a relation takes the place of: a clause with its input relation, or a
    block with its FROM (without it, where a JOIN, SELECT or pipe of Spark's follows the block). ``relation_start`` to
    ``relation_end`` is the input relation's text, ``keyword`` MATCH_RECOGNIZE or PATTERN. ``body`` is the token range
    between the clause's parentheses, or behind PATTERN; ``head`` that between a block's relation and PATTERN.
    ``scopes`` are the WITH lists in sight, outermost first. ``where``: tokens of the condition before PATTERN, which
    filters the input.
    """

    kind: OccurrenceKind
    start: int
    relation_start: int
    relation_end: int
    relation_tokens: tuple[int, int]
    keyword: Token
    head: tuple[int, int]
    body: tuple[int, int]
    end: int
    scopes: tuple[tuple[CommonTable, ...], ...]
    windowed: WindowedSelect | None = None
    where: tuple[int, int] | None = None


@dataclass(slots=True)
class Statement(TokenText):
    """A tokenised statement with its forms in order of their ends, so that inner forms come first.

    ``templates``: calls of templates, inner ones first. ``values_read``: of the VALUES at a token, how far it is known
    to be rows, ``opened``: ``pairs`` the other way round; both filled when they are asked for.
    """

    forms: list[PatternOccurrence] = field(default_factory=list)
    templates: list[PatternOccurrence] = field(default_factory=list)
    values_read: dict[int, int] = field(default_factory=dict)
    opened: dict[int, int] = field(default_factory=dict)

    def words(self, low: int, high: int, without: Iterable[tuple[int, int]] = ()) -> frozenset[str]:
        """Case-folded words and quoted names of a range of tokens. ``without``: ranges in it that do not count."""
        left_out = {k for first, last in without for k in range(first, last)}
        tokens = (self.tokens[k] for k in range(low, high) if k not in left_out)
        return frozenset(t.text.casefold() for t in tokens if t.kind in ("word", "quoted"))

    def opening(self, close: int, default: int = -1) -> int:
        """The parenthesis that a token closes; ``default`` where it closes none."""
        if not self.opened:
            self.opened.update((end, start) for start, end in self.pairs.items())
        return self.opened.get(close, default)

    def closes_nothing(self, low: int = 0) -> int | None:
        """The first closing parenthesis from a token on that nothing opens; None without one."""
        closing = (k for k in range(low, len(self.tokens)) if self.operator(k) == ")")
        return next((k for k in closing if self.opening(k) < 0), None)

    def span_end(self, form: PatternOccurrence) -> int:
        """Offset behind all text of a form, also that which stands apart from what it takes the place of."""
        return form.end if form.windowed is None else self.tokens[form.windowed.end - 1].end


def formatted(statement: Statement) -> Statement:
    """A statement whose text Spark formats: the braces of its names and strings come doubled."""
    tokens = tuple(replace(t, text=unescape(t.text)) if t.kind in ("quoted", "string") else t for t in statement.tokens)
    return replace(statement, tokens=tokens)
