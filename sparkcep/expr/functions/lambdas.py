"""Functions of arrays and maps that take lambda functions, as Python evaluates them.

NULLs, the three values of `exists` and `forall`, and where these end early are Spark's.

In trees a lambda is a call of :data:`LAMBDA` over its body, with the numbers of its ``parameters``, and each mention
of a parameter one of :data:`PARAMETER`, with its own. No two lambdas of a condition share a number.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from sparkcep.expr.nodes import Call, Expression
from sparkcep.expr.order import compare
from sparkcep.expr.types import BOOLEAN, INT, NULL, NotCompilable, Type

LAMBDA, PARAMETER = "lambda", "parameter"

#: Functions that may take a lambda -> where their lambdas stand, and how many parameters each may have.
_FORMS: dict[str, tuple[tuple[int, tuple[int, ...]], ...]] = {
    "exists": ((1, (1,)),),
    "forall": ((1, (1,)),),
    "filter": ((1, (1, 2)),),
    "transform": ((1, (1, 2)),),
    "aggregate": ((2, (2,)), (3, (1,))),
    "zip_with": ((2, (2,)),),
    "array_sort": ((1, (2,)),),
    "map_filter": ((1, (2,)),),
}
#: What users write -> the name in trees.
WRITTEN = {name: name for name in _FORMS} | {"reduce": "aggregate"}
WITH_LAMBDAS = frozenset(_FORMS)

#: A lambda's body: columns of values of its parameters -> the column of its values, of which some may have failed.
LambdaBody = Callable[..., Sequence[Any]]
#: Values, of which none has failed; raises what the first one failed with.
Settled = Callable[[Sequence[Any]], Sequence[Any]]


def free_parameters(node: Expression) -> frozenset[int]:
    """Numbers of the parameters that an expression reads of lambdas around it."""
    if not isinstance(node, Call):
        return frozenset()
    if node.name == PARAMETER:
        return frozenset(node.parameters)
    found = frozenset[int]().union(*map(free_parameters, node.arguments))
    return found.difference(node.parameters) if node.name == LAMBDA else found


def lambdas_of(node: Call) -> dict[int, Call]:
    """The lambdas of a function's call, by their places.

    Raises:
        NotCompilable: a lambda where the function takes none, none where it takes one, or one of other parameters.
    """
    forms = dict(_FORMS.get(node.name, ()))
    found = {k: a for k, a in enumerate(node.arguments) if isinstance(a, Call) and a.name == LAMBDA}
    fits = all(k in forms and len(a.parameters) in forms[k] for k, a in found.items())
    optional = {"aggregate": (3,), "array_sort": (1,)}.get(node.name, ())
    last = max([*forms, 0])
    if (
        not fits
        or not node.arguments
        or any(k not in found and k not in optional for k in forms)
        or len(node.arguments) > last + 1
    ):
        raise NotCompilable(f"{node.name} with these arguments")
    return found


def parameter_types(node: Call, place: int, kinds: Sequence[Type]) -> tuple[Type, ...]:
    """Types of the parameters of the lambda at a place. ``kinds``: those of the arguments before it that are values.

    Raises:
        NotCompilable: an argument that is no array, or no map.
    """
    arrays = 2 if node.name == "zip_with" else 1
    wanted = "map" if node.name == "map_filter" else "array"
    for kind in kinds[:arrays]:
        if kind.kind not in (wanted, "null"):
            raise NotCompilable(f"{node.name}({kind.shown})")
    elements = [kind.element or NULL for kind in kinds[:arrays]]
    if node.name == "aggregate":
        return (kinds[1], elements[0])[: 2 if place == 2 else 1]
    if node.name == "map_filter":
        return kinds[0].key or NULL, elements[0]
    if node.name == "array_sort":
        return elements[0], elements[0]
    if node.name == "zip_with":
        return tuple(elements)
    return elements[0], INT


def result_type(name: str, kinds: Sequence[Type], bodies: Sequence[Type]) -> Type:
    """Type of a call. ``kinds``: of the arguments that are values; ``bodies``: of the lambdas' bodies.

    Raises:
        NotCompilable: a body of another type than the function takes.
    """
    if name in ("exists", "forall", "filter", "map_filter"):
        if bodies[0].kind not in ("boolean", "null"):
            raise NotCompilable(f"{name} by a value of type {bodies[0].shown}")
        return kinds[0] if name in ("filter", "map_filter") else BOOLEAN
    if name == "aggregate":
        if bodies[0] != kinds[1]:
            raise NotCompilable(f"aggregate from {_shown(kinds[1])} to {_shown(bodies[0])}")
        return bodies[-1]
    if name == "array_sort":
        if bodies and bodies[0] != INT:
            raise NotCompilable(f"array_sort by a value of type {bodies[0].shown}")
        return kinds[0]
    return Type("array", element=bodies[0])


def _shown(kind: Type) -> str:
    """A type for messages, as Spark names it where that tells two apart."""
    if kind.kind == "int":
        return {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}[kind.size]
    return f"decimal({kind.size},{kind.scale})" if kind.kind == "decimal" else kind.kind


def applied(name: str, given: Sequence[Any], bodies: Sequence[LambdaBody], indexed: bool, settled: Settled) -> Any:
    """The value of a call whose arrays or maps are not NULL. ``indexed``: a second parameter is the element's place."""
    array, *more = given
    if name == "aggregate":
        state = more[0]
        for element in array:
            (state,) = settled(bodies[0]([state], [element]))
        return settled(bodies[1]([state]))[0] if len(bodies) > 1 else state
    if name == "array_sort":
        return _sorted(array, bodies, settled)
    if name == "zip_with":
        pairs = list(zip_longest(array, more[0]))
        return list(settled(bodies[0]([x for x, _ in pairs], [y for _, y in pairs])))
    if name == "map_filter":
        kept = settled(bodies[0]([k for k, _ in array], [v for _, v in array]))
        return [pair for pair, wanted in zip(array, kept, strict=True) if wanted is True]
    results = bodies[0](array, range(len(array))) if indexed else bodies[0](array)
    if name == "transform":
        return list(settled(results))
    if name == "filter":
        return [v for v, kept in zip(array, settled(results), strict=True) if kept is True]
    return _decided(results, name == "exists", settled)


def _decided(results: Sequence[Any], decisive: bool, settled: Settled) -> bool | None:
    """`exists` (``decisive`` true) or `forall`: the first such value ends it, a NULL makes any other end unknown."""
    for k, result in enumerate(results):
        if result is decisive:
            settled(results[:k])
            return decisive
    return None if None in settled(results) else not decisive


def _sorted(values: Sequence[Any], bodies: Sequence[LambdaBody], settled: Settled) -> list[Any]:
    """By a comparator; without one ascending with NULLs last."""
    if not bodies:
        known = [v for v in values if v is not None]
        return [*sorted(known, key=functools.cmp_to_key(compare)), *[None] * (len(values) - len(known))]

    def order(x: Any, y: Any) -> int:
        found: int | None = settled(bodies[0]([x], [y]))[0]
        if found is None:
            raise ValueError("the lambda function of array_sort gave NULL")
        return found

    return sorted(values, key=functools.cmp_to_key(order))
