"""Match one batch of partitions of events with imprecise times: Arrow arrays in, tables of output rows out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkcep.errors import LimitError, SparkCepError
from sparkcep.exec.arrays import Ints, Rows, int_values
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.rows.tables import grown, mask_words
from sparkcep.exec.engines.runs.tables import emission, new_buffers, new_frames, run_tables
from sparkcep.exec.engines.uncertain.spec import UncertainSpec
from sparkcep.exec.kernels.runs.tables import Buffers
from sparkcep.exec.kernels.statuses import OUTPUT_FULL, POOL_FULL, STACK_FULL, TOO_MANY_SHARED
from sparkcep.exec.kernels.uncertain import confidence as worth
from sparkcep.exec.kernels.uncertain import uncertain as kernel
from sparkcep.exec.kernels.uncertain.tables import (
    Elements,
    Events,
    Given,
    Graph,
    Masses,
    Outcome,
    Query,
    Room,
    Stack,
    Terms,
)
from sparkcep.exec.memory import Budget
from sparkcep.exec.statuses import raise_status, too_many_shared
from sparkcep.query import Selection
from sparkcep.settings import LIMIT_TICKS

#: Room for frames, and for lists of events, to begin with.
DEPTH, LISTED = 64, 1 << 14
#: Tables of ticks by ticks are kept up to so many ticks per event.
WIDE = 512
_LARGEST = 2**59
#: What makes fewer matches; with UNCERTAINTY blocks have neither MATCHES NON OVERLAPPING nor COLLAPSED.
UNCERTAIN_HINT = "use WITHIN, CONFIDENCE, narrower intervals or conditions, or raise the limit"


@dataclass(frozen=True, slots=True)
class UncertainMatches:
    """``out`` and ``trace`` as of RunMatcher. Of each row of ``out`` the match's ``confidence`` and its ``ticks``,
    (n, 2): the earliest of the first event and the latest of the last. ``signatures`` that were feasible,
    ``dead_ends``: events that were looked at in vain."""

    out: Ints
    trace: Rows
    confidence: npt.NDArray[np.float64]
    ticks: Ints
    signatures: int
    dead_ends: int


class UncertainMatcher:
    """Runs one UncertainSpec over batches. Made once per task and thread; holds the compiled tables."""

    def __init__(self, spec: UncertainSpec, calls_back: CallsBack = CallsBack.WHERE_NEEDED) -> None:
        self.spec = spec
        self.tables = run_tables(spec.run, calls_back)
        self.emission = emission(spec.run)

    def match(self, batch: Batch) -> UncertainMatches:
        """Match every partition of a batch.

        Args:
            batch: ``columns`` are those of conditions, then first and last tick of each event, then the probabilities
                of its ticks where the spec has them.

        Raises:
            LimitError: CEP_STEP_LIMIT, CEP_MATCH_LIMIT, CEP_TICK_LIMIT, CEP_SHARED_LIMIT, CEP_MEMORY_LIMIT.
            SparkCepError: CEP_UNCERTAINTY, ARITHMETIC_OVERFLOW, DIVIDE_BY_ZERO of a condition.
        """
        spec, run, external = self.spec, self.spec.run, self.tables.external
        offsets = np.array(batch.offsets, np.int64)
        events, order = self.events(batch, offsets)
        given = Given(offsets, np.take(mask_words(batch, run.mask_words), order, axis=1), events)
        longest = int(np.diff(offsets).max(initial=0))
        depth, listed = DEPTH, LISTED
        walk = self.tables.walk(batch, longest, depth, longest)
        # Nothing is prechecked.
        walk = walk._replace(checks=walk.checks._replace(window=np.zeros(2, np.int64)))
        query = self.query(events)
        room = self.room(depth, listed, longest, events.widest)
        progress = np.zeros(kernel.PROGRESS, np.int64)
        outcome = self.outcome(longest)
        budget = Budget(run.task_memory, longest)
        budget.hold("batch", batch.held, given, walk.columns, order, walk.work, walk.checks, room.graph)
        budget.hold("ticks", room.terms.masses)
        budget.hold("runs", walk.frames, room.stack, room.terms.elements)
        external.begin(batch, budget)
        external.look_at(walk.search)
        while True:
            status = kernel.match_uncertain(query, given, walk, room, progress, outcome)
            if status not in (OUTPUT_FULL, STACK_FULL, POOL_FULL):
                break
            # The partition is matched again from its start: its matches must not be counted among the best twice.
            room.best[:] = 0.0
            if status == OUTPUT_FULL:
                outcome = wider(outcome, run.traced)
                budget.hold("output", outcome)
            else:
                depth = depth * 4 if status == STACK_FULL else depth
                listed = listed * 4 if status == POOL_FULL else listed
                walk = walk._replace(frames=new_frames(depth))
                room = room._replace(
                    stack=self.stack(depth, listed, events.widest),
                    terms=room.terms._replace(elements=self.elements(depth, listed, longest)),
                )
                budget.hold("runs", walk.frames, room.stack, room.terms.elements)
        if status == TOO_MANY_SHARED:
            raise too_many_shared(spec.limit_shared)
        external.raise_failure(status)
        raise_status(status, run, UNCERTAIN_HINT)
        used = int(progress[kernel.USED])
        return UncertainMatches(
            outcome.buffers.out[:used], outcome.buffers.trace[: progress[kernel.TRACED]], outcome.confidence[:used],
            outcome.ticks[:used], int(progress[kernel.SIGNATURES]), int(progress[kernel.DEAD_ENDS]),
        )  # fmt: skip

    def query(self, events: Events) -> Query:
        """What the kernel is told of the query, over some events."""
        spec = self.spec
        sets = np.array([c in spec.sets for c in range(len(spec.run.automaton.names))], np.uint8)
        holes = bool((events.mass <= 0).any())
        return Query(
            int(spec.run.selection is Selection.NEXT), sets,
            worth.NO_BOUND if spec.within is None else min(spec.within, worth.NO_BOUND - 1), float(spec.confidence),
            int(not spec.keeps_out and not holes), spec.run.most_matches,
        )  # fmt: skip

    def room(self, depth: int, listed: int, longest: int, widest: int) -> Room:
        """Room for runs of so many events; untouched memory costs nothing."""
        spec = self.spec
        nodes = len(self.tables.machine.state_component)
        bounded = longest if spec.within is not None else 0
        graph = Graph(
            np.zeros(longest + 1, np.uint8), np.empty(longest + 1, np.int32), np.empty(nodes, np.int64),
            np.empty((nodes, bounded + 1), np.int64), np.empty((nodes, bounded + 2), np.int64),
        )  # fmt: skip
        states = 1 << spec.limit_shared if spec.keeps_out else 1
        ticks = widest + 1
        masses = Masses(
            np.empty((states, ticks)), np.empty((states, ticks)),
            np.empty((states, ticks), np.int64), np.empty((states, ticks), np.int64),
            np.empty(states), np.empty(states, np.int64),
            np.empty((DEPTH, ticks, ticks) if widest <= WIDE else (0, 1, 1)),
            np.empty((ticks, ticks) if widest <= WIDE else (1, 1), np.int64),
        )  # fmt: skip
        terms = Terms(self.elements(depth, listed, longest), masses, np.zeros(1), np.zeros(2, np.int64))
        return Room(self.stack(depth, listed, widest), graph, terms, np.zeros(spec.most))

    def stack(self, depth: int, listed: int, widest: int) -> Stack:
        """Room for runs of so many events."""
        bounded = self.spec.within is not None and widest <= WIDE
        rows = (min(depth, DEPTH), widest + 1, widest + 1) if bounded else (0, 1, 1)
        return Stack(
            event=_ints(depth), low=_ints(depth), before=_ints(depth), first=_ints(depth), element=_ints(depth),
            begin=_ints(depth), edge=_ints(depth), cursor=_ints(depth), listed=_ints(depth),
            sums=np.empty((depth, widest + 1)), next_event=_ints(listed), next_edge=_ints(listed),
            next_ends=np.zeros(listed, np.uint8), rows=np.empty(rows), ready=np.zeros(depth, np.uint8),
        )  # fmt: skip

    def elements(self, depth: int, listed: int, longest: int) -> Elements:
        """Room for signatures of so many events."""
        most = depth + 2
        return Elements(
            begin=_ints(most), end=_ints(most), first_low=_ints(most), first_high=_ints(most), last_low=_ints(most),
            last_high=_ints(most), gap=_ints(most), several=_ints(most), forbidden=_ints(listed + longest + 1),
            shared=_ints(self.spec.limit_shared), gaps=_ints(longest + 1), mark=_ints(longest + 1),
        )  # fmt: skip

    def outcome(self, longest: int) -> Outcome:
        """Room for the output of a partition, to begin with."""
        rows = max(1024, longest)
        buffers = new_buffers(self.spec.run, longest, rows, max(4096, longest))
        return Outcome(self.emission, buffers, np.empty(rows), np.empty((rows, 2), np.int64))

    def ticks(self, batch: Batch) -> tuple[Ints, Ints]:
        """(rows,) each, the first and the last ticks of a batch's events."""
        at = len(self.spec.run.conditions.column_types)
        return int_values(batch.columns[at])[0], int_values(batch.columns[at + 1])[0]

    def events(self, batch: Batch, offsets: Ints) -> tuple[Events, Ints]:
        """Events in order of their intervals, and where each stands in the batch."""
        spec = self.spec
        low, high = self.ticks(batch)
        rows = len(low)
        if rows and (int(low.min()) < -_LARGEST or int(high.max()) > _LARGEST):
            raise SparkCepError("CEP_UNCERTAINTY", "A time is too far away for its tick to be counted.", hint="STEP")
        widest = int((high - low).max(initial=0)) + 1
        if widest > spec.limit_ticks:
            raise LimitError(
                "CEP_TICK_LIMIT",
                f"An event has {widest} ticks, more than {spec.limit_ticks} ({LIMIT_TICKS.key}).",
                hint="a larger STEP gives fewer ticks; or raise the limit",
            )
        nothing = np.zeros(1)
        begin = np.full(rows, -1, np.int64)
        mass = upto = since = nothing + 1.0
        if spec.probable and rows:
            low, high, begin, mass, upto, since = _probabilities(batch.columns[-1], low, high)
        partition = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        row = np.arange(rows) - np.repeat(offsets[:-1], np.diff(offsets))
        order = np.lexsort((row, high, low, partition))
        low, high, row, begin = (np.ascontiguousarray(a[order], np.int64) for a in (low, high, row, begin))
        return Events(low, high, row, begin, mass, upto, since, widest), order


def _ints(size: int) -> Ints:
    return np.zeros(size, np.int64)


def wider(outcome: Outcome, traced: bool) -> Outcome:
    """More room for output: what is used says nothing of what the partition needs."""
    out, trace, shown = outcome.buffers
    return Outcome(
        outcome.emission,
        Buffers(grown(out, len(out), 1), grown(trace, len(trace), 1) if traced else trace, shown),
        grown(outcome.confidence, len(outcome.confidence), 1), grown(outcome.ticks, len(outcome.ticks), 1),
    )  # fmt: skip


def _probabilities(
    lists: pa.Array, low: Ints, high: Ints
) -> tuple[Ints, Ints, Ints, npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Ticks with probability at both ends, where each row's begin, and their probabilities, summed from both sides."""
    lengths = np.asarray(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), np.int64)
    values = np.asarray(lists.flatten().fill_null(0.0).to_numpy(zero_copy_only=False), np.float64)
    begin = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    uniform = lengths == 0  # no array: every tick is as probable
    low, high = low.copy(), high.copy()
    mass = values.copy()
    upto, since = np.zeros(len(mass)), np.zeros(len(mass))
    for r in np.flatnonzero(~uniform):
        a, b = begin[r], begin[r] + lengths[r]
        mass[a:b] /= mass[a:b].sum()
        upto[a:b] = np.cumsum(mass[a:b])
        since[a:b] = np.cumsum(mass[a:b][::-1])[::-1]
        positive = np.flatnonzero(mass[a:b] > 0)
        first, last = int(positive[0]), int(positive[-1])
        # What lies outside has no place in any world, and is no hole either.
        mass[a : a + first] = 1.0
        mass[a + last + 1 : b] = 1.0
        high[r] = low[r] + last
        low[r] += first
        begin[r] += first
    begin[uniform] = -1
    one = np.ones(1)
    if len(mass) == 0:
        return low, high, begin, one, one, one
    return low, high, begin, mass, upto, since
