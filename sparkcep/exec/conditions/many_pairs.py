"""Tests of two rows of a match, evaluated over many pairs of rows at once.

One evaluation for a kernel costs a call into Python and as many calls as the test has nodes. Here each node is
evaluated once over columns of values, so that a pair costs little more than its functions. Everything is evaluated,
also what AND, OR and CASE would leave out: where that fails, the pairs have to be evaluated one by one
(exec/conditions/interpreter.py), which tells whether there is an error.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from sparkcep.exec.conditions.expressions import (
    BIGINT,
    BOOLEAN,
    LABEL_COLUMN,
    ROW_COLUMN,
    Call,
    ConditionSlot,
    Constant,
    Expression,
    Load,
    NavigationSlot,
    RowValue,
    Type,
    loads,
)
from sparkcep.exec.conditions.interpreter import Interpreter, MatchState, constant
from sparkcep.exec.conditions.lambdas import LAMBDA, WITH_LAMBDAS, free_parameters
from sparkcep.exec.engines.rows.spec import ConditionSet

#: Which row a slot points at: register, whether from its first row, logical and physical offset.
Place: TypeAlias = tuple[int, int, int, int]
#: Operators that compare as Spark does: texts, times and whole numbers of one type.
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of rows. The n-th one is of the rows ``first[0] + n * moves[0]`` and ``first[1] + n * moves[1]``.

    ``columns``: values of the batch; ``base``: the partition's first row in them; ``skipped``: rows of the partition
    that came before those of the batch. ``moves``: 0 or 1 each.
    """

    columns: Sequence[Sequence[Any]]
    base: int
    skipped: int
    first: tuple[int, int]
    moves: tuple[int, int]
    count: int

    def column(self, column: int, side: int) -> Sequence[Any]:
        """A column's value at one of the rows of each pair."""
        first = self.first[side]
        if column == ROW_COLUMN:
            first += self.skipped
            return range(first, first + self.count) if self.moves[side] else [first] * self.count
        values, at = self.columns[column], self.base + first
        return values[at : at + self.count] if self.moves[side] else [values[at]] * self.count


#: Evaluates a node over pairs: a value, or None, for each.
_Columnwise: TypeAlias = Callable[[Pairs], Sequence[Any]]


def places_of(test: Expression, slots: Sequence[ConditionSlot]) -> tuple[Place, Place] | None:
    """The two rows that a test looks at (twice the same where it is one); None where it looks at anything else."""
    found: dict[Place, None] = {}
    for slot in (slots[number] for number in loads(test)):
        if not isinstance(slot, NavigationSlot) or slot.argument is not None or slot.column == LABEL_COLUMN:
            return None
        found[place_of(slot)] = None
    if not 0 < len(found) <= 2:
        return None
    first, *rest = found
    return first, rest[0] if rest else first


def place_of(slot: NavigationSlot) -> Place:
    """The row that a slot points at."""
    return slot.register, int(slot.from_first), slot.logical, slot.physical


class PairTest:
    """A test of two rows, whose places are those of :func:`places_of`.

    Raises:
        NotCompilable: the interpreter lacks it, too.
    """

    def __init__(self, test: Expression, places: tuple[Place, Place], conditions: ConditionSet, ansi: bool) -> None:
        self.places = places
        self.slots = conditions.slots
        self.column_types = conditions.column_types
        self.ansi = ansi
        self.evaluate, _ = self.prepare(test)

    def prepare(self, node: Expression) -> tuple[_Columnwise, Type]:
        """A node's values over pairs, and its type."""
        if isinstance(node, Constant):
            value = node.value
            return (lambda pairs: [value] * pairs.count), node.type
        if isinstance(node, Load):
            slot = self.slots[node.slot]
            assert isinstance(slot, NavigationSlot)
            column, side = slot.column, self.places.index(place_of(slot))
            kind = BIGINT if column == ROW_COLUMN else self.column_types[column]
            return (lambda pairs: pairs.column(column, side)), kind
        assert isinstance(node, Call)
        return self.with_lambdas(node) if node.name in WITH_LAMBDAS else self.call(node)

    def with_lambdas(self, node: Call) -> tuple[_Columnwise, Type]:
        """As :meth:`prepare`, of a function that takes lambdas: what they read of the rows is evaluated before."""
        read: list[Expression] = []
        one = self.without_loads(node, read)
        prepared = [self.prepare(a) for a in read]
        of = [self.once(a, p[0]) for a, p in zip(read, prepared, strict=True)]
        evaluate, kind = Interpreter((), tuple(p[1] for p in prepared), self.ansi).prepare(one)

        def one_by_one(pairs: Pairs) -> Sequence[Any]:
            state = MatchState([f(pairs) for f in of], 0, pairs.count)
            return [evaluate(state, n) for n in range(pairs.count)]

        return one_by_one, kind

    def without_loads(self, node: Expression, read: list[Expression]) -> Expression:
        """A tree with its largest parts that no parameter is in as columns, which ``read`` collects."""
        if isinstance(node, Constant):
            return node
        is_lambda = isinstance(node, Call) and (node.name == LAMBDA or node.name in WITH_LAMBDAS)
        if not is_lambda and not free_parameters(node):
            if node not in read:
                read.append(node)
            return RowValue(read.index(node))
        assert isinstance(node, Call)
        return replace(node, arguments=tuple(self.without_loads(a, read) for a in node.arguments))

    def call(self, node: Call) -> tuple[_Columnwise, Type]:
        """As :meth:`prepare`, of an operator or a function."""
        prepared = [self.prepare(a) for a in node.arguments]
        of, kinds = [p[0] for p in prepared], [p[1] for p in prepared]
        sides = {self.side(a) for a in node.arguments}
        if len(sides) > 1 or None in sides:
            of = [self.once(a, f) for a, f in zip(node.arguments, of, strict=True)]
        if node.name in ("and", "or"):
            return _logic(node.name == "or", *of), BOOLEAN
        if node.name == "not":
            return _of_one(operator.not_, *of), BOOLEAN
        if node.name in _COMPARISONS and _has_python_order(kinds):
            return _of_two(_COMPARISONS[node.name], *of), BOOLEAN
        # By the interpreter, over arguments that are columns of their own.
        inputs = [
            a if isinstance(a, Constant) or constant(a) is not None else RowValue(k)
            for k, a in enumerate(node.arguments)
        ]
        interpreter = Interpreter((), tuple(kinds), self.ansi)
        one = replace(node, arguments=tuple(inputs))
        evaluate, kind = interpreter.prepare(one)
        if (found := interpreter.strict_function(one, kinds)) is not None:
            return _applied(found[0], of), kind

        def one_by_one(pairs: Pairs) -> Sequence[Any]:
            state = MatchState([f(pairs) for f in of], 0, pairs.count)
            return [evaluate(state, n) for n in range(pairs.count)]

        return one_by_one, kind

    def side(self, node: Expression) -> int | None:
        """The one row that a node looks at; None where there are two, or none."""
        slots = (self.slots[number] for number in loads(node))
        found = {self.places.index(place_of(slot)) for slot in slots if isinstance(slot, NavigationSlot)}
        return found.pop() if len(found) == 1 else None

    def once(self, node: Expression, of: _Columnwise) -> _Columnwise:
        """A node's values, of which there is one while the row that it looks at stays."""
        side = self.side(node)
        if side is None or not isinstance(node, Call):
            return of

        def evaluate(pairs: Pairs) -> Sequence[Any]:
            return of(pairs) if pairs.moves[side] else [of(replace(pairs, count=1))[0]] * pairs.count

        return evaluate


def _has_python_order(kinds: Sequence[Type]) -> bool:
    a, b = kinds
    return a.kind == b.kind and (a.kind == "string" or a.is_integer_like)


def _logic(decisive: bool, x: _Columnwise, y: _Columnwise) -> _Columnwise:
    """AND and OR in three values."""

    def evaluate(pairs: Pairs) -> Sequence[Any]:
        return [
            decisive
            if a is decisive or b is decisive
            else None
            if a is None or b is None
            else not decisive
            for a, b in zip(x(pairs), y(pairs), strict=True)
        ]  # fmt: skip

    return evaluate


def _applied(function: Callable[..., Any], of: Sequence[_Columnwise]) -> _Columnwise:
    """A function that is NULL where an argument is."""
    if len(of) == 2:
        return _of_two(function, *of)
    if len(of) == 1:
        return _of_one(function, *of)

    def evaluate(pairs: Pairs) -> Sequence[Any]:
        rows = zip(*(f(pairs) for f in of), strict=True)
        return [None if any(v is None for v in row) else function(*row) for row in rows]

    return evaluate


def _of_one(function: Callable[[Any], Any], of: _Columnwise) -> _Columnwise:
    return lambda pairs: [None if v is None else function(v) for v in of(pairs)]


def _of_two(function: Callable[[Any, Any], Any], x: _Columnwise, y: _Columnwise) -> _Columnwise:
    return lambda pairs: [
        None if a is None or b is None else function(a, b) for a, b in zip(x(pairs), y(pairs), strict=True)
    ]
