"""Compile match-dependent conditions to the kernel's instructions.

What the instruction program cannot express raises :class:`NotCompilable`; the interpreter takes those conditions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from sparkcep.exec.expressions import (
    BIGINT,
    BOOLEAN,
    COMPARISONS,
    DOUBLE,
    INT,
    LABEL_COLUMN,
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
from sparkcep.exec.kernels import conditions as op
from sparkcep.exec.spec import ConditionSet


@dataclass(slots=True)
class ConditionPrograms:
    """Instruction programs of all conditions of a query and the tables they index.

    ``columns``: kernel column -> ('int' | 'float' | 'string', place). ``string_constants``: place in ``const_i`` ->
    text, filled per batch with the text's rank.
    """

    code: list[tuple[int, int, int]] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    const_i: list[int] = field(default_factory=list)
    const_f: list[float] = field(default_factory=list)
    string_constants: dict[int, str] = field(default_factory=dict)
    nav: list[tuple[int, int, int, int]] = field(default_factory=list)
    agg: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    columns: dict[int, tuple[str, int]] = field(default_factory=dict)


_INT_OPS = {"+": op.ADD_I, "-": op.SUB_I, "*": op.MUL_I, "%": op.MOD_I, "div": op.IDIV_I}
_FLOAT_OPS = {"+": op.ADD_F, "-": op.SUB_F, "*": op.MUL_F, "/": op.DIV_F, "%": op.MOD_F}
_INT_COMPARE = {
    "=": op.EQ_I, "<>": op.NE_I, "<": op.LT_I, "<=": op.LE_I, ">": op.GT_I, ">=": op.GE_I, "<=>": op.NULLSAFE_I
}  # fmt: skip
_FLOAT_COMPARE = {
    "=": op.EQ_F, "<>": op.NE_F, "<": op.LT_F, "<=": op.LE_F, ">": op.GT_F, ">=": op.GE_F, "<=>": op.NULLSAFE_F
}  # fmt: skip
MICROS_PER_DAY = 86_400_000_000
_AGGREGATES = {"sum": op.SUM, "min": op.MIN, "max": op.MAX, "count": op.COUNT, "avg": op.AVERAGE, "mean": op.AVERAGE}


class Compiler:
    """Compiles the conditions of one query into shared tables.

    Args:
        slots: what ``Load`` refers to.
        column_types: Spark types of the kernel columns.
        ansi: ANSI mode; sums then raise on overflow.
    """

    def __init__(self, slots: tuple[ConditionSlot, ...], column_types: tuple[Type, ...], ansi: bool) -> None:
        self.slots = slots
        self.column_types = column_types
        self.ansi = ansi
        self.out = ConditionPrograms()
        self.depth = 0

    def add(self, condition: Expression) -> int:
        """Compile one condition; returns its number. On NotCompilable nothing is left behind that matters."""
        mark = len(self.out.code)
        try:
            kind = self.expression(condition)
            if kind.kind not in ("boolean", "null"):
                raise NotCompilable(f"a condition of type {kind.kind}")
        except NotCompilable:
            del self.out.code[mark:]
            raise
        self.out.starts.append(len(self.out.code))
        return len(self.out.starts) - 2

    def emit(self, code: int, a: int = 0, b: int = 0) -> None:
        self.out.code.append((code, a, b))

    def push(self) -> None:
        self.depth += 1
        if self.depth >= op.STACK:
            raise NotCompilable("a condition that nests too deeply")

    def column(self, index: int) -> tuple[str, int]:
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

    def expression(self, node: Expression) -> Type:
        if isinstance(node, Constant):
            return self.constant(node)
        if isinstance(node, Load):
            return self.load(self.slots[node.slot])
        if isinstance(node, Call):
            return self.call(node)
        raise NotCompilable("a value of the row inside an aggregate")

    def constant(self, node: Constant) -> Type:
        self.push()
        value, kind = node.value, node.type
        if value is None:
            self.emit(op.NULL)
        elif kind.kind in ("double",):
            self.emit(op.CONST_F, len(self.out.const_f))
            self.out.const_f.append(float(value))
        elif kind.kind in ("int", "boolean"):
            self.emit(op.CONST_I, len(self.out.const_i))
            self.out.const_i.append(int(value))
        elif kind.kind == "string":
            self.emit(op.CONST_I, len(self.out.const_i))
            self.out.string_constants[len(self.out.const_i)] = value
            self.out.const_i.append(0)
        elif kind.kind == "decimal":
            self.emit(op.CONST_I, len(self.out.const_i))
            scaled = int(Decimal(value).scaleb(kind.scale))
            if abs(scaled) >= 10**18:
                raise NotCompilable("a large decimal")
            self.out.const_i.append(scaled)
        else:
            raise NotCompilable(f"a constant of type {kind.kind}")
        return kind

    def load(self, slot: ConditionSlot) -> Type:
        self.push()
        if isinstance(slot, NumberSlot):
            self.emit(op.MATCH_NUMBER)
            return BIGINT
        if isinstance(slot, NavigationSlot):
            if slot.argument is not None or slot.column == LABEL_COLUMN:
                raise NotCompilable("CLASSIFIER or MATCH_NUMBER inside navigation")
            store, place = self.column(slot.column)
            row = (slot.register, int(slot.from_first), slot.logical, slot.physical)
            if row not in self.out.nav:
                self.out.nav.append(row)
            self.emit(op.LOAD_F if store == "float" else op.LOAD_I, self.out.nav.index(row), place)
            return self.column_types[slot.column]
        return self.aggregate(slot)

    def aggregate(self, slot: AggregateSlot) -> Type:
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
        row = (kind, slot.register, column, is_float, int(self.ansi))
        if row not in self.out.agg:
            self.out.agg.append(row)
        place = self.out.agg.index(row)
        if slot.function == "count":
            self.emit(op.AGG_COUNT, place)
            return BIGINT
        self.emit(op.AGG_F if is_float or kind == op.AVERAGE else op.AGG_I, place)
        if kind == op.AVERAGE:
            self.push()
            self.emit(op.AGG_COUNT, place)
            self.emit(op.TO_FLOAT)
            # A count of zero comes with a NULL sum, and NULL / 0 is NULL.
            self.emit(op.DIV_F)
            self.depth -= 1
            return DOUBLE
        if slot.function == "sum":
            return BIGINT if type_.kind == "int" else DOUBLE
        return type_

    def call(self, node: Call) -> Type:
        name, arguments = node.name, node.arguments
        if name in ("and", "or"):
            self.expression(arguments[0])
            place = len(self.out.code)
            self.emit(0)
            self.expression(arguments[1])
            self.emit(op.AND if name == "and" else op.OR)
            self.depth -= 1
            self.out.code[place] = (
                op.SKIP_IF_FALSE if name == "and" else op.SKIP_IF_TRUE,
                len(self.out.code),
                0,
            )
            return BOOLEAN
        if name == "not":
            kind = self.expression(arguments[0])
            if kind.kind not in ("boolean", "null"):
                raise NotCompilable("NOT over a value that is not boolean")
            self.emit(op.NOT)
            return BOOLEAN
        if name == "isnull":
            self.expression(arguments[0])
            self.emit(op.IS_NULL)
            return BOOLEAN
        if name in COMPARISONS:
            return self.comparison(name, arguments[0], arguments[1])
        if name in _FLOAT_OPS or name == "div":
            return self.arithmetic(name, arguments[0], arguments[1])
        if name == "datediff":
            kinds = [self.expression(a) for a in arguments]
            if any(k.kind not in ("date", "null") for k in kinds):
                raise NotCompilable("datediff over values that are not dates")
            self.emit(op.SUB_I, 0, 32)
            self.depth -= 1
            return INT
        if name in ("negate", "abs"):
            kind = self.expression(arguments[0])
            if kind.kind in ("int", "interval"):
                self.emit(op.NEG_I if name == "negate" else op.ABS_I, 0, kind.size or 64)
            elif kind.kind == "double":
                self.emit(op.NEG_F if name == "negate" else op.ABS_F)
            else:
                raise NotCompilable(f"{name} over {kind.kind}")
            return kind
        raise NotCompilable(name)

    def operands(self, x: Expression, y: Expression, name: str, combine: bool) -> tuple[Type, Type, bool]:
        """Emit both operands, as doubles where one is a double; returns their types and whether they are doubles."""
        a = self.expression(x)
        middle = len(self.out.code)
        b = self.expression(y)
        floats = False
        if (a.is_numeric or a.kind == "null") and (b.is_numeric or b.kind == "null"):
            floats = "double" in (a.kind, b.kind) or (combine and name == "/" and a.kind == b.kind == "int")
        if "float" in (a.kind, b.kind) and not (a.kind == b.kind and not combine):
            floats = True
            if combine and a.kind == b.kind:
                raise NotCompilable("arithmetic over float")
        if a.kind == b.kind == "float":
            floats = True
        if floats:
            for kind, node in ((a, x), (b, y)):
                if kind.kind == "decimal" and not isinstance(node, Constant):
                    raise NotCompilable("a decimal with a double")
            if a.kind != "null" and b.kind != "null":
                tail = self.out.code[middle:]
                del self.out.code[middle:]
                self.to_float(a, x)
                shift = len(self.out.code) - middle
                self.out.code.extend(
                    (c, t + shift if c in (op.SKIP_IF_FALSE, op.SKIP_IF_TRUE) else t, u) for c, t, u in tail
                )
                self.to_float(b, y)
        return a, b, floats

    def date_and_days(self, name: str, first: Type) -> Type:
        """A date (days) with an interval (microseconds) of whole days on the stack."""
        if first.kind != "date":
            raise NotCompilable("interval + date; write the date first")
        self.push()
        self.emit(op.CONST_I, len(self.out.const_i))
        self.out.const_i.append(MICROS_PER_DAY)
        self.emit(op.IDIV_I, 0, 64)
        self.emit(_INT_OPS[name], 0, 32)
        self.depth -= 2
        return Type("date")

    def to_float(self, kind: Type, node: Expression) -> None:
        if kind.kind == "int":
            self.emit(op.TO_FLOAT)
        elif kind.kind == "decimal":
            assert isinstance(node, Constant)
            self.out.code.pop()  # the scaled integer just emitted
            self.emit(op.CONST_F, len(self.out.const_f))
            self.out.const_f.append(float(node.value))

    def comparison(self, name: str, x: Expression, y: Expression) -> Type:
        a, b, floats = self.operands(x, y, name, combine=False)
        check_comparable(name, a, b)
        if not floats and "decimal" in (a.kind, b.kind) and (a.kind, a.scale) != (b.kind, b.scale):
            raise NotCompilable("decimals of different scales")
        if a.kind in ("array", "other") or b.kind in ("array", "other"):
            raise NotCompilable(f"{a.kind} {name} {b.kind}")
        self.emit((_FLOAT_COMPARE if floats else _INT_COMPARE)[name])
        self.depth -= 1
        return BOOLEAN

    def arithmetic(self, name: str, x: Expression, y: Expression) -> Type:
        a, b, floats = self.operands(x, y, name, combine=True)
        kind = arithmetic_type(name, a, b)
        if kind.kind == "decimal" or ("decimal" in (a.kind, b.kind) and not floats):
            raise NotCompilable("arithmetic over decimals")
        if floats:
            if name == "div":
                raise NotCompilable("div over doubles")
            self.emit(_FLOAT_OPS[name])
        else:
            if kind.kind == "date":
                return self.date_and_days(name, a)
            self.emit(_INT_OPS[name], 0, kind.size or 64)
            if a.kind == b.kind == "date":
                self.push()
                self.emit(op.CONST_I, len(self.out.const_i))
                self.out.const_i.append(MICROS_PER_DAY)
                self.emit(op.MUL_I, 0, 64)
                self.depth -= 1
        self.depth -= 1
        return kind


def compile_conditions(conditions: ConditionSet, ansi: bool) -> ConditionPrograms:
    """Instruction programs of all conditions, in the order of the mapping.

    Raises:
        NotCompilable: some condition needs the interpreter.
    """
    compiler = Compiler(conditions.slots, conditions.column_types, ansi)
    for condition in conditions.conditions.values():
        compiler.add(condition)
    return compiler.out
