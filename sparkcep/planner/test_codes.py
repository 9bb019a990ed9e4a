"""Codes of the tests of one event that Spark computes as bits of a mask.

A component's own tests have its code. Other tests have numbers of their own in ranges above those of all components:
tests of edges, tests of a component's type alone, and all of these once more for each part of AND.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

_EDGES = 1 << 20
_TYPES = 1 << 21
_PART = 1 << 24

V = TypeVar("V")


def edge_test(number: int) -> int:
    """The code of the number-th test of an edge between two events."""
    return _EDGES + _checked(number, _TYPES - _EDGES)


def type_test_of(component: int) -> int:
    """The code of the test whether an event is of a component's type, whatever else is asked of it."""
    return _TYPES + _checked(component, _PART - _TYPES)


def in_part(code: int, part: int) -> int:
    """The code of a test in the part-th part of AND."""
    return _checked(code, _PART) + part * _PART


def part_of(code: int) -> tuple[int, int]:
    """Part and code in it: what :func:`in_part` put together."""
    return divmod(code, _PART)


def is_component(code: int) -> bool:
    """Whether a code is a component's, of no part but the first."""
    return code < _EDGES


def typed_component(code: int) -> int | None:
    """The component whose type a test is of; None where it is another test."""
    return code - _TYPES if _TYPES <= code < _PART else None


def of_components(by_code: Mapping[int, V]) -> dict[int, V]:
    """What belongs to components themselves."""
    return {code: value for code, value in by_code.items() if is_component(code)}


def _checked(number: int, limit: int) -> int:
    if not 0 <= number < limit:
        raise ValueError(f"There is no code for test {number}; a pattern has less than {limit:,}.")
    return number
