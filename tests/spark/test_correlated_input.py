"""A pattern over an input that depends on the query around it, beside the pattern over each such input alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from pyspark.sql import SparkSession

from sparkcep import sql

from ..conftest import some

pytestmark = [pytest.mark.full]

#: Values of the key, by type: NULL, and those that are one group but two values of a double.
KEYS = {
    "DOUBLE": ("0D", "-0D", "CAST('NaN' AS DOUBLE)", "1.5D", "NULL"),
    "DECIMAL(5, 2)": ("1.10", "1.1", "2", "NULL"),
    "DATE": ("DATE'2026-01-01'", "DATE'2026-01-02'", "NULL"),
    "ARRAY<INT>": ("array(1)", "array(1, NULL)", "NULL"),
}
CLAUSES = (
    "MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n, MATCH_NUMBER() AS i PATTERN (X Y*) DEFINE Y AS w > PREV(w))",
    "MATCH_RECOGNIZE (PARTITION BY g ORDER BY ts ALL ROWS PER MATCH PATTERN (X Y) DEFINE Y AS w > X.w)",
    "MATCH_RECOGNIZE (ORDER BY ts ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (X Y) DEFINE X AS w = 1)",
)


@pytest.fixture
def log(spark: SparkSession) -> Iterator[SparkSession]:
    yield spark
    for name in ("correlated_log", "correlated_outer"):
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize(("operator", "type_"), some(product(["=", "<=>"], KEYS), [("=", "DOUBLE")]))
def test_equals_each_input_alone(log: SparkSession, type_: str, operator: str) -> None:
    keys = [f"CAST({k} AS {type_})" for k in KEYS[type_]]
    rows = [f"({ts}, {key}, {ts * 7 % 5}, {ts % 2})" for n, key in enumerate(keys) for ts in range(n, 3 * n + 4)]
    sql(log, f"CREATE TEMP VIEW correlated_log AS SELECT * FROM VALUES {', '.join(rows)} t(ts, k, w, g)")
    others = [f"({n}, {key})" for n, key in enumerate(keys)]
    sql(log, f"CREATE TEMP VIEW correlated_outer AS SELECT * FROM VALUES {', '.join(others)} t(id, k)")
    for clause in CLAUSES:
        lateral = sql(
            log,
            f"SELECT c.id, m.* FROM correlated_outer c, LATERAL (SELECT * FROM (SELECT ts, w, g FROM correlated_log l "
            f"WHERE l.k {operator} c.k) {clause}) m",
        )
        alone = " UNION ALL ".join(
            f"SELECT {n} AS id, m.* FROM (SELECT ts, w, g FROM correlated_log l WHERE l.k {operator} {key}) {clause} m"
            for n, key in enumerate(keys)
        )
        expected = sorted(map(repr, sql(log, alone).collect()))
        assert sorted(map(repr, lateral.collect())) == expected
        assert expected


#: Clauses that name the outer row's ``v``, as ``%s``: in conditions of one row and of two, inside of aggregates.
NAMING = (
    "MATCH_RECOGNIZE (ORDER BY ts MEASURES COUNT(*) AS n, sum(Y.w + %s) AS s, %s AS v PATTERN (X Y*) "
    "DEFINE Y AS w > %s)",
    "MATCH_RECOGNIZE (PARTITION BY g ORDER BY ts ALL ROWS PER MATCH PATTERN (X Y) DEFINE Y AS Y.w - X.w < %s)",
    "MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(Y.w * %s) AS m AFTER MATCH SKIP TO NEXT ROW PATTERN (X+ Y) "
    "DEFINE X AS X.w <> %s, Y AS Y.w >= coalesce(%s, X.w))",
)
#: Blocks behind their relation: of one event, of two, of a negated one, of a Kleene variable's, over trends.
BLOCKS = (
    "PATTERN SEQ(a, !b n, a d) WHERE n.w > %s RETURN a.w AS x, d.w AS y",
    "PATTERN SEQ(a, b+ e[], a d) WHERE e[i].w >= e[i-1].w - %s AND d.w + avg(e[].w) < a.w + %s "
    "RETURN a.w AS x, count(e[]) AS n",
    "PATTERN SEQ(a, b e) WHERE SKIP_TILL_ANY_MATCH AND e.w - a.w <= %s RETURN COUNT(*) AS n",
)
#: Values of ``v``, by type.
NAMED = {
    "INT": ("1", "3", "NULL", "3"),
    "DOUBLE": ("0D", "-0D", "CAST('NaN' AS DOUBLE)", "2.5D", "NULL"),
    "DECIMAL(5, 2)": ("1.10", "1.1", "2", "NULL"),
}


@pytest.mark.full
@pytest.mark.parametrize(("where", "type_"), some(product(["", "=", "<=>"], NAMED), [("", "INT")]))
def test_outer_columns_equal_each_row_alone(log: SparkSession, type_: str, where: str) -> None:
    """Rows of the query around that are equal, share a key or have none each have the matches of their own values."""
    keys = ("1", "NULL")
    values = [f"CAST({v} AS {type_})" for v in NAMED[type_]]
    rows = [f"({ts}, {key}, {ts * 7 % 5}, {ts % 2})" for n, key in enumerate(keys) for ts in range(n, 9)]
    sql(log, f"CREATE TEMP VIEW correlated_log AS SELECT * FROM VALUES {', '.join(rows)} t(ts, k, w, g)")
    order = "PARTITION BY k ORDER BY ts EVENT TYPE e"
    pairs = list(product(keys, values))
    others = [f"({n}, {key}, {value})" for n, (key, value) in enumerate(pairs)]
    sql(log, f"CREATE TEMP VIEW correlated_outer AS SELECT * FROM VALUES {', '.join(others)} t(id, k, v)")
    condition = f"WHERE l.k {where} %s" if where else "WHERE l.k = 1"
    read = f"(SELECT ts, w, g, k, IF(g = 0, 'a', 'b') AS e FROM correlated_log l {condition})"
    for form in [f"{read} {clause}" for clause in NAMING] + [f"(FROM {read} {order} {block})" for block in BLOCKS]:
        texts = [form.replace(condition, condition.replace("%s", key)).replace("%s", v) for key, v in pairs]
        own = form.replace(condition, condition.replace("%s", "c.k")).replace("%s", "c.v")
        lateral = sql(log, f"SELECT c.id, m.* FROM correlated_outer c, LATERAL (SELECT * FROM {own}) m")
        alone = " UNION ALL ".join(f"SELECT {n} AS id, m.* FROM {text} m" for n, text in enumerate(texts))
        expected = sorted(map(repr, sql(log, alone).collect()))
        assert sorted(map(repr, lateral.collect())) == expected
        assert expected
