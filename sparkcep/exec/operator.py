"""The grouped map: a DataFrame of prepared rows in, a DataFrame of matched rows out, in one of two layouts.

Both give the same columns: keys, match number, label code, row, flags, label slots and gathered values.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from sparkcep.exec.engines.non_answers.layouts import explain_partitions
from sparkcep.exec.engines.non_answers.spec import RepairSpec
from sparkcep.exec.engines.rows.ranges import match_ranges
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.engines.runs.layouts import match_runs
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.engines.trends.layouts import match_trends
from sparkcep.exec.engines.trends.spec import TrendSpec
from sparkcep.exec.engines.uncertain.layouts import match_uncertain
from sparkcep.exec.engines.uncertain.spec import UncertainSpec
from sparkcep.exec.layouts.lists import match_lists
from sparkcep.exec.layouts.rows import match_rows
from sparkcep.exec.reports import Matched
from sparkcep.exec.shape import OperatorColumns


def match(
    df: DataFrame,
    layout: str,
    shape: OperatorColumns,
    spec: MatchSpec | RunSpec | TrendSpec | RepairSpec | UncertainSpec,
) -> Matched:
    """Run a spec over prepared rows.

    Args:
        df: lists layout: keys ``__cep_k*`` and ``__cep_rows``; rows layout: fields ``__cep_f*`` and masks
            ``__cep_m*``, rows of a partition together; its first row has the keys, and ``__cep_m0`` inverted.
            With ranges, a range is a partition and its first row has the range's number in ``__cep_range``.
    """
    if isinstance(spec, RepairSpec):
        return explain_partitions(df, layout, shape, spec)
    if isinstance(spec, TrendSpec):
        return match_trends(df, layout, shape, spec)
    if isinstance(spec, UncertainSpec):
        return match_uncertain(df, layout, shape, spec)
    if isinstance(spec, RunSpec):
        return match_runs(df, layout, shape, spec)
    if layout == "lists":
        return match_lists(df, shape, spec)
    if shape.ranges is not None:
        return match_ranges(df, shape, spec)
    return match_rows(df, shape, spec)
