"""Reasoning over symbols: which rows may be dropped, and where following one attempt is enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkcep.exec.engines.rows.program import compile_pattern
from sparkcep.pattern import Alternation, Concatenation, Pattern, Quantified, Variable
from sparkcep.planner.conditions.row_conditions import RowCondition
from sparkcep.planner.conditions.symbols import MAX_ASSIGNMENTS, NULL, OTHER, alphabet
from sparkcep.planner.fields import Fields
from sparkcep.planner.rules.fold import ALWAYS, MAYBE, NEVER, noticed_before, single_attempt
from sparkcep.planner.rules.gap_elimination import droppable_symbols
from sparkcep.planner.rules.machine import Machine, Seen, machine
from sparkcep.query import SkipMode

from ..exec.reference_rows import reference_matches
from ..exec.strategies import patterns

NAMES = ("A", "B", "X", "Y")
A, B, X, Y = map(Variable, NAMES)
SEEN = ("A", "B")


def star(item: Pattern, greedy: bool = True) -> Pattern:
    return Quantified(item, 0, None, greedy)


def plus(item: Pattern, greedy: bool = True) -> Pattern:
    return Quantified(item, 1, None, greedy)


SHAPES = (
    Concatenation((A, star(X), B)),
    Concatenation((A, star(X, False), B, star(Y), A)),
    Concatenation((A, star(X), plus(B), star(Y), A)),
    Concatenation((A, star(X, False), plus(Y, False), star(X, False), B)),
    Concatenation((A, plus(X), B)),
    Concatenation((A, star(X), Alternation((B, Concatenation((Y, star(X), A)))))),
    Concatenation((A, star(Alternation((X, Y))), B)),
    plus(Concatenation((A, star(X), B))),
    Concatenation((A, B)),
    Concatenation((star(X), B)),
    Concatenation((star(X, False), Alternation((A, B)))),
)

#: A few masks that a log consists of, and a log of them.
LOGS = st.lists(
    st.one_of(st.sampled_from([1, 2, 4, 12, 8, 0, 6, 5]), st.integers(0, 15)), min_size=1, max_size=4, unique=True
).flatmap(lambda masks: st.tuples(st.just(masks), st.lists(st.sampled_from(masks), max_size=10)))
SKIPS = st.sampled_from([SkipMode.PAST_LAST_ROW, SkipMode.TO_NEXT_ROW])


def as_machine(pattern: Pattern, masks: list[int]) -> Machine | None:
    program = compile_pattern(pattern)

    def symbol(mask: int) -> frozenset[int]:
        return frozenset(k for k, n in enumerate(program.names) if mask >> NAMES.index(n) & 1)

    def seen(code: int) -> Seen:
        name = program.names[code]
        return frozenset([SEEN.index(name)] if name in SEEN else []), None

    return machine(program, list(dict.fromkeys(map(symbol, masks))), seen)


def matches(pattern: Pattern, masks: list[int], skip: SkipMode = SkipMode.PAST_LAST_ROW):
    """Number, first and last row and the rows that are seen, of every match."""
    conditions = {n: (lambda path, _, b=b: bool(masks[path[-1][1]] >> b & 1)) for b, n in enumerate(NAMES)}
    found = reference_matches(pattern, len(masks), conditions, skip)
    return [
        (m.number, m.start, m.path[-1][1], [(v, r) for v, r, _ in m.path if v in SEEN]) if m.path else (m.number,)
        for m in found
    ]


def renumbered(found, rows: list[int]):
    return [(n, rows[a], rows[b], [(v, rows[r]) for v, r in seen]) for n, a, b, seen in found]


def symbol_of(pattern: Pattern, mask: int) -> frozenset[int]:
    names = compile_pattern(pattern).names
    return frozenset(k for k, n in enumerate(names) if mask >> NAMES.index(n) & 1)


def check_dropping(pattern: Pattern, masks: list[int], log: list[int], skip: SkipMode) -> None:
    found = as_machine(pattern, masks)
    dropped = droppable_symbols(found) if found is not None else frozenset()
    if dropped:
        rows = [r for r, m in enumerate(log) if symbol_of(pattern, m) not in dropped]
        assert renumbered(matches(pattern, [log[r] for r in rows], skip), rows) == matches(pattern, log, skip)


def follow(found: Machine, symbols: list[frozenset[int]]) -> list[tuple[int, int, int]]:
    """What the fold does: one state, one attempt."""
    out: list[tuple[int, int, int]] = []
    state = start = 0
    for row, symbol in enumerate(symbols):
        k = found.symbols.index(symbol)
        step = found.steps[state][k]
        if state == 0 or step is None:
            step, start = found.steps[0][k], row
        state = step.target if step is not None else 0
        if found.accepts[state]:
            out.append((len(out) + 1, start, row))
            state = 0
    return out


def check_following(pattern: Pattern, masks: list[int], log: list[int]) -> None:
    found = as_machine(pattern, masks)
    if found is not None and single_attempt(found):
        assert follow(found, [symbol_of(pattern, m) for m in log]) == [m[:3] for m in matches(pattern, log)]


@given(st.sampled_from(SHAPES), LOGS, SKIPS)
def test_shapes(pattern: Pattern, log: tuple[list[int], list[int]], skip: SkipMode) -> None:
    check_dropping(pattern, *log, skip)
    check_following(pattern, *log)


@given(patterns(NAMES, anchors=False), LOGS, SKIPS)
def test_random_patterns(pattern: Pattern, log: tuple[list[int], list[int]], skip: SkipMode) -> None:
    check_dropping(pattern, *log, skip)
    check_following(pattern, *log)


# Bits of A, B, X, Y: an event log where each mask is an event type.
@pytest.mark.parametrize(
    ("pattern", "masks", "dropped", "follows"),
    [
        # A = a, B = b, X = NOT b; then a third type
        (SHAPES[0], [1 | 4, 2, 4], {4}, True),
        # NULL: neither b nor NOT b
        (SHAPES[0], [1 | 4, 2, 4, 0], {4}, True),
        # a run of Y between gaps, and nobody looks at it
        (SHAPES[3], [1, 2, 4 | 8, 4], {4}, True),
        # the same with B+: its rows are seen
        (Concatenation((A, star(X), plus(B), star(Y), A)), [1 | 4 | 8, 2 | 8, 4 | 8], set(), False),
        # at least one row between
        (Concatenation((A, plus(X), B)), [1 | 4, 2, 4], set(), True),
        # strict
        (Concatenation((A, B)), [1, 2, 0], set(), True),
    ],
)
def test_what_is_found(pattern: Pattern, masks: list[int], dropped: set[int], follows: bool) -> None:
    found = as_machine(pattern, masks)
    gone = droppable_symbols(found) if found is not None else frozenset()
    assert gone == {symbol_of(pattern, m) for m in dropped}
    assert (found is not None and single_attempt(found)) is follows


def test_noticed_before() -> None:
    found = as_machine(Concatenation((A, star(X), Quantified(B, 0, 1), star(X, False), Y)), [1, 2, 4, 8])
    assert found is not None
    statuses = noticed_before(found, SEEN.index("B"))
    assert statuses[0] == NEVER
    assert MAYBE in statuses
    assert noticed_before(found, SEEN.index("A"))[found.accepts.index(True)] == ALWAYS


FIELDS = Fields(["e", "n", "p"], case_sensitive=False)
TYPES = {"e": "string", "n": "int", "p": "double"}


def alphabet_of(*conditions: str):
    local = {k: [RowCondition((c,))] for k, c in enumerate(conditions)}
    return alphabet(len(conditions), local, FIELDS, TYPES)


@pytest.mark.parametrize(
    ("conditions", "symbols"),
    [
        (("e = 'a'", "e <> 'a'"), [{0}, {1}, set()]),
        (("e = 'a'", "NOT (E = 'a')"), [{0}, {1}, set()]),
        (("'a' = e", "e IN ('a', 'b')", "e NOT IN ('a', 'b')"), [{0, 1}, {1}, {2}, set()]),
        (("e = 'a'", "e = 'A'"), [{0}, {1}, set()]),
        (("e IS NULL", "e IS NOT NULL"), [{1}, {0}]),
        (("e <=> 'a'", "NOT (e <=> 'a')"), [{0}, {1}]),
        (("n = 1", "n = 01 OR n = 2"), [{0, 1}, {1}, set()]),
        (("p > 10", "p <= 10"), [{0}, {1}, set()]),
        (("p >= 10", "p < 10"), [{1}, {0}, set()]),
        (("rand() < 0.5", "rand() < 0.5"), [{0, 1}, {0}, {1}, set()]),
        (("e = 'a' AND p > 1", "e = 'a'"), [{0, 1}, {1}, set()]),
        (("true", "e = 'a' AND true"), [{0, 1}, {0}]),
        # a number in quotes, and an escape, are not what they seem
        (("n = '1'", "n = 1"), [{0, 1}, {0}, {1}, set()]),
        ((r"e = '\x61'", "e = 'a'"), [{0, 1}, {0}, {1}, set()]),
    ],
)
def test_alphabet(conditions: tuple[str, ...], symbols: list[set[int]]) -> None:
    found = alphabet_of(*conditions)
    assert found is not None
    assert set(found.symbols) == set(map(frozenset, symbols))


def test_values_of_the_only_column() -> None:
    found = alphabet_of("e = 'a'", "e <> 'b'")
    assert found is not None
    assert found.column == "e"
    assert found.values == {"'a'": {0, 1}, "'b'": set(), OTHER: {1}, NULL: set()}
    assert found.keep(frozenset([frozenset([1])]), {}) == "`e` IN ('a', 'b') OR `e` IS NULL"
    assert found.keep(frozenset([frozenset()]), {}) == "`e` IS NOT NULL AND `e` NOT IN ('b')"


def test_too_large_an_alphabet() -> None:
    many = [f"p + {k} > {k}" for k in range(8)]
    assert 3 ** len(many) > MAX_ASSIGNMENTS
    assert alphabet_of(*many) is None
