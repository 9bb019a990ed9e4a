"""Compile match-dependent conditions to the kernel's instructions.

What the instruction program cannot express raises :class:`NotCompilable`; the interpreter takes those conditions.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TypeAlias

from sparkcep.exec.conditions.columns import Place, place_of, places_of
from sparkcep.exec.conditions.expressions import (
    BIGINT,
    BOOLEAN,
    COMPARISONS,
    DOUBLE,
    FLOAT,
    INT,
    LABEL_COLUMN,
    ROW_COLUMN,
    STRING,
    WORD_DIGITS,
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
    as_decimal,
    average_type,
    check_comparable,
    columns_read,
    common_type,
    decimal_among,
    literal_type,
    loads,
    wider_decimal,
)
from sparkcep.exec.conditions.programs import CallsBack, ConditionPrograms, Reads
from sparkcep.exec.conditions.scalars import DECIMALS, rounded_type, whole_type
from sparkcep.exec.conditions.typed import Typing, constant
from sparkcep.exec.engines.rows.spec import ConditionSet
from sparkcep.exec.kernels import decimals
from sparkcep.exec.kernels.conditions import codes as op
from sparkcep.exec.kernels.conditions.rounding import HALF_EVEN, PLACES

#: Where a value lies: kind and two numbers, as in an instruction.
Operand: TypeAlias = tuple[int, int, int]

_NOTHING: Operand = (op.NULL, 0, 0)
_TOP_I: Operand = (op.STACK_I, 0, 0)
_TOP_F: Operand = (op.STACK_F, 0, 0)
_TOP_W: Operand = (op.STACK_W, 0, 0)


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
_DECIMAL_OPS = {
    "+": decimals.ADD, "-": decimals.SUBTRACT, "*": decimals.MULTIPLY, "/": decimals.DIVIDE, "%": decimals.REMAINDER,
    "floor": decimals.FLOOR, "ceil": decimals.CEILING,
}  # fmt: skip
#: How a column of a store is loaded.
_FORMS = {"float": op.FLOAT, "wide": op.WIDE}
_WHOLES = {"floor": op.FLOOR, "ceil": op.CEILING, "cast_int": op.CUT, "cast_bigint": op.CUT}
_ROUNDINGS = {"round": 0, "bround": HALF_EVEN}
_CHOICES = ("case", "coalesce", "least", "greatest")
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
        calls_back: which conjuncts the kernel leaves to the interpreter.
        labels: whether the kernel has the names of the variables that took rows.
    """

    def __init__(
        self,
        slots: tuple[ConditionSlot, ...],
        column_types: tuple[Type, ...],
        registers: tuple[frozenset[int], ...],
        ansi: bool,
        each: frozenset[int] = frozenset(),
        calls_back: CallsBack = CallsBack.NEVER,
        labels: bool = False,
    ) -> None:
        self.slots = slots
        self.column_types = column_types
        self.registers = registers
        self.each = each
        self.calls_back = calls_back
        self.labels = labels
        self.out = ConditionPrograms(ansi)
        self.depth = 0
        self.types: dict[Expression, Type] = {}
        self.tested: frozenset[int] = frozenset()
        self.reads = Reads()

    def add(self, label: int, condition: Expression, tested: frozenset[int]) -> None:
        """Compile a condition; numbers come in ascending order. ``tested``: what the tested row may be taken as."""
        low = len(self.out.code)
        self.tested = tested
        self.reads = self.out.reads[label] = Reads()
        for conjunct in _conjuncts(condition):
            state = self.state()
            if self.calls_back is CallsBack.ALWAYS:
                self.call_back(conjunct, "")
                continue
            try:
                self.conjunct(conjunct)
            except NotCompilable as error:
                if self.calls_back is CallsBack.NEVER:
                    raise
                self.restore(state)
                self.call_back(conjunct, str(error))
        self.out.spans[label] = (low, len(self.out.code))

    def conjunct(self, node: Expression) -> None:
        """Emit a test that ends the condition where it is false."""
        if isinstance(node, Call) and node.name in COMPARISONS:
            self.comparison(node.name, node.arguments[0], node.arguments[1], test=True)
        else:
            self.boolean(node, "a condition of type {}")
            self.emit(op.TEST_TOP, pushes=-1)

    def call_back(self, node: Expression, lacking: str) -> None:
        """Emit a test that the interpreter makes. ``lacking``: what it has that the program has not.

        Raises:
            NotCompilable: it lacks something, too.
        """
        Typing(self.slots, self.column_types, self.out.ansi).condition(node)
        if LABEL_COLUMN in columns_read(node, self.slots):
            self.column(LABEL_COLUMN)
        for slot in (self.slots[number] for number in loads(node)):
            if isinstance(slot, NavigationSlot):
                self.reads.navigations.add((slot.register, slot.from_first, slot.logical))
            elif isinstance(slot, AggregateSlot):
                self.reads.everything.add(slot.register)
            else:
                self.out.reads_number = True
        self.out.external.append(node)
        self.out.lacking.append(lacking)
        operands = [(op.NAVIGATED_I, self.navigation(place), 0) for place in places_of(node, self.slots) or ()]
        self.emit(op.EXTERNAL, len(self.out.external) - 1, *operands, pushes=1)
        self.emit(op.TEST_TOP, pushes=-1)

    def state(self) -> tuple[int, ...]:
        """What has been emitted, to go back to; columns and aggregates stay, which nothing then reads."""
        return len(self.out.code), self.depth, len(self.out.const_i), len(self.out.const_f)

    def restore(self, state: tuple[int, ...]) -> None:
        """Forget what was emitted since."""
        code, self.depth, ints, floats = state
        del self.out.code[code:], self.out.const_i[ints:], self.out.const_f[floats:]
        for place in [place for place in self.out.string_constants if place >= ints]:
            del self.out.string_constants[place]

    def emit(
        self, code: int, argument: int = 0, x: Operand = _NOTHING, y: Operand = _NOTHING, *, pushes: int = 0
    ) -> None:
        """Append an instruction; ``pushes``: by how much the stack grows beyond what the operands take off."""
        self.out.code.append((code, argument, *x, *y))
        self.depth += pushes - sum(operand[0] <= op.STACK_W for operand in (x, y))
        if self.depth >= op.STACK:
            raise NotCompilable("a condition that nests too deeply")

    def on_stack(self, node: Expression) -> Type:
        """Emit an expression with its value on the stack."""
        kind, operand = self.expression(node)
        self.push(operand)
        return kind

    def push(self, operand: Operand) -> None:
        """Put a value on the stack, unless it is there."""
        if operand[0] > op.STACK_W:
            self.emit(op.LOAD, 0, operand, pushes=1)

    def push_as(self, node: Expression, kind: Type) -> None:
        """Put an expression on the stack in the form of a type, see :meth:`value`."""
        operand = self.value(node, kind)
        if operand == _TOP_I and (kind.kind == "double" or kind.is_wide):
            self.emit(op.LOAD, 0, operand, pushes=1)  # which makes a double, and a high word, of one word
        else:
            self.push(operand)

    def type_of(self, node: Expression) -> Type:
        """The type of an expression, without emitting it: how one operand is taken may depend on the other's type."""
        if node not in self.types:
            state = self.state()
            self.types[node] = self.expression(node)[0]
            self.restore(state)
        return self.types[node]

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
            NotCompilable: a type that fits neither.
        """
        if index not in self.out.columns:
            kind = self.column_type(index).kind
            if index == LABEL_COLUMN:
                if not self.labels:
                    raise NotCompilable("CLASSIFIER of other rows")
                store = "label"
            elif self.column_type(index).is_integer_like:
                store = "int"
            elif kind in ("double", "float"):
                store = "float"
            elif kind == "string":
                store = "string"
            elif kind == "decimal":
                store = "wide" if self.column_type(index).is_wide else "decimal"
            else:
                raise NotCompilable(f"a column of type {kind}")
            stores = [other for other, _ in self.out.columns.values()]
            floats = stores.count("float")
            place = floats if store == "float" else len(stores) - floats + stores.count("wide")
            self.out.columns[index] = (store, place)
        return self.out.columns[index]

    def column_type(self, index: int) -> Type:
        """The type of a kernel column, of a row's number, or of its label."""
        return {ROW_COLUMN: BIGINT, LABEL_COLUMN: STRING}.get(index) or self.column_types[index]

    def expression(self, node: Expression) -> tuple[Type, Operand]:
        """Where an expression's value lies, after emitting what it takes to compute it."""
        if isinstance(node, Constant):
            return node.type, self.constant(node)
        if isinstance(node, Load):
            return self.load(self.slots[node.slot])
        if isinstance(node, Call):
            kind = self.call(node)
            return kind, _TOP_F if kind.is_floating else (_TOP_W if kind.is_wide else _TOP_I)
        raise NotCompilable("a value of the row inside an aggregate")

    def constant(self, node: Constant) -> Operand:
        """A place in the table of constants.

        Decimals are scaled to integers, a string is a rank that each batch fills in.

        Raises:
            NotCompilable: a type without a representation.
        """
        value, kind = node.value, node.type
        if value is None:
            return _NOTHING
        if kind.is_floating:
            return self.float_constant(float(value))
        if kind.kind in ("int", "boolean"):
            return self.int_constant(int(value))
        if kind.kind == "string":
            self.out.string_constants[len(self.out.const_i)] = value
            return self.int_constant(0)
        if kind.kind == "decimal":
            return self.decimal_constant(unscaled(node))
        raise NotCompilable(f"a constant of type {kind.shown}")

    def int_constant(self, value: int) -> Operand:
        """A new place in ``const_i``; equal constants are not shared."""
        self.out.const_i.append(value)
        return op.CONST_I, len(self.out.const_i) - 1, 0

    def decimal_constant(self, value: int) -> Operand:
        """A decimal's unscaled number: one place in ``const_i``, or two."""
        if abs(value) < 10**WORD_DIGITS:
            return self.int_constant(value)
        place = len(self.out.const_i)
        low = value & (2**64 - 1)
        self.out.const_i += [low - 2**64 if low >> 63 else low, value >> 64]
        return op.CONST_W, place, 0

    def float_constant(self, value: float) -> Operand:
        """A new place in ``const_f``; equal constants are not shared."""
        self.out.const_f.append(value)
        return op.CONST_F, len(self.out.const_f) - 1, 0

    def load(self, slot: ConditionSlot) -> tuple[Type, Operand]:
        """The operand that reads a slot, and its type; notes what the condition looks back at (``reads``).

        Raises:
            NotCompilable: an expression with CLASSIFIER or MATCH_NUMBER inside navigation, a column that the kernel
                cannot hold.
        """
        if isinstance(slot, NumberSlot):
            self.out.reads_number = True
            return BIGINT, (op.MATCH_NUMBER, 0, 0)
        if isinstance(slot, NavigationSlot):
            if slot.argument is not None:
                raise NotCompilable("expressions with CLASSIFIER or MATCH_NUMBER inside navigation")
            store, place = self.column(slot.column)
            form = _FORMS.get(store, 0)
            kind = self.column_type(slot.column)
            of_tested = self.tested and self.tested <= self.registers[slot.register] and slot.register not in self.each
            if not slot.from_first and slot.logical == 0 and of_tested:
                return kind, (op.ROW_I + form, slot.physical, place)  # the last of its rows is the tested one
            self.reads.navigations.add((slot.register, slot.from_first, slot.logical))
            return kind, (op.NAVIGATED_I + form, self.navigation(place_of(slot)), place)
        return self.aggregate(slot)

    def navigation(self, row: Place) -> int:
        """Number of a row that a navigation points at; equal ones are kept once."""
        if row not in self.out.nav:
            self.out.nav.append(row)
        return self.out.nav.index(row)

    def aggregate(self, slot: AggregateSlot) -> tuple[Type, Operand]:
        """The operand that reads a running aggregate of a register, and its type; equal aggregates are kept once.

        Raises:
            NotCompilable: DISTINCT, FILTER, a function or an argument that the kernel does not keep.
        """
        if slot.function not in _AGGREGATES or slot.distinct or slot.filter is not None or len(slot.arguments) > 1:
            raise NotCompilable(f"{slot.function}(...) of this form")
        kind = _AGGREGATES[slot.function]
        column, form, type_ = -1, 0, BIGINT
        if slot.arguments:
            argument = slot.arguments[0]
            if isinstance(argument, Constant) and argument.value is not None and slot.function == "count":
                pass
            elif isinstance(argument, RowValue):
                type_ = self.column_type(argument.column)
                store, column = self.column(argument.column)
                form = _FORMS.get(store, 0)
                if slot.function in ("sum", "avg", "mean") and not type_.is_numeric:
                    raise NotCompilable(f"{slot.function} over {type_.shown}")
            else:
                raise NotCompilable(f"{slot.function} over an expression of the match")
        if type_.kind == "decimal" and kind in (op.SUM, op.AVERAGE):
            return self.decimal_sum(slot, column, form, type_)
        if kind == op.COUNT:
            form &= op.FLOAT
        place = self.kept(slot, kind + form, column, high=form == op.WIDE)
        without = int(slot.before)
        if kind == op.COUNT:
            return BIGINT, (op.COUNT_OF, place, without)
        if kind == op.AVERAGE:
            return DOUBLE, (op.AVERAGE_OF, place, without)
        operand = (op.AGGREGATE_I + form, place, without)
        if kind == op.SUM:
            return BIGINT if type_.kind == "int" else DOUBLE, operand
        return type_, operand

    def kept(self, slot: AggregateSlot, kind: int, column: int, high: bool) -> int:
        """The place of an aggregate in ``agg``; ``high``: another one behind it is its high word."""
        rows = [(kind, slot.register, column)]
        if high:
            rows.append((op.HIGH, slot.register, column))
        if rows[0] not in self.out.agg:
            self.out.agg += rows
        place = self.out.agg.index(rows[0])
        places = range(place, place + len(rows))
        self.reads.aggregates.update(places)
        if slot.before:
            self.reads.before.update(places)
        return place

    def decimal_sum(self, slot: AggregateSlot, column: int, form: int, of: Type) -> tuple[Type, Operand]:
        """``sum`` and ``avg`` over decimals: of 10 digits more; of 4 more, also behind the point."""
        place = self.kept(slot, op.TOTAL + form, column, high=True)
        total = op.AGGREGATE_W, place, int(slot.before)
        if slot.function == "sum":
            return Type("decimal", min(decimals.DIGITS, of.size + 10), of.scale), total
        kind = average_type(of)
        packed = decimals.pack(decimals.DIVIDE, kind.scale - of.scale, 0, 0, kind.size)
        self.emit(op.DECIMAL, packed, total, (op.COUNT_OF, place, int(slot.before)), pushes=1)
        return kind, _TOP_W

    def call(self, node: Call) -> Type:
        """Emit an operation; its value is on the stack."""
        name, arguments = node.name, node.arguments
        if name in ("and", "or"):
            self.on_stack(arguments[0])
            place = len(self.out.code)
            self.emit(op.SKIP_IF_FALSE if name == "and" else op.SKIP_IF_TRUE)
            self.on_stack(arguments[1])
            self.emit(op.AND if name == "and" else op.OR, pushes=-1)
            self.go_on_from(place)
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
        if name == "timestampdiff":
            x, y = (self.expression(argument)[1] for argument in arguments)
            self.emit(op.SUB_I, 64, x, y, pushes=1)
            self.emit(op.IDIV_I, 64, _TOP_I, self.int_constant(node.extra), pushes=1)
            return BIGINT
        if name in ("negate", "abs"):
            kind = self.on_stack(arguments[0])
            if kind.is_wide:
                self.emit(op.NEG_W if name == "negate" else op.ABS_W)
            elif kind.kind in ("int", "interval", "decimal"):
                bits = kind.size if kind.kind == "int" else 64
                self.emit(op.NEG_I if name == "negate" else op.ABS_I, bits)
            elif kind.is_floating:
                self.emit(op.NEG_F if name == "negate" else op.ABS_F)
            else:
                raise NotCompilable(f"{name} over {kind.shown}")
            return kind
        if name in _CHOICES:
            return self.choice(name, arguments)
        if name == "in":
            return self.membership(arguments)
        if name == "cast_double" and self.type_of(arguments[0]).is_numeric:
            self.push_as(arguments[0], DOUBLE)
            return DOUBLE
        if name in ("floor", "ceil", "sqrt", "cast_float", "cast_int", "cast_bigint", "round", "bround"):
            return self.function(node)
        if name == "isnan" and self.type_of(arguments[0]).is_floating:
            self.comparison("<=>", arguments[0], Constant(float("nan"), DOUBLE))
            return BOOLEAN
        raise NotCompilable("a function of two rows of the match" if name == "element" else name)

    def function(self, node: Call) -> Type:
        """Emit a function of a number.

        Raises:
            NotCompilable: of a type for which it is not here.
        """
        name, value = node.name, node.arguments[0]
        own = self.type_of(value)
        bits = 32 if name == "cast_int" else 64
        if len(node.arguments) == 1 and node.extra is None:
            if name == "sqrt" and own.is_numeric:
                self.emit(op.SQUARE_ROOT, 0, self.value(value, DOUBLE), pushes=1)
                return DOUBLE
            if name == "cast_float" and (own.is_floating or (own.kind == "int" and own.size <= 32)):
                self.emit(op.SINGLE, 0, self.value(value, DOUBLE), pushes=1)
                return FLOAT
            if name in ("cast_int", "cast_bigint") and own.kind in ("int", "boolean"):
                self.emit(op.ADD_I, bits, self.expression(value)[1], self.int_constant(0), pushes=1)
                return Type("int", bits)
            if own.kind == "int" and name in ("floor", "ceil"):
                self.on_stack(value)
                return BIGINT
            if own.kind == "decimal" and name in _DECIMAL_OPS:
                kind = whole_type(own)
                packed = decimals.pack(_DECIMAL_OPS[name], 0, 0, own.scale, kind.size)
                self.emit(op.DECIMAL, packed, self.expression(value)[1], self.int_constant(0), pushes=1)
                return kind
            if own.is_floating and name in _WHOLES:
                self.emit(_WHOLES[name], bits, self.expression(value)[1], pushes=1)
                return Type("int", bits)
        places = constant(node.arguments[1]) if len(node.arguments) == 2 else 0
        if name in _ROUNDINGS and own.is_floating and isinstance(places, int) and 0 <= places <= PLACES:
            self.emit(op.ROUND, places | _ROUNDINGS[name], self.value(value, DOUBLE), pushes=1)
            if own.kind == "float":
                self.emit(op.SINGLE, 0, _TOP_F, pushes=1)
            return own
        if name == "round" and own.kind in ("int", "decimal") and isinstance(places, int) and 0 <= places <= 38:
            operand = self.expression(value)[1]
            if own.kind == "int":
                self.push(operand)
                return own
            kind = rounded_type(own, places)
            packed = decimals.pack(decimals.ADD, 0, 0, own.scale - kind.scale, kind.size)
            self.emit(op.DECIMAL, packed, operand, self.int_constant(0), pushes=1)
            return kind
        raise NotCompilable(f"{name} over {own.shown}")

    def value(self, node: Expression, kind: Type) -> Operand:
        """Where an expression's value lies as one of another type, after emitting what it takes.

        Args:
            kind: double, or a decimal of at least the digits before the point; any other is the type that the
                expression has.
        """
        own = self.type_of(node)
        literal = isinstance(node, Constant) and node.value is not None
        if kind.kind == "double":
            if literal and own.kind == "decimal":
                return self.float_constant(float(node.value))  # type: ignore[union-attr]
            operand = self.expression(node)[1]
            if own.kind == "decimal" and operand != _NOTHING:
                self.emit(op.DOUBLE, own.scale, operand, pushes=1)
                return _TOP_F
            return operand
        if kind.kind != "decimal" or own.kind == "null":
            return self.expression(node)[1]
        power = kind.scale - own.scale
        if literal and power >= 0:
            return self.decimal_constant(unscaled(node) * 10**power)  # type: ignore[arg-type]
        operand = self.expression(node)[1]
        if not power:
            return operand
        if kind.is_wide:
            packed = decimals.pack(decimals.ADD, max(power, 0), 0, max(-power, 0), decimals.DIGITS)
            self.emit(op.DECIMAL, packed, operand, self.int_constant(0), pushes=1)
            return _TOP_W
        self.emit(op.MUL_I, 64, operand, self.int_constant(10**power), pushes=1)
        return _TOP_I

    def taken_as_doubles(self, a: Type, b: Type) -> bool:
        """Whether Spark compares or combines two types as doubles; single precision is held as such, too."""
        numbers = all(k.is_numeric or k.kind == "null" for k in (a, b))
        return numbers and any(k.is_floating for k in (a, b))

    def comparison(
        self, name: str, left: Expression, right: Expression, test: bool = False, common: Type | None = None
    ) -> Type:
        """Emit a comparison.

        Args:
            test: it is a whole conjunct, so a row fails at once and nothing goes to the stack.
            common: the type that decimals are compared as, by default the wider of theirs.

        Raises:
            NotCompilable: arrays and other types.
        """
        a, b = self.type_of(left), self.type_of(right)
        check_comparable(name, a, b, self.out.ansi)
        if not (a.is_single and b.is_single):
            raise NotCompilable(f"{a.shown} {name} {b.shown}")
        argument = _ORDERS[name] | (op.TEST if test else 0)
        pushes = 0 if test else 1
        if self.taken_as_doubles(a, b):
            x, y = self.value(left, DOUBLE), self.value(right, DOUBLE)
            self.emit(op.COMPARE_F, argument, x, y, pushes=pushes)
        elif "decimal" in (a.kind, b.kind):
            a, b = as_decimal(literal_type(left, a)), as_decimal(literal_type(right, b))
            common = common or wider_decimal(a, b)
            scale = max(a.scale, b.scale)
            if not common.is_wide or common.scale < scale:
                x, y = self.value(left, common), self.value(right, common)
                self.emit(op.COMPARE_W if common.is_wide else op.COMPARE_I, argument, x, y, pushes=pushes)
            else:
                x, y = self.expression(left)[1], self.expression(right)[1]
                argument |= (scale - a.scale) << op.RAISE_X | (scale - b.scale) << op.RAISE_Y
                self.emit(op.COMPARE_W, argument, x, y, pushes=pushes)
        else:
            x, y = self.expression(left)[1], self.expression(right)[1]
            self.emit(op.COMPARE_I, argument, x, y, pushes=pushes)
        return BOOLEAN

    def arithmetic(self, name: str, left: Expression, right: Expression) -> Type:
        """Emit + - * / % or div with Spark's result type; dates and intervals count in microseconds.

        Raises:
            NotCompilable: `div` over doubles, a text divided by NULL.
        """
        a, b = self.type_of(left), self.type_of(right)
        if "decimal" in (a.kind, b.kind):
            a, b = literal_type(left, a), literal_type(right, b)
        kind = arithmetic_type(name, a, b, self.out.ansi)
        if self.taken_as_doubles(a, b) or (name == "/" and {a.kind, b.kind} <= {"int", "null"}):
            if name == "div":
                raise NotCompilable("div over doubles")
            x, y = self.value(left, DOUBLE), self.value(right, DOUBLE)
            self.emit(_FLOAT_OPS[name], 0, x, y, pushes=1)
            if kind.kind == "float":  # what is computed of singles in double precision is right after one rounding
                self.emit(op.SINGLE, 0, _TOP_F, pushes=1)
            return kind
        if kind.kind == "decimal":
            self.decimal_arithmetic(name, left, right, as_decimal(a), as_decimal(b), kind)
            return kind
        if name not in _INT_OPS:
            raise NotCompilable(f"{name} of {a.kind} and {b.kind}")
        x, y = self.expression(left)[1], self.expression(right)[1]
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

    def decimal_arithmetic(self, name: str, left: Expression, right: Expression, a: Type, b: Type, kind: Type) -> None:
        """Emit an operation of decimals: on one word where nothing on the way can be longer."""
        scale = a.scale + b.scale if name == "*" else max(a.scale, b.scale)
        if name in ("*", "/"):
            raised = (0, 0)
            digits = kind.size if name == "*" else decimals.DIGITS
        else:
            raised = (scale - a.scale, scale - b.scale)
            digits = max(kind.size, a.size + raised[0], b.size + raised[1])
        if digits <= WORD_DIGITS:
            x = self.value(left, Type("decimal", digits, a.scale + raised[0]))
            y = self.value(right, Type("decimal", digits, b.scale + raised[1]))
            self.emit(_INT_OPS[name], 64, x, y, pushes=1)
            return
        drop = scale - kind.scale
        if name == "/":
            power = kind.scale - a.scale + b.scale
            raised, drop = (max(power, 0), max(-power, 0)), 0
        x, y = self.expression(left)[1], self.expression(right)[1]
        self.emit(op.DECIMAL, decimals.pack(_DECIMAL_OPS[name], *raised, drop, kind.size), x, y, pushes=1)

    def choice(self, name: str, arguments: tuple[Expression, ...]) -> Type:
        """Emit CASE (condition, value, condition, value, ..., default), COALESCE, LEAST or GREATEST."""
        values = (*arguments[1:-1:2], arguments[-1]) if name == "case" else arguments
        kind = common_type([self.type_of(value) for value in values], self.out.ansi)
        if name in ("least", "greatest"):
            if kind.is_wide:
                raise NotCompilable(f"{name} over decimals of more than {WORD_DIGITS} digits")
            floats = kind.is_floating
            code = op.EXTREME_F if floats else op.EXTREME_I
            self.push_as(values[0], kind)
            for value in values[1:]:
                self.push_as(value, kind)
                top = _TOP_F if floats else _TOP_I
                self.emit(code, op.LESS if name == "least" else op.GREATER, top, top, pushes=1)
            return kind
        ends = []
        for number, value in enumerate(values):
            last = number == len(values) - 1
            place = -1
            if name == "case" and not last:
                self.boolean(arguments[2 * number], "CASE WHEN over a value that is not boolean")
                place = len(self.out.code)
                self.emit(op.SKIP_UNLESS_TRUE, pushes=-1)
            self.push_as(value, kind)
            if not last:
                ends.append(len(self.out.code))
                self.emit(op.SKIP if name == "case" else op.SKIP_IF_VALUE, pushes=-1)
            if place >= 0:
                self.go_on_from(place)
        for place in ends:
            self.go_on_from(place)
        return kind

    def go_on_from(self, place: int) -> None:
        """Make an instruction that skips go on with the next one that is emitted."""
        skip, _, *rest = self.out.code[place]
        self.out.code[place] = (skip, len(self.out.code), *rest)  # type: ignore[assignment]

    def membership(self, arguments: tuple[Expression, ...]) -> Type:
        """Emit IN over a list as equalities joined by OR, of which none is evaluated beside a NULL."""
        kinds = [self.type_of(a) for a in arguments]
        for kind in kinds[1:]:
            check_comparable("=", kinds[0], kind, self.out.ansi)
        if any(k.is_floating for k in kinds):
            arguments = tuple(Call("cast_double", (a,)) for a in arguments)
        common = common_type(kinds, self.out.ansi) if decimal_among(kinds) else None
        value, *options = arguments
        self.on_stack(value)
        self.emit(op.IS_NULL)
        absent = len(self.out.code)
        self.emit(op.SKIP_UNLESS_TRUE, pushes=-1)
        self.push(_NOTHING)
        end = len(self.out.code)
        self.emit(op.SKIP, pushes=-1)
        self.go_on_from(absent)
        self.comparison("=", value, options[0], common=common)
        for option in options[1:]:
            place = len(self.out.code)
            self.emit(op.SKIP_IF_TRUE)
            self.comparison("=", value, option, common=common)
            self.emit(op.OR, pushes=-1)
            self.go_on_from(place)
        self.go_on_from(end)
        return BOOLEAN


def unscaled(node: Constant) -> int:
    """A literal's number in units of its type's scale."""
    return int(Decimal(node.value).scaleb(node.type.scale if node.type.kind == "decimal" else 0, DECIMALS))


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


def compile_conditions(
    conditions: ConditionSet, ansi: bool, calls_back: CallsBack = CallsBack.NEVER, labels: bool = False
) -> ConditionPrograms:
    """Instructions of all conditions; see :class:`Compiler`.

    Raises:
        NotCompilable: some condition cannot be evaluated so.
    """
    compiler = Compiler(
        conditions.slots, conditions.column_types, conditions.registers, ansi, conditions.each, calls_back, labels
    )
    for label, condition in sorted(conditions.conditions.items()):
        compiler.add(label, condition, conditions.tested[label] if conditions.tested else frozenset([label]))
    return compiler.out
