"""The grouped map of imprecise time: runs with a confidence and the ticks that a match may begin and end at."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, DoubleType, LongType

from sparkcep.exec.batch import Batch
from sparkcep.exec.reports import Matched
from sparkcep.exec.run_layouts import MatchBody, Matches, map_matches
from sparkcep.exec.shape import OperatorShape
from sparkcep.exec.uncertain_matcher import UncertainMatcher
from sparkcep.exec.uncertain_spec import UncertainSpec

#: Columns of each match, with their types.
OWN: tuple[tuple[str, DataType], ...] = (
    ("confidence", DoubleType()), ("first_tick", LongType()), ("last_tick", LongType()),
)  # fmt: skip


class UncertainBody(MatchBody[UncertainSpec, UncertainMatcher]):
    """Matches with their confidence."""

    def make(self) -> UncertainMatcher:
        return UncertainMatcher(self.spec)

    def matches(self, batch: Batch) -> Matches:
        found = self.matcher.match(batch)
        first, last = np.ascontiguousarray(found.ticks.T)
        own = {"confidence": pa.array(found.confidence), "first_tick": pa.array(first), "last_tick": pa.array(last)}
        return Matches(found.out, found.trace, own)


def match_uncertain(df: DataFrame, layout: str, shape: OperatorShape, spec: UncertainSpec) -> Matched:
    """Run a spec over prepared rows; see operator.match."""
    return map_matches(df, layout, UncertainBody(shape, spec), OWN)
