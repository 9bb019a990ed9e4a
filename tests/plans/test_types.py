"""Every part of every condition of the corpus has the type that Spark gives it (`make test-full`).

A part is written as SQL again, over a view whose columns have the types of what it reads; Spark analyses that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any
from unittest import mock

import pytest
from pyspark.sql import SparkSession

from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.conditions.programs import CallsBack, ConditionPrograms
from sparkcep.expr.functions.operators import ARITHMETIC
from sparkcep.expr.nodes import COMPARISONS, AggregateSlot
from sparkcep.expr.typed import Form, Typed
from sparkcep.expr.types import DAYS, Type, parse_type
from sparkcep.expr.typing_pass import Typing
from sparkcep.query import string_literal

from ..conftest import IS_CONNECT
from . import described
from .answers import Answers
from .corpus import sources
from .plans import answers_file, planned

pytestmark = [pytest.mark.full, pytest.mark.skipif(IS_CONNECT, reason="Spark's types are the same there")]
#: What aggregates take that must not come from rows.
CONSTANTS = {
    **dict.fromkeys(("mode", "any_value", "first_value", "last_value"), "true"),
    **dict.fromkeys(("percentile", "percentile_approx", "approx_percentile"), "0.5"),
    **dict.fromkeys(("listagg", "string_agg"), "','"),
}
#: Parts that Spark is asked about at once.
ASKED = 200


def ddl(kind: Type) -> str:
    """A type as SQL declares a column of it."""
    if kind.kind == "interval":
        return "INTERVAL DAY" if kind == DAYS else "INTERVAL DAY TO SECOND"
    if kind.kind == "array":
        return f"ARRAY<{ddl(kind.element or Type('null'))}>"
    if kind.kind == "map":
        return f"MAP<{ddl(kind.key or Type('null'))}, {ddl(kind.element or Type('null'))}>"
    if kind.kind == "struct":
        return f"STRUCT<{', '.join(f'`{name}`: {ddl(of)}' for name, of in kind.fields)}>"
    return "VOID" if kind.kind == "null" else kind.sql


class Written:
    """Parts as SQL over columns by type: ``columns``, text of a type -> a column's name."""

    def __init__(self) -> None:
        self.columns: dict[str, str] = {}

    def column(self, kind: Type) -> str:
        return self.columns.setdefault(ddl(kind), f"c{len(self.columns)}")

    def sql(self, of: Typed) -> str:
        if of.form is Form.CONSTANT:
            return literal(of.value, of.type)
        if of.form is Form.PARAMETER:
            return f"p{of.number}"
        if of.form in (Form.COLUMN, Form.NUMBER, Form.NAVIGATION, Form.AGGREGATE):
            return self.column(of.type)
        if of.form is Form.WIDENED:
            return self.sql(of.unwidened)
        if of.form is Form.WITH_LAMBDAS:
            count = len(of.arguments) - len(of.parameters)
            bodies = []
            for numbers, body in zip(of.parameters, of.arguments[count:], strict=True):
                names = ", ".join(f"p{n}" for n in numbers)
                bodies.append(f"{names if len(numbers) == 1 else f'({names})'} -> {self.sql(body)}")
            return f"{of.name}({', '.join([*map(self.sql, of.arguments[:count]), *bodies])})"
        if of.name == "concat_ws":
            between, parts = of.arguments
            return f"concat_ws({', '.join(map(self.sql, (between, *parts.arguments)))})"
        return self.called(of, list(map(self.sql, of.arguments)))

    def called(self, of: Typed, arguments: list[str]) -> str:
        assert of.call is not None
        name = of.name
        if name in (*COMPARISONS, *ARITHMETIC, "and", "or"):
            return f"({f' {name} '.join(arguments)})"
        if name == "in":
            return f"({arguments[0]} IN ({', '.join(arguments[1:])}))"
        if name == "case":
            branches = zip(arguments[:-1:2], arguments[1::2], strict=False)
            return f"CASE {' '.join(f'WHEN {test} THEN {value}' for test, value in branches)} ELSE {arguments[-1]} END"
        if name.startswith("cast_"):
            return f"{'TRY_' * of.call.safe}CAST({arguments[0]} AS {name[5:]})"
        forms = {
            "not": "(NOT {})", "isnull": "({} IS NULL)", "negate": "(- {})", "like": "({} LIKE {})",
            "element": "{}[0]", "field": f"{{}}.`{of.call.field}`",
            "timestampdiff": "timestampdiff(MICROSECOND, {}, {})",
        }  # fmt: skip
        return forms[name].format(*arguments) if name in forms else f"{name}({', '.join(arguments)})"


def literal(value: Any, kind: Type) -> str:
    """A literal of a type."""
    if value is None or isinstance(value, bool):
        return str(value).replace("None", "NULL")
    if isinstance(value, str):
        return string_literal(value)
    if isinstance(value, Decimal):
        return f"{value:f}BD"
    return f"CAST({value!r} AS {ddl(kind)})" if kind.is_floating else f"{value}{'L' * (kind.size == 64)}"


def parts(of: Typed) -> Iterator[Typed]:
    """A condition's parts; of what stands in a lambda function Spark is asked with the function."""
    yield of
    inner = of.arguments[: len(of.arguments) - len(of.parameters)]
    for argument in inner:
        yield from parts(argument.unwidened)


def asked_of(written: Written, conditions: ConditionSet, ansi: bool) -> Iterator[tuple[str, Type]]:
    """SQL of parts that are operations, and aggregates, with the types that conditions give them."""
    typing = Typing(conditions.slots, conditions.column_types, ansi)
    for condition in conditions.conditions.values():
        for part in parts(typing.typed(condition)):
            if part.form is Form.AGGREGATE:
                assert isinstance(part.slot, AggregateSlot)
                if part.slot.own_aggregate is None and part.slot.arguments:
                    first, *rest = part.arguments[: len(part.slot.arguments)]
                    name = part.slot.function
                    inner = [written.sql(first), *(CONSTANTS.get(name) or written.sql(each) for each in rest)]
                    yield f"{name}({', '.join(inner)}) OVER (PARTITION BY 1)", part.type
            elif part.call is not None:
                yield written.sql(part), part.type


def test_types(spark: SparkSession) -> None:
    by_mode: dict[bool, dict[str, Type]] = {True: {}, False: {}}
    written = Written()

    def compile_conditions(found: ConditionSet, ansi: bool, *rest: CallsBack | bool) -> ConditionPrograms:
        by_mode[ansi].update(asked_of(written, found, ansi))
        return real(found, ansi, *rest)  # type: ignore[arg-type]

    real = described.compile_conditions
    with mock.patch.object(described, "compile_conditions", compile_conditions):
        for source in sources():
            planned(source, Answers.read(answers_file(source)))
    assert all(by_mode.values())
    columns = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for kind, name in written.columns.items())
    wrong = []
    for ansi, found in by_mode.items():
        spark.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
        try:
            wrong += differing(spark, columns, list(found.items()))
        finally:
            spark.conf.unset("spark.sql.ansi.enabled")
    assert wrong == []
    assert sum(map(len, by_mode.values())) > 500


def differing(spark: SparkSession, columns: str, found: Sequence[tuple[str, Type]]) -> list[tuple[str, Type, str]]:
    """SQL of other types than Spark's."""
    out = []
    for k in range(0, len(found), ASKED):
        some = found[k : k + ASKED]
        fields = spark.sql(f"SELECT {', '.join(text for text, _ in some)} FROM (SELECT {columns})").schema
        for (text, kind), field in zip(some, fields, strict=True):
            spark_type = field.dataType.simpleString()
            if parse_type(spark_type) != kind:
                out.append((text, kind, spark_type))
    return out
