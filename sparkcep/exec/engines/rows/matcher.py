"""Match one batch of partitions: columns as Arrow arrays in, a table of output rows out."""

from __future__ import annotations

from collections.abc import Generator, Iterator

import numpy as np

from sparkcep.exec.arrays import Ints
from sparkcep.exec.batch import Batch, Resume
from sparkcep.exec.conditions.compiler import compile_conditions
from sparkcep.exec.conditions.external import External
from sparkcep.exec.conditions.lookback import Lookback
from sparkcep.exec.conditions.programs import CallsBack, Labels
from sparkcep.exec.engines.rows.foresight import DOUBT, PASSED, TIMES, TRIED_STEPS, estimated_steps, too_long
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.engines.rows.tables import (
    PATIENCE,
    PIECE_BYTES,
    WHOLE_BYTES,
    automaton,
    condition_tables,
    grown,
    load_columns,
    mask_words,
    memo_table,
    new_search_state,
    output_table,
    within_table,
)
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.exec.kernels.rows.tables import Emission, Query, Room, Rows
from sparkcep.exec.kernels.statuses import OUTPUT_FULL, TOO_MANY_STEPS
from sparkcep.exec.kernels.tables import Within, Words
from sparkcep.exec.memory import Budget
from sparkcep.exec.statuses import MODES, SKIPS, emitted_rows, raise_status, too_much_output
from sparkcep.expr.nodes import NavigationSlot

__all__ = ["Batch", "Matcher", "Resume"]

_NO_MARKS = np.zeros(0, np.uint8)
_NO_STREAM = np.zeros((0, kernel.PROGRESS), np.int64)


class Matcher:
    """Runs one MatchSpec over batches. Made once per task and thread; holds the compiled tables."""

    def __init__(self, spec: MatchSpec, calls_back: CallsBack = CallsBack.WHERE_NEEDED) -> None:
        self.spec = spec
        program = spec.program
        names = len(program.names)
        self.automaton = automaton(program, spec.condition_bits)
        output = output_table(spec.slots, spec.slot_registers, spec.skip_labels, names)
        self.emission = Emission(output, MODES[spec.rows_per_match], emitted_rows(spec), SKIPS[spec.skip], spec.gap)
        looks = [s.physical for s in spec.conditions.slots if isinstance(s, NavigationSlot)]
        self.ahead = max([0, *looks])
        self.output_ahead = max([0, *(s.physical for s in spec.slots)])
        #: How many rows before an undecided one are looked at.
        self.behind = -min([0, *looks, *(s.physical for s in spec.slots)])
        self.patience = PATIENCE
        own = spec.conditions
        self.programs = compile_conditions(own, spec.ansi, calls_back, Labels.COLUMN)
        self.external = External(self.programs.external)
        lookback = Lookback(program, self.programs, own.registers)
        tables = condition_tables(program, self.programs, lookback, len(own.registers))
        self.conditions = self.external.called_by(tables)
        self.memo = memo_table(self.programs, lookback)
        self.epoch = 1  # of the memo's entries; an empty one has 0

    @property
    def row_bytes(self) -> int:
        """What a row of the longest partition takes while it is matched, beside its columns."""
        program = self.spec.program
        # A pattern of anchors alone has no positions.
        return 8 * max(1, program.positions if self.spec.use_within else self.automaton.followers.shape[1])

    def match(self, batch: Batch) -> Ints:
        """Output rows (n, FIXED + slots) of a batch of whole partitions; see :meth:`match_piece`."""
        return self.match_piece(batch)[0]

    def match_piece(self, batch: Batch, resume: Resume | None = None, more: bool = False) -> tuple[Ints, Resume | None]:
        """Match a batch whose first and last partition may be pieces.

        Args:
            resume: where the first partition was left; its rows follow those that ``Resume.drop`` dropped.
            more: the last partition goes on, or may go on, in a later batch.

        Returns:
            Output rows (n, FIXED + slots), see kernels.rows for the columns; rows and slots count from the partition's
            first row in this batch, match numbers through the whole partition. And, where there is ``more``, where the
            last partition was left. All pieces together give what the whole partition gives.

        A piece that decides nothing is searched again with the next one: let pieces grow with what is kept.

        Raises:
            LimitError: CEP_STEP_LIMIT, CEP_MATCH_LIMIT, counted per partition. Searches that more rows would cut short
                count in full. CEP_MATCH_LIMIT also where the output is too large to be held at once. CEP_MEMORY_LIMIT.
            SparkCepError: CEP_SKIP_TO_FIRST_ROW, CEP_SKIP_TARGET_ABSENT, ARITHMETIC_OVERFLOW, DIVIDE_BY_ZERO,
                CEP_CONDITION_FAILED.
        """
        parts = self.match_parts(batch, resume, more, WHOLE_BYTES)
        table = next(parts)
        try:
            next(parts)
        except StopIteration as end:
            return table, end.value
        raise too_much_output()

    def match_parts(
        self, batch: Batch, resume: Resume | None = None, more: bool = False, most_bytes: int = PIECE_BYTES
    ) -> Generator[Ints, None, Resume | None]:
        """As :meth:`match_piece`, with the output in parts of about so many bytes, one at least; where the last
        partition was left is returned. A part is overwritten when the next one is asked for."""
        if (resume is not None or more) and len(batch.offsets) < 2:
            raise ValueError("no partition to go on with")
        spec = self.spec
        rows = int(batch.offsets[-1])
        masks = mask_words(batch, spec.mask_words)
        within = within_table(batch, rows)
        progress = np.zeros(kernel.PROGRESS, np.int64)
        if resume is not None:
            progress[kernel.AT_ROW], progress[kernel.COVERED] = resume.row, resume.covered
            progress[kernel.MATCHES], progress[kernel.STEPS] = resume.matches, resume.steps
            progress[kernel.EMITTED], progress[kernel.FIRST_ROW] = resume.emitted, resume.first_row
        yield from self.run(batch, masks, within, progress, more, most_bytes)
        if not more:
            return None
        at = int(progress[kernel.AT_ROW])
        drop = max(0, at - self.behind)
        return Resume(
            drop, int(progress[kernel.FIRST_ROW]) + drop, at - drop, int(progress[kernel.COVERED]) - drop,
            int(progress[kernel.MATCHES]), int(progress[kernel.STEPS]), int(progress[kernel.EMITTED]),
        )  # fmt: skip

    def match_released(self, batch: Batch, left: Ints, watermark: int) -> Ints:
        """Match the rows of a stream up to the watermark, as far as they decide.

        Args:
            batch: partitions, each from the first row that is kept of it.
            left: (partitions, PROGRESS) where each was left, see kernels.rows; is set to where it is left now.
            watermark: in units of the kernel's WITHIN bound: no row of a key up to it is still to come.

        Returns:
            Output rows (n, FIXED + slots).

        Raises:
            LimitError, SparkCepError: as :meth:`match_piece`.
        """
        masks = mask_words(batch, self.spec.mask_words)
        within = within_table(batch, int(batch.offsets[-1]))
        progress = np.zeros(kernel.PROGRESS, np.int64)
        parts = self.run(batch, masks, within, progress, False, WHOLE_BYTES, left, watermark)
        table = next(parts)
        if next(parts, None) is not None:
            raise too_much_output()
        return table

    def run(
        self, batch: Batch, masks: Words, within: Within, progress: Ints, more: bool, most_bytes: int,
        left: Ints = _NO_STREAM, watermark: int | None = None,
    ) -> Iterator[Ints]:  # fmt: skip
        """Run the kernel, with more room for output as often as it asks, or an empty one where that is large."""
        spec = self.spec
        columns, const_i = load_columns(self.programs, batch)
        offsets = np.array(batch.offsets, np.int64)  # a copy, as it may be read-only
        longest = int(np.diff(offsets).max(initial=0))
        dependent = bool(spec.conditions.conditions)
        viable = np.empty((1 if spec.use_within else longest + 1, self.automaton.followers.shape[1]), np.uint64)
        ends = np.empty((longest + 1 if spec.use_within else 1, spec.program.positions), np.int64)
        registers = max(self.conditions.register_count, len(self.emission.output.membership))
        search = new_search_state(longest, registers, len(self.programs.agg), dependent)
        budget = Budget(spec.task_memory, longest)
        budget.hold("batch", batch.held, masks, *within, *columns, viable, ends, *search)
        self.external.begin(batch, budget, int(progress[kernel.FIRST_ROW]))
        self.external.look_at(search)
        conditions = self.conditions._replace(const_i=const_i)
        self.external.look_at_labels(conditions, columns, spec.program.names)
        # What is given out whole has to leave room to be copied.
        most_bytes = min(most_bytes, max(PIECE_BYTES, budget.left // 2))
        epoch, self.epoch = self.epoch, self.epoch + len(batch.offsets)
        query = Query(
            self.automaton, conditions, self.emission, int(dependent), int(spec.use_within), self.ahead,
            self.output_ahead, min(spec.limit_steps, TRIED_STEPS), spec.limit_rows, spec.undecided,
        )  # fmt: skip
        marks = _NO_MARKS if batch.marks is None else batch.marks
        reached = batch.reached if watermark is None else watermark
        given = Rows(offsets, masks, columns, within, marks, int(more), epoch, left, reached)
        room = Room(viable, ends, search, self.memo)
        out = np.empty((1024, kernel.FIXED + len(spec.slots)), np.int64)
        while True:
            status = kernel.match_partitions(query, given, room, progress, out)
            if status == TOO_MANY_STEPS and query.max_steps < spec.limit_steps:
                more_steps = spec.limit_steps
                if progress[kernel.AT_ROW] >= PASSED:
                    self.foresee(query, given, room, progress)
                else:
                    more_steps = min(more_steps, TIMES * query.max_steps)
                query = query._replace(max_steps=more_steps)
                continue
            if status != OUTPUT_FULL:
                break
            used = int(progress[kernel.USED])
            if used and out[:used].nbytes >= most_bytes:
                yield out[:used]
                progress[kernel.USED] = used = 0
                out = grown(out, 0, longest)
            else:
                out = grown(out, used, len(out) + longest)
            budget.hold("output", out)
        self.external.raise_failure(status)
        self.check(status)
        yield out[: progress[kernel.USED]]

    def foresee(self, query: Query, given: Rows, room: Room, progress: Ints) -> None:
        """Give a partition up that would take many times its limit of steps.

        Raises:
            LimitError: CEP_STEP_LIMIT.
        """
        at, limit = int(progress[kernel.AT_PARTITION]), self.spec.limit_steps
        whole = not given.is_open or at < len(given.offsets) - 2
        if not whole or len(given.marks) or len(given.left) or self.programs.external:
            return  # rows are still to come, start rows are chosen elsewhere, or a trial might fail
        rows = int(given.offsets[at + 1] - given.offsets[at])
        scratch = np.empty((rows + 1024, kernel.FIXED + len(self.spec.slots)), np.int64)
        alone = given._replace(offsets=given.offsets[: at + 2], is_open=0)

        def run(trial: Ints, steps: int) -> int:
            trial[kernel.USED] = 0
            return int(kernel.match_partitions(query._replace(max_steps=steps), alone, room, trial, scratch))

        steps = estimated_steps(progress, rows, run)
        if steps > DOUBT * limit:
            raise too_long(steps, limit, int(progress[kernel.AT_ROW]), rows)

    def check(self, status: int) -> None:
        """Raise the error behind a kernel status."""
        raise_status(status, self.spec)
