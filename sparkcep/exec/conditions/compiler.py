"""Compile match-dependent conditions to the kernel's instructions.

What the instruction program cannot express raises :class:`NotCompilable`; the interpreter takes those conditions.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TypeAlias

from sparkcep.exec.conditions.columns import Place, place_of, places_of
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.conditions.programs import CalledBack, CallsBack, ConditionPrograms, Labels, Reads
from sparkcep.exec.kernels import decimals
from sparkcep.exec.kernels.conditions import codes as op
from sparkcep.exec.kernels.conditions import functions
from sparkcep.exec.kernels.conditions.rounding import HALF_EVEN, PLACES
from sparkcep.expr.coercion import arithmetic_type, as_decimal, average_type, common_type, decimal_among, wider_decimal
from sparkcep.expr.functions.operators import TIMESTAMP
from sparkcep.expr.nodes import (
    COMPARISONS,
    LABEL_COLUMN,
    AggregateSlot,
    Call,
    ConditionSlot,
    Constant,
    Expression,
    NavigationSlot,
    RowValue,
    columns_read,
    loads,
)
from sparkcep.expr.numbers import DECIMALS
from sparkcep.expr.typed import Form, Typed
from sparkcep.expr.types import BIGINT, DOUBLE, WORD_DIGITS, NotCompilable, Type
from sparkcep.expr.typing_pass import Typing

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
#: Instructions for decimals of two words, for numbers of floating point, and for all others.
_SIGNS = {"negate": (op.NEG_W, op.NEG_F, op.NEG_I), "abs": (op.ABS_W, op.ABS_F, op.ABS_I)}
_OF_PAIRS = "functions of two rows; Spark evaluates them for every pair of rows"
#: Aggregates that the kernel keeps.
AGGREGATES = {"sum": op.SUM, "min": op.MIN, "max": op.MAX, "count": op.COUNT, "avg": op.AVERAGE, "mean": op.AVERAGE}


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
        labels: where the names of the variables that took rows are.
    """

    def __init__(
        self,
        slots: tuple[ConditionSlot, ...],
        column_types: tuple[Type, ...],
        registers: tuple[frozenset[int], ...],
        ansi: bool,
        each: frozenset[int] = frozenset(),
        calls_back: CallsBack = CallsBack.NEVER,
        labels: Labels = Labels.NOWHERE,
    ) -> None:
        self.slots = slots
        self.registers = registers
        self.each = each
        self.calls_back = calls_back
        self.labels = labels
        self.out = ConditionPrograms(ansi)
        self.depth = 0
        self.typing = Typing(slots, column_types, ansi)
        self.tested: frozenset[int] = frozenset()
        self.reads = Reads()

    def add(self, label: int, condition: Expression, tested: frozenset[int]) -> None:
        """Compile a condition; numbers come in ascending order. ``tested``: what the tested row may be taken as."""
        low = len(self.out.code)
        self.tested = tested
        self.reads = self.out.reads[label] = Reads()
        for conjunct in _conjuncts(condition):
            state = self.state()
            typed = self.typing.condition(conjunct)
            if self.calls_back is CallsBack.ALWAYS:
                self.call_back(conjunct, typed, "")
                continue
            try:
                self.conjunct(typed)
            except NotCompilable as error:
                if self.calls_back is CallsBack.NEVER:
                    raise
                self.restore(state)
                self.call_back(conjunct, typed, str(error))
        self.out.spans[label] = (low, len(self.out.code))

    def conjunct(self, of: Typed) -> None:
        """Emit a test that ends the condition where it is false."""
        if of.name in COMPARISONS:
            self.compare(of.name, of.arguments[0], of.arguments[1], test=True)
        else:
            self.on_stack(of)
            self.emit(op.TEST_TOP, pushes=-1)

    def call_back(self, node: Expression, typed: Typed, lacking: str) -> None:
        """Emit a test that the interpreter makes. ``lacking``: what it has that the program has not."""
        columns, places = columns_read(node, self.slots), places_of(node, self.slots)
        by_register = LABEL_COLUMN in columns and self.labels is Labels.REGISTERS
        if by_register:
            self.reads.everything.update(range(len(self.registers)))
        elif LABEL_COLUMN in columns:
            self.column(LABEL_COLUMN)
        for slot in (self.slots[number] for number in loads(node)):
            if isinstance(slot, NavigationSlot):
                self.reads.navigations.add((slot.register, slot.from_first, slot.logical))
            elif isinstance(slot, AggregateSlot):
                self.reads.everything.add(slot.register)
            else:
                self.out.reads_number = True
        self.out.external.append(CalledBack(typed, places, frozenset(c for c in columns if c >= 0), by_register))
        self.out.lacking.append(lacking)
        operands = [(op.NAVIGATED_I, self.navigation(place), 0) for place in places or ()]
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

    def on_stack(self, of: Typed) -> None:
        """Emit an expression with its value on the stack."""
        self.push(self.expression(of))

    def push(self, operand: Operand) -> None:
        """Put a value on the stack, unless it is there."""
        if operand[0] > op.STACK_W:
            self.emit(op.LOAD, 0, operand, pushes=1)

    def push_as(self, of: Typed, kind: Type) -> None:
        """Put an expression on the stack in the form of a type, see :meth:`value`."""
        operand = self.value(of, kind)
        if operand == _TOP_I and (kind.kind == "double" or kind.is_wide):
            self.emit(op.LOAD, 0, operand, pushes=1)  # which makes a double, and a high word, of one word
        else:
            self.push(operand)

    def column(self, index: int) -> tuple[str, int]:
        """How a kernel column is stored and its place among those of int64, or of float64.

        Raises:
            NotCompilable: a type that fits neither.
        """
        if index not in self.out.columns:
            kind = self.typing.type_of_column(index)
            if index == LABEL_COLUMN:
                if self.labels is not Labels.COLUMN:
                    raise NotCompilable("CLASSIFIER of other rows")
                store = "label"
            elif kind.is_integer_like:
                store = "int"
            elif kind.is_floating:
                store = "float"
            elif kind.kind == "string":
                store = "string"
            elif kind.kind == "decimal":
                store = "wide" if kind.is_wide else "decimal"
            else:
                raise NotCompilable(f"a column of type {kind.kind}")
            stores = [other for other, _ in self.out.columns.values()]
            floats = stores.count("float")
            place = floats if store == "float" else len(stores) - floats + stores.count("wide")
            self.out.columns[index] = (store, place)
        return self.out.columns[index]

    def expression(self, of: Typed) -> Operand:
        """Where an expression's value lies, after emitting what it takes to compute it."""
        if of.form is Form.CONSTANT:
            return self.constant(of)
        if of.form is Form.NUMBER:
            self.out.reads_number = True
            return op.MATCH_NUMBER, 0, 0
        if of.form is Form.NAVIGATION:
            assert isinstance(of.slot, NavigationSlot)
            return self.navigated(of.slot)
        if of.form is Form.AGGREGATE:
            return self.aggregate(of)
        if of.form is Form.COLUMN:
            raise NotCompilable("a value of the row inside an aggregate")
        self.call(of)
        return _TOP_F if of.type.is_floating else (_TOP_W if of.type.is_wide else _TOP_I)

    def constant(self, of: Typed) -> Operand:
        """A place in the table of constants.

        Decimals are scaled to integers, a string is a rank that each batch fills in.

        Raises:
            NotCompilable: a type without a representation.
        """
        value, kind = of.value, of.type
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
            return self.decimal_constant(unscaled(of))
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

    def navigated(self, slot: NavigationSlot) -> Operand:
        """The operand that reads a row's column; notes what the condition looks back at (``reads``).

        Raises:
            NotCompilable: an expression with CLASSIFIER or MATCH_NUMBER inside navigation, a column that the kernel
                cannot hold.
        """
        if slot.argument is not None:
            raise NotCompilable("expressions with CLASSIFIER or MATCH_NUMBER inside navigation")
        store, place = self.column(slot.column)
        form = _FORMS.get(store, 0)
        of_tested = self.tested and self.tested <= self.registers[slot.register] and slot.register not in self.each
        if not slot.from_first and slot.logical == 0 and of_tested:
            return op.ROW_I + form, slot.physical, place  # the last of its rows is the tested one
        self.reads.navigations.add((slot.register, slot.from_first, slot.logical))
        return op.NAVIGATED_I + form, self.navigation(place_of(slot)), place

    def navigation(self, row: Place) -> int:
        """Number of a row that a navigation points at; equal ones are kept once."""
        if row not in self.out.nav:
            self.out.nav.append(row)
        return self.out.nav.index(row)

    def aggregate(self, of: Typed) -> Operand:
        """The operand that reads a running aggregate of a register; equal aggregates are kept once.

        Raises:
            NotCompilable: DISTINCT, FILTER, a function or an argument that the kernel does not keep.
        """
        slot = of.slot
        assert isinstance(slot, AggregateSlot)
        if slot.function not in AGGREGATES or slot.distinct or slot.filter is not None or len(slot.arguments) > 1:
            raise NotCompilable(f"{slot.function}(...) of this form")
        kind = AGGREGATES[slot.function]
        column, form, type_ = -1, 0, BIGINT
        if slot.arguments:
            argument = slot.arguments[0]
            if isinstance(argument, Constant) and argument.value is not None and slot.function == "count":
                pass
            elif isinstance(argument, RowValue):
                type_ = self.typing.type_of_column(argument.column)
                store, column = self.column(argument.column)
                form = _FORMS.get(store, 0)
            else:
                raise NotCompilable(f"{slot.function} over an expression of the match")
        if type_.kind == "decimal" and kind in (op.SUM, op.AVERAGE):
            return self.decimal_sum(slot, column, form, type_)
        if kind == op.COUNT:
            form &= op.FLOAT
        place = self.kept(slot, kind + form, column, high=form == op.WIDE)
        without = int(slot.before)
        if kind == op.COUNT:
            return op.COUNT_OF, place, without
        if kind == op.AVERAGE:
            return op.AVERAGE_OF, place, without
        return op.AGGREGATE_I + form, place, without

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

    def decimal_sum(self, slot: AggregateSlot, column: int, form: int, of: Type) -> Operand:
        """``sum`` and ``avg`` over decimals: of 10 digits more; of 4 more, also behind the point."""
        place = self.kept(slot, op.TOTAL + form, column, high=True)
        total = op.AGGREGATE_W, place, int(slot.before)
        if slot.function == "sum":
            return total
        kind = average_type(of)
        packed = decimals.pack(decimals.DIVIDE, kind.scale - of.scale, 0, 0, kind.size)
        self.emit(op.DECIMAL, packed, total, (op.COUNT_OF, place, int(slot.before)), pushes=1)
        return _TOP_W

    def call(self, of: Typed) -> None:
        """Emit an operation; its value is on the stack.

        Raises:
            NotCompilable: one that the kernel lacks.
        """
        if of.name not in EMITTERS:
            raise NotCompilable(_OF_PAIRS if of.name == "element" else of.name)
        EMITTERS[of.name](self, of)

    def logic(self, of: Typed) -> None:
        """Emit AND or OR."""
        also = of.name == "and"
        self.on_stack(of.arguments[0])
        place = len(self.out.code)
        self.emit(op.SKIP_IF_FALSE if also else op.SKIP_IF_TRUE)
        self.on_stack(of.arguments[1])
        self.emit(op.AND if also else op.OR, pushes=-1)
        self.go_on_from(place)

    def truth(self, of: Typed) -> None:
        """Emit NOT or IS NULL."""
        self.on_stack(of.arguments[0])
        self.emit(op.NOT if of.name == "not" else op.IS_NULL)

    def difference(self, of: Typed) -> None:
        """Emit DATEDIFF, or TIMESTAMPDIFF in units of so many microseconds."""
        x, y = map(self.expression, of.arguments)
        if of.name == "datediff":
            self.emit(op.SUB_I, 32, x, y, pushes=1)
            return
        assert of.call is not None
        self.emit(op.SUB_I, 64, x, y, pushes=1)
        self.emit(op.IDIV_I, 64, _TOP_I, self.int_constant(of.call.micros), pushes=1)

    def sign(self, of: Typed) -> None:
        """Emit the unary minus or ABS."""
        self.on_stack(of.arguments[0])
        wide, floating, other = _SIGNS[of.name]
        if of.type.is_wide:
            self.emit(wide)
        elif of.type.is_floating:
            self.emit(floating)
        else:
            self.emit(other, of.type.size if of.type.kind == "int" else 64)

    def mathematical(self, of: Typed) -> None:
        """Emit a function of one or two doubles."""
        x, *rest = (self.value(argument, DOUBLE) for argument in of.arguments)
        if rest:
            self.emit(op.FUNCTION_2, functions.NAMES_OF_TWO[of.name], x, *rest, pushes=1)
        else:
            self.emit(op.FUNCTION, functions.NAMES["ln" if of.name == "log" else of.name], x, pushes=1)

    def double(self, of: Typed) -> None:
        """Emit a cast to DOUBLE."""
        self.push_as(of.arguments[0], DOUBLE)

    def not_a_number(self, of: Typed) -> None:
        """Emit ISNAN."""
        self.compare("<=>", of.arguments[0], Typed(Form.CONSTANT, DOUBLE, value=float("nan")))

    def function(self, of: Typed) -> None:
        """Emit a function of a number.

        Raises:
            NotCompilable: of a type for which it is not here.
        """
        name, value, kind = of.name, of.arguments[0], of.type
        own = value.type
        bits = 32 if name == "cast_int" else 64
        plain = len(of.arguments) == 1 and not (of.call and of.call.safe)
        places = 0 if len(of.arguments) == 1 else of.arguments[1].value
        places_fit = isinstance(places, int) and 0 <= places <= 38
        if plain and name == "cast_float" and (own.is_floating or (own.kind == "int" and own.size <= 32)):
            self.emit(op.SINGLE, 0, self.value(value, DOUBLE), pushes=1)
        elif plain and name in ("cast_int", "cast_bigint") and own.kind in ("int", "boolean"):
            self.emit(op.ADD_I, bits, self.expression(value), self.int_constant(0), pushes=1)
        elif own.kind == "int" and ((plain and name in ("floor", "ceil")) or (name == "round" and places_fit)):
            self.on_stack(value)
        elif plain and own.kind == "decimal" and name in _DECIMAL_OPS:
            packed = decimals.pack(_DECIMAL_OPS[name], 0, 0, own.scale, kind.size)
            self.emit(op.DECIMAL, packed, self.expression(value), self.int_constant(0), pushes=1)
        elif plain and own.is_floating and name in _WHOLES:
            self.emit(_WHOLES[name], bits, self.expression(value), pushes=1)
        elif name in _ROUNDINGS and own.is_floating and places_fit and places <= PLACES:
            self.emit(op.ROUND, places | _ROUNDINGS[name], self.value(value, DOUBLE), pushes=1)
            if own.kind == "float":
                self.emit(op.SINGLE, 0, _TOP_F, pushes=1)
        elif name == "round" and own.kind == "decimal" and places_fit:
            packed = decimals.pack(decimals.ADD, 0, 0, own.scale - kind.scale, kind.size)
            self.emit(op.DECIMAL, packed, self.expression(value), self.int_constant(0), pushes=1)
        else:
            raise NotCompilable(f"{name} over {own.shown}")

    def value(self, of: Typed, kind: Type) -> Operand:
        """Where an expression's value lies as one of another type, after emitting what it takes.

        Args:
            kind: double, or a decimal of at least the digits before the point; any other is the type that the
                expression has.
        """
        of = of.unwidened
        own = of.type
        literal = of.form is Form.CONSTANT and of.value is not None
        if kind.kind == "double":
            if literal and own.kind == "decimal":
                return self.float_constant(float(of.value))
            operand = self.expression(of)
            if own.kind == "decimal" and operand != _NOTHING:
                self.emit(op.DOUBLE, own.scale, operand, pushes=1)
                return _TOP_F
            return operand
        if kind.kind != "decimal" or own.kind == "null":
            return self.expression(of)
        power = kind.scale - own.scale
        if literal and power >= 0:
            return self.decimal_constant(unscaled(of) * 10**power)
        operand = self.expression(of)
        if not power:
            return operand
        if kind.is_wide:
            packed = decimals.pack(decimals.ADD, max(power, 0), 0, max(-power, 0), decimals.DIGITS)
            self.emit(op.DECIMAL, packed, operand, self.int_constant(0), pushes=1)
            return _TOP_W
        self.emit(op.MUL_I, 64, operand, self.int_constant(10**power), pushes=1)
        return _TOP_I

    def comparison(self, of: Typed) -> None:
        """Emit a comparison whose value is on the stack."""
        left, right = of.arguments
        self.compare(of.name, left, right)

    def compare(self, name: str, left: Typed, right: Typed, test: bool = False, common: Type | None = None) -> None:
        """Emit a comparison.

        Args:
            test: it is a whole conjunct, so a row fails at once and nothing goes to the stack.
            common: the type that decimals are compared as, by default the wider of theirs.

        Raises:
            NotCompilable: arrays and other types, and times of two types.
        """
        if TIMESTAMP in (left.type, right.type) and Form.WIDENED in (left.form, right.form):
            raise NotCompilable(f"{left.unwidened.type.shown} {name} {right.unwidened.type.shown}")
        left, right = left.unwidened, right.unwidened
        a, b = left.type, right.type
        if not (a.is_single and b.is_single):
            for side in (left, right):  # which say what they lack themselves
                self.expression(side)
            raise NotCompilable(f"{a.shown} {name} {b.shown}")
        argument = _ORDERS[name] | (op.TEST if test else 0)
        pushes = 0 if test else 1
        if a.is_floating or b.is_floating:
            self.emit(op.COMPARE_F, argument, self.value(left, DOUBLE), self.value(right, DOUBLE), pushes=pushes)
        elif "decimal" in (a.kind, b.kind):
            a, b = as_decimal(left.beside_decimal), as_decimal(right.beside_decimal)
            common = common or wider_decimal(a, b)
            scale = max(a.scale, b.scale)
            if not common.is_wide or common.scale < scale:
                x, y = self.value(left, common), self.value(right, common)
                self.emit(op.COMPARE_W if common.is_wide else op.COMPARE_I, argument, x, y, pushes=pushes)
            else:
                argument |= (scale - a.scale) << op.RAISE_X | (scale - b.scale) << op.RAISE_Y
                self.emit(op.COMPARE_W, argument, self.expression(left), self.expression(right), pushes=pushes)
        else:
            self.emit(op.COMPARE_I, argument, self.expression(left), self.expression(right), pushes=pushes)

    def arithmetic(self, of: Typed) -> None:
        """Emit + - * / % or div with Spark's result type; dates and intervals count in microseconds.

        Raises:
            NotCompilable: `div` over doubles; of times in a time zone, of intervals and numbers.
        """
        name, kind, (left, right) = of.name, of.type, of.arguments
        a, b = left.type, right.type
        if kind.is_floating or (name == "/" and {a.kind, b.kind} <= {"int", "null"}):
            if name not in _FLOAT_OPS:
                raise NotCompilable("div over doubles")
            self.emit(_FLOAT_OPS[name], 0, self.value(left, DOUBLE), self.value(right, DOUBLE), pushes=1)
            if kind.kind == "float":  # what is computed of singles in double precision is right after one rounding
                self.emit(op.SINGLE, 0, _TOP_F, pushes=1)
            return
        if kind.kind == "decimal":
            self.decimal_arithmetic(name, left, right, kind)
            return
        arithmetic_type(name, a, b, self.out.ansi)
        if name not in _INT_OPS:
            raise NotCompilable(f"{name} of {a.kind} and {b.kind}")
        x, y = self.expression(left), self.expression(right)
        if kind.kind == "date":  # days plus microseconds of whole days
            if a.kind != "date":
                raise NotCompilable("interval + date; write the date first")
            self.emit(op.IDIV_I, 64, y, self.int_constant(MICROS_PER_DAY), pushes=1)
            self.emit(_INT_OPS[name], 32, x, _TOP_I, pushes=1)
            return
        self.emit(_INT_OPS[name], kind.size or 64, x, y, pushes=1)
        if a.kind == b.kind == "date":
            self.emit(op.MUL_I, 64, _TOP_I, self.int_constant(MICROS_PER_DAY), pushes=1)

    def decimal_arithmetic(self, name: str, left: Typed, right: Typed, kind: Type) -> None:
        """Emit an operation of decimals: on one word where nothing on the way can be longer."""
        a, b = as_decimal(left.beside_decimal), as_decimal(right.beside_decimal)
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
        x, y = self.expression(left), self.expression(right)
        self.emit(op.DECIMAL, decimals.pack(_DECIMAL_OPS[name], *raised, drop, kind.size), x, y, pushes=1)

    def choice(self, of: Typed) -> None:
        """Emit CASE (condition, value, condition, value, ..., default), COALESCE, LEAST or GREATEST."""
        name, kind, arguments = of.name, of.type, of.arguments
        values = (*arguments[1:-1:2], arguments[-1]) if name == "case" else arguments
        if name in ("least", "greatest"):
            if kind.is_wide:
                raise NotCompilable(f"{name} over decimals of more than {WORD_DIGITS} digits")
            code = op.EXTREME_F if kind.is_floating else op.EXTREME_I
            self.push_as(values[0], kind)
            for value in values[1:]:
                self.push_as(value, kind)
                top = _TOP_F if kind.is_floating else _TOP_I
                self.emit(code, op.LESS if name == "least" else op.GREATER, top, top, pushes=1)
            return
        ends = []
        for number, value in enumerate(values):
            last = number == len(values) - 1
            place = -1
            if name == "case" and not last:
                self.on_stack(arguments[2 * number])
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

    def go_on_from(self, place: int) -> None:
        """Make an instruction that skips go on with the next one that is emitted."""
        skip, _, *rest = self.out.code[place]
        self.out.code[place] = (skip, len(self.out.code), *rest)  # type: ignore[assignment]

    def membership(self, of: Typed) -> None:
        """Emit IN over a list as equalities joined by OR, of which none is evaluated beside a NULL."""
        arguments = of.arguments
        kinds = [a.unwidened.type for a in arguments]
        common = common_type(kinds, self.out.ansi) if decimal_among(kinds) else None
        value, *options = (a.unwidened for a in arguments)
        if any(k.is_floating for k in kinds):
            value, *options = (
                Typed(Form.STRICT, DOUBLE, (v,), call=Call("cast_double", ())) for v in (value, *options)
            )
        self.on_stack(value)
        self.emit(op.IS_NULL)
        absent = len(self.out.code)
        self.emit(op.SKIP_UNLESS_TRUE, pushes=-1)
        self.push(_NOTHING)
        end = len(self.out.code)
        self.emit(op.SKIP, pushes=-1)
        self.go_on_from(absent)
        self.compare("=", value, options[0], common=common)
        for option in options[1:]:
            place = len(self.out.code)
            self.emit(op.SKIP_IF_TRUE)
            self.compare("=", value, option, common=common)
            self.emit(op.OR, pushes=-1)
            self.go_on_from(place)
        self.go_on_from(end)


def unscaled(of: Typed) -> int:
    """A literal's number in units of its type's scale."""
    return int(Decimal(of.value).scaleb(of.type.scale if of.type.kind == "decimal" else 0, DECIMALS))


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


#: What emits an operation, by its name in expr/functions.
EMITTERS: dict[str, Callable[[Compiler, Typed], None]] = {
    **dict.fromkeys(("and", "or"), Compiler.logic),
    **dict.fromkeys(("not", "isnull"), Compiler.truth),
    **dict.fromkeys(COMPARISONS, Compiler.comparison),
    **dict.fromkeys(("+", "-", "*", "/", "%", "div"), Compiler.arithmetic),
    **dict.fromkeys(("datediff", "timestampdiff"), Compiler.difference),
    **dict.fromkeys(_SIGNS, Compiler.sign),
    **dict.fromkeys(("case", "coalesce", "least", "greatest"), Compiler.choice),
    "in": Compiler.membership,
    "cast_double": Compiler.double,
    **dict.fromkeys((*functions.NAMES, *functions.NAMES_OF_TWO), Compiler.mathematical),
    **dict.fromkeys((*_WHOLES, "cast_float", *_ROUNDINGS), Compiler.function),
    "isnan": Compiler.not_a_number,
}


def compile_conditions(
    conditions: ConditionSet,
    ansi: bool,
    calls_back: CallsBack = CallsBack.NEVER,
    labels: Labels = Labels.NOWHERE,
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
