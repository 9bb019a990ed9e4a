"""The grouped map: a DataFrame of prepared rows in, a DataFrame of matched rows out, in one of two layouts.

Both give the same columns: the partition's keys, then those of the engine.
"""

from __future__ import annotations

from typing import cast

from pyspark.sql import DataFrame

from sparkcep.exec.engines.by_spec import ENGINES, Spec
from sparkcep.exec.engines.rows.ranges import match_ranges
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.layouts.lists import match_lists
from sparkcep.exec.layouts.rows import match_rows
from sparkcep.exec.reports import Matched
from sparkcep.exec.shape import OperatorColumns


def match(df: DataFrame, layout: str, shape: OperatorColumns, spec: Spec) -> Matched:
    """Run a spec over prepared rows.

    Args:
        df: lists layout: keys ``__cep_k*`` and ``__cep_rows``; rows layout: fields ``__cep_f*`` and masks
            ``__cep_m*``, rows of a partition together; its first row has the keys, and ``__cep_m0`` inverted.
            With ranges, a range is a partition and its first row has the range's number in ``__cep_range``.
    """
    engine = ENGINES[type(spec)]
    if shape.ranges is not None:
        return match_ranges(df, shape, cast(MatchSpec, spec))
    return (match_lists if layout == "lists" else match_rows)(df, engine, shape, spec)
