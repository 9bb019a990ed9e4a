"""Match one batch of partitions of events with imprecise times: Arrow arrays in, tables of output rows out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkcep.errors import LimitError, SparkCepError
from sparkcep.exec.arrays import Ints, int_values
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.rows.tables import grown, load_columns, mask_words, new_search_state, output_table
from sparkcep.exec.engines.runs.tables import compiled_conditions, machine_tables, new_frames, new_work, prechecked
from sparkcep.exec.engines.uncertain.spec import UncertainSpec
from sparkcep.exec.kernels.rows.output import FIXED
from sparkcep.exec.kernels.runs.graph_tables import Frames
from sparkcep.exec.kernels.statuses import OUTPUT_FULL, POOL_FULL, STACK_FULL, TOO_MANY_SHARED
from sparkcep.exec.kernels.uncertain import confidence as worth
from sparkcep.exec.kernels.uncertain import uncertain as kernel
from sparkcep.exec.kernels.uncertain.tables import Elements, Events, Graph, Masses, Query, Stack
from sparkcep.exec.memory import Budget
from sparkcep.exec.statuses import emitted_rows, raise_status, too_many_shared
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
class Found:
    """``out`` and ``trace`` as of RunMatcher. Of each row of ``out`` the match's ``confidence`` and its ``ticks``,
    (n, 2): the earliest of the first event and the latest of the last. ``signatures`` that were feasible,
    ``dead_ends``: events that were looked at in vain."""

    out: Ints
    trace: Ints
    confidence: npt.NDArray[np.float64]
    ticks: Ints
    signatures: int
    dead_ends: int


class _Room(NamedTuple):
    frames: Frames
    stack: Stack
    elements: Elements


class UncertainMatcher:
    """Runs one UncertainSpec over batches. Made once per task and thread; holds the compiled tables."""

    def __init__(self, spec: UncertainSpec, calls_back: CallsBack = CallsBack.WHERE_NEEDED) -> None:
        self.spec = spec
        run = spec.run
        names = len(run.automaton.names)
        self.machine, self.checks = machine_tables(run)
        self.programs, self.external, self.conditions = compiled_conditions(run, calls_back)
        self.output = output_table(run.slots, run.slot_registers, run.skip_labels, names)

    def match(self, batch: Batch) -> Found:
        """Match every partition of a batch.

        Args:
            batch: ``columns`` are those of conditions, then first and last tick of each event, then the probabilities
                of its ticks where the spec has them.

        Raises:
            LimitError: CEP_STEP_LIMIT, CEP_MATCH_LIMIT, CEP_TICK_LIMIT, CEP_SHARED_LIMIT, CEP_MEMORY_LIMIT.
            SparkCepError: CEP_UNCERTAINTY, ARITHMETIC_OVERFLOW, DIVIDE_BY_ZERO of a condition.
        """
        spec, run = self.spec, self.spec.run
        offsets = np.array(batch.offsets, np.int64)
        events, order = self.events(batch, offsets)
        masks = np.take(mask_words(batch, run.mask_words), order, axis=1)
        columns, const_i = load_columns(self.programs, batch)
        longest = int(np.diff(offsets).max(initial=0))
        work = new_work(longest, self.machine)
        search = new_search_state(longest, len(run.conditions.registers), len(self.programs.agg), True)
        shown = new_search_state(longest, len(run.slot_registers))
        checks = prechecked(self.checks, run, self.programs, longest)._replace(window=np.zeros(2, np.int64))
        query = self.query(events)
        depth, listed = DEPTH, LISTED
        room = self.room(depth, listed, longest, events.widest)
        bounded = longest if spec.within is not None else 0
        nodes = len(self.machine.state_component)
        graph = Graph(
            np.zeros(longest + 1, np.uint8), np.empty(longest + 1, np.int32), np.empty(nodes, np.int64),
            np.empty((nodes, bounded + 1), np.int64), np.empty((nodes, bounded + 2), np.int64),
        )  # fmt: skip
        states = 1 << spec.limit_shared if self.keeps_out else 1
        ticks_wide = events.widest + 1
        masses = Masses(
            np.empty((states, ticks_wide)), np.empty((states, ticks_wide)),
            np.empty((states, ticks_wide), np.int64), np.empty((states, ticks_wide), np.int64),
            np.empty(states), np.empty(states, np.int64),
            np.empty((DEPTH, ticks_wide, ticks_wide) if events.widest <= WIDE else (0, 1, 1)),
            np.empty((ticks_wide, ticks_wide) if events.widest <= WIDE else (1, 1), np.int64),
        )  # fmt: skip
        progress = np.zeros(kernel.PROGRESS, np.int64)
        best = np.zeros(spec.most)
        result, ticks = np.zeros(1), np.zeros(2, np.int64)
        capacity, traced = max(1024, longest), max(4096, longest) if run.traced else 1
        out = np.empty((capacity, FIXED + len(run.slots) + 1), np.int64)
        found, found_ticks = np.empty(capacity), np.empty((capacity, 2), np.int64)
        trace = np.empty((traced, 2), np.int64)
        budget = Budget(run.task_memory, longest)
        budget.hold("batch", batch.held, masks, columns, events, order, work, checks, graph)
        budget.hold("ticks", masses)
        budget.hold("runs", room)
        self.external.begin(batch, budget)
        self.external.look_at(search)
        while True:
            status = kernel.match_uncertain(
                offsets, masks, self.machine, checks, query, events, emitted_rows(run),
                int(run.traced), self.output, self.conditions._replace(const_i=const_i), columns, run.limit_steps,
                run.limit_rows, run.most_matches, work, room.frames, room.stack, graph, room.elements, masses, search,
                shown, best, result, ticks, progress, out, trace, found, found_ticks,
            )  # fmt: skip
            if status == OUTPUT_FULL:
                # The partition is matched again from its start: what is used says nothing of what it needs, and its
                # matches must not be counted among the best twice.
                best[:] = 0.0
                out, found = grown(out, len(out), 1), grown(found, len(found), 1)
                found_ticks = grown(found_ticks, len(found_ticks), 1)
                trace = grown(trace, len(trace), 1) if run.traced else trace
                budget.hold("output", out, found, found_ticks, trace)
            elif status in (STACK_FULL, POOL_FULL):
                best[:] = 0.0
                depth = depth * 4 if status == STACK_FULL else depth
                listed = listed * 4 if status == POOL_FULL else listed
                room = self.room(depth, listed, longest, events.widest)
                budget.hold("runs", room)
            else:
                break
        if status == TOO_MANY_SHARED:
            raise too_many_shared(spec.limit_shared)
        self.external.raise_failure(status)
        raise_status(status, run, UNCERTAIN_HINT)
        used = int(progress[kernel.USED])
        return Found(
            out[:used], trace[: progress[kernel.TRACED]], found[:used], found_ticks[:used],
            int(progress[kernel.SIGNATURES]), int(progress[kernel.DEAD_ENDS]),
        )  # fmt: skip

    @property
    def keeps_out(self) -> bool:
        """Whether some events must not lie between those of a match."""
        return self.spec.run.selection is Selection.NEXT or bool(self.spec.run.automaton.negations)

    def query(self, events: Events) -> Query:
        """What the kernel is told of the query, over some events."""
        spec = self.spec
        sets = np.array([c in spec.sets for c in range(len(spec.run.automaton.names))], np.uint8)
        holes = bool((events.mass <= 0).any())
        return Query(
            int(spec.run.selection is Selection.NEXT), sets,
            worth.NO_BOUND if spec.within is None else min(spec.within, worth.NO_BOUND - 1), float(spec.confidence),
            int(not self.keeps_out and not holes),
        )  # fmt: skip

    def room(self, depth: int, listed: int, longest: int, widest: int) -> _Room:
        """Room for runs of so many events; untouched memory costs nothing."""

        def ints(size: int) -> Ints:
            return np.zeros(size, np.int64)

        bounded = self.spec.within is not None and widest <= WIDE
        rows = (min(depth, DEPTH), widest + 1, widest + 1) if bounded else (0, 1, 1)
        stack = Stack(
            event=ints(depth), low=ints(depth), before=ints(depth), first=ints(depth), element=ints(depth),
            begin=ints(depth), edge=ints(depth), cursor=ints(depth), listed=ints(depth),
            sums=np.empty((depth, widest + 1)), next_event=ints(listed), next_edge=ints(listed),
            next_ends=np.zeros(listed, np.uint8), rows=np.empty(rows), ready=np.zeros(depth, np.uint8),
        )  # fmt: skip
        most = depth + 2
        elements = Elements(
            begin=ints(most), end=ints(most), first_low=ints(most), first_high=ints(most), last_low=ints(most),
            last_high=ints(most), gap=ints(most), several=ints(most), forbidden=ints(listed + longest + 1),
            shared=ints(self.spec.limit_shared), gaps=ints(longest + 1), mark=ints(longest + 1),
        )  # fmt: skip
        return _Room(new_frames(depth), stack, elements)

    def events(self, batch: Batch, offsets: Ints) -> tuple[Events, Ints]:
        """Events in order of their intervals, and where each stands in the batch."""
        spec = self.spec
        at = len(spec.run.conditions.column_types)
        low, high = (int_values(batch.columns[at + n])[0] for n in range(2))
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
            low, high, begin, mass, upto, since = _probabilities(batch.columns[at + 2], low, high)
        partition = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        row = np.arange(rows) - np.repeat(offsets[:-1], np.diff(offsets))
        order = np.lexsort((row, high, low, partition))
        low, high, row, begin = (np.ascontiguousarray(a[order], np.int64) for a in (low, high, row, begin))
        return Events(low, high, row, begin, mass, upto, since, widest), order


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
