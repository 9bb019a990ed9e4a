"""Repair the partitions of one batch: Arrow arrays in, shifts out."""

from __future__ import annotations

import numpy as np

from sparkcep.exec.arrays import int_values
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.non_answers.spec import Repair
from sparkcep.exec.engines.non_answers.tables import chain, new_scratch, no_repairs, sequence_tables
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.engines.runs.tables import new_work, run_tables
from sparkcep.exec.kernels.non_answers import repair as kernel
from sparkcep.exec.kernels.non_answers.tables import FARTHEST, Flags, Keyed, Plan, Repairs, Words
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
        self.plan = Plan(*sequence_tables(run, repair))
        self.tables = run_tables(self.run, calls_back)
        #: Bounds that contradict each other are met by no events.
        self.hopeless = bool((self.plan.limits.least > self.plan.limits.most).any())

    def repaired(self, batch: Batch, masks: Words, wanted: Flags) -> Repairs:
        """Repair the partitions that ``wanted`` asks for.

        Args:
            batch: its column ``repair.key`` is the ORDER BY key. masks: (words, rows) uint64.

        Raises:
            LimitError: CEP_STEP_LIMIT, CEP_REPAIR_LIMIT, CEP_MEMORY_LIMIT.
            SparkCepError: as Matcher.match_piece.
        """
        partitions = len(batch.offsets) - 1
        repairs = no_repairs(self.length, partitions)
        if self.hopeless:
            return repairs
        key, null = int_values(batch.columns[self.repair.key])
        if not key.flags.writeable:  # the kernel has one signature
            key = key.copy()
        given = Keyed(np.array(batch.offsets, np.int64), masks, key, null, wanted)
        lengths = np.diff(given.offsets)[wanted.astype(bool)]
        longest = max(int(lengths.max(initial=0)), self.length)
        limits = self.plan.limits._replace(
            earliest=np.full(partitions, max(self.repair.earliest, -2 * FARTHEST), np.int64),
            latest=np.full(partitions, min(self.repair.latest, 2 * FARTHEST), np.int64),
        )
        plan = self.plan._replace(limits=limits)
        walk = self.tables.walk(batch, longest, longest)._replace(work=new_work(0, self.tables.machine))
        progress = np.zeros(kernel.PROGRESS, np.int64)
        scratch = new_scratch(self.length, min(self.nodes(longest), 1 << 16, self.limit_nodes // self.length))
        external = self.tables.external
        budget = Budget(self.run.task_memory, longest)
        budget.hold("batch", batch.held, given, walk.columns, repairs, walk.checks)
        budget.hold("nodes", scratch)
        external.begin(batch, budget)
        external.look_at(walk.search)
        while True:
            status = kernel.repair_partitions(plan, given, walk, scratch, progress, repairs)
            if status != NODES_FULL:
                break
            nodes = int(progress[kernel.NODES])
            if nodes * self.length > self.limit_nodes:
                raise too_many_nodes(self.length, nodes, self.limit_nodes)
            scratch = new_scratch(self.length, nodes + nodes // 4)
            budget.hold("nodes", scratch)
        external.raise_failure(status)
        raise_status(status, self.run)
        return repairs

    def nodes(self, rows: int) -> int:
        """Nodes of a partition of so many rows."""
        return rows * (2 * self.plan.limits.most_shift + 1)
