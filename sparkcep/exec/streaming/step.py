"""The operator of a stream without Spark: rows of a bucket in, what the watermark decides out, state between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkcep.errors import LimitError
from sparkcep.exec.arrays import Ints, int_values, ordered_ints
from sparkcep.exec.batch import Batch
from sparkcep.exec.engine import MatchTable, OutputColumn, Released, ReleasedMatcher, StreamingEngine
from sparkcep.exec.engines.shared.left import RulesLeft
from sparkcep.exec.kernels.rows.rows import AT_ROW, COVERED, FIRST_ROW, MATCHES, PROGRESS
from sparkcep.exec.layouts.output import arrays, record_batch
from sparkcep.exec.layouts.rows import column, needed_columns
from sparkcep.exec.ordering import SortField, groups_of, order_of, sort_keys
from sparkcep.exec.shape import OperatorColumns, batch_of
from sparkcep.exec.streaming.blobs import ROW, TIME, concatenated
from sparkcep.exec.streaming.collected import collected, partials
from sparkcep.exec.streaming.late import late_rows
from sparkcep.exec.streaming.meaning import StreamMeaning
from sparkcep.exec.streaming.rule_names import RuleNames
from sparkcep.exec.streaming.state import BucketState, read_state
from sparkcep.query import PREFIX
from sparkcep.settings import LIMIT_STREAM_ROWS

S = TypeVar("S")
Flags = npt.NDArray[np.bool_]
#: What of ``progress`` is kept for a partition: where it was left in its rows, and what was counted of it before.
PLACES, COUNTS = (AT_ROW, COVERED), (MATCHES, FIRST_ROW)


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """How the rows of a stream are matched.

    ``order``: fields that rows of a partition are sorted by, the watermarked column first. ``meaning``: of the query,
    which its state belongs to. ``remembers``: whether output tells how many rows or matches of a partition came before,
    so that partitions are remembered when they have no rows left. ``most_rows``: kept of one partition, where WITHIN
    bounds nothing; 0 for no limit. ``collected``: columns of the output of which each row of a match has those of all
    its rows, see collected.py; ``last_only``: whether only a match's last row is emitted. ``groups``: of trends, which
    keys make the groups whose partial results are collected for each window; the bucket holds all of a group's
    partitions. ``late_rows``: the folder for rows that are dropped, empty for none. Of a rule set, ``rules``: what its
    numbers stand for, of which the meaning says nothing; ``columns``: prepared ones that are kept, with their types.
    """

    order: tuple[SortField, ...]
    meaning: StreamMeaning
    remembers: bool = False
    most_rows: int = 0
    collected: tuple[str, ...] = ()
    last_only: bool = False
    groups: tuple[int, ...] | None = None
    late_rows: str = ""
    rules: RuleNames | None = None
    columns: pa.Schema | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What a step gives: output rows if there are any, the bucket's state, and the watermark (microseconds) at which
    it has something to do though no row comes; None: never. ``late``: rows that came too late, ``untimed``: rows
    without a time; both were dropped, ``dropped`` are they where they are wanted. ``changed``: matches behind which
    SKIP went on elsewhere than it says. ``taken``: new rows that were looked at; ``kept``: rows of the state."""

    rows: pa.RecordBatch | None
    state: bytes | None
    wake: int | None
    late: int = 0
    untimed: int = 0
    changed: int = 0
    taken: int = 0
    kept: int = 0
    dropped: pa.Table | None = None


class BucketOperator(Generic[S]):
    """Matches the partitions of buckets.

    A step drops rows that the watermark had passed when the bucket was last looked at, sorts the others in among those
    that were kept, and gives the engine, of each partition to which something has happened, the rows up to the
    watermark. It is deterministic: the same rows, state and watermark give the same output.
    """

    def __init__(self, engine: StreamingEngine[S], shape: OperatorColumns, spec: S, plan: StreamPlan) -> None:
        self.shape = shape
        self.plan = plan
        self.columns = engine.columns(spec, shape)
        self.matcher: ReleasedMatcher = engine.released(spec, shape)
        self.keys = [f"k{i}" for i in range(shape.keys)]
        self.left = [*PLACES, *COUNTS] if plan.remembers else [*PLACES]

    def step(self, state: bytes | None, new: Sequence[pa.Table], watermark: int) -> Step:
        """One step.

        Args:
            state: what the step before gave; None at first.
            new: prepared rows of the bucket: keys, masks, fields and the time.
            watermark: microseconds; all rows up to it have come.

        Raises:
            SparkCepError: CEP_STREAMING_STATE_CHANGED; LimitError; and as engines do.
        """
        before = None
        if state is not None:
            before = self.restored(read_state(state, self.plan.meaning))
        released = before.released if before is not None else -(2**62)
        tables = [before.rows] if before is not None else []
        kept_rows = before.rows.num_rows if before is not None else 0
        tables += [t.drop_columns([ROW]) for t in new] if self.plan.late_rows else new
        if not tables:
            return Step(None, None, None)
        rows = concatenated(tables)
        times, missing = int_values(column(rows, TIME.removeprefix(PREFIX)))
        untimed = missing.astype(bool)
        late = ~untimed & (times <= released)
        late[:kept_rows] = False
        aside = None
        if (dropped := late | untimed).any():
            if self.plan.late_rows:
                aside = late_rows(new, dropped[kept_rows:])
            rows, times = _filtered(rows, ~dropped), times[~dropped]
        done = self.advance(self.sorted(rows, times, before), released, watermark)
        taken = len(times) - kept_rows
        return replace(done, late=int(late.sum()), untimed=int(untimed.sum()), taken=taken, dropped=aside)

    def restored(self, state: BucketState) -> BucketState:
        """State as it was read, in this operator's terms."""
        return state

    def sorted(self, rows: pa.Table, times: Ints, before: BucketState | None) -> Bucket:
        """Rows by partition and order, with where each partition was left."""
        n = rows.num_rows
        columns = [column(rows, k) for k in self.keys]
        if before is not None:
            lines_of = [column(before.left, k) for k in self.keys]
            columns = [pa.concat_arrays([a, b.cast(a.type)]) for a, b in zip(columns, lines_of, strict=True)]
        lines = before.left.num_rows if before is not None else 0
        groups, count = groups_of(columns, n + lines)
        own, of_lines = groups[:n], groups[n:]
        left = np.zeros((count, PROGRESS), np.int64)
        if before is not None:
            for k in self.left:
                left[of_lines, k] = before.left.column(f"p{k}").to_numpy()
        order = order_of([own], n)
        # The rows of partitions that no row came to stand in order.
        busy = np.zeros(count, bool)
        busy[own[0 if before is None else before.rows.num_rows :]] = True
        places = np.flatnonzero(busy[own[order]])
        at = order[places]
        sort: list[npt.NDArray[np.int64]] = [own[at]]
        for field in self.plan.order:
            values = column(rows, f"f{field.field}").take(pa.array(at))
            sort += sort_keys(values, field.ascending, field.nulls_first)
        order[places] = at[order_of(sort, len(at))]
        first = np.full(count, -1, np.int64)
        first[groups[::-1]] = np.arange(n + lines)[::-1]
        keys = [c.take(pa.array(first)) for c in columns]
        ordered = rows.take(pa.array(order)).combine_chunks()
        return Bucket(ordered, times[order], own[order], left, keys, own, of_lines)

    def advance(self, bucket: Bucket, released: int, watermark: int) -> Step:
        """Match what the watermark has released."""
        watermark = max(watermark, released)
        n = len(bucket.times)
        ready = bucket.times <= watermark
        bounds = self.bounds(bucket.rows)
        due = ready & self.matcher.due(bucket.times, bounds, released, watermark)
        active = np.zeros(len(bucket.left), bool)
        active[bucket.groups[due]] = True
        if bounds is not None and n:
            # Behind all rows of a partition WITHIN has passed: nothing else would clear it.
            last = np.full(len(active), released, np.int64)
            np.maximum.at(last, bucket.groups[ready], bounds[ready])
            active |= (last > released) & (last <= watermark)
        chosen = ready & active[bucket.groups]
        keep = np.ones(n, bool)
        wake: list[int] = bucket.times[~ready].min(keepdims=True).tolist() if not ready.all() else []
        out: pa.RecordBatch | None = None
        changed = 0
        if chosen.any():
            at = np.flatnonzero(chosen)
            table = _filtered(bucket.rows, chosen)
            groups = bucket.groups[at]
            starts = np.flatnonzero(np.diff(groups, prepend=-1))
            offsets = np.append(starts, len(at)).astype(np.int64)
            parts = groups[starts]
            left = np.ascontiguousarray(bucket.left[parts])
            origin = left[:, FIRST_ROW].copy()
            batch = batch_of(
                offsets,
                [column(table, f"m{w}") for w in range(self.shape.masks)]
                + [column(table, f"f{i}") for i in self.shape.kernel_fields],
                self.shape,
            )
            found, bucket = self.match(bucket, batch, bucket.times[at], left, parts, released, watermark)
            changed = found.changed
            if len(found.table):
                out = self.output(found.table, table, offsets, origin, bucket, parts)
            bucket.left[parts] = left
            dropped = np.arange(len(at)) - np.repeat(starts, np.diff(offsets)) < np.repeat(found.drop, np.diff(offsets))
            keep[at[dropped]] = False
        rest = _filtered(bucket.rows, keep)
        self.check_rows(bucket.groups[keep & ready])
        kept = keep & ready
        more = self.matcher.wake(bucket.times[kept], None if bounds is None else bounds[kept], watermark)
        if more is not None:
            wake.append(more)
        bucket = self.settled(bucket, keep, watermark)
        state = self.state(bucket, rest, self.remembered(bucket, keep), watermark)
        data = state.to_bytes(self.plan.meaning)
        return Step(out, data, min(wake) if wake else None, changed=changed, kept=state.rows.num_rows)

    def bounds(self, rows: pa.Table) -> Ints | None:
        """(rows,) up to when WITHIN lets a match go on that begins at a row; None without WITHIN."""
        within = self.shape.within
        if within is None or not self.matcher.bounded:
            return None
        key = column(rows, f"f{within.key}")
        return ordered_ints(within.bounds(key) if within.bound is None else column(rows, f"f{within.bound}"))[0]

    def output(
        self, matches: MatchTable, table: pa.Table, offsets: Ints, origin: Ints, bucket: Bucket, parts: Ints
    ) -> pa.RecordBatch:
        """Output rows: keys, then the engine's columns; row numbers count from the partition's first row ever."""
        of = matches.partition
        values = arrays(self.columns, matches, offsets[of], lambda n: column(table, f"f{n}"), origin[of])
        if self.plan.collected:
            values, chosen = collected(matches, values, self.plan.collected, self.plan.last_only)
            of = of[chosen]
        at = pa.array(parts[of])
        if self.plan.groups is not None:
            return record_batch(partials([bucket.keys[k].take(at) for k in self.plan.groups], values))
        return record_batch(self.key_columns(bucket, at) | values)

    def key_columns(self, bucket: Bucket, groups: pa.Array) -> dict[str, pa.Array]:
        """Keys of groups."""
        return {PREFIX + name: values.take(groups) for name, values in zip(self.keys, bucket.keys, strict=True)}

    def match(
        self, bucket: Bucket, batch: Batch, times: Ints, left: Ints, parts: Ints, released: int, watermark: int
    ) -> tuple[Released, Bucket]:
        """What the released rows of some partitions decide, and the bucket as that leaves it.

        Args:
            batch, times, left: see :meth:`ReleasedMatcher.match_released`. parts: the bucket's numbers of the
                partitions.
        """
        return self.matcher.match_released(batch, times, left, released, watermark), bucket

    def settled(self, bucket: Bucket, keep: Flags, watermark: int) -> Bucket:
        """The bucket without what can be forgotten. ``keep``: which of its rows are kept."""
        return bucket

    def remembered(self, bucket: Bucket, keep: Flags) -> Flags:
        """(partitions,) those on which the rest of the stream depends."""
        wanted = np.asarray(bucket.left[:, self.left].any(axis=1), bool)
        if not self.plan.remembers:
            has_rows = np.zeros(len(bucket.left), bool)
            has_rows[bucket.groups[keep]] = True
            wanted = wanted & has_rows
        return wanted

    def state(self, bucket: Bucket, rest: pa.Table, wanted: Flags, watermark: int) -> BucketState:
        """What is kept: rows, and where those partitions that are wanted were left."""
        columns = self.key_columns(bucket, pa.array(np.flatnonzero(wanted)))
        columns |= {f"p{k}": pa.array(bucket.left[wanted, k].astype(np.int32)) for k in PLACES}
        columns |= {f"p{k}": pa.array(bucket.left[wanted, k]) for k in self.left if k not in PLACES}
        return BucketState(rest, pa.table(columns), watermark)

    def check_rows(self, groups: Ints) -> None:
        """Raises LimitError: CEP_STREAM_ROWS_LIMIT, a partition keeps too many rows."""
        if self.plan.most_rows and len(groups) and np.bincount(groups).max() > self.plan.most_rows:
            raise LimitError(
                "CEP_STREAM_ROWS_LIMIT",
                f"A partition has more than {self.plan.most_rows} rows that are still to be decided "
                f"({LIMIT_STREAM_ROWS.key}).",
                hint="add WITHIN, which bounds what is kept, or raise the limit and start the query again",
            )


def kept_columns(shape: OperatorColumns, columns: Sequence[OutputColumn], plan: StreamPlan) -> list[str]:
    """Prepared columns that are kept of a row, for some output columns."""
    sorted_by = [f"{PREFIX}f{field.field}" for field in plan.order]
    return list(dict.fromkeys([*needed_columns(shape, columns), *sorted_by, TIME]))


@dataclass(frozen=True, slots=True)
class Bucket:
    """``rows`` by partition and order, their ``times`` and ``groups``; of each group where it was ``left`` and its
    ``keys``. ``arrived``: groups of the rows in the order in which they were given, kept ones first; ``of_lines``: of
    the lines of the state. Of a rule set ``more``: where rules were left; ``costs``: what they have cost so far."""

    rows: pa.Table
    times: Ints
    groups: Ints
    left: Ints
    keys: list[pa.Array]
    arrived: Ints
    of_lines: Ints
    more: RulesLeft | None = None
    costs: Ints | None = None


def _filtered(rows: pa.Table, mask: npt.NDArray[np.bool_]) -> pa.Table:
    return rows if mask.all() else rows.filter(pa.array(mask)).combine_chunks()
