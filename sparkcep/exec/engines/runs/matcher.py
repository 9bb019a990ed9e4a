"""Match one batch of partitions under an event selection strategy: Arrow arrays in, tables of output rows out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from sparkcep.exec.arrays import Ints, Rows
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.rows.tables import PIECE_BYTES, WHOLE_BYTES, grown, new_search_state
from sparkcep.exec.engines.runs.counts import MatchCounter, is_countable
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.engines.runs.tables import (
    closest_tables,
    grown_walk,
    new_buffers,
    new_sweeps,
    partitions,
    run_query,
    run_tables,
)
from sparkcep.exec.kernels.runs import runs as kernel
from sparkcep.exec.kernels.runs.collapse import collapse_runs
from sparkcep.exec.kernels.runs.graph_tables import Partitions, Walk
from sparkcep.exec.kernels.runs.progress import AT_PARTITION, DEPTH, MATCHES, PROGRESS, TRACED, USED
from sparkcep.exec.kernels.runs.tables import Buffers, Query, Room, Sweeps
from sparkcep.exec.kernels.statuses import OUTPUT_FULL, STACK_FULL, TOO_MANY_ROWS
from sparkcep.exec.memory import Budget
from sparkcep.exec.statuses import (
    fewer_matches,
    raise_status,
    too_large_matches,
    too_many_matches,
    too_much_output,
)

#: Room for output rows, and for events of matches, to begin with.
ROWS, EVENTS = 1024, 4096
#: Events of a run that there is room for to begin with.
FRAMES = 1024
#: Most output of one partition: matches may be few enough and yet hold more events than anybody waits for.
MAX_BYTES = 1 << 33
#: Matches of one partition from which on it pays to count them before more are enumerated; or a piece is full.
COUNTED_FROM = 100_000


class RunMatcher:
    """Runs one RunSpec over batches. Made once per task and thread; holds the compiled tables."""

    def __init__(self, spec: RunSpec, calls_back: CallsBack = CallsBack.WHERE_NEEDED) -> None:
        self.spec = spec
        self.tables = run_tables(spec, calls_back)
        self.query = run_query(spec)

    def match(self, batch: Batch) -> tuple[Ints, Rows]:
        """Match every partition of a batch; see :meth:`pieces`.

        Raises:
            LimitError: CEP_MATCH_LIMIT, also where the output is too large to be held at once.
        """
        found = list(self.pieces(batch, WHOLE_BYTES))
        if len(found) > 1:
            raise too_much_output()
        return found[0]

    def pieces(self, batch: Batch, most_bytes: int = PIECE_BYTES) -> Iterator[tuple[Ints, Rows]]:
        """Match every partition of a batch, and give the matches in pieces of about so many bytes, one at least.

        A piece is overwritten when the next one is asked for.

        Returns:
            ``out`` (n, FIXED + slots + 1), see kernels.output; its last column says where the match's events end in
            ``trace`` (m, 2): component code and row of the partition.

        Raises:
            LimitError: CEP_STEP_LIMIT, CEP_MATCH_LIMIT, CEP_MEMORY_LIMIT.
            SparkCepError: as Matcher.match_piece.
        """
        spec, external = self.spec, self.tables.external
        given = partitions(batch, spec.mask_words)
        longest = int(np.diff(given.offsets).max(initial=0))
        depth = longest if self.tables.walks_gaps else min(longest, FRAMES)
        call = _Call(
            self.query, given, self.tables.walk(batch, longest, depth),
            Room(self.tables.merging(longest), closest_tables(spec, depth)),
            new_sweeps(spec, self.tables.machine, longest), new_buffers(spec, depth, ROWS, EVENTS),
        )  # fmt: skip
        budget = Budget(spec.task_memory, longest)
        budget.hold(
            "batch", batch.held, given, call.walk.columns, call.walk.work, call.walk.checks, call.room, call.sweeps
        )
        external.begin(batch, budget)
        # What is given out whole has to leave room to be copied.
        most_bytes = min(most_bytes, max(PIECE_BYTES, budget.left // 2))
        size, of = 0, -1
        to_count = is_countable(spec)
        if to_count:
            call.limit(min(spec.limit_rows, COUNTED_FROM))
        while True:
            external.look_at(call.walk.search)
            status = call.run(spec.collapsed)
            much = call.used_bytes >= PIECE_BYTES
            if to_count and (status == TOO_MANY_ROWS or (status == OUTPUT_FULL and much)):
                self.check_counts(batch)
                to_count = False
                call.limit(spec.limit_rows)
                if status == TOO_MANY_ROWS:
                    continue
            if status == STACK_FULL:
                depth = min(longest, 4 * depth)
                call.deepen(spec, depth)
                budget.hold("run", call.walk.frames, call.walk.search, call.buffers.shown)
            elif status != OUTPUT_FULL:
                break
            elif call.progress[USED] and call.used_bytes >= most_bytes:
                size = call.used_bytes + (size if call.progress[AT_PARTITION] == of else 0)
                of = int(call.progress[AT_PARTITION])
                if size > MAX_BYTES:
                    raise too_large_matches(int(call.progress[MATCHES]), MAX_BYTES, fewer_matches(spec))
                yield call.used
                call.progress[USED] = call.progress[TRACED] = 0
            else:
                call.widen(spec)
                budget.hold("output", call.buffers.out, call.buffers.trace)
        external.raise_failure(status)
        raise_status(status, spec, fewer_matches(spec))
        yield call.used

    def check_counts(self, batch: Batch) -> None:
        """Raise before matches are enumerated that are too many.

        Raises:
            LimitError: CEP_MATCH_LIMIT, with the number of matches.
        """
        count = MatchCounter(self.spec).most(batch)
        if count is None or count > self.spec.limit_rows:
            raise too_many_matches(count, self.spec.limit_rows, fewer_matches(self.spec))


@dataclass(slots=True)
class _Call:
    """What the kernel of a spec is called with, again and again, and how its room grows."""

    query: Query
    given: Partitions
    walk: Walk
    room: Room
    sweeps: Sweeps
    buffers: Buffers
    progress: Ints = field(default_factory=lambda: np.zeros(PROGRESS, np.int64))

    def run(self, collapsed: bool) -> int:
        """A status of the kernel, which goes on from where it stands."""
        if collapsed:
            return int(
                collapse_runs(self.query.emission, self.given, self.walk, self.sweeps, self.progress, self.buffers)
            )
        return int(kernel.match_runs(self.query, self.given, self.walk, self.room, self.progress, self.buffers))

    @property
    def used(self) -> tuple[Ints, Rows]:
        """Output rows and events so far."""
        return self.buffers.out[: self.progress[USED]], self.buffers.trace[: self.progress[TRACED]]

    @property
    def used_bytes(self) -> int:
        """Bytes of them."""
        out, trace = self.used
        return out.nbytes + trace.nbytes

    def limit(self, rows: int) -> None:
        """Emit so many rows of a partition at most."""
        self.query = self.query._replace(emission=self.query.emission._replace(max_rows=rows))

    def deepen(self, spec: RunSpec, depth: int) -> None:
        """Make room for runs of so many events."""
        self.walk = grown_walk(self.walk, depth)
        self.room = self.room._replace(closest=closest_tables(spec, depth))
        self.buffers = self.buffers._replace(shown=new_search_state(depth, len(spec.slot_registers)))

    def widen(self, spec: RunSpec) -> None:
        """Make room for more output."""
        out, trace, _ = self.buffers
        used, traced, depth = (int(self.progress[k]) for k in (USED, TRACED, DEPTH))
        if not spec.collapsed:
            out = grown(out, used, depth)
            trace = grown(trace, traced, depth) if spec.traced else trace
        elif used == len(out):
            out = grown(out, used, 1)
        else:
            trace = grown(trace, len(trace), 1)
        self.buffers = self.buffers._replace(out=out, trace=trace)
