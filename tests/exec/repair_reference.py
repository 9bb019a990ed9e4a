"""Repairs by their definition: every choice of events and shifts is tried (LANGUAGE, section 3, item 12)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sparkcep.exec.engines.non_answers.spec import Bound


@dataclass(frozen=True)
class RepairCase:
    """One partition and one query. ``fits`` (place, row); ``test`` of the rows chosen; bounds as in Repair."""

    types: tuple[str, ...]
    times: tuple[int | None, ...]
    sequence: tuple[str, ...]
    bounds: tuple[Bound, ...]
    step: int
    most_cost: int
    most_shift: int
    values: tuple[int | None, ...] = ()
    rising: tuple[tuple[int, int], ...] = ()

    def tests(self, rows: Sequence[int]) -> bool:
        """Whether values rise from place to place where they must."""
        for i, j in self.rising:
            before, after = self.values[rows[i]], self.values[rows[j]]
            if before is None or after is None or not before < after:
                return False
        return True


#: Cost in ticks, rows and shifts in ticks by place.
Answer = tuple[int, tuple[int, ...], tuple[int, ...]] | None


def positions(case: RepairCase, rows: Sequence[int], times: Sequence[int]) -> list[int]:
    """Where the chosen events stand among all events in the order of new times; equal times keep their order."""
    known = [(t, r) for r, t in enumerate(case.times) if t is not None and r not in rows]
    order = sorted(known + list(zip(times, rows, strict=True)))
    return [order.index((t, r)) for t, r in zip(times, rows, strict=True)]


def holds(case: RepairCase, rows: Sequence[int], times: Sequence[int]) -> bool:
    if any(b <= a for a, b in itertools.pairwise(times)) or not case.tests(rows):
        return False
    places = positions(case, rows, times) if any(b.gap for b in case.bounds) else []
    for b in case.bounds:
        values = places if b.gap else times
        distance = values[b.second] - values[b.first]
        if (b.least is not None and distance < b.least) or (b.most is not None and distance > b.most):
            return False
    return True


def reference_repair(case: RepairCase, allowed: Callable[[int], bool] = lambda t: True) -> Answer:
    """The repair that the definition prefers: least cost, fewest moves, smallest new times, first events."""
    best: tuple[int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None = None
    fitting = [
        [r for r, e in enumerate(case.types) if e == wanted and case.times[r] is not None] for wanted in case.sequence
    ]
    shifts = range(-case.most_shift, case.most_shift + 1)
    for rows in itertools.product(*fitting):
        if len(set(rows)) < len(rows):
            continue
        for moved in itertools.product(shifts, repeat=len(rows)):
            cost = sum(map(abs, moved))
            if cost > case.most_cost or (best is not None and cost > best[0]):
                continue
            times = tuple((case.times[r] or 0) + s * case.step for r, s in zip(rows, moved, strict=True))
            if not all(map(allowed, times)) or not holds(case, rows, times):
                continue
            found = (cost, sum(s != 0 for s in moved), times, rows, moved)
            if best is None or found < best:
                best = found
    return None if best is None else (best[0], best[3], best[4])
