"""Find SELECTs that have windows with patterns: `OVER (... PATTERN ...)` and `WINDOW w AS (... PATTERN ...)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sparkcep.errors import PatternParseError
from sparkcep.sql.block.spans import JOIN_TYPES, SET_OPERATORS, is_values_row
from sparkcep.sql.lexicon import CLOSES_OPERAND, WANTS_OPERAND
from sparkcep.sql.statement import (
    CommonTable,
    OccurrenceKind,
    PatternOccurrence,
    Statement,
    WindowCall,
    WindowedSelect,
    opening_of,
)

#: Index of a SELECT, that behind its level, and the WITH lists in sight.
Select = tuple[int, int, tuple[tuple[CommonTable, ...], ...]]

_BEHIND_SOURCE = frozenset("GROUP HAVING WINDOW QUALIFY ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET".split())
#: In FROM, these make more than one relation, or other rows than those of the relation.
_NOT_ONE_RELATION = frozenset({"JOIN", "LATERAL", "PIVOT", "UNPIVOT"})
_WANTS_OPERAND = WANTS_OPERAND | {"BY"}


def windowed_selects(statement: Statement, selects: Sequence[Select]) -> list[PatternOccurrence]:
    """The sources of SELECTs that have windows with patterns.

    Raises:
        PatternParseError: CEP_WINDOW_QUERY, such a window in a query that does not begin with SELECT, or has no FROM.
    """
    patterns = dict(_pattern_windows(statement))
    if not patterns:
        return []
    found: dict[int, list[int]] = {}
    for opens, at in patterns.items():
        inside = [n for n, (i, high, _) in enumerate(selects) if i < opens < _query_end(statement, i, high)]
        if not inside:
            raise _no_rows(statement, at)
        found.setdefault(max(inside, key=lambda n: selects[n][0]), []).append(opens)
    return [
        _occurrence(statement, selects, n, tuple(sorted(opens)), patterns[min(opens)]) for n, opens in found.items()
    ]


def _no_rows(s: Statement, at: int) -> PatternParseError:
    return PatternParseError(
        "CEP_WINDOW_QUERY",
        "A window with a pattern needs a query of the form SELECT ... FROM.",
        text=s.text,
        position=s.tokens[at].start,
        hint="SELECT ..., measure OVER w FROM t WINDOW w AS (...)",
    )


def _pattern_windows(s: Statement) -> Iterator[tuple[int, int]]:
    """(parenthesis that opens a window with a pattern, its PATTERN)."""
    if not any(s.word(i) == "PATTERN" and s.operator(i + 1) == "(" for i in range(len(s.tokens))):
        return
    opened: list[int] = []
    seen: set[int] = set()
    for i in range(len(s.tokens)):
        op = s.operator(i)
        if op == "(":
            opened.append(i)
        elif op == ")" and opened:
            opened.pop()
        elif s.word(i) == "PATTERN" and s.operator(i + 1) == "(" and opened and opened[-1] in s.pairs:
            opens = opened[-1]
            if opens not in seen and _begins_section(s, i, opens) and (s.word(opens - 1) == "OVER" or _named(s, opens)):
                seen.add(opens)
                yield opens, i


def _begins_section(s: Statement, i: int, opens: int) -> bool:
    """Whether PATTERN may begin a section of a window, since no operand is wanted there."""
    before = s.tokens[i - 1]
    if i - 1 == opens:
        return True
    return before.upper in CLOSES_OPERAND if before.kind == "op" else before.upper not in _WANTS_OPERAND


def _named(s: Statement, opens: int) -> bool:
    """Whether a parenthesis opens a window of a WINDOW clause: `WINDOW w AS (`, `WINDOW v AS (...), w AS (`."""
    while s.word(opens - 1) == "AS" and s.tokens[opens - 2].kind in ("word", "quoted"):
        before = opens - 3
        if s.word(before) == "WINDOW":
            return True
        while s.operator(before) == "," and s.word(before - 2) == "AS":  # v AS w
            before -= 4
            if s.word(before) == "WINDOW":
                return True
        opens = s.opening(before - 1)
        if s.operator(before) != "," or opens < 0:
            return False
    return False


def _query_end(s: Statement, select: int, high: int) -> int:
    """Index behind a query that begins with SELECT, on its own level."""
    for k in _level(s, select + 1, high):
        joins = s.word(k) in SET_OPERATORS and s.operator(k - 1) != "." and not _star(s, k)
        if joins or s.operator(k) in (";", "|>"):
            return k
    return high


def _star(s: Statement, k: int) -> bool:
    """Whether EXCEPT follows a star, whose columns it names."""
    return s.word(k) == "EXCEPT" and s.operator(k - 1) == "*" and s.operator(k + 1) == "("


def _level(s: Statement, low: int, high: int) -> Iterator[int]:
    """Indexes of the tokens on one level; of parentheses the opening one alone."""
    k = low
    while k < high:
        yield k
        k = s.pairs.get(k, k) + 1 if s.operator(k) == "(" else k + 1


def _occurrence(
    s: Statement, selects: Sequence[Select], number: int, patterns: tuple[int, ...], keyword: int
) -> PatternOccurrence:
    select, high, scopes = selects[number]
    end = _query_end(s, select, high)
    source = where = behind = joined = grouping = grouped_end = None
    clause: tuple[int, int] | None = None
    named: dict[str, int | str] = {}
    for k in _level(s, select + 1, end):
        word = s.word(k) if s.operator(k - 1) != "." else ""
        if source is None:
            if word == "FROM" and s.word(k - 1) != "DISTINCT":
                source = k
        elif word in _BEHIND_SOURCE and (word != "WINDOW" or s.word(k + 2) == "AS"):
            behind = behind or k
            if word in ("GROUP", "HAVING"):
                grouping = grouping or k
            elif grouping is not None:
                grouped_end = grouped_end or k
            if word == "WINDOW" and clause is None:
                clause = k, _read_named(s, k + 1, named)
        elif behind is None and where is None:
            listed = s.operator(k) == "," and not is_values_row(s, source + 1, k)
            if word == "WHERE":
                where = k
            elif listed or word in _NOT_ONE_RELATION or word in JOIN_TYPES:
                joined = joined or k
    if source is None:
        raise _no_rows(s, keyword)
    source_end = behind or end
    relations_end = where or source_end
    if relations_end == source + 1:
        raise _no_rows(s, source)
    names = frozenset(name for name in named if opening_of(named, name) in patterns)
    windowed = WindowedSelect(
        select, source, relations_end, source_end, joined,
        None if grouping is None else (grouping, grouped_end or end), clause, end, named, patterns,
        tuple(_calls(s, selects, number, end, names, patterns)),
    )  # fmt: skip
    start = s.tokens[source + 1].start
    stop = s.tokens[source_end - 1].end
    return PatternOccurrence(
        OccurrenceKind.WINDOW, start, start, stop, (source + 1, relations_end), s.tokens[keyword], (select, select),
        (patterns[0] + 1, s.pairs[patterns[0]]), stop, scopes, windowed,
    )  # fmt: skip


def _read_named(s: Statement, k: int, named: dict[str, int | str]) -> int:
    """Read `name AS (...)` and `name AS name`, with commas between; returns the index behind them."""
    while k + 2 < len(s.tokens) and s.word(k + 1) == "AS":
        name = s.tokens[k].text.casefold()
        if s.operator(k + 2) == "(" and k + 2 in s.pairs:
            named[name] = k + 2
            k = s.pairs[k + 2] + 1
        else:
            named[name] = s.tokens[k + 2].text.casefold()
            k += 3
        if s.operator(k) != ",":
            break
        k += 1
    return k


def _calls(
    s: Statement, selects: Sequence[Select], number: int, end: int, names: frozenset[str], patterns: tuple[int, ...]
) -> Iterator[WindowCall]:
    """Calls over windows with patterns in a SELECT, not those of queries inside it."""
    select = selects[number][0]
    inner = [(i, _query_end(s, i, high)) for i, high, _ in selects if select < i < end]
    for k in range(select + 1, end - 1):
        if s.word(k) != "OVER" or any(i < k < stop for i, stop in inner):
            continue
        token = s.tokens[k + 1]
        if s.operator(k + 1) == "(":
            close = s.pairs.get(k + 1, -1)
            name = s.tokens[k + 2].text.casefold() if close == k + 3 else ""
            if k + 1 in patterns:
                yield WindowCall(_call_start(s, k), k, close + 1, k + 1)
            elif name in names:
                yield WindowCall(_call_start(s, k), k, close + 1, name)
        elif token.kind in ("word", "quoted") and token.text.casefold() in names:
            yield WindowCall(_call_start(s, k), k, k + 2, token.text.casefold())


def _call_start(s: Statement, over: int) -> int:
    """First token of what stands before OVER: `f(...)`, `f(...) FILTER (...)`, `f(...) IGNORE NULLS` or a name."""
    k = over - 1
    if s.word(k) == "NULLS" and s.word(k - 1) in ("IGNORE", "RESPECT"):
        k -= 2
    if s.opening(k) >= 0:
        k = s.opening(k) - 1
        if s.word(k) == "FILTER" and s.opening(k - 1) >= 0:
            k = s.opening(k - 1) - 1
    while s.operator(k - 1) == "." and k >= 2:
        k -= 2
    return k
