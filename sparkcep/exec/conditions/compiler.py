"""Compile match-dependent conditions to the kernel's instructions.

What the instruction program cannot express raises :class:`NotCompilable`; the interpreter takes those conditions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

from sparkcep.exec.conditions.expressions import (
    BIGINT,
    BOOLEAN,
    COMPARISONS,
    DOUBLE,
    INT,
    LABEL_COLUMN,
    ROW_COLUMN,
    AggregateSlot,
    Call,
    ConditionSlot,
    Constant,
    Expression,
    Load,
    NavigationSlot,
    NotCompilable,
    NumberSlot,
    RowValue,
    Type,
    arithmetic_type,
    check_comparable,
)
from sparkcep.exec.engines.rows.spec import ConditionSet
from sparkcep.exec.kernels import conditions as op

#: Where a value lies: kind and two numbers, as in an instruction.
Operand: TypeAlias = tuple[int, int, int]
Instruction: TypeAlias = tuple[int, int, int, int, int, int, int, int]

_NOTHING: Operand = (op.NULL, 0, 0)
_TOP_I: Operand = (op.STACK_I, 0, 0)
_TOP_F: Operand = (op.STACK_F, 0, 0)


@dataclass(slots=True)
class Reads:
    """What the condition of one variable looks back at, beside the tested row and its neighbours.

    ``navigations``: (register, from_first, logical offset). ``aggregates``: numbers in ``ConditionPrograms.agg``;
    ``before``: those of them that are taken without the last row.
    """

    navigations: set[tuple[int, bool, int]] = field(default_factory=set)
    aggregates: set[int] = field(default_factory=set)
    before: set[int] = field(default_factory=set)


@dataclass(slots=True)
class ConditionPrograms:
    """Instructions of all conditions of a query and the tables they index.

    ``spans`` and ``reads``: variable code -> its instructions in ``code`` (in ascending order of codes), what it looks
    at. ``columns``: kernel column -> ('int' | 'float' | 'string' | 'decimal', place). ``string_constants``: place in
    ``const_i`` -> text, filled per batch with the text's rank. ``nav``: register, whether from its first row, logical
    and physical offset. ``agg``: function, register and place of the column, -1 for none. ``reads_number``: whether
    conditions read MATCH_NUMBER().
    """

    ansi: bool
    code: list[Instruction] = field(default_factory=list)
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    reads: dict[int, Reads] = field(default_factory=dict)
    const_i: list[int] = field(default_factory=list)
    const_f: list[float] = field(default_factory=list)
    string_constants: dict[int, str] = field(default_factory=dict)
    nav: list[tuple[int, int, int, int]] = field(default_factory=list)
    agg: list[tuple[int, int, int]] = field(default_factory=list)
    columns: dict[int, tuple[str, int]] = field(default_factory=dict)
    reads_number: bool = False


_INT_OPS = {"+": op.ADD_I, "-": op.SUB_I, "*": op.MUL_I, "%": op.MOD_I, "div": op.IDIV_I}
_FLOAT_OPS = {"+": op.ADD_F, "-": op.SUB_F, "*": op.MUL_F, "/": op.DIV_F, "%": op.MOD_F}
_ORDERS = {
    "=": op.EQUAL,
    "<>": op.LESS | op.GREATER,
    "<": op.LESS,
    "<=": op.LESS | op.EQUAL,
    ">": op.GREATER,
    ">=": op.GREATER | op.EQUAL,
    "<=>": op.EQUAL | op.NULLSAFE,
}
MICROS_PER_DAY = 86_400_000_000
_AGGREGATES = {"sum": op.SUM, "min": op.MIN, "max": op.MAX, "count": op.COUNT, "avg": op.AVERAGE, "mean": op.AVERAGE}


class Compiler:
    """Compiles the conditions of one query into shared tables.

    Leaves of an expression become operands of the instruction above them; only results of operations go to the stack.

    Args:
        slots: what ``Load`` refers to.
        column_types: Spark types of the kernel columns.
        registers: variable codes of each register.
        ansi: whether overflow and division by zero are errors.
        each: registers whose last row need not be the tested one.
    """

    def __init__(
        self,
        slots: tuple[ConditionSlot, ...],
        column_types: tuple[Type, ...],
        registers: tuple[frozenset[int], ...],
        ansi: bool,
        each: frozenset[int] = frozenset(),
    ) -> None:
        self.slots = slots
        self.column_types = column_types
        self.registers = registers
        self.each = each
        self.out = ConditionPrograms(ansi)
        self.depth = 0
        self.tested: frozenset[int] = frozenset()
        self.reads = Reads()

    def add(self, label: int, condition: Expression, tested: frozenset[int]) -> None:
        """Compile a condition; numbers come in ascending order. ``tested``: what the tested row may be taken as."""
        low = len(self.out.code)
        self.tested = tested
        self.reads = self.out.reads[label] = Reads()
        for conjunct in _conjuncts(condition):
            if isinstance(conjunct, Call) and conjunct.name in COMPARISONS:
                self.comparison(conjunct.name, conjunct.arguments[0], conjunct.arguments[1], test=True)
            else:
                self.boolean(conjunct, "a condition of type {}")
                self.emit(op.TEST_TOP, pushes=-1)
        self.out.spans[label] = (low, len(self.out.code))

    def emit(
        self, code: int, argument: int = 0, x: Operand = _NOTHING, y: Operand = _NOTHING, *, pushes: int = 0
    ) -> None:
        """Append an instruction; ``pushes``: by how much the stack grows beyond what the operands take off."""
        self.out.code.append((code, argument, *x, *y))
        self.depth += pushes - sum(operand[0] <= op.STACK_F for operand in (x, y))
        if self.depth >= op.STACK:
            raise NotCompilable("a condition that nests too deeply")

    def on_stack(self, node: Expression) -> Type:
        """Emit an expression with its value on the stack."""
        kind, operand = self.expression(node)
        if operand[0] > op.STACK_F:
            self.emit(op.LOAD, 0, operand, pushes=1)
        return kind

    def boolean(self, node: Expression, refusal: str) -> None:
        """Emit a truth value, as 0, 1 or NULL on the stack.

        ``refusal``: what the error says, with ``{}`` for the type that is there instead.

        Raises:
            NotCompilable: the type is neither boolean nor NULL.
        """
        kind = self.on_stack(node)
        if kind.kind not in ("boolean", "null"):
            raise NotCompilable(refusal.format(kind.kind))

    def column(self, index: int) -> tuple[str, int]:
        """How a kernel column is stored and its place among those of int64, or of float64.

        Raises:
            NotCompilable: a type that fits neither, such as a decimal of more than 18 digits.
        """
        if index == ROW_COLUMN and index not in self.out.columns:
            self.out.columns[index] = ("int", sum(s != "float" for s, _ in self.out.columns.values()))
        if index not in self.out.columns:
            kind = self.column_types[index].kind
            if self.column_types[index].is_integer_like:
                store = "int"
            elif kind in ("double", "float"):
                store = "float"
            elif kind == "string":
                store = "string"
            elif kind == "decimal" and self.column_types[index].size <= 18:
                store = "decimal"
            else:
                raise NotCompilable(f"a column of type {kind}")
            floats = store == "float"
            place = sum((s == "float") == floats for s, _ in self.out.columns.values())
            self.out.columns[index] = (store, place)
        return self.out.columns[index]

    def expression(self, node: Expression) -> tuple[Type, Operand]:
        """Where an expression's value lies, after emitting what it takes to compute it."""
        if isinstance(node, Constant):
            return node.type, self.constant(node)
        if isinstance(node, Load):
            return self.load(self.slots[node.slot])
        if isinstance(node, Call):
            kind = self.call(node)
            return kind, _TOP_F if kind.kind in ("double", "float") else _TOP_I
        raise NotCompilable("a value of the row inside an aggregate")

    def constant(self, node: Constant) -> Operand:
        """A place in the table of constants.

        Decimals are scaled to integers, a string is a rank that each batch fills in.

        Raises:
            NotCompilable: a decimal of more than 18 digits, or a type without a representation.
        """
        value, kind = node.value, node.type
        if value is None:
            return _NOTHING
        if kind.kind == "double":
            return self.float_constant(float(value))
        if kind.kind in ("int", "boolean"):
            return self.int_constant(int(value))
        if kind.kind == "string":
            self.out.string_constants[len(self.out.const_i)] = value
            return self.int_constant(0)
        if kind.kind == "decimal":
            scaled = int(Decimal(value).scaleb(kind.scale))
            if abs(scaled) >= 10**18:
                raise NotCompilable("a large decimal")
            return self.int_constant(scaled)
        raise NotCompilable(f"a constant of type {kind.kind}")

    def int_constant(self, value: int) -> Operand:
        """A new place in ``const_i``; equal constants are not shared."""
        self.out.const_i.append(value)
        return op.CONST_I, len(self.out.const_i) - 1, 0

    def float_constant(self, value: float) -> Operand:
        """A new place in ``const_f``; equal constants are not shared."""
        self.out.const_f.append(value)
        return op.CONST_F, len(self.out.const_f) - 1, 0

    def load(self, slot: ConditionSlot) -> tuple[Type, Operand]:
        """The operand that reads a slot, and its type; notes what the condition looks back at (``reads``).

        Raises:
            NotCompilable: CLASSIFIER or MATCH_NUMBER inside navigation, a column that the kernel cannot hold.
        """
        if isinstance(slot, NumberSlot):
            self.out.reads_number = True
            return BIGINT, (op.MATCH_NUMBER, 0, 0)
        if isinstance(slot, NavigationSlot):
            if slot.argument is not None or slot.column == LABEL_COLUMN:
                raise NotCompilable("CLASSIFIER or MATCH_NUMBER inside navigation")
            store, place = self.column(slot.column)
            is_float = int(store == "float")
            kind = self.column_types[slot.column] if slot.column != ROW_COLUMN else BIGINT
            of_tested = self.tested and self.tested <= self.registers[slot.register] and slot.register not in self.each
            if not slot.from_first and slot.logical == 0 and of_tested:
                return kind, (op.ROW_I + is_float, slot.physical, place)  # the last of its rows is the tested one
            self.reads.navigations.add((slot.register, slot.from_first, slot.logical))
            row = (slot.register, int(slot.from_first), slot.logical, slot.physical)
            if row not in self.out.nav:
                self.out.nav.append(row)
            return kind, (op.NAVIGATED_I + is_float, self.out.nav.index(row), place)
        return self.aggregate(slot)

    def aggregate(self, slot: AggregateSlot) -> tuple[Type, Operand]:
        """The operand that reads a running aggregate of a register, and its type; equal aggregates are kept once.

        Raises:
            NotCompilable: DISTINCT, FILTER, a function or an argument that the kernel does not keep.
        """
        if slot.function not in _AGGREGATES or slot.distinct or slot.filter is not None or len(slot.arguments) > 1:
            raise NotCompilable(f"{slot.function}(...) of this form")
        kind = _AGGREGATES[slot.function]
        column, is_float, type_ = -1, 0, BIGINT
        if slot.arguments:
            argument = slot.arguments[0]
            if isinstance(argument, Constant) and argument.value is not None and slot.function == "count":
                pass
            elif isinstance(argument, RowValue) and argument.column != LABEL_COLUMN:
                type_ = self.column_types[argument.column]
                store, column = self.column(argument.column)
                is_float = int(store == "float")
                if slot.function in ("sum", "avg", "mean") and type_.kind not in ("int", "double"):
                    raise NotCompilable(f"{slot.function} over {type_.kind}")
            else:
                raise NotCompilable(f"{slot.function} over an expression of the match")
        row = (kind + is_float, slot.register, column)
        if row not in self.out.agg:
            self.out.agg.append(row)
        place = self.out.agg.index(row)
        self.reads.aggregates.add(place)
        if slot.before:
            self.reads.before.add(place)
        without = int(slot.before)
        if kind == op.COUNT:
            return BIGINT, (op.COUNT_OF, place, without)
        if kind == op.AVERAGE:
            return DOUBLE, (op.AVERAGE_OF, place, without)
        operand = (op.AGGREGATE_I + is_float, place, without)
        if kind == op.SUM:
            return BIGINT if type_.kind == "int" else DOUBLE, operand
        return type_, operand

    def call(self, node: Call) -> Type:
        """Emit an operation; its value is on the stack."""
        name, arguments = node.name, node.arguments
        if name in ("and", "or"):
            self.on_stack(arguments[0])
            place = len(self.out.code)
            self.emit(op.SKIP_IF_FALSE if name == "and" else op.SKIP_IF_TRUE)
            self.on_stack(arguments[1])
            self.emit(op.AND if name == "and" else op.OR, pushes=-1)
            skip, _, *rest = self.out.code[place]
            self.out.code[place] = (skip, len(self.out.code), *rest)  # type: ignore[assignment]
            return BOOLEAN
        if name == "not":
            self.boolean(arguments[0], "NOT over a value that is not boolean")
            self.emit(op.NOT)
            return BOOLEAN
        if name == "isnull":
            self.on_stack(arguments[0])
            self.emit(op.IS_NULL)
            return BOOLEAN
        if name in COMPARISONS:
            return self.comparison(name, arguments[0], arguments[1])
        if name in _FLOAT_OPS or name == "div":
            return self.arithmetic(name, arguments[0], arguments[1])
        if name == "datediff":
            (a, x), (b, y) = self.expression(arguments[0]), self.expression(arguments[1])
            if any(k.kind not in ("date", "null") for k in (a, b)):
                raise NotCompilable("datediff over values that are not dates")
            self.emit(op.SUB_I, 32, x, y, pushes=1)
            return INT
        if name in ("negate", "abs"):
            kind = self.on_stack(arguments[0])
            if kind.kind in ("int", "interval"):
                self.emit(op.NEG_I if name == "negate" else op.ABS_I, kind.size or 64)
            elif kind.kind == "double":
                self.emit(op.NEG_F if name == "negate" else op.ABS_F)
            else:
                raise NotCompilable(f"{name} over {kind.kind}")
            return kind
        raise NotCompilable(name)

    def operands(
        self, left: Expression, right: Expression, name: str, combine: bool
    ) -> tuple[Type, Type, Operand, Operand, bool]:
        """Types and places of both operands, and whether they are to be taken as doubles."""
        a, x = self.expression(left)
        b, y = self.expression(right)
        floats = False
        if (a.is_numeric or a.kind == "null") and (b.is_numeric or b.kind == "null"):
            floats = "double" in (a.kind, b.kind) or (combine and name == "/" and {a.kind, b.kind} <= {"int", "null"})
        if "float" in (a.kind, b.kind) and not (a.kind == b.kind and not combine):
            floats = True
            if combine and a.kind == b.kind:
                raise NotCompilable("arithmetic over float")
        if a.kind == b.kind == "float":
            floats = True
        if floats:
            x, y = self.as_double(a, left, x), self.as_double(b, right, y)
        return a, b, x, y, floats

    def as_double(self, kind: Type, node: Expression, operand: Operand) -> Operand:
        """Instructions over doubles convert integers themselves; a decimal constant becomes a double here."""
        if kind.kind != "decimal":
            return operand
        if not isinstance(node, Constant):
            raise NotCompilable("a decimal with a double")
        return operand if node.value is None else self.float_constant(float(node.value))

    def comparison(self, name: str, left: Expression, right: Expression, test: bool = False) -> Type:
        """Emit a comparison.

        ``test``: it is a whole conjunct, so a row fails at once and nothing goes to the stack.

        Raises:
            NotCompilable: decimals of different scales, arrays and other types.
        """
        a, b, x, y, floats = self.operands(left, right, name, combine=False)
        check_comparable(name, a, b, self.out.ansi)
        if not floats and "decimal" in (a.kind, b.kind) and (a.kind, a.scale) != (b.kind, b.scale):
            raise NotCompilable("decimals of different scales")
        if a.kind in ("array", "other") or b.kind in ("array", "other"):
            raise NotCompilable(f"{a.kind} {name} {b.kind}")
        argument = _ORDERS[name] | (op.TEST if test else 0)
        self.emit(op.COMPARE_F if floats else op.COMPARE_I, argument, x, y, pushes=0 if test else 1)
        return BOOLEAN

    def arithmetic(self, name: str, left: Expression, right: Expression) -> Type:
        """Emit + - * / % or div with Spark's result type; dates and intervals count in microseconds.

        Raises:
            NotCompilable: over decimals, `div` over doubles.
        """
        a, b, x, y, floats = self.operands(left, right, name, combine=True)
        kind = arithmetic_type(name, a, b, self.out.ansi)
        if kind.kind == "decimal" or ("decimal" in (a.kind, b.kind) and not floats):
            raise NotCompilable("arithmetic over decimals")
        if floats:
            if name == "div":
                raise NotCompilable("div over doubles")
            self.emit(_FLOAT_OPS[name], 0, x, y, pushes=1)
            return kind
        if kind.kind == "date":  # days plus microseconds of whole days
            if a.kind != "date":
                raise NotCompilable("interval + date; write the date first")
            self.emit(op.IDIV_I, 64, y, self.int_constant(MICROS_PER_DAY), pushes=1)
            self.emit(_INT_OPS[name], 32, x, _TOP_I, pushes=1)
            return kind
        self.emit(_INT_OPS[name], kind.size or 64, x, y, pushes=1)
        if a.kind == b.kind == "date":
            self.emit(op.MUL_I, 64, _TOP_I, self.int_constant(MICROS_PER_DAY), pushes=1)
        return kind


def _conjuncts(condition: Expression) -> list[Expression]:
    """The operands of AND at the top, in order: they are tested one by one."""
    out, stack = [], [condition]
    while stack:
        node = stack.pop()
        if isinstance(node, Call) and node.name == "and":
            stack.extend(reversed(node.arguments))
        else:
            out.append(node)
    return out


def compile_conditions(conditions: ConditionSet, ansi: bool) -> ConditionPrograms:
    """Instructions of all conditions.

    Raises:
        NotCompilable: some condition needs the interpreter.
    """
    compiler = Compiler(conditions.slots, conditions.column_types, conditions.registers, ansi, conditions.each)
    for label, condition in sorted(conditions.conditions.items()):
        compiler.add(label, condition, conditions.tested[label] if conditions.tested else frozenset([label]))
    return compiler.out
