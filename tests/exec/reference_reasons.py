"""Why a partition has no match, by the definition: all runs are walked, the longest is explained.

Of the longest runs the one counts that is found first: by rows, then by the pattern's preference. What stopped it is
told of the first event behind it that by itself could be the next one; where there is none, of the first event that has
the type alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sparkcep.exec.arrays import Ints
from sparkcep.exec.automaton import alternatives
from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.non_answers.spec import REASONS, RepairSpec
from sparkcep.exec.kernels.non_answers.tables import Flags
from sparkcep.pattern import Negation, Pattern, variables, walk
from sparkcep.query import Selection

from .reference_cases import ReferenceCases
from .reference_runs import Gap, Path, Place, ReferenceCase, Way, between, ways_on


@dataclass(frozen=True)
class Reason:
    """``code``: of REASONS. ``component``: key. ``event``: row. ``run``: the longest run."""

    code: str
    component: str | None
    event: int | None
    run: Path


def reference_reason(
    case: ReferenceCase, pattern: Pattern, has_type: Callable[[str, int], bool], needed: Sequence[str]
) -> Reason:
    """Why a partition has no match.

    Args:
        has_type: (component key, row) -> whether the event has the type, whatever else it must be.
        needed: components that every match takes.
    """
    case = replace(case, leading_last=True)
    path: Path = ()
    places: tuple[Place, ...] = (Place((pattern,)),)
    for row in range(case.rows):
        for run, reached in _from_here(case, (), (Place((pattern,)),), row):
            if len(run) > len(path):
                path, places = run, reached
    for key in needed:
        if not any(has_type(key, row) for row in range(case.rows)):
            return Reason("no_event_of_type", key, None, path)
    on = [(place, way) for place in places for way in ways_on(place.rest)]
    ends = [(place, way) for place, way in on if way.key is None]
    if ends and path:
        return _at_end(case, path, places, ends)
    last = path[-1][1] if path else None
    later = [row for row in range(case.rows) if last is None or case.follows(row, last)]
    if case.selection is Selection.STRICT and path:
        later = [row for row in later if row == path[-1][1] + 1]
    for row in later:
        for place, way in on:
            if way.key is not None and case.can_take(way.key, row):
                return _stopped(case, path, on, place, way, row)
    for row in later:
        for _, way in on:
            if way.key is not None and has_type(way.key, row):
                return Reason("condition_failed", way.key, row, path)
    key = next(way.key for _, way in on if way.key is not None)
    if not any(has_type(key, row) for row in range(case.rows)):
        return Reason("no_event_of_type", key, None, path)
    return Reason("no_successor", key, last, path)


_Run = tuple[Path, tuple[Place, ...]]


def _from_here(case: ReferenceCase, path: Path, places: Sequence[Place], row: int) -> Iterator[_Run]:
    """The runs that go on from one with a row, each before those that go on from it."""
    found = case.extensions(path, places, row)
    for key in dict.fromkeys(way.key for way, _ in found if way.key is not None):
        reached = tuple(dict.fromkeys(place for way, place in found if way.key == key))
        longer = (*path, (key, row))
        yield longer, reached
        for later in range(row + 1, case.rows):
            yield from _from_here(case, longer, reached, later)
            if case.selection is Selection.STRICT:
                break
            if case.selection is Selection.NEXT:
                taken = case.extensions(longer, reached, later)
                # What ends a Kleene that could go on may also be skipped (NFAb's ignore and proceed).
                if not all(way.leaves for way, _ in taken):
                    break


def _stopped(
    case: ReferenceCase, path: Path, on: Sequence[tuple[Place, Way]], place: Place, way: Way, row: int
) -> Reason:
    """What keeps a row that by itself fits from extending a run on a way. ``on``: all ways on."""
    key = str(way.key)
    longer = (*path, (key, row))
    if case.within is not None and not case.within(longer[0][1], row):
        return Reason("window_exceeded", key, row, path)
    reached = [Place(other.rest) for _, other in on if other.key == key]
    if not case.takes(longer) or not case.passes(path, longer, [here for here, _ in on], reached):
        return Reason("condition_failed", key, row, path)
    gaps = (*place.gaps, *between(way.crossed, path[-1][1] if path else None, row))
    component, event = _blocker(case, [g for g in gaps if case.decidable(g, longer, reached)], longer)
    return Reason("negation_blocked", component, event, path)


def _at_end(case: ReferenceCase, path: Path, places: Sequence[Place], ends: Sequence[tuple[Place, Way]]) -> Reason:
    """What keeps a run that has all its events from being a match: of several ways to its end, what blocks the last."""
    key, last = path[-1]
    left = all(c.holds(path) for c in case.conditions if case.is_left(c, path, None))
    if not left or not case.passes(path, path, places, ()):
        return Reason("condition_failed", key, last, path)
    blockers = [_blocker(case, (*place.gaps, *between(way.crossed, last, None)), path) for place, way in ends]
    component, event = max(blockers, key=lambda found: -1 if found[1] is None else found[1])
    return Reason("negation_blocked", component, event, path)


def _blocker(case: ReferenceCase, gaps: Sequence[Gap], path: Path) -> tuple[str | None, int | None]:
    """The first event that violates some gap, and the first component of the negation there that can take it."""
    parts = [replace(g, negation=Negation(item)) for g in gaps for item in alternatives(g.negation.item)]
    for row in range(case.rows):
        known = replace(case, rows=row + 1)
        for part in parts:
            if not known.violated(part, path, None):
                continue
            item = part.negation.item
            nested = {v for node in walk(item) if isinstance(node, Negation) for v in variables(node.item)}
            for key in variables(item):
                if key not in nested and case.can_take(key, row):
                    return key, row
    return None, None


class ReasonSearch:
    """The interface of non_answers.Reasons, by the definition."""

    def __init__(self, spec: RepairSpec) -> None:
        self.spec = spec
        self.search = ReferenceCases(spec.run)

    def explain(self, batch: Batch, wanted: Flags) -> tuple[Ints, Ints]:
        """See non_answers.Reasons.explain."""
        names = self.spec.run.automaton.names
        codes = {name: code for code, name in enumerate(names)}
        out = np.full((len(batch.offsets) - 1, 4), -1, np.int64)
        trace: list[tuple[int, int]] = []
        needed = [names[c] for c in self.spec.needed]
        for q, case, has_type in self.search.cases(batch, self.spec.type_bits):
            if wanted[q]:
                found = reference_reason(case, self.spec.run.pattern, has_type, needed)
                out[q, 0] = REASONS.index(found.code)
                out[q, 1] = -1 if found.component is None else codes[found.component]
                out[q, 2] = -1 if found.event is None else found.event
                trace += [(codes[key], row) for key, row in found.run]
            out[q, 3] = len(trace)
        return out, np.array(trace, np.int64).reshape(-1, 2)
