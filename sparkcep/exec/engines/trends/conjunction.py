"""Counts of AND(P, Q): unordered pairs of two different trends, one that P matches and one that Q matches.

With c_P, c_Q and c_PQ the numbers of trends that P alone, Q alone and both match, there are c_P c_Q + c_P c_PQ +
c_Q c_PQ + c_PQ (c_PQ - 1) / 2 of them (GRETA, section 8). A trend is its sequence of events.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.trends.enumeration import EnumeratingMatcher
from sparkcep.exec.engines.trends.matcher import LARGEST, Partial, TrendMatcher, TrendTable, decimals
from sparkcep.exec.engines.trends.spec import Part, TrendSpec

#: Partition and window.
Place = tuple[int, int]


def pairs_of(left: float, right: float, both: float) -> float:
    """Pairs, by how many trends each side matches and how many both do."""
    own, other = left - both, right - both
    half = both * (both - 1) // 2 if isinstance(both, int) else both * (both - 1) / 2
    return own * other + own * both + other * both + half


class ConjunctionMatcher:
    """Counts the trends of both sides and of what is both, each for itself, and then the pairs."""

    def __init__(self, spec: TrendSpec) -> None:
        self.spec = spec
        self.matchers = [(p, (EnumeratingMatcher if spec.enumerated else TrendMatcher)(p.spec)) for p in spec.parts]

    def aggregate(self, batch: Batch) -> TrendTable:
        """As TrendMatcher.aggregate; the errors are its and those of EnumeratingMatcher."""
        found = self.constructed(batch) if self.spec.enumerated else self.counted(batch)
        places = sorted(place for place, (count, near) in found.items() if count is None or count or near)
        counts = [found[p][0] for p in places]
        exact = decimals([LARGEST + 1 if n is None else n for n in counts])
        near = Partial(pa.array([found[p][1] for p in places], pa.float64()))
        partials = tuple(near if a.function == "approx_count" else exact for a in self.spec.aggregates)
        partition, window = (np.array([p[k] for p in places], np.int64) for k in range(2))
        return TrendTable(partition, window, partials)

    def constructed(self, batch: Batch) -> dict[Place, tuple[int | None, float]]:
        """Counts of pairs by place, where both sides construct their trends: a pair of equal events counts once."""
        left, right = (m.sequences(cut(p, batch)) for p, m in self.matchers if isinstance(m, EnumeratingMatcher))
        out: dict[Place, tuple[int | None, float]] = {}
        for place in left.keys() & right.keys():
            one, other = left[place], right[place]
            pairs = int(pairs_of(len(one), len(other), len(one & other)))
            out[place] = (pairs, float(pairs))
        return out

    def counted(self, batch: Batch) -> dict[Place, tuple[int | None, float]]:
        """Exact pairs, None where some count is too large, and pairs as a double."""
        tables = [m.aggregate(cut(p, batch)) for p, m in self.matchers]
        counts: list[dict[Place, tuple[int | None, float]]] = []
        for table in tables:
            exact, near = table.partials
            places = zip(table.partition.tolist(), table.window.tolist(), strict=True)
            large = np.zeros(len(table.partition), bool) if exact.overflows is None else exact.overflows
            values = zip(exact.values.to_pylist(), large, near.values.to_pylist(), strict=True)
            counts.append({p: (None if over else int(n), x) for p, (n, over, x) in zip(places, values, strict=True)})
        out: dict[Place, tuple[int | None, float]] = {}
        for place in counts[0].keys() & counts[1].keys():
            (a, x), (b, y), (c, z) = (of.get(place, (0, 0.0)) for of in counts)
            if a is None or b is None or c is None:
                out[place] = (None, pairs_of(x, y, z))
            else:
                pairs = int(pairs_of(a, b, c))
                out[place] = (pairs, float(pairs))
        return out


def cut(part: Part, batch: Batch) -> Batch:
    """What a part reads of a batch."""
    masks = batch.masks[part.first_mask : part.first_mask + part.spec.mask_words]
    return Batch(batch.offsets, masks, batch.columns[part.first_column : part.after_column], batch.within)
