"""The plan of a row pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.planner.engines.rows.stream import never_decided
from sparkcep.planner.measures import MeasureSql
from sparkcep.planner.outputs import Outputs
from sparkcep.planner.plan import EngineDefaults, SharedNeeds, StreamNeeds
from sparkcep.planner.rules.gap_elimination import GapElimination
from sparkcep.query import PatternQuery, SkipMode


@dataclass(frozen=True, slots=True)
class RowsPlan(EngineDefaults):
    """A row pattern. ``measures``: the SQL behind the operator, ``outputs``: what it is made of. ``unwanted``: outputs
    that nobody asks for. ``gaps``: which rows only skip, once the rule has said so."""

    spec: MatchSpec
    described: Mapping[int, str]
    lacking: Mapping[int, str]
    measures: MeasureSql
    outputs: Outputs
    unwanted: Sequence[str] = ()
    gaps: GapElimination | None = None
    name: ClassVar[str] = "rows"

    @property
    def names(self) -> Sequence[str]:
        """See :class:`EnginePlan`: variables in the order of their codes."""
        return self.spec.program.names

    @property
    def stream_needs(self) -> StreamNeeds:
        """See :class:`EnginePlan`."""
        spec = self.spec
        return StreamNeeds(
            never_decided(spec), numbered=spec.conditions.numbered, by_end=spec.skip is SkipMode.PAST_LAST_ROW
        )

    def shared_needs(self, query: PatternQuery) -> SharedNeeds:
        """See :class:`EnginePlan`."""
        return SharedNeeds(replace(self.spec, slots=(), slot_registers=(), every_row=True), drops=False)
