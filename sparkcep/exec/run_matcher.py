"""Match one batch of partitions under an event selection strategy: Arrow arrays in, tables of output rows out."""

from __future__ import annotations

import numpy as np

from sparkcep.block import Selection
from sparkcep.exec.arrays import Ints, Rows
from sparkcep.exec.batch import Batch
from sparkcep.exec.compiler import compile_conditions
from sparkcep.exec.kernels import runs as kernel
from sparkcep.exec.kernels.collapse import collapse_runs
from sparkcep.exec.kernels.output import FIXED
from sparkcep.exec.kernels.search import OK, OUTPUT_FULL
from sparkcep.exec.run_spec import RunSpec
from sparkcep.exec.run_tables import (
    interval,
    judged,
    machine_tables,
    merging_tables,
    new_frames,
    new_work,
    run_conditions,
)
from sparkcep.exec.statuses import SKIPS, raise_status
from sparkcep.exec.tables import grown, load_columns, mask_words, new_trail, output_table

SELECTIONS = {Selection.STRICT: kernel.STRICT, Selection.NEXT: kernel.NEXT, Selection.ANY: kernel.ANY}


class RunMatcher:
    """Runs one RunSpec over batches. Made once per task and thread; holds the compiled tables."""

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec
        names = len(spec.automaton.names)
        self.machine, self.checks = machine_tables(spec)
        self.programs = compile_conditions(spec.conditions, spec.ansi)
        self.conditions = run_conditions(spec, self.programs)
        self.output = output_table(spec.slots, spec.slot_registers, spec.skip_labels, names)

    def match(self, batch: Batch) -> tuple[Ints, Rows]:
        """Match every partition of a batch.

        Returns:
            ``out`` (n, FIXED + slots + 1), see kernels.output; its last column says where the match's events end in
            ``trace`` (m, 2): component code and row of the partition.

        Raises:
            LimitError: CEP_STEP_LIMIT, CEP_MATCH_LIMIT.
            SparkCepError: as Matcher.match_piece.
        """
        spec = self.spec
        masks = mask_words(batch, spec.mask_words)
        columns, const_i = load_columns(self.programs, batch)
        offsets = np.array(batch.offsets, np.int64)
        longest = int(np.diff(offsets).max(initial=0))
        work, frames = new_work(longest, self.machine), new_frames(longest)
        trail = new_trail(longest, len(spec.conditions.registers), len(self.programs.agg), True)
        shown = new_trail(longest, len(spec.slot_registers))
        times = interval(batch)
        checks = judged(self.checks, spec, self.programs, longest)
        merging = merging_tables(spec, self.machine, self.programs, longest)
        progress = np.zeros(kernel.PROGRESS, np.int64)
        out = np.empty((1024, FIXED + len(spec.slots) + 1), np.int64)
        trace = np.empty((4096 if spec.traced else 1, 2), np.int32)
        nodes, components = len(self.machine.state_component), len(self.machine.test_bit)
        marks = longest + 1 if spec.collapsed else 1
        forward, backward = np.empty((nodes, marks), np.uint8), np.empty((nodes, marks), np.uint8)
        seen = np.empty((max(len(self.machine.target), nodes) + 1, 2), np.int64)
        reached = np.empty((3, marks), np.int32)
        room = longest * components if spec.collapsed else longest
        while True:
            if spec.collapsed:
                status = collapse_runs(
                    offsets, masks, self.machine, checks, int(spec.use_within), int(spec.strict_time), times,
                    int(spec.traced), self.output, self.conditions._replace(const_i=const_i), columns,
                    spec.limit_steps, spec.limit_rows, work, frames, trail, forward, backward, seen, reached, progress,
                    out, trace,
                )  # fmt: skip
            else:
                status = kernel.match_runs(
                    offsets, masks, self.machine, checks, SELECTIONS[spec.selection], int(spec.one_per_start),
                    SKIPS[spec.skip], int(spec.first_only), int(spec.use_within), int(spec.strict_time), times,
                    int(spec.every_row or spec.rows_per_match.is_all), int(spec.traced),
                    self.output, self.conditions._replace(const_i=const_i), columns, spec.limit_steps, spec.limit_rows,
                    spec.most_matches, work, frames, merging, trail, shown, progress, out, trace,
                )  # fmt: skip
            if status != OUTPUT_FULL:
                break
            out = grown(out, int(progress[kernel.USED]), max(longest, 1))
            if spec.traced:
                trace = grown(trace, int(progress[kernel.TRACED]), max(room, 1))
        if status != OK:
            raise_status(status, spec.limit_steps, spec.limit_rows, spec.skip_target)
        return out[: progress[kernel.USED]], trace[: progress[kernel.TRACED]]
