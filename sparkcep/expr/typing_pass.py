"""One pass that types a tree: widening, functions by the types of their arguments, and what conditions lack.

Whoever needs a type asks here; whoever evaluates conditions in Python (exec/conditions/columns.py) goes by the form.
"""

from __future__ import annotations

from collections.abc import Sequence

from sparkcep.expr.aggregates import aggregate_fold, own_fold
from sparkcep.expr.coercion import check_comparable
from sparkcep.expr.functions import FUNCTIONS
from sparkcep.expr.functions.lambdas import PARAMETER, WITH_LAMBDAS, lambdas_of, parameter_types, result_type
from sparkcep.expr.nodes import (
    LABEL_COLUMN,
    ROW_COLUMN,
    Call,
    ConditionSlot,
    Constant,
    CurrentNumber,
    Expression,
    Load,
    NavigationSlot,
    NumberSlot,
    RowValue,
)
from sparkcep.expr.numbers import Numbers
from sparkcep.expr.typed import Form, Typed
from sparkcep.expr.types import BIGINT, NULL, STRING, NotCompilable, Type


class Typing:
    """Types trees.

    Args:
        slots: what ``Load`` refers to.
        column_types: Spark types of the kernel columns.
        ansi: whether overflow and division by zero are errors (else NULL, or wrapped).
    """

    def __init__(self, slots: Sequence[ConditionSlot], column_types: Sequence[Type], ansi: bool) -> None:
        self.slots = slots
        self.column_types = column_types
        self.numbers = Numbers(ansi)
        self.parameter_types: dict[int, Type] = {}

    def condition(self, node: Expression) -> Typed:
        """A tree whose value is a truth value.

        Raises:
            NotCompilable: what conditions cannot do at all, named.
        """
        found = self.typed(node)
        if found.type.kind not in ("boolean", "null"):
            raise NotCompilable(f"a condition of type {found.type.shown}")
        return found

    def typed(self, node: Expression) -> Typed:
        """A tree.

        Raises:
            NotCompilable: what no condition can do, named.
        """
        if isinstance(node, Constant):
            return Typed(Form.CONSTANT, node.type, value=node.value)
        if isinstance(node, RowValue):
            return Typed(Form.COLUMN, self.type_of_column(node.column), number=node.column)
        if isinstance(node, CurrentNumber):
            return Typed(Form.NUMBER, BIGINT)
        if isinstance(node, Load):
            return self.slot(node)
        return self.call(node)

    def type_of_column(self, index: int) -> Type:
        """The type of a kernel column, of a row's number, or of its label."""
        return {ROW_COLUMN: BIGINT, LABEL_COLUMN: STRING}.get(index) or self.column_types[index]

    def slot(self, node: Load) -> Typed:
        """A navigation, an aggregate or MATCH_NUMBER; NULL for rows outside of the partition."""
        slot = self.slots[node.slot]
        if isinstance(slot, NumberSlot):
            return Typed(Form.NUMBER, BIGINT)
        if isinstance(slot, NavigationSlot):
            value = self.typed(slot.argument or RowValue(slot.column))
            return Typed(Form.NAVIGATION, value.type, (value,), slot=slot)
        arguments = tuple(map(self.typed, slot.arguments))
        kinds = [a.type for a in arguments]
        keep = () if slot.filter is None else (self.typed(slot.filter),)
        if slot.own_aggregate is not None:
            fold = own_fold(slot.own_aggregate, kinds)
        else:
            fold = aggregate_fold(slot.function, kinds, self.numbers.ansi)
        if slot.distinct and any(not k.is_single for k in kinds):
            raise NotCompilable(f"{slot.function}(DISTINCT {kinds[0].shown})")
        return Typed(Form.AGGREGATE, fold.type, (*arguments, *keep), slot=slot, fold=fold)

    def call(self, node: Call) -> Typed:
        """An operator or a function.

        Raises:
            NotCompilable: a function, or types for it, that are not here.
        """
        if node.name == PARAMETER:
            (number,) = node.parameters
            return Typed(Form.PARAMETER, self.parameter_types[number], number=number)
        if node.name in WITH_LAMBDAS:
            return self.with_lambdas(node)
        of = tuple(map(self.typed, node.arguments))
        function = FUNCTIONS.get(node.name)
        found = None if function is None else function.typed(self.numbers, node, of)
        if found is None:
            raise NotCompilable(f"{node.name}({', '.join(each.type.shown for each in of)})")
        return found

    def with_lambdas(self, node: Call) -> Typed:
        """A function that takes lambdas: its values, then the lambdas' bodies."""
        found = lambdas_of(node)
        of = tuple(self.typed(a) for k, a in enumerate(node.arguments) if k not in found)
        kinds = [a.type for a in of]
        bodies: list[Typed] = []
        for k, each in found.items():
            self.parameter_types.update(zip(each.parameters, parameter_types(node, k, kinds), strict=False))
            bodies.append(self.typed(each.arguments[0]))
        kind = result_type(node.name, kinds, [b.type for b in bodies])
        if node.name == "array_sort" and not bodies:
            check_comparable("<", kinds[0].element or NULL, kinds[0].element or NULL, self.numbers.ansi)
        numbers = tuple(each.parameters for each in found.values())
        return Typed(Form.WITH_LAMBDAS, kind, (*of, *bodies), call=node, parameters=numbers)
