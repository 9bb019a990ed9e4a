"""Aggregates of conditions that the kernel lacks, over the rows of a match: Spark's values, to the last bit."""

from __future__ import annotations

import functools
import math
import operator
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

from sparkcep.errors import SparkCepError
from sparkcep.expr.arrow import arrow
from sparkcep.expr.coercion import average_type
from sparkcep.expr.numbers import DECIMALS, Numbers, single
from sparkcep.expr.order import compare, extreme
from sparkcep.expr.types import BIGINT, BOOLEAN, DOUBLE, NULL, STRING, NotCompilable, Type, parse_type
from sparkcep.query import OwnAggregate

Rows: TypeAlias = list[tuple[Any, ...]]
Kinds: TypeAlias = list[Type]
#: What makes a value of a column's values, and its type.
Values: TypeAlias = tuple[Callable[[list[Any]], Any], Type]
_ALL, _NONE = slice(None), slice(0, 0)


@dataclass(frozen=True, slots=True)
class Fold:
    """``apply`` makes the aggregate's value, of ``type``, of the argument values of each row, in row order. ``known``:
    which arguments are not NULL in the rows that it is given."""

    apply: Callable[[Rows], Any]
    type: Type
    known: slice = field(default_factory=lambda: slice(0, 1))


#: A fold by an aggregate's name, its arguments' types, and ANSI mode.
Make: TypeAlias = Callable[[str, Kinds, bool], Fold | None]


def aggregate_fold(name: str, kinds: list[Type], ansi: bool) -> Fold:
    """The fold of an aggregate over arguments of some types.

    Args:
        name: in lower case. ansi: whether overflow is an error.

    Raises:
        NotCompilable: an aggregate that conditions lack, or with other arguments than it has here.
    """
    make = FOLDS.get(name)
    found = None if make is None else make(name, kinds, ansi)
    if found is None:
        raise NotCompilable(f"{name}({', '.join(kind.shown for kind in kinds)})")
    return found


def own_fold(aggregate: OwnAggregate, kinds: list[Type]) -> Fold:
    """A user's aggregate as a fold: of all rows, NULLs among them.

    Raises:
        NotCompilable: an argument of a type that has no Arrow array here.
    """
    if (bad := next((k for k in kinds if not k.is_single), None)) is not None:
        raise NotCompilable(f"{aggregate.name}({bad.shown})")
    function = pickle.loads(aggregate.code)
    kind = parse_type(aggregate.type)

    def apply(rows: Rows) -> Any:
        value = function(*(arrow([r[n] for r in rows], k) for n, k in enumerate(kinds)))
        return as_type(value, kind)

    return Fold(apply, kind, _NONE)


def as_type(value: Any, kind: Type) -> Any:
    """What a user's function gave, an Arrow or NumPy scalar or a Python value, as conditions hold it.

    Raises:
        SparkCepError: CEP_OWN_AGGREGATE, it is of another type.
    """
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    elif hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    try:
        if value is None:
            return None
        if kind.kind == "int" and int(value) == value and -(2 ** (kind.size - 1)) <= value < 2 ** (kind.size - 1):
            return int(value)
        if kind.is_floating:
            return single(float(value)) if kind.kind == "float" else float(value)
        if kind.kind == "decimal":
            return Numbers(True).decimal(value if isinstance(value, Decimal) else Decimal(str(value)), kind)
        if isinstance(value, {"boolean": bool, "string": str}.get(kind.kind, ())):
            return value
    except (TypeError, ValueError, ArithmeticError):
        pass
    raise SparkCepError("CEP_OWN_AGGREGATE", f"An aggregate gave {value!r}, which is not a {kind.kind}.")


def distinct(rows: Rows) -> Rows:
    """The first rows of equal ones; all NaNs are one value."""

    out: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for row in rows:
        out.setdefault(tuple(map(_key, row)), row)
    return list(out.values())


def _key(value: Any) -> Any:
    """By what values are equal: all NaNs are one."""
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def _are_numbers(kinds: Sequence[Type]) -> bool:
    return all(k.is_numeric or k == NULL for k in kinds)


def _parameter(rows: Rows, default: float) -> float:
    """The second argument, which is the same in all rows."""
    return float(rows[0][1]) if rows and len(rows[0]) > 1 and rows[0][1] is not None else default


def _average(kind: Type, numbers: Numbers) -> Callable[[list[Decimal]], Decimal | None]:
    """The average of decimals, whose sum has to fit its own type as in Spark's aggregates of groups."""
    average, sum_ = average_type(kind), _summation(kind, numbers)[0]

    def apply(values: list[Decimal]) -> Decimal | None:
        total = sum_(values)
        return None if total is None else numbers.decimal(DECIMALS.divide(total, len(values)), average)

    return apply


# -- by their names: None for other arguments than they have here ------------------------------------------------------


def _counted(name: str, kinds: Kinds, ansi: bool) -> Fold | None:
    return Fold(len, BIGINT, _ALL)


def _by_key(name: str, kinds: Kinds, ansi: bool) -> Fold | None:
    return Fold(_by(1 if name == "max_by" else -1), kinds[0], slice(1, 2)) if len(kinds) == 2 else None


def _of_place(name: str, kinds: Kinds, ansi: bool) -> Fold | None:
    fits = len(kinds) in (1, 2) and kinds[1:] in ([], [BOOLEAN])
    return Fold(_picked(_PICKS[name]), kinds[0], _NONE) if fits else None


def _most_frequent(name: str, kinds: Kinds, ansi: bool) -> Fold | None:
    if len(kinds) not in (1, 2) or kinds[1:] not in ([], [BOOLEAN]) or not kinds[0].is_single:
        return None
    return Fold(lambda rows: _mode([r[0] for r in rows]), kinds[0])


def _at_share(name: str, kinds: Kinds, ansi: bool) -> Fold | None:
    if len(kinds) != 1 + (name == "percentile") or not _are_numbers(kinds):
        return None
    return Fold(lambda rows: percentile([float(r[0]) for r in rows], _parameter(rows, 0.5)), DOUBLE)


def _near_share(name: str, kinds: Kinds, ansi: bool) -> Fold | None:
    if len(kinds) not in (2, 3) or not _are_numbers(kinds):
        return None
    return Fold(lambda rows: _at_rank([r[0] for r in rows], _parameter(rows, 0.5)), kinds[0])


def _joined(name: str, kinds: Kinds, ansi: bool) -> Fold | None:
    if len(kinds) > 2 or any(k.kind not in ("string", "null") for k in kinds):
        return None
    return Fold(lambda rows: (rows[0][1:] or ("",))[0].join(r[0] for r in rows) if rows else None, STRING)


def _of_pairs(name: str, kinds: Kinds, ansi: bool) -> Fold | None:
    if len(kinds) != 2 or not _are_numbers(kinds):
        return None
    sample = _CO_MOMENTS[name]
    return Fold(lambda rows: _covariance([(float(x), float(y)) for x, y in rows], sample), DOUBLE, _ALL)


def _of_values(make_values: Callable[[str, Type, bool], Values | None]) -> Make:
    """An aggregate of one argument's values that are not NULL, of each row without an argument."""

    def make(name: str, kinds: Kinds, ansi: bool) -> Fold | None:
        if len(kinds) > 1:
            raise NotCompilable(f"{name} with {len(kinds)} arguments")
        of = make_values(name, kinds[0] if kinds else BIGINT, ansi)
        return None if of is None else Fold(lambda rows: of[0]([r[0] if r else True for r in rows]), of[1])

    return make


def _extremes(name: str, kind: Type, ansi: bool) -> Values | None:
    sign = 1 if name == "max" else -1
    return (lambda v: extreme(v, sign)), kind


def _sums(name: str, kind: Type, ansi: bool) -> Values | None:
    """Of `try_sum` NULL where `sum` overflows."""
    if name == "try_sum" and kind.kind == "int":
        return (lambda v: total if v and -(2**63) <= (total := sum(v)) < 2**63 else None), BIGINT
    return _summation(kind, Numbers(ansi and name == "sum")) if kind.is_numeric else None


def _averages(name: str, kind: Type, ansi: bool) -> Values | None:
    if kind.kind == "decimal":
        return _average(kind, Numbers(ansi and name != "try_avg")), average_type(kind)
    return ((lambda v: sum(map(float, v)) / len(v) if v else None), DOUBLE) if kind.is_numeric else None


def _spreads(name: str, kind: Type, ansi: bool) -> Values | None:
    root, sample = MOMENTS[name]
    return ((lambda v: spread(list(map(float, v)), root, sample)), DOUBLE) if _are_numbers([kind]) else None


def _shapes(name: str, kind: Type, ansi: bool) -> Values | None:
    return ((lambda v: _shape(list(map(float, v)), name)), DOUBLE) if _are_numbers([kind]) else None


def _lists(name: str, kind: Type, ansi: bool) -> Values | None:
    return (lambda v: v), Type("array", element=kind)


def _sets(name: str, kind: Type, ansi: bool) -> Values | None:
    if not kind.is_single:
        return None
    return (lambda v: [row[0] for row in distinct([(x,) for x in v])]), Type("array", element=kind)


def _bits(name: str, kind: Type, ansi: bool) -> Values | None:
    fits = kind.kind in ("int", "null")
    return ((lambda v: functools.reduce(_BITS[name], v) if v else None), kind) if fits else None


def _truths(name: str, kind: Type, ansi: bool) -> Values | None:
    test = any if name in ("bool_or", "any", "some") else all
    return ((lambda v: test(v) if v else None), BOOLEAN) if kind.kind in ("boolean", "null") else None


def _held(name: str, kind: Type, ansi: bool) -> Values | None:
    return (lambda v: sum(1 for x in v if x)), BIGINT


def _summation(kind: Type, numbers: Numbers) -> tuple[Callable[[list[Any]], Any], Type]:
    """``sum`` over values without NULLs: NULL of none, overflow as in Spark, doubles added in row order."""
    if kind.kind == "int":
        return (lambda v: numbers.integer(sum(v), 64) if v else None), BIGINT
    if kind.kind == "decimal":
        result = Type("decimal", min(38, kind.size + 10), kind.scale)
        return (lambda v: numbers.decimal(_decimal_sum(v), result) if v else None), result

    def floats(values: list[Any]) -> Any:
        total = None
        for x in values:  # in row order, as the kernel adds
            total = float(x) if total is None else total + x
        return total

    return floats, DOUBLE


def _decimal_sum(values: Sequence[Decimal]) -> Decimal:
    """An exact sum: Python's own rounds to 28 digits."""
    return functools.reduce(DECIMALS.add, values, Decimal(0))


# -- which value -------------------------------------------------------------------------------------------------------

#: Aggregates that are the value of one row: its place.
_PICKS = {"any_value": 0, "first_value": 0, "last_value": -1}
_BITS = {"bit_and": operator.and_, "bit_or": operator.or_, "bit_xor": operator.xor}


def _picked(place: int) -> Callable[[Rows], Any]:
    """The first or the last value; where the second argument says so, of those that are not NULL."""

    def apply(rows: Rows) -> Any:
        some = [r for r in rows if r[0] is not None] if rows and rows[0][1:] == (True,) else rows
        return some[place][0] if some else None

    return apply


def _by(sign: int) -> Callable[[Rows], Any]:
    """max_by and min_by; of equal keys the last counts, as Spark keeps it."""

    def apply(rows: Rows) -> Any:
        best = None
        for row in rows:
            if best is None or compare(row[1], best[1]) * sign >= 0:
                best = row
        return None if best is None else best[0]

    return apply


def _mode(values: list[Any]) -> Any:
    """The most frequent value; of several the least, which Spark is free to choose without its second argument."""
    if not values:
        return None
    counts = Counter(map(_key, values))
    most = max(counts.values())
    return extreme((v for v in values if counts[_key(v)] == most), -1)


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value at a share of the way through all; between two values on the line, computed as Spark does."""
    ordered = sorted(values, key=lambda v: (math.isnan(v), v))
    if not ordered:
        return None
    place = (len(ordered) - 1) * share
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low if low == high else low + (place - math.floor(place)) * (high - low)


def _at_rank(values: list[Any], share: float) -> Any:
    """The least value that no less than a share of all values are up to: what Spark's sketch is near to, and is while
    it has lost nothing. Spark's sketch has no order for NaN, which here is greatest."""
    ordered = sorted(values, key=functools.cmp_to_key(compare))
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1] if ordered else None


# -- moments -----------------------------------------------------------------------------------------------------------

#: Name -> (whether it is the square root, whether of a sample).
MOMENTS = {
    "stddev": (True, True), "stddev_samp": (True, True), "std": (True, True), "stddev_pop": (True, False),
    "variance": (False, True), "var_samp": (False, True), "var_pop": (False, False),
}  # fmt: skip
#: Name -> whether of a sample.
_CO_MOMENTS = {"covar_samp": True, "covar_pop": False}


def spread(values: Sequence[float], root: bool, sample: bool) -> float | None:
    """Variance or standard deviation, added up value by value as Spark does (CentralMomentAgg), so to the last bit."""
    mean = total = 0.0
    for n, value in enumerate(values, 1):
        delta = value - mean
        step = delta / n
        mean += step
        total += delta * (delta - step)
    count = len(values) - sample
    if count <= 0:
        return None
    return math.sqrt(total / count) if root else total / count


def _shape(values: Sequence[float], name: str) -> float | None:
    """Skewness or kurtosis, of the moments that Spark's CentralMomentAgg adds up; NULL where all values are one."""
    mean = second = third = fourth = 0.0
    for n, value in enumerate(values, 1):
        delta = value - mean
        step = delta / n
        mean += step
        second += delta * (delta - step)
        square, step_square = delta * delta, step * step
        third = third - 3.0 * step * second + delta * (square - step_square)
        rest = delta * (delta * square - step * step_square)
        fourth = fourth - 4.0 * step * third - 6.0 * step_square * second + rest
    if not values or second == 0.0:
        return None
    if name == "skewness":
        return math.sqrt(len(values)) * third / math.sqrt(second * second * second)
    return len(values) * fourth / (second * second) - 3.0


def _covariance(pairs: Sequence[tuple[float, float]], sample: bool) -> float | None:
    """Added up pair by pair as Spark does (Covariance)."""
    mean_x = mean_y = total = 0.0
    for n, (x, y) in enumerate(pairs, 1):
        delta = x - mean_x
        mean_x += delta / n
        mean_y += (y - mean_y) / n
        total += delta * (y - mean_y)
    count = len(pairs) - sample
    return total / count if count > 0 else None


#: What conditions over several events have, by name in lower case.
FOLDS: dict[str, Make] = {
    "count": _counted,
    **dict.fromkeys(("sum", "try_sum"), _of_values(_sums)),
    **dict.fromkeys(("avg", "mean", "try_avg"), _of_values(_averages)),
    **dict.fromkeys(("min", "max"), _of_values(_extremes)),
    "count_if": _of_values(_held),
    **dict.fromkeys(MOMENTS, _of_values(_spreads)),
    **dict.fromkeys(_CO_MOMENTS, _of_pairs),
    **dict.fromkeys(("skewness", "kurtosis"), _of_values(_shapes)),
    **dict.fromkeys(("median", "percentile"), _at_share),
    **dict.fromkeys(("percentile_approx", "approx_percentile"), _near_share),
    "mode": _most_frequent,
    **dict.fromkeys(_PICKS, _of_place),
    **dict.fromkeys(("max_by", "min_by"), _by_key),
    **dict.fromkeys(("bool_and", "every", "bool_or", "any", "some"), _of_values(_truths)),
    **dict.fromkeys(_BITS, _of_values(_bits)),
    **dict.fromkeys(("listagg", "string_agg"), _joined),
    **dict.fromkeys(("collect_list", "array_agg"), _of_values(_lists)),
    "collect_set": _of_values(_sets),
}
