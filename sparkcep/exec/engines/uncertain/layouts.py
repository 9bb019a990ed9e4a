"""The grouped map of imprecise time: runs with a confidence and the ticks that a match may begin and end at."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, DoubleType, IntegerType, LongType

from sparkcep.exec.arrays import Ints
from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.runs.layouts import MatchBody, Matches, map_matches
from sparkcep.exec.engines.uncertain.matcher import UncertainMatcher
from sparkcep.exec.engines.uncertain.spec import UncertainSpec
from sparkcep.exec.kernels.rows.output import NUMBER, PARTITION
from sparkcep.exec.layouts.rows import int32
from sparkcep.exec.reports import Matched
from sparkcep.exec.shape import OperatorColumns

#: Columns of each match, and the place of each of its rows, with their types.
OWN: tuple[tuple[str, DataType], ...] = (
    ("confidence", DoubleType()), ("first_tick", LongType()), ("last_tick", LongType()), ("place", IntegerType()),
)  # fmt: skip


class UncertainBody(MatchBody[UncertainSpec, UncertainMatcher]):
    """Matches with their confidence."""

    def make(self) -> UncertainMatcher:
        return UncertainMatcher(self.spec)

    def matches(self, batch: Batch) -> Matches:
        found = self.matcher.match(batch)
        first, last = np.ascontiguousarray(found.ticks.T)
        own = {"confidence": pa.array(found.confidence), "first_tick": pa.array(first), "last_tick": pa.array(last)}
        return Matches(found.out, found.trace, own | {"place": int32(places(found.out))})


def places(out: Ints) -> Ints:
    """Where each output row stands among those of its match, from 0; a match's rows lie together, in its order."""
    rows = np.arange(len(out))
    begins = np.append(True, np.diff(out[:, [PARTITION, NUMBER]], axis=0).any(axis=1))[: len(out)]
    return rows - np.maximum.accumulate(np.where(begins, rows, 0))


def match_uncertain(df: DataFrame, layout: str, shape: OperatorColumns, spec: UncertainSpec) -> Matched:
    """Run a spec over prepared rows; see operator.match."""
    return map_matches(df, layout, UncertainBody(shape, spec), OWN)
