"""What an index of some events must show, from the events alone: the words of `helpers.visible`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sparkcep.index.lookup import PairCount

from .helpers import Row
from .test_pairs import reference

SECOND = 1_000_000


def expected(rows: Sequence[Row]) -> dict[str, Any]:
    """Cases, types, activities, pairs and counts; no two rows of a case agree in time and tiebreak."""
    cases = defaultdict(list)
    for case, time, tie, type_ in rows:
        cases[case].append((time * SECOND, tie, type_, tie))
    for events in cases.values():
        events.sort()
    found = [
        (case, *pair, 0)
        for case, events in cases.items()
        for pair in reference([(e[2], e[0]) for e in events], None)  # type: ignore[misc]
    ]
    counts: dict[Any, PairCount] = {}
    for case, a, b, i, j, _ in sorted(found):
        took = cases[case][j][0] - cases[case][i][0]
        was = counts.get((a, b), PairCount(0, 0, 0, took, took))
        assert was.shortest is not None
        assert was.longest is not None
        counts[a, b] = PairCount(
            was.completions + 1, 0, was.total + took, min(was.shortest, took), max(was.longest, took)
        )
    holders = {key: len({p[0] for p in found if p[1:3] == key}) for key in counts}
    return {
        "cases": dict(cases),
        "types": {r[3] for r in rows},
        "activities": sorted((c, at, e[2], e[0]) for c, events in cases.items() for at, e in enumerate(events)),
        "pairs": sorted(found),
        "counts": {k: PairCount(v.completions, holders[k], v.total, v.shortest, v.longest) for k, v in counts.items()},
    }


def pairs_by_case(rows: Sequence[Row], a: str, b: str) -> dict[str, int]:
    """How often b follows a, case by case, without overlap."""
    out: dict[str, int] = defaultdict(int)
    for case, *types in (p[:3] for p in expected(rows)["pairs"]):
        if types == [a, b]:
            out[case] += 1
    return dict(out)
