"""The plan of a pattern under the event selection strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.expr.nodes import ROW_COLUMN, NavigationSlot
from sparkcep.planner.engines.runs.collapse import Collapse
from sparkcep.planner.plan import NEXT_IN_OUTPUT, EngineDefaults, SharedNeeds, StreamNeeds
from sparkcep.query import Condition, PatternQuery, Selection, SkipMode


@dataclass(frozen=True, slots=True)
class RunsPlan(EngineDefaults):
    """A pattern under a strategy. ``conditions``: what depends on the match. ``filter_reason``: why rows that nothing
    can take are kept, or that they are not."""

    spec: RunSpec
    described: Mapping[int, str]
    conditions: Sequence[Condition]
    filter_reason: str
    lacking: Mapping[int, str] = field(default_factory=dict)
    collapse: Collapse | None = None
    name: ClassVar[str] = "runs"

    @property
    def names(self) -> Sequence[str]:
        """See :class:`EnginePlan`: component keys in the order of their codes."""
        return self.spec.automaton.names

    @property
    def stream_needs(self) -> StreamNeeds:
        """See :class:`EnginePlan`."""
        spec, stream = self.spec, self.spec.stream
        closes = stream is not None and stream.closes
        looks_back = stream is not None and stream.looks_back
        if spec.one_per_start:
            decided = (
                "a match is emitted when the watermark reaches its first event + WITHIN: it is preferred for certain"
            )
        elif closes:
            decided = "a match is emitted when the watermark reaches its first event + WITHIN (a trailing negation)"
        else:
            decided = "a match is emitted when the watermark reaches its last event"
            if spec.timed_out:
                decided += "; a run that timed out, when it reaches the run's first event + WITHIN"
        free = stream is not None and not spec.one_per_start and not stream.behind
        by_last = not (spec.one_per_start or spec.timed_out or spec.collapsed or closes)
        return StreamNeeds(
            refused=NEXT_IN_OUTPUT if any(s.physical > 0 for s in spec.slots) else None,
            decided=decided,
            longer="and WITHIN once more, for the leading negation" if looks_back and closes else "",
            lookback=(1 + looks_back) if free else 0,
            by_last=by_last,
            by_end=by_last or (spec.one_per_start and spec.skip is SkipMode.PAST_LAST_ROW),
            numbered=spec.conditions.numbered,
        )

    def shared_needs(self, query: PatternQuery) -> SharedNeeds:
        """See :class:`EnginePlan`."""
        slots = self.spec.conditions.slots
        looks = any(isinstance(s, NavigationSlot) and (s.column == ROW_COLUMN or s.physical) for s in slots)
        spec = replace(self.spec, every_row=False, traced=True)
        if spec.stream is None:  # else it is told by slots where a match begins and ends
            spec = replace(spec, slots=(), slot_registers=())
        return SharedNeeds(spec, drops=query.selection is not Selection.STRICT and not looks)
