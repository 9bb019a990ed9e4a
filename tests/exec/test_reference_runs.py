"""The reference for the event selection strategies gives the values worked out in the papers and by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from sparkcep.query import Matches, Selection, TestedAt

from .notation import tree
from .reference_runs import Path, ReferenceCondition, reference_runs

STRICT, NEXT, ANY = Selection.STRICT, Selection.NEXT, Selection.ANY
ALL, NON_OVERLAPPING, FIRST = Matches
TAKE, LEAVE = TestedAt.TAKE, TestedAt.LEAVE

#: Pattern, log, strategy, which matches, matches by their rows in order of preference.
MATCHES: list[tuple[str, str, Selection, Matches, str]] = [
    # What every implementation must get right.
    ("A B C", "ABACABC", NEXT, NON_OVERLAPPING, "013 456"),
    ("A !X B", "AXAB", NEXT, ALL, "23"),
    ("A !X B", "AXB", NEXT, ALL, ""),
    ("A B* C", "ABC", NEXT, ALL, "012"),
    ("A B* C", "BC", NEXT, ALL, ""),
    ("E (C | B)", "ECEBEC", NEXT, NON_OVERLAPPING, "01 23 45"),
    ("A B C | A C", "AC", NEXT, ALL, "01"),
    ("A A", "AAA", NEXT, ALL, "01 12"),
    ("A A", "AAA", NEXT, NON_OVERLAPPING, "01"),
    ("A A", "AAA", ANY, ALL, "01 02 12"),
    # Strategies.
    ("A B", "AXB", STRICT, ALL, ""),
    ("A B+", "ABBXB", STRICT, ALL, "012 01"),
    ("A B+", "ABB", NEXT, ALL, "012 01"),
    ("A B+", "ABB", ANY, ALL, "012 01 02"),
    ("A B+ C", "ABCBC", NEXT, ALL, "012 0134"),
    ("A B{1,3} C", "ABCBC", NEXT, ALL, "012 0134"),
    ("A B{1,1} C", "ABCBC", NEXT, ALL, "012"),
    ("A B{2,} C", "ABCBC", NEXT, ALL, "0134"),
    ("A B* C", "ACBC", NEXT, ALL, "01"),
    ("A (B C)+ D", "ABCDBCD", NEXT, ALL, "0123 012456"),
    ("(A B+)+ C", "ABAC", NEXT, ALL, "013"),
    ("(A B+)+ C", "ABABC", NEXT, ALL, "01234 0134 234"),
    ("A (B | C)+ C", "ABC", NEXT, ALL, "012"),
    # Preference.
    ("A B+", "ABB", NEXT, NON_OVERLAPPING, "012"),
    ("A B+?", "ABB", NEXT, ALL, "01 012"),
    ("A B??", "ABAB", NEXT, NON_OVERLAPPING, "0 2"),
    ("A B?", "AXBAB", NEXT, NON_OVERLAPPING, "02 34"),
    ("A (B | B C)", "ABC", NEXT, ALL, "01 012"),
    ("A (B C | B)", "ABC", NEXT, ALL, "012 01"),
    ("A (B | C)", "ACB", ANY, ALL, "01 02"),
    ("A B* C?", "ABC", NEXT, ALL, "012 01 0"),
    ("A+ A", "AAAA", NEXT, FIRST, "0123"),
    ("A+? A", "AAAA", NEXT, FIRST, "01"),
    ("A+ B", "AABAAB", NEXT, FIRST, "012"),
    ("A?", "BAA", NEXT, ALL, "1 2"),
    # What is left of counted quantifiers over items that may be empty is one run.
    ("(A?){2} C", "AAC", NEXT, ALL, "012 12 2"),
    # Negation.
    ("A+ !X B", "AXAB", NEXT, ALL, "023 23"),
    ("A !X B+", "AXBB", ANY, ALL, ""),
    ("A !X B+", "ABXB", ANY, ALL, "013 01"),
    ("!X A", "AXA", NEXT, ALL, "0"),
    ("A !X", "AXA", NEXT, ALL, "2"),
    ("A B !X", "ABX", NEXT, ALL, ""),
    ("A B* !X", "AXB", NEXT, ALL, "02"),
    ("A !X B?", "AXAB", NEXT, ALL, "23 2"),
    ("A !X B? C", "AXBC", NEXT, ALL, ""),
    ("A B? !X C", "ABXC", NEXT, ALL, ""),
    ("A B? !X C", "AXBC", NEXT, ALL, "023"),
    ("A !X !Y B", "AXBAYBAB", NEXT, ALL, "67"),
    ("A !(X Y) B", "AXBAYXBAXYB", NEXT, ALL, "02 36"),
    ("A !(X | Y) B", "AXBAYBAB", NEXT, ALL, "67"),
    ("A !(X !Z Y) B", "AXYBAXZYB", NEXT, ALL, "48"),
    ("A !(X !Z Y) B", "AXZXYB", NEXT, ALL, ""),
    ("(A !X B)+", "ABXAB", NEXT, ALL, "0134 01 34"),
    ("(!X A B)+", "ABXAB", NEXT, ALL, "01"),
    ("A (!X | B) C", "AXC", NEXT, ALL, ""),
    ("A (!X B | C) D", "AXBD", NEXT, ALL, ""),
    ("A (!X | !Y) B", "AXBAYBAXYB", NEXT, ALL, "02 35"),
]

#: Pattern, types, times (under STRICT TIME) or None, number of matches under SKIP TILL ANY.
LOG, LOG_TIMES = "ABCAEACDBAB", [1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9]
COUNTS: list[tuple[str, str, list[int] | None, int]] = [
    ("A+", LOG, None, 15),
    ("A+ B", LOG, None, 23),
    ("(A+ B)+", LOG, None, 43),
    ("(A+ !(C !E D) B)+", LOG, None, 13),
    ("A+ !E", LOG, LOG_TIMES, 14),
    ("!E A+", LOG, LOG_TIMES, 12),
    ("(A+ B)+", "ABAAB", None, 11),
    ("A+ B A A+ B+", "ABAAB", None, 1),
    ("A+ A+", "AAA", None, 5),
    ("(A+)+", "AAA", None, 7),
    ("A* A*", "AAA", None, 19),
    ("A+ | A A", "AAA", None, 10),
    ("(A | A A)+", "AAA", None, 12),
]


def runs(
    pattern: str,
    types: str,
    selection: Selection = NEXT,
    matches: Matches = ALL,
    conditions: Sequence[ReferenceCondition] = (),
    **options: Any,
) -> list[Path]:
    found = reference_runs(
        tree(pattern), len(types), lambda key, row: key[0] == types[row], conditions, selection, matches, **options
    )
    assert len(found) == len(set(found))
    return found


def assert_rows(expected: str, found: list[Path]) -> None:
    """The matches have these rows, written as digits."""
    assert ["".join(str(row) for _, row in path) for path in found] == expected.split()


@pytest.mark.parametrize(("pattern", "types", "selection", "matches", "expected"), MATCHES)
def test_matches(pattern: str, types: str, selection: Selection, matches: Matches, expected: str) -> None:
    assert_rows(expected, runs(pattern, types, selection, matches))


@pytest.mark.parametrize(("pattern", "types", "times", "expected"), COUNTS)
def test_counts(pattern: str, types: str, times: list[int] | None, expected: int) -> None:
    assert len(runs(pattern, types, ANY, strict_time=times)) == expected


def test_sequences_of_one_event_that_fits_two_components() -> None:
    assert len({tuple(row for _, row in path) for path in runs("A+ A+", "AAA", ANY)}) == 4


def sums_in_trends() -> tuple[int, int, int]:
    """COUNT(A), MIN and SUM of attr over the matches of (A+ B)+ on a1 b2 a3 a4 b7."""
    attr = {0: 5, 2: 6, 3: 4}
    taken = [attr[row] for path in runs("(A+ B)+", "ABAAB", ANY) for key, row in path if key == "A"]
    return len(taken), min(taken), sum(taken)


def test_trend_aggregates() -> None:
    assert sums_in_trends() == (20, 4, 100)


def at_most(times: Sequence[int], width: int) -> Callable[[int, int], bool]:
    return lambda first, last: times[last] <= times[first] + width


@pytest.mark.parametrize(("selection", "expected"), [(STRICT, 1), (NEXT, 2), (ANY, 6)])
def test_strategies_of_figure_3(selection: Selection, expected: int) -> None:
    assert len(runs("A B+ C", "AABBC", selection, within=at_most([1, 2, 5, 6, 7], 10))) == expected


def test_within_counts_from_each_start() -> None:
    assert_rows("12", runs("A B", "AAB", within=at_most([0, 270, 300], 60)))


LOAD = [0.1, 0.2, 0.15, 0.19, 0.25]
NOT_LESS = ReferenceCondition(("A",), TAKE, lambda path: LOAD[path[-1][1]] >= LOAD[path[-2][1]], minimum=2)


def test_load_under_next() -> None:
    assert_rows("014", [max(runs("A+", "AAAAA", NEXT, conditions=[NOT_LESS]), key=len)])


def test_load_under_any() -> None:
    found = runs("A+", "AAAAA", ANY, conditions=[NOT_LESS])
    assert (("A", 0), ("A", 2), ("A", 3), ("A", 4)) in found
    assert len(found) == 19


def test_values_that_grow_under_any() -> None:
    value = [0, 6, 7, 9, 0]
    growing = ReferenceCondition(("B",), TAKE, lambda path: value[path[-1][1]] >= value[path[-2][1]], minimum=2)
    assert len(runs("A B+ C", "ABBBC", ANY, conditions=[growing], within=at_most([1, 4, 5, 6, 7], 100))) == 7


def row_of(path: Path, key: str) -> int:
    return [row for name, row in path if name == key][-1]


def far_apart(times: Sequence[int]) -> ReferenceCondition:
    return ReferenceCondition(("B",), TAKE, lambda p: times[row_of(p, "B")] - times[row_of(p, "A")] >= 5, (("A",),))


def close(times: Sequence[int]) -> ReferenceCondition:
    return ReferenceCondition(("C",), TAKE, lambda p: times[row_of(p, "C")] - times[row_of(p, "B")] <= 2, (("B",),))


def test_a_condition_that_fails_skips_the_event() -> None:
    assert_rows("02", runs("A B", "ABB", conditions=[far_apart([0, 2, 6])]))


@pytest.mark.parametrize(("selection", "expected"), [(ANY, "023"), (NEXT, "")])
def test_what_was_taken_is_not_given_back(selection: Selection, expected: str) -> None:
    assert_rows(expected, runs("A B C", "ABBC", selection, conditions=[close([0, 1, 6, 7])]))


# Rows decide in the tests below: a condition is a function of the rows taken.


def test_leave() -> None:
    """A condition on leaving keeps the next component from taking, and accepting from ending there."""
    two = ReferenceCondition(("B",), LEAVE, lambda path: sum(key == "B" for key, _ in path) == 2)
    assert_rows("0134", runs("A B+ C", "ABCBC", conditions=[two]))
    assert_rows("012", runs("A B+", "ABBB", conditions=[two]))


def test_first_only() -> None:
    first = ReferenceCondition(("B",), TAKE, lambda path: path[-1][1] == 2, first_only=True)
    assert_rows("0234 023 02", runs("A B+", "ABBBB", conditions=[first]))


def test_next() -> None:
    """A condition on the event after A holds where that is no A."""
    next_to = ReferenceCondition(("A",), TAKE, lambda path: path[-1][1] == path[-2][1] + 1, after=("A",))
    assert_rows("012 01 0 12 1 2", runs("A+", "AAA", conditions=[next_to]))
    assert_rows("1 3", runs("A+", "XAXA", conditions=[next_to]))
    assert_rows("02 0", runs("A B?", "AXB", conditions=[next_to]))


def test_each() -> None:
    even = ReferenceCondition(("C",), TAKE, lambda path, k: path[1 + k][1] % 2 == 0, minimum=2, each=("B",))
    assert_rows("0124 014 024 034", runs("A B+ C", "ABBBC", ANY, conditions=[even]))


def negative(rows: set[tuple[int, int]], required: str) -> ReferenceCondition:
    """X counts only together with these rows of the required component."""
    return ReferenceCondition(
        ("X",), TAKE, lambda p: (p[-1][1], row_of(p, required)) in rows, ((required,),), awaited=((required,),)
    )


def test_negation_with_earlier_component() -> None:
    assert_rows("14", runs("A !X B", "AAXXB", conditions=[negative({(2, 0)}, "A")]))


def test_negation_with_later_component() -> None:
    """What is decided on taking C makes that C one that cannot be taken."""
    assert_rows("024", runs("A !X B C", "AXBCC", conditions=[negative({(1, 3)}, "C")]))
    assert_rows("03", runs("A !X B", "AXBB", conditions=[negative({(1, 2)}, "B")]))


def test_negation_with_absent_component() -> None:
    """Its condition is vacuous, so every X counts, on accepting."""
    assert_rows("023", runs("A !X B C?", "AXBC", conditions=[negative(set(), "C")]))


@pytest.mark.parametrize(("width", "expected"), [(1, "2"), (2, ""), (9, "")])
def test_reach_of_a_leading_negation(width: int, expected: str) -> None:
    times = [0, 1, 2]
    reach = {"leading": lambda last, row: times[row] >= times[last] - width}
    assert_rows(expected, runs("!X A", "XBA", **reach))


@pytest.mark.parametrize(("width", "expected"), [(1, "0"), (2, ""), (9, "")])
def test_reach_of_a_trailing_negation(width: int, expected: str) -> None:
    times = [0, 1, 2]
    reach = {"trailing": lambda first, row: times[row] <= times[first] + width}
    assert_rows(expected, runs("A !X", "ABX", **reach))


def test_strict_time() -> None:
    times = [0, 0, 1, 1, 2]
    assert_rows("02 12", runs("A B", "AABBX", strict_time=times))
    assert_rows("04", runs("A !X B", "AXYYB", strict_time=times))  # X at the time of A is not between
    assert_rows("", runs("A !X B", "AYXYB", strict_time=times))
    assert_rows("04", runs("A !(X Y) B", "AYXYB", strict_time=times))
