"""What compiles the kernels of matching; session/warmup.py runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sparkcep.exec.kernels.non_answers import facts, reasons, repair
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.exec.kernels.rows.ranges import mark_ranges, select_chain
from sparkcep.exec.kernels.runs import collapse, runs
from sparkcep.exec.kernels.trends import trends
from sparkcep.exec.kernels.uncertain import uncertain
from sparkcep.exec.operator import ENGINES

#: What Python calls; all other kernels are parts of these.
ENTRIES: tuple[Any, ...] = (
    kernel.match_partitions,
    kernel.earliest_ends,
    kernel.emit_match,
    kernel.emit_unmatched,
    kernel.next_start,
    runs.match_runs,
    collapse.collapse_runs,
    trends.aggregate_trends,
    trends.longest_block,
    repair.repair_partitions,
    reasons.explain_partitions,
    facts.tell_facts,
    uncertain.match_uncertain,
    mark_ranges,
    select_chain,
)

PARTS: Mapping[str, Callable[[], None]] = {
    name: part for engine in ENGINES.values() for name, part in engine.warm_ups().items()
}
