"""The reference of the event selection strategies against simpler definitions, where those say something."""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import assume, given

from sparkcep.pattern import Alternation, Concatenation, Pattern, Permutation, Quantified, Variable, can_be_empty, walk
from sparkcep.query import Matches, Selection, SkipMode

from .reference_rows import reference_matches
from .reference_runs import Path
from .run_strategies import RunCase, run_cases

Word = tuple[str, ...]

PLAIN = run_cases(negation=False, maximum_conditions=0, nested_counts=True, maximum_rows=6)


def words(node: Pattern, longest: int) -> set[Word]:
    """The sequences of components, up to a length, that a pattern without negation allows."""
    if isinstance(node, Variable):
        return {(node.name,)}
    if isinstance(node, Alternation):
        return set().union(*(words(item, longest) for item in node.items))
    if isinstance(node, Concatenation):
        found: set[Word] = {()}
        for item in node.items:
            found = joined(found, words(item, longest), longest)
        return found
    if isinstance(node, Permutation):
        return set().union(*(words(Concatenation(order), longest) for order in itertools.permutations(node.items)))
    assert isinstance(node, Quantified)
    once = words(node.item, longest)
    power: set[Word] = {()}
    found = set()
    for count in range((node.minimum + longest if node.maximum is None else node.maximum) + 1):
        if count >= node.minimum:
            found |= power
        power = joined(power, once, longest)
    return found


def joined(left: set[Word], right: set[Word], longest: int) -> set[Word]:
    return {a + b for a in left for b in right if len(a + b) <= longest}


def fits(case: RunCase, path: Path) -> bool:
    """Whether types, WITHIN and STRICT TIME allow the path."""
    times = [case.times[row] for _, row in path]
    return (
        all(case.can_take(key, row) for key, row in path)
        and (case.within is None or times[-1] <= times[0] + case.within)
        and not (case.strict_time and any(a >= b for a, b in itertools.pairwise(times)))
    )


def subsets(case: RunCase) -> set[Path]:
    """The matches under SKIP TILL ANY MATCH, by the definition."""
    rows = range(len(case.times))
    paths = (
        tuple(zip(word, chosen, strict=True))
        for word in words(case.pattern, len(rows))
        for chosen in itertools.combinations(rows, len(word))
    )
    return {path for path in paths if path and fits(case, path)}


@given(PLAIN)
def test_any_is_every_subset(case: RunCase) -> None:
    found = replace(case, selection=Selection.ANY, matches=Matches.ALL).reference()
    assert len(found) == len(set(found))
    assert set(found) == subsets(case)


def once(node: Pattern) -> Pattern:
    """The pattern with optional items in place of Kleene."""
    if isinstance(node, Quantified):
        return Quantified(once(node.item), min(node.minimum, 1), 1, node.greedy)
    if isinstance(node, (Alternation, Concatenation, Permutation)):
        return replace(node, items=tuple(map(once, node.items)))
    return node


@given(PLAIN)
def test_next_skips_what_cannot_extend(case: RunCase) -> None:
    """Without Kleene a match of SKIP TILL NEXT is one of SKIP TILL ANY that skips nothing it could take."""
    case = replace(case, pattern=once(case.pattern))
    prefixes = {word[:n] for word in words(case.pattern, 10) for n in range(len(word) + 1)}
    keys = {c.key for c in case.components}

    def could_take(path: Path, row: int) -> bool:
        longer = [(*path, (key, row)) for key in keys]
        return any(tuple(key for key, _ in path) in prefixes and fits(case, path) for path in longer)

    def skips_too_much(path: Path) -> bool:
        return any(
            could_take(path[:n], row) for n in range(1, len(path)) for row in range(path[n - 1][1] + 1, path[n][1])
        )

    expected = {path for path in subsets(case) if not skips_too_much(path)}
    assert set(replace(case, selection=Selection.NEXT, matches=Matches.ALL).reference()) == expected


@given(run_cases(negation=False, maximum_conditions=0, nested_counts=True))
def test_strict_contiguity_prefers_what_the_row_pattern_clause_prefers(case: RunCase) -> None:
    assume(not can_be_empty(case.pattern))
    # A run may then stand in several orders at once, and blocks choose event by event: the repetition first.
    assume(not any(isinstance(n, Permutation) and any(isinstance(i, Quantified) for i in walk(n))
                   for n in walk(case.pattern)))  # fmt: skip
    strict = replace(case, selection=Selection.STRICT, matches=Matches.NON_OVERLAPPING, strict_time=False)
    conditions = {c.key: lambda path, _: case.can_take(path[-1][0], path[-1][1]) for c in case.components}
    width = case.within
    expected = reference_matches(
        case.pattern,
        len(case.times),
        conditions,
        SkipMode.PAST_LAST_ROW,
        within=None if width is None else lambda first, last: case.times[last] <= case.times[first] + width,
    )
    assert strict.reference() == [tuple((name, row) for name, row, _ in match.path) for match in expected]


@given(run_cases())
def test_strategies_include_each_other(case: RunCase) -> None:
    strict, following, every = (
        set(replace(case, selection=selection, matches=Matches.ALL).reference())
        for selection in (Selection.STRICT, Selection.NEXT, Selection.ANY)
    )
    assert strict <= following <= every


@given(run_cases())
def test_which_matches(case: RunCase) -> None:
    every, apart, first = (replace(case, matches=matches).reference() for matches in Matches)
    assert len(every) == len(set(every))
    assert first == apart[:1]
    assert bool(apart) == bool(every)
    preferred = {path[0][1]: path for path in reversed(every)}
    end = -1
    for path in apart:
        start = path[0][1]
        assert path == preferred[start]
        assert end < start == min(row for row in preferred if row > end)
        end = path[-1][1]
