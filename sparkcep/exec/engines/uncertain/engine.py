"""Imprecise time: runs with a confidence and the ticks that a match may begin and end at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sparkcep.exec.arrays import Ints, int32
from sparkcep.exec.batch import Batch
from sparkcep.exec.engine import Matcher, MatchTable, OutputColumn, Value
from sparkcep.exec.engines.runs.engine import tiny_batch, tiny_spec
from sparkcep.exec.engines.runs.output import run_columns, run_table
from sparkcep.exec.engines.uncertain.matcher import UncertainMatcher
from sparkcep.exec.engines.uncertain.spec import UncertainSpec
from sparkcep.exec.kernels.rows.output import NUMBER, PARTITION
from sparkcep.exec.shape import OperatorColumns


class UncertainEngine:
    """Matches with their confidence, ``first_tick`` and ``last_tick``, and each row's ``place`` in its match."""

    name = "uncertain"

    def columns(self, spec: UncertainSpec, shape: OperatorColumns) -> tuple[OutputColumn, ...]:
        """See :class:`Engine`."""
        own = (("confidence", "double"), ("first_tick", "bigint"), ("last_tick", "bigint"), ("place", "int"))
        return (*run_columns(shape), *(Value(name, type_) for name, type_ in own))

    def matcher(self, spec: UncertainSpec, shape: OperatorColumns) -> UncertainTables:
        """See :class:`Engine`."""
        return UncertainTables(spec, shape)

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
        first, last = np.ascontiguousarray(found.ticks.T)
        return run_table(
            found.out, found.trace, self.shape, confidence=pa.array(found.confidence), first_tick=pa.array(first),
            last_tick=pa.array(last), place=int32(places(found.out)),
        )  # fmt: skip


def places(out: Ints) -> Ints:
    """Where each output row stands among those of its match, from 0; a match's rows lie together, in its order."""
    rows = np.arange(len(out))
    begins = np.append(True, np.diff(out[:, [PARTITION, NUMBER]], axis=0).any(axis=1))[: len(out)]
    return rows - np.maximum.accumulate(np.where(begins, rows, 0))


def _warm_up() -> None:
    ticks = pa.array([0, 1, 2])
    imprecise = UncertainSpec(tiny_spec(), frozenset(), None, 0.0, False, limit_ticks=10, limit_shared=2)
    UncertainMatcher(imprecise).match(replace(tiny_batch(), columns=(ticks, ticks)))
