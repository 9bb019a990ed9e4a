"""Aggregates over the rows of a match as functions of an array, with the results and types of Spark's own."""

from __future__ import annotations

from collections.abc import Sequence

from sparkcep.expr.types import parse_type

#: Names of one function.
_SAME = {
    "array_agg": "collect_list", "every": "bool_and", "any": "bool_or", "some": "bool_or", "std": "stddev_samp",
    "stddev": "stddev_samp", "variance": "var_samp", "string_agg": "listagg", "mean": "avg",
}  # fmt: skip
_MOMENTS = ("var_pop", "var_samp", "stddev_pop", "stddev_samp")
#: What :func:`array_aggregate` knows, for hints.
KNOWN = (
    "count sum avg min max any_value first_value last_value bool_and bool_or collect_list collect_set listagg median "
    "stddev stddev_pop variance var_pop"
)


def array_aggregate(function: str, values: str, type_: str, parameters: Sequence[str] = ()) -> str | None:
    """SQL of an aggregate of an array's values.

    Args:
        function: its name, in lower case. values: SQL of the array; NULLs in it are left out, as the functions do.
        type_: the result's, as Spark gives it for the function over a column. parameters: SQL of further arguments.

    Returns:
        None for a function that has no such form.
    """
    function = _SAME.get(function, function)
    some = f"filter({values}, x -> x IS NOT NULL)"

    def unless_empty(sql: str) -> str:
        return f"CASE WHEN size({some}) > 0 THEN {sql} END"

    total = f"aggregate({some}, CAST(0 AS {type_}), (a, x) -> CAST(a + x AS {type_}))"
    if function == "listagg":
        separator = parameters[0] if parameters else "''"
        return unless_empty(f"array_join(transform({some}, x -> CAST(x AS STRING)), {separator})")
    if function in ("first_value", "last_value") and len(parameters) < 2:
        chosen = f"CASE WHEN {parameters[0]} THEN {some} ELSE {values} END" if parameters else values
        return f"get({chosen}, {'0' if function == 'first_value' else f'size({chosen}) - 1'})"
    if parameters:
        return None
    if function == "count":
        return f"CAST(size({some}) AS BIGINT)"
    if function == "sum":
        return unless_empty(total)
    if function == "avg":
        return unless_empty(_average(some, type_))
    if function in ("min", "max"):
        return f"array_{function}({some})"
    if function == "any_value":
        return f"get({some}, 0)"
    if function in ("bool_and", "bool_or"):
        return unless_empty(f"{'forall' if function == 'bool_and' else 'exists'}({some}, x -> x)")
    if function == "collect_list":
        return some
    if function == "collect_set":
        return f"array_distinct({some})"
    if function == "median":
        ordered = f"sort_array({some})"
        low = f"CAST(get({ordered}, (size({some}) - 1) DIV 2) AS DOUBLE)"
        high = f"CAST(get({ordered}, size({some}) DIV 2) AS DOUBLE)"
        return unless_empty(f"CASE WHEN size({some}) % 2 = 1 THEN {low} ELSE ({low} * 0.5D + {high} * 0.5D) END")
    if function in _MOMENTS:
        return unless_empty(_moment(function, some))
    return None


def sum_type(type_: str) -> str:
    """Spark's type of a sum of values of a type that is the same for sums: integers, doubles, decimals."""
    kind = parse_type(type_)
    return f"decimal({min(38, kind.size + 10)},{kind.scale})" if kind.kind == "decimal" else type_


def _average(some: str, type_: str) -> str:
    kind = parse_type(type_)
    if kind.kind != "decimal":
        return f"aggregate({some}, 0D, (a, x) -> a + CAST(x AS DOUBLE)) / size({some})"
    # The result has four digits more than the column, behind the point.
    own = sum_type(f"decimal({kind.size - 4},{max(0, kind.scale - 4)})")
    total = f"aggregate({some}, CAST(0 AS {own}), (a, x) -> CAST(a + x AS {own}))"
    return f"CAST({total} / CAST(size({some}) AS DECIMAL(20, 0)) AS {type_})"


def _moment(function: str, some: str) -> str:
    """As Spark's CentralMomentAgg adds one value after the other."""
    start = "named_struct('n', 0D, 'avg', 0D, 'm2', 0D)"
    delta = "(CAST(x AS DOUBLE) - a.avg)"
    share = f"({delta} / (a.n + 1D))"
    step = f"named_struct('n', a.n + 1D, 'avg', a.avg + {share}, 'm2', a.m2 + {delta} * ({delta} - {share}))"
    population = function.endswith("_pop")
    result = "a.m2 / a.n" if population else "CASE WHEN a.n > 1D THEN a.m2 / (a.n - 1D) END"
    if function.startswith("stddev"):
        result = f"sqrt({result})"
    return f"aggregate({some}, {start}, (a, x) -> {step}, a -> {result})"
