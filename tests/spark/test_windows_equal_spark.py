"""Windows with patterns beside joins and groupings, held to Spark's own windows in the same SELECT."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from sparkcep import sql

FRAME = "ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING AFTER MATCH SKIP TO NEXT ROW PATTERN (A B)"
#: FROM, and what of it names its columns: some are of one side alone, some have their relation's name for that.
JOINS = {
    "sides_a l JOIN sides_b r ON l.k = r.k": ("l.k", "r.k", "l.v", "r.v", "x", "l.x", "y", "r.y", "l.s.f", "s.f"),
    "sides_a l LEFT JOIN sides_b AS r USING (k) WHERE l.v > 1": ("k", "l.k", "r.k", "l.v", "r.v", "x", "y", "s.f"),
    "sides_a l FULL JOIN sides_b r USING (k)": ("k", "l.k", "r.k", "l.v", "r.v", "l.s.f", "r.y"),
    "sides_a NATURAL JOIN (SELECT k, y, v AS w FROM sides_b)": ("k", "sides_a.v", "v", "w", "y", "sides_a.s.f"),
    "sides_a l, sides_b r WHERE r.v = l.v + 1": ("l.k", "r.k", "l.v", "r.v", "x", "y"),
    "sides_a l CROSS JOIN (SELECT max(v) AS m FROM sides_b) JOIN sides_b r USING (k)": ("k", "m", "l.v", "r.v", "y"),
    "sides_a l LATERAL VIEW explode(array(v, x)) e AS z": ("k", "l.v", "z", "e.z", "x", "l.s.f"),
    "sides_a l, LATERAL (SELECT l.v + x AS z, 1 AS k) e": ("l.k", "e.k", "l.v", "z", "e.z"),
    "sides_b l LEFT ANTI JOIN sides_a r ON l.k = r.k": ("k", "l.v", "y"),
}
#: FROM, what is grouped, and names of it and of aggregates.
GROUPS = {
    ("sides_a", "k"): ("k", "sides_a.k", "sum(v)", "max(sides_a.x)", "count(*)"),
    ("sides_a t", "t.k, abs(x)"): ("k", "t.k", "abs(x)", "min(t.v)", "count(DISTINCT x)"),
    ("sides_a l JOIN sides_b r USING (k)", "l.v, r.v"): ("l.v", "r.v", "sum(x)", "count(y)", "min(l.k)"),
    ("sides_a", "k, coalesce(x, 0) HAVING count(*) > 0"): ("k", "coalesce(x, 0)", "sum(v)"),
    ("sides_a l", "ROLLUP (l.k, x)"): ("l.k", "k", "x", "l.x", "grouping_id()", "sum(l.v)"),
    ("sides_b", "ALL"): ("k", "sides_b.y", "sum(v)", "max(v) FILTER (WHERE v > 1)"),
    ("sides_b", "GROUPING SETS ((k), (y))"): ("k", "y", "count(*)", "avg(v)"),
}


@pytest.fixture(scope="module", autouse=True)
def sides(spark: SparkSession) -> Iterator[None]:
    rows = [(n % 4 if n % 7 else None, n * 5 % 7, n % 3 if n % 5 else None, n % 6) for n in range(14)]
    values = ", ".join(f"({k}, {v}, {x}, named_struct('f', {f}))" for k, v, x, f in rows).replace("None", "NULL")
    spark.sql(f"CREATE OR REPLACE TEMP VIEW sides_a AS SELECT * FROM VALUES {values} t(k, v, x, s)")
    others = ", ".join(f"({n % 5}, {n * 3 % 8}, {n % 2})" for n in range(9))
    spark.sql(f"CREATE OR REPLACE TEMP VIEW sides_b AS SELECT * FROM VALUES {others} t(k, v, y)")
    yield
    for name in ("sides_a", "sides_b"):
        spark.catalog.dropTempView(name)


def items_of(names: list[str], draw: st.DrawFn) -> list[str]:
    """Items of a SELECT list over names: as they are, in expressions, with names."""
    found = []
    for n, name in enumerate(draw(st.lists(st.sampled_from(names), min_size=1, max_size=4))):
        found.append(draw(st.sampled_from([name, f"{name} + 1", f"({name}) AS c{n}", f"abs({name})"])))
    return found


def check(spark: SparkSession, text: str, value: str, order: list[str], partition: str) -> None:
    """A window that compares a value with the next row's, as a pattern and as Spark's own.

    Args:
        text: the statement, with %s for the call and %w for the window.
    """
    keys = f"{f'PARTITION BY {partition} ' if partition else ''}ORDER BY {', '.join(order)}"
    condition = f"{value} > PREV({value})"
    patterned = text.replace("%s", "count(*) OVER w").replace("%w", f"{keys} {FRAME} DEFINE B AS {condition}")
    next_value = f"lead({value}) OVER w"
    plain = text.replace("%s", f"CASE WHEN {next_value} > {value} THEN 2L ELSE 0L END").replace("%w", keys)
    found, expected = sql(spark, patterned), spark.sql(plain)
    assert [(f.name, f.dataType) for f in found.schema] == [(f.name, f.dataType) for f in expected.schema]
    assert sorted(map(repr, found.collect())) == sorted(map(repr, expected.collect())), patterned


FEW = settings(max_examples=15, suppress_health_check=list(HealthCheck))


@pytest.mark.full
@FEW
@given(data=st.data())
def test_joins(spark: SparkSession, data: st.DataObject) -> None:
    source = data.draw(st.sampled_from(sorted(JOINS)))
    names = list(JOINS[source])
    items = items_of(names, data.draw)
    stars = ["*", *([f"{names[0].split('.')[0]}.*"] if "." in names[0] else [])]
    if data.draw(st.booleans()):
        items.insert(data.draw(st.integers(0, len(items))), data.draw(st.sampled_from(stars)))
    value = data.draw(st.sampled_from(names))
    partition = data.draw(st.sampled_from(["", *names]))
    text = f"SELECT {', '.join(items)}, %s AS n FROM {source} WINDOW w AS (%w)"
    # Rows that are equal in all that has a name may come in any order.
    check(spark, text, value, data.draw(st.permutations(names)), partition)


@pytest.mark.full
@FEW
@given(data=st.data())
def test_groups(spark: SparkSession, data: st.DataObject) -> None:
    source, grouped = data.draw(st.sampled_from(sorted(GROUPS)))
    names = list(GROUPS[source, grouped])
    items = items_of(names, data.draw)
    if grouped == "ALL":
        items = ["k", "y", *items]
    value = data.draw(st.sampled_from([n for n in names if not n.startswith("count(*")]))
    # An aggregate over nothing but groups' keys would be one of the match.
    plain = value if value != "min(l.k)" else "sum(x)"
    partition = data.draw(st.sampled_from(["", *names]))
    order = data.draw(st.permutations(names))
    text = f"SELECT {', '.join(items)}, %s AS n FROM {source} GROUP BY {grouped} WINDOW w AS (%w)"
    check(spark, text, plain, order, partition)
