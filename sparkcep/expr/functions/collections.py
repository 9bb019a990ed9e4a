"""Functions of arrays, maps and structs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sparkcep.expr.coercion import check_comparable
from sparkcep.expr.functions.function import Arguments, Function, Implementation, strict
from sparkcep.expr.nodes import Call
from sparkcep.expr.numbers import Numbers
from sparkcep.expr.order import compare, extreme
from sparkcep.expr.typed import Form, Typed
from sparkcep.expr.types import BIGINT, BOOLEAN, INT, NULL, NotCompilable, Type

FIELD = "field"


def _size(numbers: Numbers, call: Call, of: Arguments) -> Typed | None:
    """The size of NULL is -1 without ANSI mode."""
    if [each.type.kind in ("array", "map") for each in of] != [True]:
        return None
    if numbers.ansi:
        return Typed(Form.STRICT, INT, of, len, call)
    return Typed(Form.LISTED, INT, of, lambda v: -1 if v is None else len(v), call)


def _array_size(numbers: Numbers, call: Call, kinds: Sequence[Type]) -> Implementation | None:
    return (len, INT) if kinds[0].kind == "array" else None


def _of_map(numbers: Numbers, call: Call, kinds: Sequence[Type]) -> Implementation | None:
    if kinds[0].kind != "map":
        return None
    n = 0 if call.name == "map_keys" else 1
    return (lambda pairs: [pair[n] for pair in pairs]), Type("array", element=(kinds[0].key, kinds[0].element)[n])


def _of_sets(numbers: Numbers, call: Call, kinds: Sequence[Type]) -> Implementation | None:
    """Python finds the same values equal as Spark, of these types."""
    first = kinds[0]
    is_set = first.element is not None and (first.element.is_integer_like or first.element.kind == "string")
    if first != kinds[1] or first.kind != "array" or not is_set:
        return None
    return _OF_SETS[call.name], BOOLEAN if call.name == "arrays_overlap" else first


def _get(numbers: Numbers, call: Call, kinds: Sequence[Type]) -> Implementation | None:
    if kinds[0].kind != "array" or kinds[1].kind != "int" or kinds[1] == BIGINT:
        return None
    return (lambda values, n: values[n] if 0 <= n < len(values) else None), kinds[0].element or NULL


def _extreme(numbers: Numbers, call: Call, kinds: Sequence[Type]) -> Implementation | None:
    element = kinds[0].element
    sign = 1 if call.name == "array_max" else -1
    return ((lambda v: extreme(v, sign)), element) if kinds[0].kind == "array" and element is not None else None


def _contains(numbers: Numbers, call: Call, kinds: Sequence[Type]) -> Implementation | None:
    if kinds[0].kind != "array":
        return None
    element = kinds[0].element or NULL
    check_comparable("=", element, kinds[1])
    # A decimal beside doubles is one of them.
    return (_has_double if element.is_floating or kinds[1].is_floating else _has), BOOLEAN


def _has(values: list[Any], wanted: Any) -> bool | None:
    """NULL, not false, where a NULL element might be the one."""
    if any(v is not None and compare(v, wanted) == 0 for v in values):
        return True
    return None if None in values else False


def _has_double(values: list[Any], wanted: Any) -> bool | None:
    """As :func:`_has`, by the values as doubles."""
    return _has([None if v is None else float(v) for v in values], float(wanted))


def field_of(kind: Type, name: str) -> Implementation:
    """`value.name` of a struct, or of an array of structs the array of its values.

    Raises:
        NotCompilable: there is no such field, or more than one.
    """
    if kind.kind == "array" and kind.element is not None:
        inner, type_ = field_of(kind.element, name)
        return (lambda values: [None if v is None else inner(v) for v in values]), Type("array", element=type_)
    found = [f for f in kind.fields if f[0] == name] or [f for f in kind.fields if f[0].casefold() == name.casefold()]
    if len(found) != 1:
        raise NotCompilable(f"the field {name} of a value of type {kind.shown}")
    own = found[0][0]
    return (lambda value: value[own]), found[0][1]


def _field(numbers: Numbers, call: Call, kinds: Sequence[Type]) -> Implementation:
    return field_of(kinds[0], call.field)


def _overlap(a: list[Any], b: list[Any]) -> bool | None:
    """NULL, not false, where a NULL element might be common to both."""
    if not {v for v in a if v is not None}.isdisjoint(b):
        return True
    return None if a and b and (None in a or None in b) else False


def _intersection(a: list[Any], b: list[Any]) -> list[Any]:
    other = set(b)
    return [v for v in dict.fromkeys(a) if v in other]


def _difference(a: list[Any], b: list[Any]) -> list[Any]:
    other = set(b)
    return [v for v in dict.fromkeys(a) if v not in other]


#: Functions of two arrays as sets, in the order of the first one.
_OF_SETS: dict[str, Callable[[list[Any], list[Any]], Any]] = {
    "arrays_overlap": _overlap,
    "array_intersect": _intersection,
    "array_except": _difference,
    "array_union": lambda a, b: list(dict.fromkeys([*a, *b])),
}

COLLECTIONS = (
    *(Function(name, _size, (name,), "array or map") for name in ("size", "cardinality")),
    strict("array_size", _array_size, "array"),
    *(strict(name, _of_map, "map") for name in ("map_keys", "map_values")),
    *(strict(name, _of_sets, "array, array", (2,)) for name in _OF_SETS),
    strict("get", _get, "array, int", (2,)),
    *(strict(name, _extreme, "array") for name in ("array_max", "array_min")),
    strict("array_contains", _contains, "array, value", (2,)),
    strict(FIELD, _field, "struct", written=()),
)
