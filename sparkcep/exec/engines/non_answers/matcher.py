"""Explain the partitions of a batch that have no match: Arrow arrays in, repairs and reasons out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparkcep.exec.arrays import Ints, int_values
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.non_answers.repairer import Repairer
from sparkcep.exec.engines.non_answers.spec import RepairSpec
from sparkcep.exec.engines.rows.tables import bit_table, grown, mask_words
from sparkcep.exec.engines.runs.matcher import RunMatcher
from sparkcep.exec.engines.runs.tables import partitions, run_tables
from sparkcep.exec.kernels.non_answers import reasons as kernel
from sparkcep.exec.kernels.non_answers.facts import tell_facts
from sparkcep.exec.kernels.non_answers.tables import UNBOUNDED, Facts, Flags, Keyed, Longest, Question, Reasoned, Types
from sparkcep.exec.kernels.rows.output import PARTITION
from sparkcep.exec.kernels.runs.progress import PROGRESS
from sparkcep.exec.kernels.statuses import OUTPUT_FULL
from sparkcep.exec.memory import Budget
from sparkcep.exec.statuses import raise_status


@dataclass(frozen=True, slots=True)
class Explained:
    """Partitions without a match, one row each, in order.

    ``partition`` (n,). ``cost`` (n,) in steps, -1: no repair. ``reason``, ``component``, ``event`` (n,): codes and row
    of the partition, -1: none. ``run_ends`` (n,): where its events end in ``runs`` (m, 2), component code and row.
    ``move_ends`` (n,) and ``moves`` (m, 3): component code, row, steps of every event that is moved.
    """

    partition: Ints
    cost: Ints
    reason: Ints
    component: Ints
    event: Ints
    run_ends: Ints
    runs: Ints
    move_ends: Ints
    moves: Ints


class NonAnswers:
    """Runs one RepairSpec over batches. Made once per task and thread; holds the compiled tables."""

    def __init__(self, spec: RepairSpec) -> None:
        self.spec = spec
        run = spec.run
        self.matcher = RunMatcher(run)
        self.repairer = None if spec.repair is None else Repairer(run, spec.repair, spec.limit_nodes)
        self.reasons = Reasons(spec)

    def explain(self, batch: Batch) -> Explained:
        """Explain every partition of a batch that has no match.

        Raises:
            LimitError: CEP_STEP_LIMIT, CEP_REPAIR_LIMIT, CEP_MEMORY_LIMIT.
            SparkCepError: as Matcher.match_piece.
        """
        table, _ = self.matcher.match(batch)
        partitions = len(batch.offsets) - 1
        unmatched = np.ones(partitions, np.uint8)
        unmatched[table[:, PARTITION]] = 0
        which = np.flatnonzero(unmatched)
        costs = np.full(partitions, -1, np.int64)
        moves: list[Ints] = [np.empty((0, 3), np.int64)]
        ends = np.zeros(len(which), np.int64)
        if self.repairer is not None:
            repairs = self.repairer.repaired(batch, mask_words(batch, self.spec.run.mask_words), unmatched)
            costs = repairs.cost
            length = self.repairer.length
            codes = np.array(self.repairer.repair.places, np.int64)
            rows, shifts = (of.reshape(partitions, length)[which] for of in (repairs.row, repairs.shift))
            moved = (shifts != 0) & (costs[which] >= 0)[:, None]
            ends = np.cumsum(moved.sum(axis=1))
            at, place = np.nonzero(moved)
            moves.append(np.stack([codes[place], rows[at, place], shifts[at, place]], axis=1))
        left = unmatched.copy()
        left[costs >= 0] = 0
        if self.spec.repairs_only:
            kept = costs[which] >= 0
            none = np.full(int(kept.sum()), -1, np.int64)
            nothing = np.empty((0, 2), np.int64)
            return Explained(
                which[kept], costs[which][kept], none, none, none, np.zeros(len(none), np.int64), nothing, ends[kept],
                np.concatenate(moves),
            )  # fmt: skip
        out, runs = self.reasons.explain(batch, left)
        out = out[which]
        unrepaired = left[which].astype(bool)
        reason, component, event = (np.where(unrepaired, out[:, k], -1) for k in range(3))
        return Explained(
            which, costs[which], reason, component, event, out[:, kernel.END], runs, ends, np.concatenate(moves)
        )


def type_table(spec: RepairSpec) -> Types:
    """Words and bits of each component's type, see bit_table."""
    return Types(*bit_table({c: b for c, b in enumerate(spec.type_bits) if b >= 0}, len(spec.type_bits)))


class Reasons:
    """The longest run of each partition, and what stopped it, by the kernel."""

    def __init__(self, spec: RepairSpec, calls_back: CallsBack = CallsBack.WHERE_NEEDED) -> None:
        self.spec = spec
        # Prechecks (kernels.runs.spans) are for SKIP TILL ANY MATCH with all matches; here each run is looked at once.
        self.run = replace(spec.run, one_per_start=True)
        self.tables = run_tables(self.run, calls_back)
        self.types = type_table(spec)
        self.needed = np.array([*spec.needed], np.int64)

    def explain(self, batch: Batch, wanted: Flags) -> tuple[Ints, Ints]:
        """(partitions, 4) and the runs' events, see kernels.reasons.

        Raises:
            LimitError: CEP_STEP_LIMIT.
            SparkCepError: as Matcher.match_piece.
        """
        run, external = self.run, self.tables.external
        given = partitions(batch, run.mask_words)
        question = Question(wanted, self.types, self.needed)
        rows = int(np.diff(given.offsets).max(initial=0))
        walk = self.tables.walk(batch, rows, rows)
        # The longest run is not to end before a leading negation: that is asked of whole runs.
        walk = walk._replace(strategy=walk.strategy._replace(leading=0))
        nodes = len(self.tables.machine.state_component)
        longest = Longest(np.empty((nodes, rows + 2), np.int32), np.empty((2, rows + 2), np.int64))
        budget = Budget(run.task_memory, rows)
        budget.hold("batch", batch.held, given, walk.columns, walk.work, walk.checks, longest)
        progress = np.zeros(PROGRESS, np.int64)
        reasons = Reasoned(np.full((len(given.offsets) - 1, 4), -1, np.int64), np.empty((max(rows, 1024), 2), np.int64))
        external.begin(batch, budget)
        external.look_at(walk.search)
        while True:
            status = kernel.explain_partitions(given, question, walk, longest, progress, reasons)
            if status != OUTPUT_FULL:
                break
            reasons = reasons._replace(trace=grown(reasons.trace, int(progress[kernel.TRACED]), max(rows, 1)))
            budget.hold("output", reasons)
        external.raise_failure(status)
        raise_status(status, run)
        return reasons.out, reasons.trace[: progress[kernel.TRACED]]


#: What facts are told of: every partition.
_ALL = np.ones(1, np.uint8)


class FactTeller:
    """Tells the facts of a spec for each partition of a batch."""

    def __init__(self, spec: RepairSpec) -> None:
        self.spec = spec
        own = Types(*bit_table(spec.run.condition_bits, len(spec.type_bits)))
        pairs = np.array([c for pair in spec.facts.pairs for c in pair], np.int64)
        rows = [
            (b.first, b.second, -UNBOUNDED if b.least is None else b.least, UNBOUNDED if b.most is None else b.most,
             int(b.gap))
            for b in spec.facts.bounds
        ]  # fmt: skip
        bounds = np.array([v for row in rows for v in row], np.int64)
        self.facts = Facts(type_table(spec), own, pairs, bounds)

    def tell(self, batch: Batch) -> Ints:
        """(partitions, words) int64."""
        spec = self.spec
        offsets = np.array(batch.offsets, np.int64)
        key, null = np.zeros(1, np.int64), np.zeros(1, np.uint8)
        if spec.facts.key >= 0:
            key, null = int_values(batch.columns[spec.facts.key])
            if not key.flags.writeable:  # the kernel has one signature
                key = key.copy()
        out = np.zeros((len(offsets) - 1, spec.fact_words), np.uint64)
        following = np.zeros(int(np.diff(offsets).max(initial=0)) + 1, np.int64)
        masks = mask_words(batch, spec.run.mask_words)
        tell_facts(self.facts, Keyed(offsets, masks, key, null, _ALL), following, out)
        return out.view(np.int64)
