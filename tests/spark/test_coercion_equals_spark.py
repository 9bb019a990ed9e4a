"""Types that values of different ones are cast to are those that Spark's analysis gives them."""

from __future__ import annotations

import re

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from sparkcep.expr.coercion import alternative_as, combined_as, compared_as
from sparkcep.expr.types import Type, parse_type

from ..conftest import configured

pytestmark = [pytest.mark.full]

TYPES = {
    "t": "string", "y": "tinyint", "i": "int", "l": "bigint", "d": "double", "f": "float", "m": "decimal(10,2)",
    "b": "boolean", "dt": "date", "ts": "timestamp", "n": "timestamp_ntz",
}  # fmt: skip
KINDS = {name: parse_type(type_) for name, type_ in TYPES.items()}
ARITHMETIC = ("+", "-", "*", "/", "%", "div")


def analysed(spark: SparkSession, expression: str, of: str) -> Type | None:
    """The type that a column has in an expression, after casts; None where Spark refuses the expression."""
    columns = ", ".join(f"CAST(NULL AS {type_}) AS {name}" for name, type_ in TYPES.items())
    try:
        frame = spark.sql(f"SELECT {expression} AS r FROM (SELECT {columns})")
    except AnalysisException:
        return None
    text = frame._jdf.queryExecution().analyzed().toString().split("\n")[0]
    text = re.sub(r"#\d+L?", "", text)
    cast = re.search(rf"cast\({of} as ([a-z_]+(?:\(\d+,\d+\))?)\)", text)
    return parse_type(cast[1]) if cast else KINDS[of]


def cast_to(rule: Type | None, kind: Type) -> Type:
    """The type that a value of some type has by a rule of ours."""
    return kind if rule is None else rule


@pytest.mark.parametrize("ansi", [True, False])
def test_texts(spark: SparkSession, ansi: bool) -> None:
    text = KINDS["t"]
    with configured(spark, {"spark.sql.ansi.enabled": str(ansi).lower()}):
        for other, kind in KINDS.items():
            if other == "t":
                continue
            assert analysed(spark, f"t < {other}", "t") == cast_to(compared_as([text, kind], ansi), text), other
            assert analysed(spark, f"{other} <=> t", "t") == cast_to(compared_as([kind, text], ansi), text), other
            for name in ARITHMETIC:
                expected = analysed(spark, f"{other} {name} t", "t")
                assert (expected or text) == cast_to(combined_as(name, [kind, text], ansi), text), (other, name)
            for name, form in (("in", "t IN ({})"), ("coalesce", "coalesce({}, t)"), ("case", "if(b, t, {})")):
                expected = analysed(spark, form.format(other), "t")
                assert (expected or text) == cast_to(alternative_as(name, [text, kind], ansi), text), (other, name)
            if (expected := analysed(spark, f"coalesce(t, {other})", other)) and not ansi:
                assert expected == cast_to(alternative_as("coalesce", [text, kind], ansi), kind), other
            assert analysed(spark, f"least(t, {other})", "t") is None
            assert alternative_as("least", [text, kind], ansi) is None
        for name in ARITHMETIC:
            assert (analysed(spark, f"t {name} t", "t") or text) == cast_to(combined_as(name, [text, text], ansi), text)
        assert analysed(spark, "abs(t)", "t") == combined_as("abs", [text], ansi) == KINDS["d"]


@pytest.mark.parametrize("ansi", [True, False])
def test_three_alternatives(spark: SparkSession, ansi: bool) -> None:
    text = KINDS["t"]
    with configured(spark, {"spark.sql.ansi.enabled": str(ansi).lower()}):
        for one in "ildfm":
            for other in ("i", "l", "d", "f", "m", "dt", "ts"):
                expected = analysed(spark, f"coalesce(t, {one}, {other})", "t")
                found = alternative_as("coalesce", [text, KINDS[one], KINDS[other]], ansi)
                assert (expected or text) == cast_to(found, text), (one, other)


@pytest.mark.parametrize("ansi", [True, False])
def test_singles_beside_integers(spark: SparkSession, ansi: bool) -> None:
    single = KINDS["f"]
    with configured(spark, {"spark.sql.ansi.enabled": str(ansi).lower()}):
        for other in "yil":
            kind = KINDS[other]
            becomes = KINDS["d"] if ansi else single
            assert analysed(spark, f"f < {other}", other) == becomes
            assert compared_as([single, kind], ansi) == (None if ansi else single)
            assert analysed(spark, f"coalesce(f, {other})", other) == becomes
            assert alternative_as("coalesce", [single, kind], ansi) == (None if ansi else single)
            for name in ("+", "-", "*", "%"):
                assert analysed(spark, f"f {name} {other}", other) == becomes
                assert combined_as(name, [single, kind], ansi) == (None if ansi else single)
            assert analysed(spark, f"f / {other}", other) == KINDS["d"]
            assert combined_as("/", [single, kind], ansi) is None
