"""Whether a relation has the same rows when it is read again, as the two sides of a join would read it."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack, suppress

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from sparkcep.spark.plan import all_columns_shown, analysed, analysed_part

#: Functions that may give another value each time that they are evaluated, over the same row.
DRAWN = (
    "rand", "randn", "random", "randstr", "uniform", "uuid", "shuffle", "monotonically_increasing_id",
    "spark_partition_id",
)  # fmt: skip
#: What a plan may give other rows or values of when it is read again.
_CHANGES = re.compile(
    rf"\b({'|'.join(DRAWN)}|first|last|"
    r"any_value|first_value|last_value|nth_value|collect_list|collect_set|array_agg|listagg|string_agg|max_by|min_by|mode|"
    r"row_number|rank|lag|lead|ntile|approx_percentile|percentile_approx)\(|"
    r"^\W*(Sample|GlobalLimit|LocalLimit|Offset|Tail)\b",
    re.IGNORECASE | re.MULTILINE,
)
#: What adds up floating numbers, whose order decides of the last digits.
_ADDS_UP = re.compile(r"\b(try_)?(sum|avg|stddev\w*|var\w*|corr|covar\w*|regr\w*|kurtosis|skewness)\(", re.IGNORECASE)


def what_changes(frame: DataFrame, explained: Callable[[], str], floating: bool = False) -> str:
    """What a relation may have other rows by when it is read again; empty: it has the same.

    Args:
        explained: asks what EXPLAIN EXTENDED says of it, which plans it, where the session shows no plan.
        floating: whether the last digits of floating numbers matter.
    """
    plan, known = "", True
    with ExitStack() as settings:
        try:
            settings.enter_context(all_columns_shown(frame.sparkSession))
        except PySparkException:  # a session that is locked down
            return "by their plan"
        with suppress(Exception):  # as Spark Connect does not
            own = analysed(frame)
            plan, known = str(own.toString()), bool(own.deterministic())
        if not plan:
            with suppress(IndexError):
                plan = analysed_part(explained())
    if found := _CHANGES.search(plan) or (_ADDS_UP.search(plan) if floating else None):
        return found[0].strip(" (+-:|")
    return "" if plan and known else "by their plan"
