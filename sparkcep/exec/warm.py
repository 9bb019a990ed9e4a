"""What compiles the kernels of matching; session/machine/warmup.py runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sparkcep.exec.engines.by_spec import ENGINES, Spec
from sparkcep.exec.kernel_cache.cache import names
from sparkcep.exec.kernel_cache.report import held
from sparkcep.exec.kernels.non_answers import facts, reasons, repair
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.exec.kernels.rows.ranges import mark_ranges, select_chain
from sparkcep.exec.kernels.runs import collapse, runs
from sparkcep.exec.kernels.trends import trends
from sparkcep.exec.kernels.uncertain import uncertain
from sparkcep.exec.shape import OperatorColumns

#: What Python calls, by group; all other kernels are parts of these.
GROUPS: Mapping[str, tuple[Any, ...]] = {
    "rows": (kernel.match_partitions,),
    "runs": (runs.match_runs,),
    "collapsed": (collapse.collapse_runs,),
    "trends": (trends.aggregate_trends, trends.longest_block),
    "non-answers": (repair.repair_partitions, reasons.explain_partitions, facts.tell_facts),
    "uncertain": (uncertain.match_uncertain,),
    "ranges": (mark_ranges, select_chain),
}
ENTRIES: tuple[Any, ...] = tuple(entry for group in GROUPS.values() for entry in group)

#: What compiles a group, on tiny inputs.
PARTS: Mapping[str, Callable[[], None]] = {
    name: part for engine in ENGINES.values() for name, part in engine.warm_ups().items()
}


def is_compiled(group: str) -> bool:
    """Whether this machine, or the package, holds all kernels of a group compiled."""
    return all(held(kernel) != "none" for kernel in names(GROUPS[group]))


def needed(spec: Spec, shape: OperatorColumns) -> tuple[str, ...]:
    """The groups of kernels that a spec is matched by."""
    return ENGINES[type(spec)].needs(spec, shape)
