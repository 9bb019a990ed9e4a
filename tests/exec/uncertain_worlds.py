"""Brute force for imprecise time: every world is drawn, and matched by definition.

A world gives every event one of its ticks. What a world matches comes from reference_runs.py, with two rules of its
own: events of one tick have no order, so under SKIP TILL NEXT MATCH all of the smallest tick are taken; and members of
a Kleene that is a set may share a tick.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from sparkcep.query import Matches, Selection, TestedAt

from .reference_runs import Path, Place, ReferenceCase
from .run_strategies import RunCase, describe, run_cases

#: Signature -> confidence, earliest tick of the first event, latest tick of the last one.
Signatures = dict[Path, tuple[float, int, int]]


@dataclass(frozen=True, repr=False)
class UncertainCase:
    """A case whose rows have the ticks ``low[r]`` and on, with the probabilities ``mass[r]``."""

    run: RunCase
    low: tuple[int, ...]
    mass: tuple[tuple[float, ...], ...]
    confidence: float = 0.0
    probable: bool = field(default=True)

    def __repr__(self) -> str:
        events = " ".join(
            f"{e}@{a}..{a + len(m) - 1}{list(m) if len(set(m)) > 1 else ''}={v}"
            for e, a, m, v in zip(self.run.types, self.low, self.mass, self.run.values, strict=True)
        )
        return f"{self.run!r}\n  events {events}\n  confidence {self.confidence}"

    def worlds(self) -> Iterator[tuple[tuple[int, ...], float]]:
        choices = [[(a + n, p) for n, p in enumerate(m) if p > 0] for a, m in zip(self.low, self.mass, strict=True)]
        for world in itertools.product(*choices):
            yield tuple(t for t, _ in world), math.prod(p for _, p in world)

    def signatures(self, sets: frozenset[str]) -> Signatures:
        """What the worlds give; ``sets``: keys of Kleene components whose members are a set."""
        parts: dict[Path, list[float]] = {}
        ranges: dict[Path, tuple[int, int]] = {}
        for ticks, probability in self.worlds():
            for path in self.matches(ticks, sets):
                signature = canonical(path, sets)
                parts.setdefault(signature, []).append(probability)
                taken = [ticks[row] for _, row in path]
                low, high = ranges.get(signature, (min(taken), max(taken)))
                ranges[signature] = min(low, *taken), max(high, *taken)
        found = {s: (math.fsum(p), *ranges[s]) for s, p in parts.items()}
        return {s: f for s, f in found.items() if f[0] >= self.confidence}

    def matches(self, ticks: Sequence[int], sets: frozenset[str]) -> set[Path]:
        """Matches of one world."""
        run, width = self.run, self.run.within
        world = World(
            len(ticks), run.can_take, run.references, run.selection,
            None if width is None else lambda first, row: ticks[row] <= ticks[first] + width,
            None if width is None else lambda last, row: ticks[row] >= ticks[last] - width,
            None if width is None else lambda first, row: ticks[row] <= ticks[first] + width,
            tuple(ticks), sets=sets,
        )  # fmt: skip
        return {path for row in range(len(ticks)) for path in world.starts(run.pattern, row)}


@dataclass(frozen=True)
class World(ReferenceCase):
    """One world; ``strict_time`` are its ticks, rows stand in no order."""

    sets: frozenset[str] = frozenset()

    def tick(self, row: int) -> int:
        assert self.strict_time is not None
        return self.strict_time[row]

    def follows(self, row: int, other: int) -> bool:
        return self.tick(row) > self.tick(other)

    def takes(self, path: Path) -> bool:
        if len(path) > 1:
            (before, other), (key, row) = path[-2:]
            if key == before and key in self.sets:
                # One order of the set for each world.
                if (self.tick(row), row) <= (self.tick(other), other):
                    return False
                return self.alone(path)
        return super().takes(path)

    def alone(self, path: Path) -> bool:
        """All that is asked of a further member of a set."""
        key, row = path[-1]
        if not self.can_take(key, row) or (self.within is not None and not self.within(path[0][1], row)):
            return False
        return all(
            c.holds(path)
            for c in self.conditions
            if (c.at is TestedAt.TAKE and key in c.decided_by) or self.is_left(c, path[:-1], key)
        )

    def longer(self, path: Path, places: Sequence[Place], choices: Sequence[str | None]) -> Iterator[Path]:
        taken = {row for _, row in path}
        last = self.tick(path[-1][1])
        rows = [row for row in range(self.rows) if row not in taken and self.tick(row) >= last]
        for _, together in itertools.groupby(sorted(rows, key=self.tick), self.tick):
            ends = True
            for row in together:
                found = self.extensions(path, places, row)
                ends &= all(way.leaves for way, _ in found)
                yield from self.taken(path, row, found, choices)
            if self.selection is Selection.NEXT and not ends:
                return


def canonical(path: Path, sets: frozenset[str]) -> Path:
    """A signature in which the members of each set are in order of their rows."""
    out: list[tuple[str, int]] = []
    for key, group in itertools.groupby(path, key=lambda taken: taken[0]):
        members = list(group)
        out += sorted(members) if key in sets else members
    return tuple(out)


@st.composite
def uncertain_cases(
    draw: st.DrawFn, most_worlds: int = 120, certain: bool = False, untied: bool = True, **changes: object
) -> UncertainCase:
    """Cases of few worlds; ``certain``: of one; ``untied``: without conditions of negated events on the match."""
    fields: dict[str, object] = {
        "selections": (Selection.NEXT, Selection.ANY), "matches": (Matches.ALL,), "maximum_rows": 7, "reluctant": False,
        "contiguous": False, **changes,
    }  # fmt: skip
    case = draw(run_cases(**fields))  # type: ignore[arg-type]
    if untied:
        negated = {c.key for c in case.components if c.negated}
        kept = [n for n, c in enumerate(case.conditions) if not negated & set(c.decided_by)]
        case = replace(
            case, conditions=tuple(case.conditions[n] for n in kept),
            references=tuple(case.references[n] for n in kept),
        )  # fmt: skip
    case = replace(case, strict_time=False)
    weighted = draw(st.booleans())
    worlds = 1
    low, mass = [], []
    for time in case.times:
        width = 1 if certain else draw(st.sampled_from([1, 2, 2, 3, 3, 4]))
        width = width if worlds * width <= most_worlds else 1
        weights = [1] * width
        if weighted:
            weights = draw(st.lists(st.integers(0, 3), min_size=width, max_size=width).filter(any))
        worlds *= sum(w > 0 for w in weights)
        low.append(time + (0 if certain else draw(st.integers(-1, 1))))
        mass.append(tuple(w / sum(weights) for w in weights))
    confidence = draw(st.sampled_from([0.0, 0.0, 0.0, 0.3, 0.7]))
    return UncertainCase(case, tuple(low), tuple(mass), confidence, weighted)


__all__ = ["Signatures", "UncertainCase", "canonical", "describe", "uncertain_cases"]
