"""Names of functions over the rows of a match."""

from __future__ import annotations

from collections.abc import Container

#: Those that give a value of another row.
NAVIGATION = frozenset({"PREV", "NEXT", "FIRST", "LAST"})

#: Spark's aggregate functions that make sense over the rows of a match.
AGGREGATES = frozenset(
    """any any_value approx_count_distinct approx_percentile array_agg avg bit_and bit_or bit_xor bool_and bool_or
    collect_list collect_set corr count count_if covar_pop covar_samp every first_value histogram_numeric kurtosis
    last_value listagg max max_by mean median min min_by mode percentile percentile_approx product regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness some std stddev stddev_pop
    stddev_samp string_agg sum try_avg try_sum var_pop var_samp variance""".split()
)


def is_aggregate(name: str, own_aggregates: Container[str]) -> bool:
    """Whether a function aggregates over the rows of a match: Spark's, or one of ``own_aggregates``, in lower case."""
    return name.lower() in AGGREGATES or name.lower() in own_aggregates
