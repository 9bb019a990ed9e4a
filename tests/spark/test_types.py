# ruff: noqa: E501 (values as data)
"""Every Spark type as order key, partition key, operand and measure, in both layouts and forms, against plain Spark.

What is expected comes from `lag`, never from sparkcep: pairs of neighbours that satisfy a condition.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

from sparkcep.errors import SparkCepError

from ..conftest import every

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"


@dataclass(frozen=True)
class Type:
    """``values``: SQL; ``sorts`` and ``groups``: whether Spark lets it into ORDER BY, into PARTITION BY.

    ``compares`` and ``travels``: whether conditions may compare it over events, and whether the rows layout can carry
    it. Where they may not, the statement is refused.
    """

    values: str
    sorts: bool = True
    groups: bool = True
    compares: bool = True
    travels: bool = True


TYPES = {
    "boolean": Type("true, false, NULL, true"),
    "tinyint": Type("127Y, -128Y, NULL, 0Y, 127Y"),
    "smallint": Type("32767S, -32768S, NULL, 0S"),
    "int": Type("2147483647, -2147483648, NULL, 0, 0"),
    "bigint": Type("9223372036854775807, -9223372036854775808, NULL, 9223372036854775806, 9007199254740993, 9007199254740992"),
    "float": Type("float('NaN'), float('Infinity'), float('-Infinity'), NULL, float('-0.0'), float('0.0'), float(16777217)"),
    "double": Type("double('NaN'), double('Infinity'), double('-Infinity'), NULL, double('-0.0'), 0D, 1e308D, double('NaN')"),
    "decimal(38,0)": Type("99999999999999999999999999999999999999, -99999999999999999999999999999999999999, NULL, 1BD"),
    "decimal(38,10)": Type("CAST('1.0000000001' AS DECIMAL(38,10)), CAST('1.0000000002' AS DECIMAL(38,10)), NULL"),
    "string": Type("'', 'a', 'B', NULL, 'é', '\\u0000', '🚀', 'a'"),
    "string collate utf8_lcase": Type("'a' COLLATE UTF8_LCASE, 'A' COLLATE UTF8_LCASE, 'b' COLLATE UTF8_LCASE, NULL, 'B' COLLATE UTF8_LCASE", compares=False),
    "string collate unicode_ci": Type("'é' COLLATE UNICODE_CI, 'É' COLLATE UNICODE_CI, 'z' COLLATE UNICODE_CI, NULL", compares=False),
    "binary": Type("X'', X'00', X'FF', X'7F', NULL, X'00'"),
    "date": Type("DATE'0001-01-01', DATE'9999-12-31', DATE'1582-10-15', NULL, DATE'1970-01-01'"),
    "timestamp": Type("TIMESTAMP'2026-10-25 02:30:00 Europe/Berlin', TIMESTAMP'2026-10-25 03:30:00 Europe/Berlin', NULL, TIMESTAMP'0001-01-01 00:00:00', TIMESTAMP'9999-12-31 23:59:59.999999'"),
    "timestamp_ntz": Type("TIMESTAMP_NTZ'2026-03-29 02:30:00', TIMESTAMP_NTZ'2026-03-29 03:30:00', NULL, TIMESTAMP_NTZ'1900-01-01 00:00:00.000001'"),
    "time": Type("TIME'00:00:00', TIME'23:59:59.999999', NULL, TIME'12:00:00'", compares=False, travels=False),
    "interval year to month": Type("INTERVAL '1-1' YEAR TO MONTH, INTERVAL '-178956970-8' YEAR TO MONTH, NULL, INTERVAL '0-0' YEAR TO MONTH", compares=False, travels=False),
    "interval day to second": Type("INTERVAL '1 00:00:00.000001' DAY TO SECOND, INTERVAL '-1 00:00:00' DAY TO SECOND, NULL"),
    "array<int>": Type("array(1, 2), array(1, NULL), array(), NULL, array(1, 2)"),
    "struct": Type("named_struct('a', 1, 'b', 'x'), named_struct('a', NULL, 'b', 'y'), NULL, named_struct('a', 1, 'b', 'x')"),
    "map": Type("map('a', 1), map('b', NULL), NULL", sorts=False, groups=False),
    "variant": Type("parse_json('{\"a\": [1, null]}'), parse_json('1'), NULL", sorts=False, groups=False),
}  # fmt: skip
#: Two cases, where the second value of `o` is missing, so that the other keys break its tie.
ROWS = """SELECT p % 2 AS k, p AS o, x FROM (SELECT posexplode(array({values})) AS (p, x))
  UNION ALL SELECT 1 - p % 2, p + 100, x FROM (SELECT posexplode(array({values})) AS (p, x))"""


def rows(spark: SparkSession, query: str) -> Counter[tuple[object, ...]]:
    return Counter(tuple(r) for r in spark.sql(query).collect())


@pytest.mark.parametrize("name", every(3, TYPES))
def test_type(spark: SparkSession, name: str) -> None:
    t = TYPES[name]
    if name == "time":
        spark.conf.set("spark.sql.timeType.enabled", "true")  # a preview in Spark 4.3
    spark.sql(f"SELECT * FROM ({ROWS.format(values=t.values)})").createOrReplaceTempView("ty")
    shown = "ao, bo, CAST(ax AS STRING) AS ax, CAST(bx AS STRING) AS bx"
    roles = [("k", "o", "b.k = 1 OR b.x IS NOT NULL", True)]
    if t.sorts:
        roles += [("k", "x DESC NULLS LAST, o", "a.x >= b.x", t.compares), ("k", "x, o", "a.x <=> b.x", t.compares)]
    if t.groups:
        roles += [("x", "o", "a.o < b.o", True)]
    every = [(role, layout, form) for role in roles for layout in ("lists", "rows") for form in ("clause", "block")]
    # By hand all of them.
    first = 5 * list(TYPES).index(name)
    chosen = every if LONG else [every[first % len(every)], every[(first + 7) % len(every)]]
    for (key, order, condition, served), layout, form in chosen:
        own = condition.replace("a.", "a").replace("b.k", "k").replace("b.", "b")
        expected = rows(
            spark,
            f"""SELECT {shown} FROM (SELECT k, x, lag(o) OVER w AS ao, o AS bo, lag(x) OVER w AS ax, x AS bx
            FROM ty WINDOW w AS (PARTITION BY {key} ORDER BY {order})) WHERE ao IS NOT NULL AND ({own})""",
        )
        forms = {
            "clause": f"""SELECT {shown} FROM ty MATCH_RECOGNIZE (PARTITION BY {key} ORDER BY {order}
            MEASURES a.o AS ao, b.o AS bo, a.x AS ax, b.x AS bx AFTER MATCH SKIP TO NEXT ROW
            PATTERN (a b) DEFINE b AS {condition})""",
            "block": f"""SELECT {shown} FROM (FROM ty PARTITION BY {key} ORDER BY {order} EVENT TYPE NONE
            PATTERN SEQ(ty a, ty b) WHERE {condition} EVENT SELECTION STRICT CONTIGUITY MATCHES ALL
            RETURN a.o AS ao, b.o AS bo, a.x AS ax, b.x AS bx)""",
        }
        spark.conf.set("spark.sparkcep.exec.layout", layout)
        try:
            if served and (t.travels or layout == "lists"):
                assert rows(spark, forms[form]) == expected, f"{layout}\n{forms[form]}"
            else:
                with pytest.raises(SparkCepError, match=r"CEP_UNSUPPORTED_(CONDITION|TYPE)"):
                    rows(spark, forms[form])
        finally:
            spark.conf.unset("spark.sparkcep.exec.layout")
