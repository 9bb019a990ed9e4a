"""Expressions over one row without Spark: where a pattern is a function, the worker computes what Spark would.

They become trees of the interpreter over the input's columns. What the interpreter does not know is refused by name.
"""

from __future__ import annotations

import datetime as dt
import re
import zoneinfo
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.conditions.row_values import RowProgram
from sparkcep.expr.nodes import Call, ConditionSlot, Constant, Expression, RowValue
from sparkcep.expr.types import NotCompilable, Type, parse_type
from sparkcep.expr.typing_pass import Typing
from sparkcep.planner.conditions.char_padding import declared_length
from sparkcep.planner.conditions.one_row import no_such_operator
from sparkcep.planner.conditions.trees import Conjunct
from sparkcep.planner.fields import Fields
from sparkcep.planner.lengths import fixed_distance
from sparkcep.query import quote, unescape

#: Casts that leave values as they are.
_WIDER = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_CAST = re.compile(r"\s*CAST\((.*) AS ([a-z_0-9(), ]+)\)\s*", re.IGNORECASE | re.DOTALL)


@dataclass(slots=True)
class _Columns:
    """What a conjunct's reader asks of its owner, over plain columns."""

    fields: Fields
    column_types: Mapping[str, str]
    zone: str
    slots: list[ConditionSlot] = field(default_factory=list)

    def column(self, text: str) -> int:
        name = self.fields.column_of(text)
        if name is None:
            raise NotCompilable(f"{unescape(text).strip()}, a field of a column or no column at all")
        return list(self.fields.columns).index(name)

    def guarded(self, text: str, _: object) -> str:
        return text


class _Reader(Conjunct):
    """Leaves nothing to Spark."""

    def __init__(self, owner: _Columns, text: str, zone: dt.tzinfo) -> None:
        super().__init__(owner, [text], in_row=True)  # type: ignore[arg-type]
        self.zone = zone

    def constant_end(self, *_: object) -> None:
        return None

    def padded(self, x: Expression, y: Expression) -> tuple[Expression, Expression]:
        self.refuse_char(x, y)
        return x, y

    def is_padded(self, values: Sequence[Expression]) -> bool:
        self.refuse_char(*values)
        return False

    def refuse_char(self, *values: Expression) -> None:
        """Raises NotCompilable for what Spark fills up with blanks before it compares."""
        names = [quote(self.owner.fields.columns[v.column]) for v in values if isinstance(v, RowValue)]
        if any(declared_length(name, self.owner) for name in names):
            raise NotCompilable("a comparison of a CHAR column, which Spark fills up with blanks")

    interval_sum = element_access = lift_call = constant_end  # type: ignore[assignment]

    def of_spark(self, name: str, _: Sequence[exp.Expr], extra: str = "") -> Expression:
        raise NotCompilable(no_such_operator(name, extra))

    def cast(self, tree: exp.Cast) -> Expression:
        value = tree.this
        if isinstance(value, exp.Literal) and value.is_string and (constant := self.moment(tree, value.name)):
            return constant
        return super().cast(tree)

    def moment(self, tree: exp.Cast, text: str) -> Constant | None:
        """A DATE or TIMESTAMP literal."""
        try:
            found = dt.datetime.fromisoformat(text.strip())
        except ValueError:
            return None
        if tree.to.this == exp.DType.DATE:
            return Constant(found.date(), Type("date"))
        if tree.to.this in (exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMP) and found.tzinfo is None:
            # sqlglot's names: Spark's TIMESTAMP is TIMESTAMPTZ.
            return Constant(found, Type("timestamp_ntz"))
        if tree.to.this in (exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ):
            at = found if found.tzinfo is not None else found.replace(tzinfo=self.zone)
            return Constant(at.astimezone(dt.UTC), Type("timestamp"))
        return None

    def construct(self, tree: exp.Expr) -> Expression:
        if isinstance(tree, exp.Interval):
            unit = tree.args.get("unit")
            text = f"INTERVAL '{tree.this.name}' {unit.name}" if unit is not None else f"INTERVAL '{tree.this.name}'"
            micros = fixed_distance(text, "timestamp_ntz")
            if micros is None:
                raise NotCompilable(f"the interval {tree.sql()}")
            days = unit is not None and unit.name.upper().rstrip("S") == "DAY"
            return Constant(dt.timedelta(microseconds=micros), Type("interval", scale=int(days)))
        return super().construct(tree)


class RowExpressions:
    """Types and programs of expressions over the columns of one row.

    Args:
        types: Spark type of each input column, as ``simpleString``.
        case_sensitive: as Spark's setting. ansi: as Spark's setting. zone: name of the session's time zone.
        text: the statement, for errors; the expressions stand in it behind ``start``.
    """

    def __init__(
        self, types: Mapping[str, str], case_sensitive: bool, ansi: bool, zone: str, text: str, start: int
    ) -> None:
        self.types = dict(types)
        self.kinds = tuple(parse_type(t) for t in types.values())
        self.columns = _Columns(Fields(tuple(types), case_sensitive), types, zone)
        self.ansi = ansi
        self.zone = zone
        self.text = text
        self.start = start
        self.whole = f"struct({', '.join(quote(c) for c in types)})"

    def program(self, text: str, position: int | None = None) -> RowProgram:
        """The program of an expression.

        Raises:
            PatternAnalysisError: CEP_FUNCTION_EXPRESSION, at ``position`` or where its text stands.
        """
        try:
            return self.compiled(text)
        except NotCompilable as error:
            what = str(error)
        except RecursionError:
            what = "an expression that nests so deeply"
        if position is None:
            own = unescape(text).strip("() ")
            position = max(self.text.find(own, self.start), self.start)
        raise PatternAnalysisError(
            "CEP_FUNCTION_EXPRESSION",
            f"A pattern function cannot evaluate {what}.",
            text=self.text,
            position=position,
            hint="compute it as a column in the query below the call: f(TABLE(SELECT *, ... AS x FROM t))",
        )

    def compiled(self, text: str) -> RowProgram:
        """Raises NotCompilable."""
        if text == self.whole:
            fields = ",".join(f"{c}:{t}" for c, t in self.types.items())
            return RowProgram(None, Type("other"), f"struct<{fields}>")
        if (column := self.columns.fields.column_of(text)) is not None:
            number = list(self.types).index(column)
            return RowProgram(RowValue(number), self.kinds[number], self.types[column])
        if cast := _CAST.fullmatch(text):
            inner = self.compiled(_bare(cast[1]))
            return self.cast(inner, cast[2].strip().lower())
        tree = _Reader(self.columns, text, zoneinfo.ZoneInfo(self.zone)).convert()
        if isinstance(tree, RowValue):
            return RowProgram(tree, self.kinds[tree.column], list(self.types.values())[tree.column])
        kind = Typing((), self.kinds, self.ansi).typed(tree).type
        return RowProgram(tree, kind, spark_type(kind))

    def cast(self, inner: RowProgram, to: str) -> RowProgram:
        """Casts that the planner writes: to the same type, to a wider integer, to local time."""
        if inner.spark == to or (inner.kind.kind == "int" and _WIDER.get(to, 0) >= inner.kind.size):
            return RowProgram(inner.tree, parse_type(to), to)
        if inner.spark == "timestamp" and to == "timestamp_ntz":
            return RowProgram(inner.tree, parse_type(to), to, self.zone)
        if to in ("double", "bigint") and inner.tree is not None:
            tree = Call(f"cast_{to}", (inner.tree,))
            return RowProgram(tree, Typing((), self.kinds, self.ansi).typed(tree).type, to)
        raise NotCompilable(f"CAST to {to}")

    def analyze(self, items: Sequence[str]) -> list[tuple[str, str]]:
        """Names and Spark types of expressions, as Spark's analyser gives them."""
        out = []
        for item in items:
            name = self.columns.fields.column_of(item) or unescape(item).strip()
            out.append((name, self.program(item).spark))
        return out


def spark_type(kind: Type) -> str:
    """Spark's name of a type that the interpreter computes.

    Raises:
        NotCompilable: a type that cannot be emitted.
    """
    if kind.kind == "int":
        return {8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}[kind.size]
    if kind.kind == "decimal":
        return f"decimal({kind.size},{kind.scale})"
    if kind.kind == "interval":
        return "interval day" if kind.scale else "interval day to second"
    if kind.kind == "array" and kind.element is not None:
        return f"array<{spark_type(kind.element)}>"
    if kind.kind == "null":
        return "void"
    if not kind.is_single:
        raise NotCompilable("a value of this type")
    return kind.kind


def _bare(text: str) -> str:
    """Without parentheses around the whole."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")"):
        depth = 0
        for i, c in enumerate(text):
            depth += (c == "(") - (c == ")")
            if depth == 0 and i < len(text) - 1:
                return text
        text = text[1:-1].strip()
    return text
