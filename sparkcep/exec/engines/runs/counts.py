"""How many matches partitions have, without constructing one: by the trends kernel, in linear time."""

from __future__ import annotations

from dataclasses import replace

from sparkcep.exec.automaton import ACCEPT
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.engines.runs.spec import NO_LIMIT, RunSpec
from sparkcep.exec.engines.trends.matcher import TrendMatcher
from sparkcep.exec.engines.trends.spec import EdgeClass, Granularity, TrendAggregate, TrendSpec
from sparkcep.query import Selection


def is_countable(spec: RunSpec) -> bool:
    """Whether every accepting run is a match, and all that decides one is known of single events.

    Conditions that depend on the match would make the count an upper bound, of which nothing follows; under WITHIN each
    start event would have to be counted for itself.
    """
    every_run = not spec.one_per_start and not spec.collapsed and spec.most_matches >= NO_LIMIT
    return every_run and not spec.checks and not spec.use_within


class MatchCounter:
    """Counts the matches of a countable RunSpec."""

    def __init__(self, spec: RunSpec) -> None:
        self.matcher = TrendMatcher(counting(spec))

    def most(self, batch: Batch) -> int | None:
        """Matches of the partition that has the most; None: more than a DECIMAL(38, 0) holds."""
        table = self.matcher.aggregate(batch)
        (partial,) = table.partials
        if partial.overflows is not None and partial.overflows.any():
            return None
        return max((int(v) for v in partial.values.to_pylist() if v is not None), default=0)


def counting(spec: RunSpec) -> TrendSpec:
    """COUNT(*) over the trends of a pattern, which are its matches."""
    automaton = spec.automaton
    classes: list[EdgeClass] = []
    for state, own in enumerate(automaton.edges[:-1]):
        together: dict[tuple[object, ...], list[int]] = {}
        for n, e in enumerate(own):
            if e.target != ACCEPT:
                together.setdefault((e.absent, e.present), []).append(n)
        guarded = any(e.guarded for e in own if e.target != ACCEPT)
        pairs = spec.selection is Selection.STRICT or (spec.selection is Selection.NEXT and guarded)
        granularity = Granularity.PAIRS if pairs else Granularity.STATE
        classes += [EdgeClass(state, tuple(edges), granularity) for edges in together.values()]
    return TrendSpec(
        run=replace(spec, slots=(), slot_registers=(), every_row=False, traced=True, conditions=ConditionSet()),
        condition_bits=spec.condition_bits, edge_bits=tuple(tuple(-1 for _ in own) for own in automaton.edges),
        classes=tuple(classes), conditions=ConditionSet(),
        aggregates=(TrendAggregate("count", -1, frozenset(), "decimal(38,0)"),), column_types=(),
    )  # fmt: skip
