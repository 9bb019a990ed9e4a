# ruff: noqa: E501 (statements as data)
"""Names and texts of every kind: nothing that a name holds is ever run as SQL, and all come back as they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep.errors import SparkCepError

NAMES = [
    "back`tick", "quo'te", 'dou"ble', "semi;colon", "{brace}", "{{two}}", "do.t", "new\nline", "🚀 é", "-- x", "/* x",
    "select", "match_recognize", "a) FROM x; DROP TABLE y", "back\\slash", "%s", ":p", "?", "_f0", "*",
]  # fmt: skip


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def text(name: str) -> str:
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


@pytest.mark.parametrize("layout", ["lists", "rows"])
def test_columns_aliases_and_views(spark: SparkSession, layout: str) -> None:
    spark.conf.set("spark.sparkcep.exec.layout", layout)
    try:
        # A column of each name; the first is the partition, the last the order.
        frame = spark.createDataFrame([(1, *range(2, len(NAMES)), row) for row in (1, 2)], NAMES)
        frame.createOrReplaceTempView(quoted("na``me; DROP"))
        key, *others, order = [quoted(n) for n in NAMES]
        measures = ", ".join(f"LAST({v}.{n}) AS {n}" for v, n in zip([key, order] * len(others), others, strict=False))
        condition = " AND ".join(f"{key}.{n} <= {n} AND {n} < 99" for n in others)
        clause = f"""FROM {quoted("na``me; DROP")} MATCH_RECOGNIZE (PARTITION BY {key} ORDER BY {order} MEASURES {measures}
            PATTERN ({key} {order}) DEFINE {order} AS {condition}) AS {quoted("al`ias {x}")}"""
        found = spark.sql(f"SELECT {quoted('al`ias {x}')}.* {clause}")
        assert found.columns == NAMES[:-1]
        assert [tuple(r) for r in found.collect()] == [(1, *range(2, len(NAMES)))]
        returned = ", ".join(f"{key}.{n} AS {n}" for n in others)
        block = spark.sql(f"""FROM {quoted("na``me; DROP")} PARTITION BY {key} ORDER BY {order} EVENT TYPE NONE
            PATTERN SEQ({quoted("na``me; DROP")} {key}, {quoted("na``me; DROP")} {order})
            WHERE {key}.{order} < {order}.{order} AND {key}.{others[0]} <= {order}.{others[0]} RETURN {returned}""")
        assert block.columns == NAMES[1:-1]
        assert [tuple(r) for r in block.collect()] == [tuple(range(2, len(NAMES)))]
    finally:
        spark.conf.unset("spark.sparkcep.exec.layout")
        spark.catalog.dropTempView(quoted("na``me; DROP"))


def test_event_types(spark: SparkSession) -> None:
    frame = spark.createDataFrame(list(enumerate(NAMES)), "o int, e string")
    names = " ".join(quoted(n) for n in NAMES)
    found = spark.sql(
        f"""SELECT * FROM {{frame}} MATCH_RECOGNIZE (ORDER BY o EVENT TYPE e MEASURES array_agg(e) AS c
        PATTERN ({names.replace("{", "{{").replace("}", "}}")}))""",
        frame=frame,
    )
    assert found.collect()[0].c == NAMES
    frame.createOrReplaceTempView("hostile_types")
    found = spark.sql(
        f"""SELECT * FROM hostile_types
        MATCH_RECOGNIZE (ORDER BY o EVENT TYPE e MEASURES array_agg(CLASSIFIER()) AS c PATTERN ({names}))"""
    )
    assert found.collect()[0].c == NAMES
    for write in (text, quoted):
        pattern = ", ".join(f"{write(n)} v{k}" for k, n in enumerate(NAMES))
        returned = ", ".join(f"v{k}.e AS e{k}" for k in range(len(NAMES)))
        block = f"FROM hostile_types ORDER BY o EVENT TYPE e PATTERN SEQ({pattern}) RETURN {returned}"
        assert [list(r) for r in spark.sql(block).collect()] == [NAMES]
        assert NAMES[0] in str(spark.sql(f"EXPLAIN {block}").collect()[0][0])
        doubled = block.replace("{", "{{").replace("}", "}}").replace("hostile_types", "{frame}")
        assert [list(r) for r in spark.sql(doubled, frame=frame).collect()] == [NAMES]


def test_case_sensitivity(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        spark.createDataFrame([(1, 5, 7), (2, 6, 6)], "o int, x int, X int").createOrReplaceTempView("two_cases")
        clause = """SELECT * FROM two_cases MATCH_RECOGNIZE (ORDER BY o MEASURES B.x AS l, B.X AS `U`
            PATTERN (A B) DEFINE B AS B.x > A.x AND B.X < A.X)"""
        assert [tuple(r) for r in spark.sql(clause).collect()] == [(6, 6)]
        block = """FROM two_cases ORDER BY o EVENT TYPE NONE PATTERN SEQ(two_cases a, two_cases b)
            WHERE b.x > a.x AND b.X < a.X RETURN b.x AS l, b.X AS `U`"""
        assert [tuple(r) for r in spark.sql(block).collect()] == [(6, 6)]
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


@pytest.mark.parametrize(
    "word", ["SELECT", "FROM", "WHERE", "AND", "NOT", "PATTERN", "DEFINE", "NULL", "CASE", "ORDER"]
)
def test_reserved_words_as_variables(spark: SparkSession, word: str) -> None:
    rows = "VALUES (1, 'a'), (2, 'b') t(o, e)"
    found = spark.sql(f"""SELECT * FROM {rows} MATCH_RECOGNIZE (ORDER BY o MEASURES `{word}`.o AS x
        PATTERN (`{word}` b) DEFINE `{word}` AS `{word}`.e = 'a', b AS b.o > `{word}`.o)""")
    assert [tuple(r) for r in found.collect()] == [(1,)]


@pytest.mark.parametrize(
    "name", ["../up", "..", "a/b", "/tmp/x", "a\\b", "a b", "a;b", "é", "s3://x", "a\nb", "", ".", "x" * 129]
)
def test_index_names_cannot_leave_the_path(spark: SparkSession, name: str, tmp_path: Path) -> None:
    spark.conf.set("spark.sparkcep.index.path", str(tmp_path / "own"))
    spark.createDataFrame([(1, 1, "a")], "c int, t int, e string").createOrReplaceTempView("hostile_log")
    try:
        for statement in (
            f"CREATE PATTERN INDEX {quoted(name)} ON hostile_log (CASE c, TIME t, EVENT e)",
            f"DROP PATTERN INDEX IF EXISTS {quoted(name)}", f"VACUUM PATTERN INDEX {quoted(name)} RETAIN 0 HOURS",
            f"REFRESH PATTERN INDEX {quoted(name)}",
        ):  # fmt: skip
            with pytest.raises(SparkCepError) as error:
                spark.sql(statement)
            assert error.value.error_class in ("CEP_INDEX_NAME", "CEP_SYNTAX_ERROR")
        assert list(tmp_path.iterdir()) == []
    finally:
        spark.conf.unset("spark.sparkcep.index.path")
