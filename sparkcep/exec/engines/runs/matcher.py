"""Match one batch of partitions under an event selection strategy: Arrow arrays in, tables of output rows out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparkcep.exec.arrays import Ints, Rows
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.rows.tables import (
    PIECE_BYTES,
    WHOLE_BYTES,
    grown,
    grown_search_state,
    load_columns,
    mask_words,
    new_search_state,
    output_table,
)
from sparkcep.exec.engines.runs.counts import MatchCounter, is_countable
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.engines.runs.tables import (
    closest_tables,
    compiled_conditions,
    grown_frames,
    interval,
    machine_tables,
    merging_tables,
    new_frames,
    new_work,
    prechecked,
)
from sparkcep.exec.kernels.rows.output import FIXED
from sparkcep.exec.kernels.runs import runs as kernel
from sparkcep.exec.kernels.runs.collapse import collapse_runs
from sparkcep.exec.kernels.runs.progress import AT_PARTITION, DEPTH, MATCHES, PROGRESS, TRACED, USED
from sparkcep.exec.kernels.statuses import OUTPUT_FULL, STACK_FULL, TOO_MANY_ROWS
from sparkcep.exec.memory import Budget
from sparkcep.exec.statuses import (
    SELECTIONS,
    SKIPS,
    emitted_rows,
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
        names = len(spec.automaton.names)
        self.machine, self.checks = machine_tables(spec)
        self.programs, self.external, self.conditions = compiled_conditions(spec, calls_back)
        self.output = output_table(spec.slots, spec.slot_registers, spec.skip_labels, names)

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
        spec = self.spec
        masks = mask_words(batch, spec.mask_words)
        columns, const_i = load_columns(self.programs, batch)
        offsets = np.array(batch.offsets, np.int64)
        longest = int(np.diff(offsets).max(initial=0))
        work = new_work(longest, self.machine)
        depth = min(longest, FRAMES)
        frames = new_frames(depth)
        search = new_search_state(depth, len(spec.conditions.registers), len(self.programs.agg), True)
        shown = new_search_state(depth, len(spec.slot_registers))
        times = interval(batch)
        checks = prechecked(self.checks, spec, self.programs, longest)
        merging = merging_tables(spec, self.machine, self.programs, longest)
        closest = closest_tables(spec, depth)
        progress = np.zeros(PROGRESS, np.int64)
        out = np.empty((ROWS, FIXED + len(spec.slots) + 1), np.int64)
        trace = np.empty((EVENTS if spec.traced else 1, 2), np.int32)
        nodes = len(self.machine.state_component)
        marks = longest + 1 if spec.collapsed else 1
        forward, backward = np.empty((nodes, marks), np.uint8), np.empty((nodes, marks), np.uint8)
        seen = np.empty((max(len(self.machine.target), nodes) + 1, 2), np.int64)
        reached = np.empty((3, marks), np.int32)
        budget = Budget(spec.task_memory, longest)
        budget.hold("batch", batch.held, masks, columns, times, work, checks, merging, forward, backward, reached)
        self.external.begin(batch, budget)
        # What is given out whole has to leave room to be copied.
        most_bytes = min(most_bytes, max(PIECE_BYTES, budget.left // 2))
        given, of = 0, -1
        to_count = is_countable(spec)
        limit = min(spec.limit_rows, COUNTED_FROM) if to_count else spec.limit_rows
        while True:
            self.external.look_at(search)
            if spec.collapsed:
                status = collapse_runs(
                    offsets, masks, self.machine, checks, int(spec.use_within), int(spec.strict_time), times,
                    int(spec.traced), self.output, self.conditions._replace(const_i=const_i), columns,
                    spec.limit_steps, spec.limit_rows, work, frames, search, forward, backward, seen, reached, progress,
                    out, trace,
                )  # fmt: skip
            else:
                status = kernel.match_runs(
                    offsets, masks, self.machine, checks, SELECTIONS[spec.selection], int(spec.one_per_start),
                    SKIPS[spec.skip], int(spec.first_only), int(spec.use_within), int(spec.strict_time), times,
                    emitted_rows(spec), int(spec.traced),
                    self.output, self.conditions._replace(const_i=const_i), columns, spec.limit_steps, limit,
                    spec.most_matches, work, frames, merging, search, closest, shown, progress, out,
                    trace,
                )  # fmt: skip
            used, traced = int(progress[USED]), int(progress[TRACED])
            much = out[:used].nbytes + trace[:traced].nbytes >= PIECE_BYTES
            if to_count and (status == TOO_MANY_ROWS or (status == OUTPUT_FULL and much)):
                self.check_counts(batch)
                to_count, limit = False, spec.limit_rows
                if status == TOO_MANY_ROWS:
                    continue
            if status == STACK_FULL:
                depth = min(longest, 4 * depth)
                frames, search = grown_frames(frames, depth), grown_search_state(search, depth)
                shown = new_search_state(depth, len(spec.slot_registers))
                closest = closest_tables(spec, depth)
                budget.hold("run", frames, search, shown)
                continue
            if status != OUTPUT_FULL:
                break
            size = out[:used].nbytes + trace[:traced].nbytes
            if used and size >= most_bytes:
                given = given + size if progress[AT_PARTITION] == of else size
                of = int(progress[AT_PARTITION])
                if given > MAX_BYTES:
                    raise too_large_matches(int(progress[MATCHES]), MAX_BYTES, fewer_matches(spec))
                yield out[:used], trace[:traced]
                progress[USED] = progress[TRACED] = 0
                continue
            if not spec.collapsed:
                out = grown(out, used, int(progress[DEPTH]))
                trace = grown(trace, traced, int(progress[DEPTH])) if spec.traced else trace
            elif used == len(out):
                out = grown(out, used, 1)
            else:
                trace = grown(trace, len(trace), 1)
            budget.hold("output", out, trace)
        self.external.raise_failure(status)
        raise_status(status, spec, fewer_matches(spec))
        yield out[: progress[USED]], trace[: progress[TRACED]]

    def check_counts(self, batch: Batch) -> None:
        """Raise before matches are enumerated that are too many.

        Raises:
            LimitError: CEP_MATCH_LIMIT, with the number of matches.
        """
        count = MatchCounter(self.spec).most(batch)
        if count is None or count > self.spec.limit_rows:
            raise too_many_matches(count, self.spec.limit_rows, fewer_matches(self.spec))
