"""The reference for the event selection strategies: slow and obvious, straight from the definitions.

A run is the sequence of (component, row) taken so far. What it may do next is read off the pattern tree: ``ways_on``
walks what is left of the pattern, in order of preference, up to the next component or the end. Where one run can stand
at several places of the pattern (``(A?){2}``, PERMUTE), all of them are followed together: the run, not the place,
takes or skips an event, and a component has the rank of the first way to it. A Kleene is every quantifier that may take
its item more than once, ``{1,3}`` too.

The order of preference, event by event: the pattern's order (greedy quantifiers once more, then what follows;
alternatives in textual order), then skipping the event. Accepting has its place among the ways, so it comes after all
ways of going on where quantifiers are greedy.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sparkcep.pattern import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    Negation,
    Pattern,
    Permutation,
    Quantified,
    Variable,
    children,
    variables,
)
from sparkcep.query import Matches, Selection, TestedAt

#: A taken event: (component key, row).
Taken: TypeAlias = tuple[str, int]
Path: TypeAlias = tuple[Taken, ...]


@dataclass(frozen=True)
class ReferenceCondition:
    """query.Condition with a Python function in place of the scalar.

    ``test(path)``: the path ends with the tested event (TAKE), with the event that leaves or passes, or as accepted
    (LEAVE, PASS); for a negated component it is the run followed by the negative events so far. With ``each``,
    ``test(path, k)`` for the k-th event, from 0, of these components; where there is none, once.
    """

    decided_by: tuple[str, ...]
    at: TestedAt
    test: Callable[..., bool]
    required: tuple[tuple[str, ...], ...] = ()
    minimum: int = 1
    first_only: bool = False
    after: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    awaited: tuple[tuple[str, ...], ...] = ()
    beside: tuple[str, ...] = ()

    def holds(self, path: Path) -> bool:
        """Whether a path may go on: the condition is true, or nothing says yet that it must be."""
        if not all(_count(path, keys) for keys in self.required):
            return True
        if self.first_only and _count(path, self.decided_by) > 1:
            return True
        if self.after and (len(path) < 2 or path[-2][0] not in self.after):
            return True
        if self.each:
            events = _count(path, self.each)
            return all(self.test(path, k) for k in range(self.minimum - 1, max(1, events)))
        if self.at is TestedAt.PASS:
            return self.test(path)
        return _count(path, self.decided_by) < self.minimum or self.test(path)


def _count(path: Path, keys: tuple[str, ...]) -> int:
    return sum(key in keys for key, _ in path)


@dataclass(frozen=True)
class _Loop:
    """A quantifier with an iteration under way; ``node`` holds the bounds of the iterations after this one.

    ``empty``: nothing taken in this iteration. ``void``: it may not end so. ``open``: the event taken last stands at
    the end of an iteration, and another may follow.
    """

    node: Quantified
    empty: bool
    void: bool
    open: bool


#: What is left of the pattern.
_Rest: TypeAlias = tuple[Pattern | _Loop, ...]


def least_events(node: Pattern | _Loop) -> int:
    """The fewest events that what is left of a pattern can take."""
    if isinstance(node, Variable):
        return 1
    if isinstance(node, Quantified):
        return node.minimum * least_events(node.item)
    if isinstance(node, _Loop):
        return least_events(node.node)
    if isinstance(node, Alternation):
        return min(map(least_events, node.items))
    if isinstance(node, Negation):
        return 0
    return sum(map(least_events, children(node)))


def may_take(rests: Iterable[_Rest], keys: tuple[str, ...]) -> bool:
    """Whether one of these components can still be taken of what is left of the pattern."""
    return any(_has(node, keys) for rest in rests for node in rest)


def _has(node: Pattern | _Loop, keys: tuple[str, ...]) -> bool:
    if isinstance(node, Variable):
        return node.name in keys
    if isinstance(node, _Loop):
        return _has(node.node, keys)
    if isinstance(node, Negation) or (isinstance(node, Quantified) and node.maximum == 0):
        return False
    return any(_has(item, keys) for item in children(node))


@dataclass(frozen=True)
class Way:
    """A way on: to the component ``key``, or to the end (None). ``leaves``: it leaves a Kleene that could go on."""

    key: str | None
    crossed: tuple[Negation, ...]
    leaves: bool
    rest: _Rest


def ways_on(rest: _Rest, crossed: tuple[Negation, ...] = (), leaves: bool = False) -> Iterator[Way]:
    """What may be taken next of the rest of a pattern, in order of preference.

    ``crossed``: negations passed on the way; ``leaves``: a Kleene that could go on was left.
    """
    if not rest:
        yield Way(None, crossed, leaves, ())
        return
    head, tail = rest[0], rest[1:]
    if isinstance(head, Variable):
        taken = (replace(f, empty=False, void=False, open=False) if isinstance(f, _Loop) else f for f in tail)
        yield Way(head.name, crossed, leaves, tuple(taken))
    elif isinstance(head, Negation):
        yield from ways_on(tail, (*crossed, head), leaves)
    elif isinstance(head, Concatenation):
        yield from ways_on((*head.items, *tail), crossed, leaves)
    elif isinstance(head, Alternation):
        for item in head.items:
            yield from ways_on((item, *tail), crossed, leaves)
    elif isinstance(head, Permutation):
        for order in itertools.permutations(head.items):
            yield from ways_on((*order, *tail), crossed, leaves)
    elif isinstance(head, Exclusion):
        yield from ways_on((head.item, *tail), crossed, leaves)
    elif isinstance(head, Empty):
        yield from ways_on(tail, crossed, leaves)
    elif isinstance(head, Quantified):
        yield from _iterations(head, tail, crossed, leaves, False)
    elif isinstance(head, _Loop):
        if not head.void:
            could_go_on = head.open if head.empty else head.node.maximum != 0
            yield from _iterations(head.node, tail, crossed, leaves, could_go_on)
    else:
        raise ValueError(f"{type(head).__name__} has no meaning in a run")


def _iterations(
    node: Quantified, tail: _Rest, crossed: tuple[Negation, ...], leaves: bool, could_go_on: bool
) -> Iterator[Way]:
    """One more iteration, or what follows the quantifier, in its order of preference."""

    def again() -> Iterator[Way]:
        if node.maximum != 0:
            less = None if node.maximum is None else node.maximum - 1
            void = node.minimum == 0 and node.maximum is None
            loop = _Loop(replace(node, minimum=max(0, node.minimum - 1), maximum=less), True, void, could_go_on)
            yield from ways_on((node.item, loop, *tail), crossed, leaves)

    def stop() -> Iterator[Way]:
        if node.minimum == 0:
            yield from ways_on(tail, crossed, leaves or could_go_on)

    for choice in (again, stop) if node.greedy else (stop, again):
        yield from choice()


def in_order(ways: Iterable[Way]) -> list[str | None]:
    """The components that ways lead to, and None for the end, each where the first way to it stands."""
    return list(dict.fromkeys(way.key for way in ways))


@dataclass(frozen=True)
class Gap:
    """A negation between two rows that were taken; None before the first and after the last. ``around``: all
    components of the negation of which this is a part."""

    negation: Negation
    after: int | None
    before: int | None
    around: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Place:
    """Where a run stands: what is left of the pattern, and the negations it crossed that are not decided."""

    rest: _Rest
    gaps: tuple[Gap, ...] = ()


def between(crossed: tuple[Negation, ...], after: int | None, before: int | None) -> tuple[Gap, ...]:
    """The negations as gaps between two taken rows; None: before the first, behind the last."""
    return tuple(own for negation in crossed for own in _apart(Gap(negation, after, before)))


def _apart(gap: Gap) -> list[Gap]:
    """A negated alternation as one negation of each alternative: one may be decided before another."""
    item = gap.negation.item
    if not isinstance(item, Alternation):
        return [gap]
    around = gap.around.union(variables(item))
    parts = (replace(gap, negation=replace(gap.negation, item=each), around=around) for each in item.items)
    return [own for part in parts for own in _apart(part)]


@dataclass(frozen=True)
class ReferenceCase:
    """One partition and the rules of one query; see :func:`reference_runs`."""

    rows: int
    can_take: Callable[[str, int], bool]
    conditions: Sequence[ReferenceCondition]
    selection: Selection
    within: Callable[[int, int], bool] | None
    leading: Callable[[int, int], bool] | None
    trailing: Callable[[int, int], bool] | None
    strict_time: Sequence[int] | None
    #: Whether a leading negation is asked of whole runs only, so that the longest run does not end before it begins.
    leading_last: bool = False
    #: Under BY_STEP, how a run comes to a component.
    steps: Mapping[str, Selection] = field(default_factory=dict)

    def follows(self, row: int, other: int) -> bool:
        """Whether a row is behind another one; under STRICT TIME, later in time too."""
        return row > other and (self.strict_time is None or self.strict_time[row] > self.strict_time[other])

    def takes(self, path: Path) -> bool:
        """Whether the last event of the path can extend what is before it, negations apart."""
        key, row = path[-1]
        if not self.can_take(key, row):
            return False
        if self.within is not None and not self.within(path[0][1], row):
            return False
        if len(path) > 1 and not self.follows(row, path[-2][1]):
            return False
        for condition in self.conditions:
            taken = condition.at is TestedAt.TAKE and key in condition.decided_by
            if (taken or self.is_left(condition, path[:-1], key)) and not condition.holds(path):
                return False
        return True

    def passes(self, path: Path, longer: Path, before: Sequence[Place], after: Sequence[Place]) -> bool:
        """Whether the conditions hold that are decided as a run goes on from some places to others (none: accepts).

        ``path``, ``longer``: the run before and after that.
        """
        rests = [[place.rest for place in places] for places in (before, after)]
        for c in self.conditions:
            by = c.decided_by
            all_ = (*by, *c.beside)
            if c.at is not TestedAt.PASS or _count(longer, by) or may_take(rests[1], all_):
                continue
            if may_take(rests[0], all_) and not c.holds(longer):
                return False
        return True

    def is_left(self, condition: ReferenceCondition, path: Path, key: str | None) -> bool:
        """Whether going on to ``key`` (None: accepting) leaves the condition's variable."""
        by = condition.decided_by
        return condition.at is TestedAt.LEAVE and bool(path) and path[-1][0] in by and key not in by

    def extensions(self, path: Path, places: Sequence[Place], row: int) -> list[tuple[Way, Place]]:
        """The ways on which the row can extend the run, with the place each leads to."""
        found = []
        for place in places:
            for way in ways_on(place.rest):
                if way.key is None:
                    continue
                longer = (*path, (way.key, row))
                if not self.takes(longer):
                    continue
                gaps = (*place.gaps, *between(way.crossed, path[-1][1] if path else None, row))
                undecided = self.decide(gaps, longer, None)
                if undecided is not None:
                    found.append((way, Place(way.rest, undecided)))
        return list(self.passing(path, places, row, found))

    def passing(
        self, path: Path, places: Sequence[Place], row: int, found: Sequence[tuple[Way, Place]]
    ) -> Iterator[tuple[Way, Place]]:
        """Those of the ways on that may be, now that it is known what the run, wherever it stands, takes no more."""
        for way, place in found:
            longer = (*path, (str(way.key), row))
            reached = [other for own, other in found if own.key == way.key]
            if self.passes(path, longer, places, reached):
                undecided = self.decide(place.gaps, longer, None, reached)
                if undecided is not None:
                    yield way, Place(way.rest, undecided)

    def accepts(self, path: Path, place: Place, way: Way) -> bool:
        """Whether a path may end here by a way to the end: conditions decided by leaving hold, no gap is violated."""
        gaps = (*place.gaps, *between(way.crossed, path[-1][1], None))
        return all(c.holds(path) for c in self.conditions if self.is_left(c, path, None)) and not any(
            self.violated(gap, path, None) for gap in gaps
        )

    def matches(self, path: Path, places: Sequence[Place]) -> Iterator[Path]:
        """The accepting runs that begin with this one."""
        ways = [(place, way) for place in places for way in ways_on(place.rest)]
        choices = in_order(way for _, way in ways)
        end = choices.index(None) if None in choices else len(choices)
        yield from self.longer(path, places, choices[:end])
        accepts = any(self.accepts(path, place, way) for place, way in ways if way.key is None)
        if accepts and self.passes(path, path, places, ()):
            yield path
        yield from self.longer(path, places, choices[end + 1 :])

    def longer(self, path: Path, places: Sequence[Place], choices: Sequence[str | None]) -> Iterator[Path]:
        """The accepting runs that go on from this one with some of the components that may follow.

        Components with strategies of their own wait each by its own: those of SKIP TILL NEXT MATCH until one of them
        must take an event, those of SKIP TILL ANY MATCH on and on, those with IMMEDIATELY for the next event alone.
        """
        closed = False
        for row in range(path[-1][1] + 1, self.rows):
            found = self.extensions(path, places, row)
            if self.selection is Selection.BY_STEP:
                nexts = [way for way, _ in found if self.steps[str(way.key)] is Selection.NEXT]
                found = [(way, at) for way, at in found if not (closed and way in nexts)]
                closed = closed or not all(way.leaves for way in nexts)
            yield from self.taken(path, row, found, choices)
            if self.selection is Selection.STRICT:
                return
            # NFAb's ignore and proceed edges: what ends a Kleene that could go on may also be skipped.
            if self.selection is Selection.NEXT and not all(way.leaves for way, _ in found):
                return

    def starts(self, pattern: Pattern, row: int) -> Iterator[Path]:
        """The matches that begin with a row."""
        found = self.extensions((), (Place((pattern,)),), row)
        yield from self.taken((), row, found, in_order(ways_on((pattern,))))

    def timed_out(self, pattern: Pattern, row: int) -> tuple[Path, str] | None:
        """Of the runs that begin with a row and time out, the one closest to a match, with what it waits for.

        A run times out that stands at the end of its window: no event that it had to take was left, and some way on is
        free of negations that have occurred. Closest: the fewest events are missing; among equals the preferred run.
        """
        best: tuple[int, Path, str] | None = None
        found = self.extensions((), (Place((pattern,)),), row)
        for path, places in self.branches((), row, found):
            for standing, at in self.standing(path, places):
                missing, key = min(self.missing(standing, at), key=lambda m: m[0], default=(0, ""))
                if missing and (best is None or missing < best[0]):
                    best = missing, standing, key
        return None if best is None else best[1:]

    def branches(
        self, path: Path, row: int, found: Sequence[tuple[Way, Place]]
    ) -> Iterator[tuple[Path, tuple[Place, ...]]]:
        """The run with the row, as one of the components that can take it, in order of preference."""
        for key in in_order(way for way, _ in found):
            yield (*path, (str(key), row)), tuple(dict.fromkeys(place for way, place in found if way.key == key))

    def standing(self, path: Path, places: Sequence[Place]) -> Iterator[tuple[Path, Sequence[Place]]]:
        """The runs that begin with this one and have nothing more to take in its window, in order of preference."""
        assert self.within is not None
        for row in range(path[-1][1] + 1, self.rows):
            if not self.within(path[0][1], row):
                continue
            found = self.extensions(path, places, row)
            for longer, at in self.branches(path, row, found):
                yield from self.standing(longer, at)
            if self.selection is Selection.STRICT:
                return
            if self.selection is Selection.NEXT and not all(way.leaves for way, _ in found):
                return
        yield path, places

    def missing(self, path: Path, places: Sequence[Place]) -> Iterator[tuple[int, str]]:
        """For each component that may come next, how many events a run lacks, in order of preference."""
        for place in places:
            for way in ways_on(place.rest):
                gaps = (*place.gaps, *between(way.crossed, path[-1][1], None))
                if way.key is not None and self.decide(gaps, path, None, places) is not None:
                    yield 1 + sum(map(least_events, way.rest)), way.key

    def taken(
        self, path: Path, row: int, found: Sequence[tuple[Way, Place]], choices: Sequence[str | None]
    ) -> Iterator[Path]:
        """The accepting runs that go on from this one with the row, as one of the components."""
        for key in choices:
            reached = dict.fromkeys(place for way, place in found if way.key == key)
            if key is not None and reached:
                yield from self.matches((*path, (key, row)), tuple(reached))

    def decide(
        self, gaps: tuple[Gap, ...], path: Path, scope: Sequence[int] | None, places: Sequence[Place] | None = None
    ) -> tuple[Gap, ...] | None:
        """The negations that cannot be decided yet; None where one that can is violated.

        ``places``: where the run stands, to tell what it can take no more.
        """
        undecided = []
        for gap in dict.fromkeys(gaps):
            if not self.decidable(gap, path, places):
                undecided.append(gap)
            elif self.violated(gap, path, scope):
                return None
        return tuple(undecided)

    def decidable(self, gap: Gap, path: Path, places: Sequence[Place] | None = None) -> bool:
        """Whether all variables that its conditions name have events, or, from these places, can have none any more.

        A leading negation that WITHIN bounds waits for the last event.
        """
        own = set(variables(gap.negation.item))
        awaited = [keys for c in self.conditions if own & set(c.decided_by) for keys in c.awaited]
        named = [keys for keys in awaited if not (own | gap.around) & set(keys)]
        if gap.after is None and (self.leading is not None or self.leading_last):
            return False
        waiting = [keys for keys in named if not _count(path, keys)]
        if places is None:
            return not waiting
        return not any(may_take((place.rest for place in places), keys) for keys in waiting)

    def violated(self, gap: Gap, path: Path, scope: Sequence[int] | None) -> bool:
        """Whether the negated pattern has a match in the gap.

        Args:
            path: the run, and for a negation within a negation the negative events so far.
            scope: the rows of the negation around this one, None where there is none.
        """
        inside = []
        for row in range(self.rows) if scope is None else scope:
            if gap.after is not None and not self.follows(row, gap.after):
                continue
            if gap.before is not None and not self.follows(gap.before, row):
                continue
            if scope is None and gap.after is None and self.leading and not self.leading(path[-1][1], row):
                continue
            if scope is None and gap.before is None and self.trailing and not self.trailing(path[0][1], row):
                continue
            inside.append(row)
        return self.occurs(path, (), Place((gap.negation.item,)), inside)

    def occurs(self, run: Path, taken: Path, place: Place, rows: Sequence[int]) -> bool:
        """Whether the negative events taken so far can be completed, skipping till any match."""
        path = (*run, *taken)
        last = taken[-1][1] if taken else None
        for way in ways_on(place.rest):
            if way.key is None:
                gaps = (*place.gaps, *between(way.crossed, last, None))
                if taken and not any(self.violated(gap, path, rows) for gap in gaps):
                    return True
                continue
            own = [c for c in self.conditions if way.key in c.decided_by]
            for row in rows:
                longer = (*path, (way.key, row))
                if last is not None and not self.follows(row, last):
                    continue
                if not self.can_take(way.key, row) or not all(c.holds(longer) for c in own):
                    continue
                undecided = self.decide((*place.gaps, *between(way.crossed, last, row)), longer, rows)
                if undecided is not None and self.occurs(
                    run, (*taken, (way.key, row)), Place(way.rest, undecided), rows
                ):
                    return True
        return False


def reference_runs(
    pattern: Pattern,
    rows: int,
    can_take: Callable[[str, int], bool],
    conditions: Sequence[ReferenceCondition] = (),
    selection: Selection = Selection.NEXT,
    matches: Matches = Matches.ALL,
    within: Callable[[int, int], bool] | None = None,
    leading: Callable[[int, int], bool] | None = None,
    trailing: Callable[[int, int], bool] | None = None,
    strict_time: Sequence[int] | None = None,
    steps: Mapping[str, Selection] | None = None,
) -> list[Path]:
    """The matches of one partition, by start row, the preferred one first; none twice, none empty.

    Args:
        pattern: a tree whose leaves are component keys.
        rows: the number of events in the partition.
        can_take: (component key, row) -> whether its type and what else looks at one row allow it.
        within: (first row, last row) -> whether the match is short enough.
        leading: (last row, row) -> whether a leading negation reaches back to the row; None: to the start.
        trailing: (first row, row) -> whether a trailing negation reaches on to the row; None: to the end.
        strict_time: the rows' times under STRICT TIME.
        steps: under BY_STEP, component key -> how a run comes to it.
    """
    case = ReferenceCase(
        rows, can_take, conditions, selection, within, leading, trailing, strict_time, steps=steps or {}
    )
    found: list[Path] = []
    start = 0
    while start < rows:
        own = case.starts(pattern, start)
        if matches is Matches.ALL:
            found.extend(dict.fromkeys(own))
        elif (preferred := next(own, None)) is not None:
            found.append(preferred)
            if matches is Matches.FIRST:
                break
            start = preferred[-1][1]
        start += 1
    return found
