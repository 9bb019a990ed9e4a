"""Functions of conditions, whatever arguments they are written with: typed, or refused by name."""

from __future__ import annotations

import itertools

import pytest

from sparkcep.exec.conditions.compiler import EMITTERS
from sparkcep.expr.aggregates import FOLDS
from sparkcep.expr.functions import FUNCTIONS, WRITTEN
from sparkcep.expr.nodes import AggregateSlot, Call, ConditionSlot, Constant, Expression, Load, RowValue
from sparkcep.expr.types import BIGINT, INT, NULL, STRING, NotCompilable, Type
from sparkcep.expr.typing_pass import Typing

KINDS = (
    INT, BIGINT, Type("decimal", 9, 2), Type("double"), STRING, Type("date"), Type("interval"), NULL,
    Type("array", element=INT), Type("map", key=STRING, element=INT), Type("other", name="binary"),
)  # fmt: skip
#: Places of columns, none to four of them.
ARGUMENTS = [
    *itertools.chain(*(itertools.product(range(len(KINDS)), repeat=n) for n in range(3))),
    *((k,) * n for k in range(len(KINDS)) for n in (3, 4)),
]


def typed(node: Expression, *slots: ConditionSlot, ansi: bool) -> bool:
    """Whether an expression is typed and not refused."""
    try:
        Typing(slots, KINDS, ansi).typed(node)
    except NotCompilable:
        return False
    return True


@pytest.mark.parametrize("name", sorted(set(WRITTEN.values())))
def test_functions(name: str) -> None:
    calls = [Call(name, tuple(map(RowValue, places))) for places in ARGUMENTS]
    calls.append(Call(name, (RowValue(3), Constant(2, INT))))
    found = [typed(call, ansi=ansi) for call in calls for ansi in (True, False)]
    lambdas = name not in FUNCTIONS and name != "array_sort"
    assert any(found) != lambdas
    assert not all(found)


@pytest.mark.parametrize("name", sorted(FOLDS))
def test_aggregates(name: str) -> None:
    found = [
        typed(Load(0), AggregateSlot(name, 0, tuple(map(RowValue, places))), ansi=ansi)
        for places in ARGUMENTS for ansi in (True, False)
    ]  # fmt: skip
    assert any(found)


def test_the_table_says_which_the_kernel_has() -> None:
    assert {function.name for function in FUNCTIONS.values() if function.in_kernel} == set(EMITTERS)
