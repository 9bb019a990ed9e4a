"""Match-dependent conditions as trees: from text whose row-local parts are lifted out to the kernel's expressions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from sparkcep.expr.functions import WRITTEN
from sparkcep.expr.functions.collections import FIELD
from sparkcep.expr.functions.lambdas import LAMBDA, free_parameters
from sparkcep.expr.functions.lambdas import PARAMETER as NAMED
from sparkcep.expr.nodes import (
    COMPARISONS,
    LABEL_COLUMN,
    AggregateSlot,
    Call,
    Constant,
    CurrentNumber,
    Expression,
    NavigationSlot,
    NumberSlot,
    RowValue,
)
from sparkcep.expr.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, TIMES, NotCompilable, Type
from sparkcep.planner.conditions.char_padding import char_length, padded, padded_alternatives
from sparkcep.planner.conditions.collector import at_same_row, navigation_of, text_of
from sparkcep.planner.conditions.hoisting import FUNCTION, PARAMETER, SLOT, TEXT, Hoisting
from sparkcep.planner.conditions.row_conditions import FAILING_OPERATORS
from sparkcep.query import Aggregate, MatchNumber, Navigation, RowExpression, RowMarker, quote, unescape
from sparkcep.sql.lexicon import parse_expression, tokenize

_BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div", exp.EQ: "=",
    exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.NullSafeEQ: "<=>", exp.EqualNull: "<=>",
    exp.And: "and", exp.Or: "or",
}  # fmt: skip
_FUNCTIONS: dict[type[exp.Expr], str] = {exp.Trim: "trim", exp.Neg: "negate", exp.Not: "not"}


_CASTS = {
    exp.DType.DOUBLE: "cast_double", exp.DType.FLOAT: "cast_float", exp.DType.BIGINT: "cast_bigint",
    exp.DType.INT: "cast_int", exp.DType.TEXT: "cast_string",
}  # fmt: skip


#: Microseconds of the units that TIMESTAMPDIFF counts in and that are always as long.
MICROS = {
    "MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000, "WEEK": 7 * 86_400_000_000,
}  # fmt: skip
#: Operators by the names that users give them.
_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Like: "LIKE", exp.Any: "ANY", exp.All: "ALL", exp.Tuple: "(x, y)", exp.In: "IN", exp.Between: "BETWEEN",
    exp.Is: "IS",
}  # fmt: skip
#: Operators that Spark alone has; see one_row.py.
_SPARKS_OWN: dict[type[exp.Expr], str] = {
    exp.RegexpLike: "rlike", exp.ILike: "ilike", exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^",
    exp.BitwiseNot: "~", exp.BitwiseLeftShift: "<<", exp.BitwiseRightShift: ">>",
}  # fmt: skip
_EXISTS = re.compile(r"\bEXISTS\s*\(\s*(?:SELECT|WITH|FROM)\b", re.IGNORECASE)
_BITS = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseLeftShift, exp.BitwiseRightShift)


class Conjunct(Hoisting):
    """Turns one expression into the kernel's tree."""

    def convert(self) -> Expression:
        """The conjunct as an expression, with whatever Spark can evaluate row by row taken out as columns.

        Raises:
            NotCompilable: naming the part of it that cannot be evaluated over several rows.
        """
        exists = _EXISTS.search(self.text)
        self.text = self.lift(self.text)
        tree = parse_expression(self.text)
        if tree is None:
            raise NotCompilable("EXISTS with a subquery" if exists else "this expression, which cannot be read")
        return self.node(tree)

    def whole(self) -> Expression | None:
        """The expression as one call, where Spark can evaluate it for every pair of rows: operators are calls too.

        Where a pair that is in no match may fail, it must not be evaluated.
        """
        text = f"({self.text.strip()})"
        tokens = tokenize(text)
        return None if any(t.upper in FAILING_OPERATORS for t in tokens) else self.lift_call(text, tokens)

    def node(self, tree: exp.Expr) -> Expression:
        """One node of sqlglot's tree as an expression.

        Raises:
            NotCompilable: what conditions lack.
        """
        if isinstance(tree, exp.Paren):
            return self.node(tree.this)
        if isinstance(tree, (exp.Column, exp.Dot)):
            return self.column(tree)
        if isinstance(tree, exp.Literal):
            return literal(tree)
        if isinstance(tree, exp.Boolean):
            return Constant(bool(tree.this), BOOLEAN)
        if isinstance(tree, exp.Null):
            return Constant(None, NULL)
        if isinstance(tree, (exp.And, exp.Or)):
            return self.chain(tree)
        if tree.args.get("negate"):  # NOT LIKE
            positive = tree.copy()
            positive.set("negate", None)
            return Call("not", (self.node(positive),))
        name = _BINARY.get(type(tree))
        if name in COMPARISONS:
            return self.comparison(name, self.node(tree.this), self.node(tree.expression))
        if name is not None:
            return self.operation(name, self.node(tree.this), self.node(tree.expression))
        if isinstance(tree, (exp.Cast, exp.TryCast)):
            return self.cast(tree)
        if isinstance(tree, exp.Trim) and (tree.args.get("position") or tree.args.get("expression")):
            raise NotCompilable("TRIM with options over several rows of the match")
        if isinstance(tree, exp.Neg) and isinstance(tree.this, exp.Literal) and not tree.this.is_string:
            return negative(literal(tree.this))
        if type(tree) in _FUNCTIONS:
            return Call(_FUNCTIONS[type(tree)], (self.node(tree.this),))
        return self.construct(tree)

    def chain(self, tree: exp.Expr) -> Expression:
        """A run of ANDs or ORs as a balanced tree, so that long ones do not nest deeply."""
        kind = type(tree)
        operands: list[Expression] = []
        stack: list[exp.Expr] = [tree]
        while stack:
            at = stack.pop()
            if type(at) is kind:
                stack += [at.expression, at.this]
            else:
                operands.append(self.node(at))
        return balanced(_BINARY[kind], operands)

    def comparison(self, name: str, x: Expression, y: Expression) -> Expression:
        """A comparison, with CHAR columns filled up where Spark does so."""
        return self.operation(name, *self.padded(x, y))

    def padded(self, x: Expression, y: Expression) -> tuple[Expression, Expression]:
        """Operands of a comparison; see char_padding.py."""
        return padded(x, y, self.owner)

    def operation(self, name: str, x: Expression, y: Expression) -> Expression:
        """An operator of two values. Of what may be times that are no columns' it has the session's time zone."""
        if name == "-":
            # Spark subtracts timestamps by the session's local time.
            types = [self.input_type(x), self.input_type(y)]
            if all(type_ in TIMES for type_ in types) and types != ["date", "date"]:
                x, y = self.as_local_time(x) or x, self.as_local_time(y) or y
                return Call("-", (x, y))
        inside = bool(free_parameters(x) or free_parameters(y))
        constant = isinstance(x, Constant) or isinstance(y, Constant)
        timed = name in COMPARISONS or (name in ("+", "-") and (inside or not constant))
        return Call(name, (x, y), self.owner.zone if timed else "")

    def input_type(self, value: Expression) -> str | None:
        """The type of the input's column that a value is of; None: it is of none."""
        if (slot := navigation_of(value, self.owner)) is None:
            return None
        return self.owner.column_types.get(self.owner.fields.column_of(text_of(slot, self.owner)) or "")

    def as_local_time(self, value: Expression) -> Expression | None:
        """A column's value as TIMESTAMP_NTZ, which Spark makes of times, dates and texts; None: it is no column's."""
        if (slot := navigation_of(value, self.owner)) is None:
            return None
        return at_same_row(slot, f"CAST({text_of(slot, self.owner)} AS TIMESTAMP_NTZ)", self.owner)

    def construct(self, tree: exp.Expr) -> Expression:
        """Forms that are no plain call: IS, BETWEEN, IN, LIKE, IF, COALESCE, DATEDIFF, arrays and the like.

        Raises:
            NotCompilable: any other.
        """
        if isinstance(tree, exp.Is):
            value = self.node(tree.this)
            if isinstance(tree.expression, exp.Null):
                return Call("isnull", (value,))
            if isinstance(tree.expression, exp.Boolean):
                return Call("<=>", (value, Constant(bool(tree.expression.this), BOOLEAN)))
        if isinstance(tree, exp.NullSafeNEQ):
            return Call("not", (self.comparison("<=>", self.node(tree.this), self.node(tree.expression)),))
        if isinstance(tree, exp.Between) and not tree.args.get("symmetric"):
            value = self.node(tree.this)
            low = self.operation(">=", value, self.node(tree.args["low"]))
            return Call("and", (low, self.operation("<=", value, self.node(tree.args["high"]))))
        if isinstance(tree, exp.In) and tree.expressions and not tree.args.get("query"):
            return self.membership([self.node(tree.this), *map(self.node, tree.expressions)])
        if isinstance(tree, exp.Like):
            return Call("like", (self.node(tree.this), self.node(tree.expression)))
        if type(tree) in _SPARKS_OWN:
            return self.sparks_own(tree)
        if isinstance(tree, exp.Escape) and isinstance(tree.this, exp.Like):
            like = tree.this
            value = Call("like", (self.node(like.this), self.node(like.expression)), escape=tree.expression.name)
            return Call("not", (value,)) if like.args.get("negate") else value
        if isinstance(tree, exp.Case):
            return self.case(tree)
        if isinstance(tree, exp.If):
            no = tree.args.get("false")
            default = self.node(no) if no is not None else Constant(None, NULL)
            return Call("case", (self.node(tree.this), self.node(tree.args["true"]), default))
        if isinstance(tree, exp.Nullif):
            value = self.node(tree.this)
            return Call("case", (Call("=", (value, self.node(tree.expression))), Constant(None, NULL), value))
        if isinstance(tree, (exp.Coalesce, exp.Least, exp.Greatest)):
            name = {exp.Coalesce: "coalesce", exp.Least: "least", exp.Greatest: "greatest"}[type(tree)]
            return Call(name, (self.node(tree.this), *map(self.node, tree.expressions)))
        if isinstance(tree, (exp.DateDiff, exp.TimestampDiff)) and tree.args.get("unit"):
            return self.time_difference(tree)
        if isinstance(tree, exp.DateDiff):
            ends = (_dropped_cast(tree.this), _dropped_cast(tree.expression))
            return Call("datediff", tuple(map(self.node, ends)))
        if type(tree) is exp.Concat:
            return Call("concat", tuple(map(self.node, tree.expressions)))
        if isinstance(tree, exp.DPipe):
            return Call("concat", (self.node(tree.this), self.node(tree.expression)))
        if isinstance(tree, exp.Anonymous) and tree.name.startswith(FUNCTION):
            return self.named_call(tree.name.removeprefix(FUNCTION), tree.expressions)
        if isinstance(tree, exp.Array):
            return Call("array", tuple(map(self.node, tree.expressions)))
        raise NotCompilable(what(tree))

    def membership(self, values: Sequence[Expression]) -> Expression:
        """``values[0] IN (values[1:])``."""
        if self.is_padded(values):
            return balanced("or", [self.comparison("=", values[0], other) for other in values[1:]])
        return Call("in", tuple(values))

    def is_padded(self, values: Sequence[Expression]) -> bool:
        """Whether ``values[0] IN (values[1:])`` compares values that are filled up."""
        return any(char_length(v, self.owner) for v in values) and padded_alternatives(values, self.owner)

    def sparks_own(self, tree: exp.Expr) -> Expression:
        """An operator that only Spark has.

        Raises:
            NotCompilable: bits by several operators without parentheses, which sqlglot reads from left to right.
        """
        operands = [tree.this] if isinstance(tree, exp.BitwiseNot) else [tree.this, tree.expression]
        name = _SPARKS_OWN[type(tree)]
        if isinstance(tree, _BITS) and any(isinstance(o, _BITS) and type(o) is not type(tree) for o in operands):
            raise NotCompilable(f"the operator {name} beside another one without parentheses")
        return self.of_spark(name, operands)

    def of_spark(self, name: str, operands: Sequence[exp.Expr], to: str = "") -> Expression:
        """What only Spark can evaluate, and will if its operands are of one row."""
        return Call(name, tuple(map(self.node, operands)), to=to)

    def named_call(self, name: str, arguments: list[exp.Expr]) -> Expression:
        """A call that :meth:`lift` has kept from sqlglot's forms, a lambda function among them."""
        nodes = tuple(map(self.node, arguments))
        if name == LAMBDA:
            numbers = tuple(n.parameters[0] for n in nodes[:-1] if isinstance(n, Call))
            return Call(LAMBDA, nodes[-1:], parameters=numbers)
        return Call(WRITTEN[name], nodes)

    def time_difference(self, tree: exp.DateDiff | exp.TimestampDiff) -> Expression:
        """TIMESTAMPDIFF(unit, start, end), also by its name DATEDIFF: whole units between two local times.

        Raises:
            NotCompilable: a unit of changing length; an operand that is no column's value.
        """
        unit = tree.args["unit"].name.upper()
        ends = [self.as_local_time(self.node(_dropped_cast(end))) for end in (tree.this, tree.expression)]
        if unit not in MICROS or None in ends:
            raise NotCompilable(f"TIMESTAMPDIFF({unit}, ...)")
        return Call("timestampdiff", tuple(end for end in ends if end is not None), micros=MICROS[unit])

    def case(self, tree: exp.Case) -> Expression:
        """CASE as one call: condition, value, condition, value, ..., default."""
        subject = self.node(tree.this) if tree.this is not None else None
        out: list[Expression] = []
        for branch in tree.args["ifs"]:
            test = self.node(branch.this)
            out.append(test if subject is None else Call("=", self.padded(subject, test)))
            out.append(self.node(branch.args["true"]))
        default = tree.args.get("default")
        return Call("case", (*out, self.node(default) if default is not None else Constant(None, NULL)))

    def cast(self, tree: exp.Cast) -> Expression:
        """CAST and TRY_CAST, to types that conditions do not hold as Spark's own; a typed literal (`1.5D`) is a
        constant."""
        to = tree.to.this
        value = tree.this
        if isinstance(value, exp.Literal) and not value.is_string:  # 1.5D, 10L
            if to == exp.DType.DOUBLE:
                return Constant(float(value.name), DOUBLE)
            if to == exp.DType.BIGINT:
                return Constant(int(value.name), BIGINT)
        if to in _CASTS:
            return Call(_CASTS[to], (self.node(value),), safe=bool(tree.args.get("safe")))
        return self.of_spark("try_cast" if tree.args.get("safe") else "cast", [value], tree.to.sql("spark"))

    def column(self, tree: exp.Expr) -> Expression:
        """A name: what was lifted, a slot, else a column of the row at hand with the path into it.

        Raises:
            NotCompilable: a field of a lifted value, or a form that is not a name.
        """
        parts = [p.name for p in tree.parts] if isinstance(tree, exp.Column) else []
        if isinstance(tree, exp.Dot):
            at: exp.Expr = tree
            while isinstance(at, exp.Dot):
                parts.insert(0, at.expression.name)
                at = at.this
            parts = [p.name for p in at.parts] + parts if isinstance(at, exp.Column) else []
        if not parts:
            raise NotCompilable(what(tree))
        first = parts[0]
        path = "".join("." + quote(p) for p in parts[1:])
        if first in self.loads and not path:
            return self.loads[first]
        if first.startswith(PARAMETER) and first[len(PARAMETER) :].isdigit():
            value: Expression = Call(NAMED, (), parameters=(int(first[len(PARAMETER) :]),))
            for name in parts[1:]:
                value = Call(FIELD, (value,), field=name)
            return value
        if first.startswith(SLOT) and first[len(SLOT) :].isdigit():
            return self.slot(self.slots[int(first[len(SLOT) :])], path)
        if first.startswith(TEXT):
            raise NotCompilable("a field of a computed value")
        return self.row_value(unescape(quote(first) + path))

    def slot(self, slot: object, path: str) -> Expression:
        """A slot as an expression, with registers and columns made for what it reads. ``path``: fields below it."""
        if isinstance(slot, RowMarker):
            return RowValue(LABEL_COLUMN) if slot is RowMarker.LABEL else CurrentNumber()
        if isinstance(slot, MatchNumber):
            return self.owner.slot(NumberSlot())
        if isinstance(slot, Aggregate):
            of = slot.variables or ()
            arguments = tuple(self.argument(a, of) for a in slot.arguments)
            keep = self.argument(slot.filter, of) if slot.filter is not None else None
            register = self.owner.register(slot.variables, slot.each)
            form = (slot.distinct, keep, slot.before, slot.own_aggregate)
            return self.owner.slot(AggregateSlot(slot.function, register, arguments, *form))
        assert isinstance(slot, Navigation)
        if not slot.argument.markers:
            text = unescape(slot.argument.text)
            return self.row_value(f"({text}){unescape(path)}" if path else text, slot)
        where = (self.owner.register(slot.variables), slot.from_first, slot.logical, slot.physical)
        if slot.argument.is_label:
            return self.owner.slot(NavigationSlot(*where, LABEL_COLUMN))
        of = () if slot.physical else slot.variables or ()
        return self.owner.slot(NavigationSlot(*where, LABEL_COLUMN, self.argument(slot.argument, of)))

    def argument(self, argument: RowExpression, of: tuple[str, ...]) -> Expression:
        """An argument over a row of some variables: Spark's whole where it needs no label, else converted."""
        inner = Conjunct(self.owner, argument.pieces, in_row=True, of=of)
        if argument.markers:
            return inner.convert()
        return inner.row_value(unescape(argument.text))


def balanced(name: str, operands: Sequence[Expression]) -> Expression:
    """Operands of AND or OR, in order, as a tree of little depth: what evaluates it descends by recursion."""
    left = list(operands)
    while len(left) > 1:
        pairs = [left[k : k + 2] for k in range(0, len(left), 2)]
        left = [Call(name, tuple(pair)) if len(pair) == 2 else pair[0] for pair in pairs]
    return left[0]


def _dropped_cast(tree: exp.Expr) -> exp.Expr:
    """sqlglot wraps datediff's operands in casts of its own; operands must be dates as they are."""
    return tree.this if isinstance(tree, exp.TsOrDsToDate) else tree


def literal(tree: exp.Literal) -> Constant:
    """A literal with Spark's type: int, bigint, decimal or double."""
    text = tree.name
    if tree.is_string:
        return Constant(text, STRING)
    if text.isdigit():
        value = int(text)
        if value < 2**31:
            return Constant(value, INT)
        if value < 2**63:
            return Constant(value, BIGINT)
        return Constant(Decimal(value), Type("decimal", len(text), 0))
    if "e" in text.lower():
        return Constant(float(text), DOUBLE)
    number = Decimal(text)
    digits = number.as_tuple()
    scale = max(0, -int(digits.exponent))
    return Constant(number, Type("decimal", max(len(digits.digits), scale), scale))


def negative(constant: Constant) -> Constant:
    """A number with a minus sign, which is a part of it: `-2147483648` is an INT."""
    value = constant.value
    if isinstance(value, Decimal):  # which the minus sign would round to the context's digits
        value = value.copy_negate() if value else value
    else:
        value = -value
    if constant.type == BIGINT and value >= -(2**31):
        return Constant(value, INT)
    if constant.type.kind == "decimal" and constant.type.scale == 0 and value == -(2**63):
        return Constant(int(value), BIGINT)
    return Constant(value, constant.type)


def what(tree: exp.Expr) -> str:
    """How to name a construct in an error."""
    if isinstance(tree, exp.Anonymous):
        return f"the function {tree.name}"
    if isinstance(tree, exp.In) and not tree.expressions:
        return "IN with a subquery"
    if type(tree) in _OPERATORS:
        return f"the operator {_OPERATORS[type(tree)]}"
    if isinstance(tree, exp.Func):
        return f"the function {tree.sql_name().lower()}"
    return {"Bracket": "element access", "Subquery": "a subquery", "Lambda": "a lambda function"}.get(
        type(tree).__name__, type(tree).__name__
    )
