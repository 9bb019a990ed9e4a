"""Aggregates over trends that are constructed one by one: where a condition looks at events that are not adjacent."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa

from sparkcep.errors import LimitError
from sparkcep.exec.arrays import Ints, Rows, int_values, signed_words
from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.runs.matcher import RunMatcher
from sparkcep.exec.engines.runs.tables import interval
from sparkcep.exec.engines.trends.matcher import Partial, TrendTable, decimals
from sparkcep.exec.engines.trends.spec import TrendAggregate, TrendSpec
from sparkcep.exec.engines.trends.tables import is_long, ranks
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.expr.types import parse_type
from sparkcep.settings import TASK_MEMORY


class EnumeratingMatcher:
    """Runs one TrendSpec by the runs kernel, under its limit of matches; every window is a partition of its own."""

    def __init__(self, spec: TrendSpec) -> None:
        self.spec = spec
        self.matcher = RunMatcher(spec.run)

    def aggregate(self, batch: Batch) -> TrendTable:
        """As TrendMatcher.aggregate.

        Raises:
            LimitError: CEP_MATCH_LIMIT, CEP_STEP_LIMIT.
        """
        partition, window, trends, unrolled = self.construct(batch)
        partials = tuple(self.partial(a, trends, unrolled) for a in self.spec.aggregates)
        return TrendTable(partition, window, partials)

    def sequences(self, batch: Batch) -> dict[tuple[int, int], set[bytes]]:
        """By partition and window, the sequences of events that match; equal bytes are equal sequences."""
        partition, window, trends, _ = self.construct(batch)
        places = zip(partition.tolist(), window.tolist(), strict=True)
        return dict(zip(places, trends.sequences(), strict=True))

    def construct(self, batch: Batch) -> tuple[Ints, Ints, _Trends, Batch]:
        """Partitions and windows that have trends, these trends, and the rows they count in."""
        rows, offsets, partition, window = self.windows(batch)
        at = pa.array(rows)
        within = None if batch.within is None else tuple(a.take(at) for a in batch.within)
        unrolled = Batch(offsets, [m.take(at) for m in batch.masks], [c.take(at) for c in batch.columns], within)
        # All are held at once, a few times as large when they are added up.
        pieces = self.matcher.pieces(unrolled, self.spec.run.task_memory // 8)
        found, trace = next(pieces)
        if next(pieces, None) is not None:
            raise LimitError(
                "CEP_MEMORY_LIMIT",
                f"Trends have to be constructed ({self.spec.enumerated}), and take more memory than a task may "
                f"({TASK_MEMORY.key}).",
                hint="shorter windows hold fewer trends; or raise the limit",
            )
        of = found[:, kernel.PARTITION]
        kept = np.unique(of)
        group = np.searchsorted(kept, of)
        lengths = np.diff(np.append(0, found[:, -1]))
        events = np.repeat(offsets[of], lengths) + trace[:, 1]
        trends = _Trends(len(kept), group, np.repeat(group, lengths), lengths, trace[:, 0], events)
        return partition[kept], window[kept], trends, unrolled

    def windows(self, batch: Batch) -> tuple[Ints, Ints, Ints, Ints]:
        """Rows of every window, their borders, and each window's partition and number."""
        offsets = np.asarray(batch.offsets, np.int64)
        if not self.spec.windowed:
            count = len(offsets) - 1
            return np.arange(offsets[-1]), offsets, np.arange(count), np.zeros(count, np.int64)
        times = interval(batch).key
        width, slide = self.spec.width, self.spec.slide
        pieces: list[Ints] = []
        places: list[tuple[int, int]] = []
        for q, (low, high) in enumerate(itertools.pairwise(offsets)):
            own = times[low:high]
            numbers = {k for t in np.unique(own // slide) for k in range(t - (width - 1) // slide - 1, t + 1)}
            for k in sorted(int(n) for n in numbers):
                first, last = np.searchsorted(own, [k * slide, k * slide + width])
                if first < last:
                    pieces.append(np.arange(low + first, low + last))
                    places.append((q, k))
        borders = np.cumsum([0, *map(len, pieces)])
        found = np.array(places, np.int64).reshape(-1, 2)
        return np.concatenate([np.empty(0, np.int64), *pieces]).astype(np.int64), borders, found[:, 0], found[:, 1]

    def partial(self, a: TrendAggregate, trends: _Trends, batch: Batch) -> Partial:
        """An aggregate of each group of constructed trends."""
        if a.distinct:
            return decimals([len(s) for s in trends.sequences()])
        inside = np.isin(trends.component, list(a.components))
        groups, rows = trends.group_of_event[inside], trends.row[inside]
        if a.column >= 0:
            known = ~np.asarray(batch.columns[a.column].is_null().to_numpy(zero_copy_only=False), bool)
            groups, rows = groups[known[rows]], rows[known[rows]]
        if a.function.endswith("count"):
            counts = np.bincount(groups if a.components else trends.group, minlength=trends.groups)
            if a.function == "approx_count":
                return Partial(pa.array(counts.astype(np.float64)))
            return decimals(counts.tolist())
        column = batch.columns[a.column]
        counts = np.bincount(groups, minlength=trends.groups)
        if a.function in ("min", "max"):
            order, values = ranks(column, a.function == "max")
            least = np.full(trends.groups, len(values), np.int64)
            np.minimum.at(least, groups, order[rows])
            return Partial(values.take(pa.array(least, mask=counts == 0)))
        if not a.is_scaled:
            low, high = signed_words(column) if is_long(column.type) else (int_values(column)[0], None)
            totals: list[int | None] = [0 if n else None for n in counts]
            for g, row in zip(groups.tolist(), rows, strict=True):
                totals[g] = (totals[g] or 0) + int(low[row]) + (0 if high is None else int(high[row]) << 64)
            return decimals(totals, parse_type(a.type).scale)
        floats = np.asarray(column.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False))
        sums = np.bincount(groups, weights=floats[rows], minlength=trends.groups)
        values_, zero = pa.array(sums, mask=counts == 0), pa.array(np.zeros(trends.groups))
        if a.function == "sum":
            return Partial(values_, exponents=zero)
        return Partial(values_, exponents=zero, weights=pa.array(counts.astype(np.float64)), weight_exponents=zero)


class _Trends:
    """Matches by their group (partition and window), and their events, one match after the other."""

    def __init__(
        self, groups: int, group: Ints, group_of_event: Ints, lengths: Ints, component: Rows, row: Ints
    ) -> None:
        self.groups = groups
        self.group = group
        self.group_of_event = group_of_event
        self.lengths = lengths
        self.component = component
        self.row = row

    def sequences(self) -> list[set[bytes]]:
        """The different sequences of events that each group has."""
        found: list[set[bytes]] = [set() for _ in range(self.groups)]
        ends = np.cumsum(self.lengths)
        for g, end, length in zip(self.group.tolist(), ends, self.lengths, strict=True):
            found[g].add(self.row[end - length : end].tobytes())
        return found
