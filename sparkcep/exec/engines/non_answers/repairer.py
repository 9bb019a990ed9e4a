"""Repair the partitions of one batch: Arrow arrays in, shifts out."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.arrays import int_values
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.non_answers.spec import Repair
from sparkcep.exec.engines.non_answers.tables import chain, new_found, new_scratch, sequence_tables
from sparkcep.exec.engines.rows.tables import load_columns, new_search_state
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.engines.runs.tables import compiled_conditions, machine_tables, new_frames, new_work, prechecked
from sparkcep.exec.kernels.non_answers import repair as kernel
from sparkcep.exec.kernels.non_answers.tables import FARTHEST, Flags, Found, Words
from sparkcep.exec.kernels.statuses import NODES_FULL
from sparkcep.exec.memory import Budget
from sparkcep.exec.statuses import raise_status, too_many_nodes


class Repairer:
    """Runs one Repair over batches; holds the compiled tables.

    Args:
        limit_nodes: most (component, event, tick) of a partition.
    """

    def __init__(
        self, run: RunSpec, repair: Repair, limit_nodes: int, calls_back: CallsBack = CallsBack.WHERE_NEEDED
    ) -> None:
        self.run = chain(run, repair)
        self.repair = repair
        self.limit_nodes = limit_nodes
        self.length = len(repair.places)
        self.sequence, self.limits, self.gaps = sequence_tables(run, repair)
        self.machine, self.checks = machine_tables(self.run)
        self.programs, self.external, self.conditions = compiled_conditions(self.run, calls_back)
        #: Bounds that contradict each other are met by no events.
        self.hopeless = bool((self.limits.least > self.limits.most).any())

    def repaired(self, batch: Batch, masks: Words, wanted: Flags) -> Found:
        """Repair the partitions that ``wanted`` asks for.

        Args:
            batch: its column ``repair.key`` is the ORDER BY key. masks: (words, rows) uint64.

        Raises:
            LimitError: CEP_STEP_LIMIT, CEP_REPAIR_LIMIT, CEP_MEMORY_LIMIT.
            SparkCepError: as Matcher.match_piece.
        """
        partitions = len(batch.offsets) - 1
        found = new_found(self.length, partitions)
        if self.hopeless:
            return found
        key, null = int_values(batch.columns[self.repair.key])
        if not key.flags.writeable:  # the kernel has one signature
            key = key.copy()
        offsets = np.array(batch.offsets, np.int64)
        lengths = np.diff(offsets)[wanted.astype(bool)]
        longest = max(int(lengths.max(initial=0)), self.length)
        columns, const_i = load_columns(self.programs, batch)
        limits = self.limits._replace(
            earliest=np.full(partitions, max(self.repair.earliest, -2 * FARTHEST), np.int64),
            latest=np.full(partitions, min(self.repair.latest, 2 * FARTHEST), np.int64),
        )
        work = new_work(0, self.machine)
        frames = new_frames(longest)
        search = new_search_state(longest, len(self.run.conditions.registers), len(self.programs.agg), True)
        checks = prechecked(self.checks, self.run, self.programs, longest)
        progress = np.zeros(kernel.PROGRESS, np.int64)
        scratch = new_scratch(self.length, min(self.nodes(longest), 1 << 16, self.limit_nodes // self.length))
        budget = Budget(self.run.task_memory, longest)
        budget.hold("batch", batch.held, masks, columns, key, null, found, checks)
        budget.hold("nodes", scratch)
        self.external.begin(batch, budget)
        self.external.look_at(search)
        while True:
            status = kernel.repair_partitions(
                offsets, wanted, masks, key, null, self.sequence, limits, self.gaps, self.machine, checks,
                self.conditions._replace(const_i=const_i), columns, work, frames, search, self.run.limit_steps, scratch,
                progress, found,
            )  # fmt: skip
            if status != NODES_FULL:
                break
            nodes = int(progress[kernel.NODES])
            if nodes * self.length > self.limit_nodes:
                raise too_many_nodes(self.length, nodes, self.limit_nodes)
            scratch = new_scratch(self.length, nodes + nodes // 4)
            budget.hold("nodes", scratch)
        self.external.raise_failure(status)
        raise_status(status, self.run)
        return found

    def nodes(self, rows: int) -> int:
        """Nodes of a partition of so many rows."""
        return rows * (2 * self.limits.most_shift + 1)
