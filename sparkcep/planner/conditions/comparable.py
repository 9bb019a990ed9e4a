"""Values of different or foreign types in one operation: columns of rows become what the kernel can compare.

Spark casts the narrower of two times to the wider one, a DATE to TIMESTAMP_NTZ and both to TIMESTAMP, in the session's
time zone. `datediff` takes dates, and a difference of times is one of local times. BINARY is compared by its digits,
which have the same order. Texts beside other types are cast as in expr/coercion.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sparkcep.expr.coercion import (
    TIMES_BY_WIDTH,
    alternative_as,
    combined_as,
    compared_as,
    decimal_among,
    gives_up_digits,
    wider_time,
)
from sparkcep.expr.functions.lambdas import free_parameters
from sparkcep.expr.nodes import COMPARISONS, AggregateSlot, Call, Constant, Expression, Load, NavigationSlot, RowValue
from sparkcep.expr.numbers import single
from sparkcep.expr.typed import Typed
from sparkcep.expr.types import FLOAT, NULL, STRING, NotCompilable, Type, parse_type
from sparkcep.expr.typing_pass import Typing
from sparkcep.planner.conditions.collector import Collector, at_same_row, navigation_of, text_of
from sparkcep.planner.conditions.one_row import column_of, literal_text

_ALTERNATIVES = ("case", "coalesce", "least", "greatest")
_ARITHMETIC = ("+", "-", "*", "/", "%", "div", "negate", "abs")
#: What makes texts of its operands.
_OF_TEXTS = ("concat", "concat_ws", "like")
_COERCED = frozenset([*COMPARISONS, *_ARITHMETIC, *_ALTERNATIVES, *_OF_TEXTS, "in", "datediff"])
#: Aggregates of numbers: of a text they take its number.
_OF_NUMBERS = frozenset(
    "sum avg mean try_sum try_avg stddev std stddev_samp stddev_pop variance var_samp var_pop skewness kurtosis".split()
)


@dataclass(slots=True)
class Comparable:
    """Conditions as the kernel can evaluate them.

    ``ansi``: whether the session is in ANSI mode.
    """

    owner: Collector
    ansi: bool

    def applied(self, node: Expression) -> Expression:
        """An expression whose values are of one type wherever they meet; all else stays."""
        if isinstance(node, Load):
            return self.of_numbers(node)
        if not isinstance(node, Call):
            return node
        node = replace(node, arguments=tuple(map(self.applied, node.arguments)))
        places = _values(node)
        types = self.types_at(node, places)
        if types == {"binary"} and node.name in (*COMPARISONS, "in"):
            return self.replaced(node, places, lambda value: self.column(value, "hex({})", "string"))
        days = node.name in ("+", "-") and "date" in types
        if node.name in _COERCED and (types & {"", "string", "float"} or node.name in _OF_TEXTS or days):
            coerced = self.coerced(node, places)
            if not isinstance(coerced, Call):
                return coerced
            node, types = coerced, self.types_at(coerced, places)
        if not types <= set(TIMES_BY_WIDTH):
            return node
        if node.name == "datediff":
            return self.cast(node, places, "date")
        if node.name == "-" and types != {"date"}:
            return replace(self.cast(node, places, "timestamp_ntz"), zone="")
        if len(types) == 1:
            return node
        if node.name in (*COMPARISONS, "in", *_ALTERNATIVES):
            return self.cast(node, places, wider_time(types))
        return node

    def type_of(self, node: Expression) -> str:
        """The type of a value that can be made another one here, a column's, a text literal's or one of several times';
        empty for others."""
        if isinstance(node, Constant):
            return "string" if node.type == STRING else ""
        if isinstance(node, Call) and node.name in _ALTERNATIVES:
            types = self.types_at(node, _values(node))
            return types.pop() if len(types) == 1 and types <= set(TIMES_BY_WIDTH) else ""
        slot = navigation_of(node, self.owner)
        return "" if slot is None else self.owner.types()[slot.column]

    def types_at(self, node: Call, places: Sequence[int]) -> set[str]:
        """The types of some arguments of a call."""
        return {self.type_of(node.arguments[k]) for k in places}

    def replaced(self, node: Call, places: Sequence[int], by: Callable[[Expression], Expression]) -> Call:
        """A call with other values for some of its arguments."""
        arguments = list(node.arguments)
        for k in places:
            arguments[k] = by(arguments[k])
        return replace(node, arguments=tuple(arguments))

    def cast(self, node: Call, places: Sequence[int], to: str) -> Call:
        """A call some of whose arguments, times all, are of a type."""
        return self.replaced(node, places, lambda value: self.as_type(value, to))

    def as_type(self, node: Expression, to: str) -> Expression:
        """A time as another type."""
        if self.type_of(node) == to:
            return node
        if isinstance(node, Call):
            return self.cast(node, _values(node), to)
        return self.column(node, f"CAST({{}} AS {to.upper()})", to)

    def column(self, node: Expression, form: str, type_: str) -> Load:
        """Another column's value at the row of a column's value. ``form``: of the text, with the column as `{}`."""
        slot = navigation_of(node, self.owner)
        assert slot is not None
        text = form.replace("{}", text_of(slot, self.owner))
        return self.made_column(at_same_row(slot, text, self.owner), type_)

    def loses_precision(self, node: Expression) -> bool:
        """Whether decimals in an expression would have more digits than Spark's have, so that some are given up."""
        if not isinstance(node, Call):
            return False
        if node.name in ("+", "-", "*", "/", "%") and len(node.arguments) == 2:
            kinds = [self.typed(value).beside_decimal for value in node.arguments]
            if decimal_among(kinds) and gives_up_digits(node.name, *kinds):
                return True
        return any(map(self.loses_precision, node.arguments))

    # -- texts beside other types, singles beside integers -------------------------------------------------------------

    def days_later(self, node: Call, kinds: Sequence[Type]) -> Expression | None:
        """A date and a number of days, which Spark adds as `date_add`; None for anything else."""
        (x, y), (day, number) = node.arguments, kinds
        if node.name == "+" and day.kind == "int":
            x, y, day, number = y, x, number, day
        if day.kind != "date" or number.kind != "int" or number.size > 32:
            return None
        of_one = column_of(node, self.owner)
        if of_one is not None:
            return self.made_column(of_one, "date")
        return Call("date_add" if node.name == "+" else "date_sub", (x, y))

    def coerced(self, node: Call, places: Sequence[int]) -> Expression:
        """A call whose texts are cast to the type of the values beside them, or these to texts; a sum of a date and
        days."""
        try:
            kinds = [self.kind(node.arguments[k]) for k in places]
        except NotCompilable:
            return node
        if node.name in _OF_TEXTS and all(k.is_single for k in kinds):
            return self.coerced_to(STRING, node, places, kinds)
        if node.name == "datediff" and all(k.kind in ("string", *TIMES_BY_WIDTH) for k in kinds):
            return self.coerced_to(Type("date"), node, places, kinds)
        to = None
        if node.name in COMPARISONS:
            to = compared_as(kinds, self.ansi)
        elif node.name in ("+", "-") and (shifted := self.days_later(node, kinds)) is not None:
            return shifted
        elif node.name in _ARITHMETIC:
            to = combined_as(node.name, kinds, self.ansi)
        elif node.name in (*_ALTERNATIVES, "in"):
            to = alternative_as(node.name, kinds, self.ansi)
        return node if to is None else self.coerced_to(to, node, places, kinds)

    def kind(self, node: Expression) -> Type:
        """The type of any value; see :meth:`typed`."""
        return self.typed(node).type

    def typed(self, node: Expression) -> Typed:
        """Any value with its type.

        Raises:
            NotCompilable: of what no condition can do, or of a lambda function's parameter.
        """
        if free_parameters(node):
            raise NotCompilable("a parameter")
        return Typing(self.owner.slots, tuple(map(parse_type, self.owner.types())), self.ansi).typed(node)

    def coerced_to(self, to: Type, node: Call, places: Sequence[int], kinds: Sequence[Type]) -> Call:
        """A call whose values at some places are of a type, where it is not one that numbers are widened to anyway."""
        arguments = list(node.arguments)
        for k, kind in zip(places, kinds, strict=True):
            if not (kind.is_numeric and to.is_numeric and to != FLOAT):
                arguments[k] = self.value_as(arguments[k], kind, to)
        return replace(node, arguments=tuple(arguments))

    def value_as(self, node: Expression, kind: Type, to: Type) -> Expression:
        """A value as another type, by Spark where it is a column's or a literal; else as it stands, which is refused
        where it matters."""
        if kind in (to, NULL):
            return node
        form = f"CAST({{}} AS {to.sql})"
        if (column := column_of(node, self.owner, form)) is not None:
            return self.made_column(column, to.sql.lower())
        if isinstance(node, Constant):
            if to == FLOAT and kind.kind == "int" and abs(node.value) < 1 << 53:
                return Constant(single(node.value), FLOAT)
            return self.constant_column(form.format(literal_text(node)), to.sql.lower())
        if isinstance(node, Call) and kind == STRING and node.name in ("case", "coalesce"):
            node = _case_of(node)
            return self.replaced(node, _values(node), lambda value: self.value_as(value, self.kind(value), to))
        if to == FLOAT and kind.kind == "int":
            return Call("cast_float", (node,))
        return Call("cast_string", (node,)) if to == STRING and kind.kind in ("int", "boolean", "date") else node

    def made_column(self, column: Load, type_: str) -> Load:
        """A column that was added, whose type is known from here on."""
        slot = navigation_of(column, self.owner)
        assert slot is not None
        self.owner.types_of_fields[self.owner.columns[slot.column]] = type_
        return column

    def constant_column(self, text: str, type_: str) -> Load:
        """What Spark makes of a literal, at the tested row."""
        number = self.owner.column(text.replace("{", "{{").replace("}", "}}"))
        slot = NavigationSlot(self.owner.register(None), False, 0, 0, number)
        return self.made_column(self.owner.slot(slot), type_)

    def of_numbers(self, node: Load) -> Load:
        """An aggregate of numbers over texts as one over their numbers; any other value stays."""
        slot = self.owner.slots[node.slot]
        if not isinstance(slot, AggregateSlot) or slot.function not in _OF_NUMBERS or len(slot.arguments) != 1:
            return node
        value = slot.arguments[0]
        if not isinstance(value, RowValue) or value.column < 0 or self.owner.types()[value.column] != "string":
            return node
        text = f"CAST({self.owner.fields.texts[self.owner.columns[value.column]]} AS DOUBLE)"
        column = self.owner.column(self.owner.guarded(text, self.owner.variables(slot.register)))
        self.owner.types_of_fields[self.owner.columns[column]] = "double"
        return self.owner.slot(replace(slot, arguments=(RowValue(column),)))


def _case_of(call: Call) -> Call:
    """COALESCE as CASE, whose branches can be cast each: where a cast gives NULL the next one must not be taken."""
    if call.name == "case":
        return call
    *first, last = call.arguments
    branches = [part for value in first for part in (Call("not", (Call("isnull", (value,)),)), value)]
    return Call("case", (*branches, last))


def _values(call: Call) -> list[int]:
    """Places of a call's values: all, but for CASE, which has condition, value, condition, value, ..., default."""
    last = len(call.arguments) - 1
    return [*range(1, last, 2), last] if call.name == "case" else list(range(last + 1))
