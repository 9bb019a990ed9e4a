"""Value consistency of conditions (SASE++, section 4): what stays true of an event when others are left out.

Under SKIP TILL ANY MATCH a Kleene variable's matches are subsets of its candidates. A condition is true-consistent if
it is true for a subset of earlier events whenever it is for all of them, false-consistent likewise.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

from sparkcep.exec.engines.runs.spec import Span
from sparkcep.exec.kernels.conditions.codes import EQUAL, GREATER, LESS
from sparkcep.query import Aggregate, Condition, Navigation, Slot, TestedAt

_ORDERS = {"<": LESS, "<=": LESS | EQUAL, ">": GREATER, ">=": GREATER | EQUAL, "=": EQUAL}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


class Consistency(enum.Enum):
    """The four classes of section 4.2."""

    BOTH = "true-and-false-consistent"
    TRUE = "true-consistent"
    FALSE = "false-consistent"
    NONE = "inconsistent"


def is_consistent(condition: Condition, first: str) -> bool:
    """Whether a condition has one outcome for an event, given the first event of the match."""
    if condition.at is not TestedAt.TAKE or condition.each or condition.after or condition.minimum > 1:
        return False
    if condition.first_only or any(set(r) != {first} for r in condition.required):
        return False
    for slot in condition.scalar.slots:
        if not isinstance(slot, Navigation) or slot.physical or slot.logical:
            return False
        own = slot.variables == condition.decided_by and not slot.from_first
        if not own and slot.variables != (first,):
            return False
    return True


def with_earlier(condition: Condition) -> tuple[Navigation, str, Slot] | None:
    """`x op f`: the tested event's value, the operator, and what of the same variable's earlier events it is
    compared with; None for any other condition."""
    c = condition
    plain = c.at is TestedAt.TAKE and not c.required and not c.first_only and not c.after and not c.each
    pieces = [p for p in c.scalar.pieces if not isinstance(p, str) or p.strip()]
    if not plain or c.minimum != 2 or len(pieces) != 3 or not isinstance(pieces[1], str):
        return None
    left, operator, right = pieces[0], pieces[1].strip(), pieces[2]
    if operator not in _ORDERS or isinstance(left, str) or isinstance(right, str):
        return None
    if _is_tested(left, c) and _is_earlier(right, left, c):
        assert isinstance(left, Navigation)
        return left, operator, right
    if _is_tested(right, c) and _is_earlier(left, right, c):
        assert isinstance(right, Navigation)
        return right, _FLIPPED[operator], left
    return None


def _is_tested(slot: Slot, c: Condition) -> bool:
    if not isinstance(slot, Navigation) or slot.argument.markers:
        return False
    return slot.variables == c.decided_by and not (slot.from_first or slot.logical or slot.physical)


def _is_earlier(slot: Slot, tested: Slot, c: Condition) -> bool:
    assert isinstance(tested, Navigation)
    if isinstance(slot, Aggregate):
        plain = not (slot.star or slot.distinct or slot.filter) and slot.arguments == (tested.argument,)
        return plain and slot.before and slot.function in ("min", "max") and slot.variables == c.decided_by
    if not isinstance(slot, Navigation) or slot.argument != tested.argument or slot.physical:
        return False
    return slot.variables == c.decided_by and (slot.logical == 1) != (slot.from_first and slot.logical == 0)


def consistency(condition: Condition, first: str) -> Consistency:
    """The class of a condition; ``first``: the component that every match begins with, if there is one."""
    if is_consistent(condition, first):
        return Consistency.BOTH
    found = with_earlier(condition)
    if found is not None and isinstance(found[2], Aggregate) and found[1] != "=":
        upwards = found[1] in (">", ">=")
        return Consistency.TRUE if upwards == (found[2].function == "max") else Consistency.FALSE
    return Consistency.NONE


def span_of(condition: Condition, column: Callable[[str], int]) -> Span | None:
    """How a condition is tested before matches are enumerated; ``column``: where a value is loaded."""
    found = with_earlier(condition)
    return None if found is None else Span(_ORDERS[found[1]], column(found[0].argument.text))
