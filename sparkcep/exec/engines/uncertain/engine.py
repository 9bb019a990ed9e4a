"""Imprecise time: runs with a confidence and the ticks that a match may begin and end at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pyarrow as pa

from sparkcep.exec.arrays import int32
from sparkcep.exec.batch import Batch
from sparkcep.exec.engine import Matcher, MatchTable, OutputColumn, Value
from sparkcep.exec.engines.runs.engine import tiny_batch, tiny_spec
from sparkcep.exec.engines.runs.output import run_columns
from sparkcep.exec.engines.uncertain.matcher import UncertainMatcher
from sparkcep.exec.engines.uncertain.output import places, uncertain_table
from sparkcep.exec.engines.uncertain.released import UncertainReleased
from sparkcep.exec.engines.uncertain.spec import UncertainSpec
from sparkcep.exec.shape import OperatorColumns


class UncertainEngine:
    """Matches with their confidence, ``first_tick`` and ``last_tick``, and each row's ``place`` in its match.

    Over a stream without the place: nothing is ordered by it there.
    """

    name = "uncertain"

    def columns(self, spec: UncertainSpec, shape: OperatorColumns) -> tuple[OutputColumn, ...]:
        """See :class:`Engine`."""
        own = (("confidence", "double"), ("first_tick", "bigint"), ("last_tick", "bigint"), ("place", "int"))
        wanted = own if spec.stream is None else own[:-1]
        return (*run_columns(shape), *(Value(name, type_) for name, type_ in wanted))

    def matcher(self, spec: UncertainSpec, shape: OperatorColumns) -> UncertainTables:
        """See :class:`Engine`."""
        return UncertainTables(spec, shape)

    def released(self, spec: UncertainSpec, shape: OperatorColumns) -> UncertainReleased:
        """See :class:`StreamingEngine`."""
        return UncertainReleased(spec, shape)

    def needs(self, spec: UncertainSpec, shape: OperatorColumns) -> tuple[str, ...]:
        """See :class:`Engine`."""
        return ("uncertain",)

    def warm_ups(self) -> Mapping[str, Callable[[], None]]:
        """See :class:`Engine`."""
        return {"uncertain": _warm_up}


class UncertainTables(Matcher):
    """Uncertain matches as columns."""

    def __init__(self, spec: UncertainSpec, shape: OperatorColumns) -> None:
        self.inner = UncertainMatcher(spec)
        self.shape = shape

    def match(self, batch: Batch) -> MatchTable:
        """See :class:`Matcher`."""
        found = self.inner.match(batch)
        return uncertain_table(found, self.shape, place=int32(places(found.out)))


def _warm_up() -> None:
    ticks = pa.array([0, 1, 2])
    imprecise = UncertainSpec(tiny_spec(), frozenset(), None, 0.0, False, limit_ticks=10, limit_shared=2)
    UncertainMatcher(imprecise).match(replace(tiny_batch(), columns=(ticks, ticks)))
