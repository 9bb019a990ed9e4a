"""What is read from the texts of random inputs holds for their rows: each comes from one row of the table."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkcep.lineage.comparisons import let_through
from sparkcep.lineage.from_text import text_origin
from sparkcep.lineage.origin import Origin
from sparkcep.lineage.text_steps import UnknownOrigin
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.settings import getter, read
from sparkcep.spark.exceptions import condition_of

from ..conftest import IS_CONNECT

pytestmark = pytest.mark.skipif(not IS_CONNECT, reason="classic sessions show plans")

#: Values of columns of one type are told apart; the other table of this name has others.
ROWS = [(f"k{n % 4}", n, n * 7 % 5, f"e{n % 3}", f"x{n}") for n in range(12)]
NAMES = [*"ktvexabcdfg", *(f"y{n}" for n in range(40))]
COLUMNS = "k STRING, t BIGINT, v INT, e STRING, x STRING"
#: What Spark says of an input that it reads, when it runs: text that is compared with numbers.
NO_ANSWER = {"CAST_INVALID_INPUT"}
_names = itertools.count()


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[None]:
    """`lineage_log` in two schemas, of which `lineage_one` is the current one."""
    for schema, rows in (("lineage_one", ROWS), ("lineage_two", [("k9", 99, 1, "e9", "x99")])):
        spark.sql(f"CREATE SCHEMA {schema}")
        spark.sql(f"CREATE TABLE {schema}.lineage_log ({COLUMNS}) USING parquet")
        values = ", ".join(map(str, rows))
        spark.sql(f"INSERT INTO {schema}.lineage_log VALUES {values}")
    spark.sql("USE lineage_one")
    yield
    spark.conf.unset("spark.sql.ansi.enabled")
    spark.sql("USE default")
    spark.sql("DROP SCHEMA lineage_one CASCADE")
    spark.sql("DROP SCHEMA lineage_two CASCADE")


def once(names: Sequence[str]) -> list[str]:
    """Names that are those of one column."""
    own = Counter(name.lower() for name in names)
    return [name for name in names if own[name.lower()] == 1]


def read_text(spark: SparkSession, text: str, every: int = 1, **frames: DataFrame) -> Origin:
    analyzer = SparkAnalyzer(spark, spark.sql, "", None, frames, read(getter(spark)))
    frame = spark.sql(text, **frames)
    return text_origin(analyzer.as_statement, frame, text, once(frame.columns)[::every])[0]


def holds(spark: SparkSession, text: str, every: int = 1, **frames: DataFrame) -> str:
    """Whether what is read from a query is so: why nothing is read, or how other rows come in the table's place.

    Args:
        every: of which of its columns the values matter, counted from the first.

    Raises:
        AssertionError: it is not.
    """
    frame = spark.sql(text, **frames)
    try:
        origin = read_text(spark, text, every, **frames)
    except UnknownOrigin as error:
        return str(error)
    own = frame.toArrow()
    names = list(origin.columns)
    assert not [name for name in names if own.column_names.count(name) > 1]
    found = list(zip(*(own[own.column_names.index(name)].to_pylist() for name in names), strict=True))
    table = origin.files.toArrow()
    whole = list(zip(*(table[origin.columns[name]].to_pylist() for name in names), strict=True))
    assert not names or set(found) <= set(whole), (origin.columns, set(found) - set(whole))
    if names and not origin.repeats and "x" in origin.columns.values():
        assert len(found) == len(set(found)), origin.columns
    for column, tests in origin.tests.items():
        for name in (name for name, of in origin.columns.items() if of == column):
            assert all(let_through(tests, own[name].combine_chunks()).to_pylist()), (name, tests)
    if not origin.by_row:
        return "source"
    needed = sorted(origin.tested.union(*origin.made_from.values())) or ["k"]
    assert origin.over(origin.files.select(*needed)).schema.names == frame.schema.names
    places = [frame.columns.index(name) for name in once(frame.columns)[::every]]

    def rows(of: DataFrame) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(row[at] for at in places) for row in of.collect())

    parts = [origin.over(origin.files.where(f"{of} v > 2").select(*needed)) for of in ("", "NOT")]
    assert sum(map(rows, parts), Counter()) == rows(frame)
    return "rows"


@dataclass
class Inputs:
    """Random queries over `lineage_log`: in each other, in WITH lists and in views, under names that mislead."""

    spark: SparkSession
    chance: random.Random
    made: list[str] = field(default_factory=list)

    def pick(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def query(self, depth: int) -> tuple[str, list[str]]:
        """A query and its columns' names."""
        relation, names = self.relation(depth)
        alias = self.pick("q", "q", "k", "lineage_log", "")
        columns = list(names)
        called = f"{relation} {self.pick('AS ', '')}{alias}" if alias else relation
        if alias and self.chance.random() < 0.2:
            columns = self.chance.sample(NAMES, len(names))
            called += f"({', '.join(columns)})"
        called += self.joined(columns)
        where = self.pick("", "", " WHERE " + self.condition(columns), " WHERE " + self.condition(columns))
        items, given = self.items(columns, alias)
        tail = self.chance.choices(
            ["", " ORDER BY 1 LIMIT 7", " GROUP BY ALL", f" UNION ALL SELECT {items} FROM {called}", " LIMIT 5"],
            [12, 1, 0.5, 0.5, 0.5],
        )[0]
        return f"SELECT {self.chance.choices(['', 'DISTINCT '], [12, 1])[0]}{items} FROM {called}{where}{tail}", given

    def relation(self, depth: int) -> tuple[str, list[str]]:
        if depth == 0:
            name = self.chance.choices(
                ["lineage_log", "lineage_one.lineage_log", "`lineage_log`", "LINEAGE_LOG", "lineage_two.lineage_log"],
                [8, 2, 1, 1, 0.5],
            )[0]
            return name, ["k", "t", "v", "e", "x"]
        text, names = self.query(depth - 1)
        how = self.chance.randrange(6)
        if how == 0:
            return f"({text})", names
        name = self.pick(f"lineage_{next(_names)}", f"lineage_{next(_names)}", "lineage_log", "own")
        if how in (1, 2):
            columns, listed = self.listed(names)
            before = f"{self.pick('own', 'few')} AS (SELECT 1 AS k), " if self.chance.random() < 0.2 else ""
            return f"(WITH {before}{name}{listed} AS ({text}) SELECT * FROM {name})", columns
        if name == "own":
            name = f"lineage_{next(_names)}"
        schema = "lineage_two" if name == "lineage_log" else self.pick("lineage_one", "lineage_one", "lineage_two")
        columns, listed = self.listed(names)
        try:
            if how == 3:
                self.create(f"CREATE OR REPLACE TEMPORARY VIEW {name}{listed} AS {text}", f"VIEW {name}")
                return name, columns
            whole = f"{schema}.{name}" if name != "lineage_log" else f"{schema}.lineage_{next(_names)}"
            self.create(f"CREATE VIEW {whole}{listed} AS {text}", f"VIEW {whole}")
            return whole, columns
        except PySparkException:  # as a view over a temporary one, and one with two columns of a name
            return f"({text})", names

    def create(self, statement: str, what: str) -> None:
        self.spark.sql(statement)
        self.made.append(what)

    def listed(self, names: list[str]) -> tuple[list[str], str]:
        if self.chance.random() < 0.7:
            return names, ""
        given = self.chance.sample(NAMES, len(names))
        return given, f" ({', '.join(given)})"

    def joined(self, columns: list[str]) -> str:
        return self.chance.choices(
            ["", f" LEFT JOIN (VALUES ('k1', 5), ('k1', 6)) d(kk, w) ON {columns[0]} = kk",
             " LEFT SEMI JOIN lineage_one.lineage_log o ON o.v > 1", " LATERAL VIEW explode(array(1, 2)) y AS n",
             " JOIN (SELECT 1 AS one) ON true"],
            [12, 1, 1, 1, 1],
        )[0]  # fmt: skip

    def condition(self, columns: list[str]) -> str:
        one, other = self.chance.choice(columns), self.chance.choice(columns)
        return self.pick(
            f"{one} IN ('k1', 'k2', 'e1')", f"{one} > 'e1'", f"{one} > 3", f"{one} BETWEEN 2 AND 8",
            f"{one} <> {other}",
            f"{one} = 'k1' OR {one} = 'k2' AND {other} IS NOT NULL", f"NOT ({one} = 'k1')", f"{one.upper()} <= 'k2'",
            f"{one} < 9 AND {other} >= 'e'", f"{one} IN (SELECT k FROM lineage_one.lineage_log WHERE v > 2)",
            f"length({one}) > 1", f"'k2' > {one} AND upper({other}) <> 'E1'", f"{one} = {other} OR {one} LIKE '%1'",
        )  # fmt: skip

    def items(self, columns: list[str], alias: str) -> tuple[str, list[str]]:
        if self.chance.random() < 0.3:
            return "*", columns
        chosen = self.chance.sample(columns, self.chance.randint(min(2, len(columns)), len(columns)))
        names = self.chance.sample(columns, len(chosen)) if self.chance.random() < 0.4 else list(chosen)
        items, given = [], []
        for column, name in zip(chosen, names, strict=True):
            whole = self.chance.choices(
                [column, f"`{column}`", column.upper(), f"{alias or 'q'}.{column}", f"upper({column})", f"({column})",
                 f"coalesce({column}, {column})", f"'{column}'", f"max({column}) OVER ()",
                 f"explode(array({column}, 'z'))"],
                [10, 2, 1, 2 if alias else 0, 1, 0.5, 0.5, 0.5, 0.3, 0.3],
            )[0]  # fmt: skip
            plain = whole in (column, f"`{column}`", f"{alias}.{column}")
            if name == column and plain:
                items.append(whole)
            else:
                items.append(f"{whole}{self.pick(' AS ', ' ')}{name}")
            given.append(name)
        if self.chance.random() < 0.1:
            items.append("*" if not alias else f"{alias}.*")
            given += columns
        return ", ".join(items), given


def tried(spark: SparkSession, number: int) -> str:
    """What becomes of a random input. Without ANSI more of them have an answer."""
    spark.conf.set("spark.sql.ansi.enabled", str(number % 4 == 0).lower())
    inputs = Inputs(spark, random.Random(number))
    try:
        text, _ = inputs.query(inputs.chance.randint(0, 4))
        try:
            _ = spark.sql(text).schema
        except PySparkException:
            return "no query"
        try:
            return holds(spark, text, number % 2 + 1)
        except PySparkException as error:
            assert condition_of(error) in NO_ANSWER, f"{text}: {error}"
            return "no answer"
        except AssertionError as error:
            raise AssertionError(f"seed {number}: {text}: {error}") from error
    finally:
        for what in reversed(inputs.made):
            spark.sql(f"DROP {what}")


@pytest.mark.parametrize("seeds", [range(12), pytest.param(range(12, 400), marks=pytest.mark.long)])
def test_random_inputs(spark: SparkSession, tables: None, seeds: range) -> None:
    found = Counter(tried(spark, number) for number in seeds)
    told = found["rows"] + found["source"]
    assert found["no query"] <= len(seeds) / 4, found
    assert found["no answer"] <= len(seeds) / 4, found
    assert told >= len(seeds) / 4, found


def log(spark: SparkSession) -> DataFrame:
    return spark.table("lineage_log")


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (log, "rows"),
        (lambda s: log(s).where("v > 1").select("k", F.col("e").alias("x"), F.upper("e").alias("e")), "source"),
        (lambda s: log(s).withColumnsRenamed({"k": "a", "e": "k"}).select("k", "a"), "rows"),
        (lambda s: log(s).withColumn("k", F.col("e")).withColumn("w", F.lit("k1")), "source"),
        (
            lambda s: log(s).select("*", F.explode(F.array(F.lit(1), F.lit(2))).alias("n")).orderBy("t").limit(7),
            "source",
        ),
        (lambda s: s.sql("SELECT k, x AS e, '{x}' AS w FROM lineage_log WHERE k <> '{k}' AND v < 4"), "rows"),
        (lambda s: log(s).transform(lambda own: own.select(own.k.alias("k"), F.expr("e AS x"))), "source"),
        (lambda s: log(s).groupBy("k").agg(F.max("t").alias("t")), "a DataFrame with aggregate"),
        (lambda s: log(s).union(log(s)), "a DataFrame with set_op"),
        (lambda s: log(s).join(log(s).select("v"), "v"), "a DataFrame with join"),
        (
            lambda s: s.sql("SELECT * FROM lineage_log WHERE k = :k", {"k": "k1"}),
            "a DataFrame of a query with arguments",
        ),
        (lambda s: s.sql("SELECT k FROM lineage_log GROUP BY k"), "GROUP BY in a DataFrame's query"),
        (lambda s: s.range(3).withColumn("k", F.lit("k1")), "a DataFrame with range"),
    ],
)
def test_dataframes(
    spark: SparkSession, tables: None, make: Callable[[SparkSession], DataFrame], expected: str
) -> None:
    assert holds(spark, "SELECT * FROM {df}", df=make(spark)) == expected


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT e AS k, k AS e, x FROM lineage_log", {"k": "e", "e": "k", "x": "x"}),
        ("SELECT upper(k) AS y, y AS k, e FROM lineage_log", {"e": "e"}),
        ("SELECT 1 AS E, e FROM lineage_log", {}),
        ("SELECT q.k, lineage_log.e FROM lineage_log JOIN (SELECT 'k1' AS k) q ON true", {"e": "e"}),
        ("SELECT * FROM lineage_log AS x(e, v, t, k, y)", {"e": "k", "v": "t", "t": "v", "k": "e", "y": "x"}),
        ("WITH lineage_log AS (SELECT k, e AS v FROM lineage_log) SELECT * FROM lineage_log", {"k": "k", "v": "e"}),
        ("SELECT k, (e), CAST(v AS INT) AS v, x || '' AS x FROM lineage_log", {"k": "k"}),
    ],
)
def test_what_columns_carry(spark: SparkSession, tables: None, text: str, columns: dict[str, str]) -> None:
    assert read_text(spark, text).columns == columns
    holds(spark, text)


@pytest.mark.parametrize(
    "item", ["explode(array(1, 2))", "inline(array(struct(1)))", "stack(2, 1, 2)", "row_number() OVER (ORDER BY x)"]
)
def test_columns_that_nobody_reads_may_make_rows(spark: SparkSession, tables: None, item: str) -> None:
    text = f"SELECT k, {item} AS n, e FROM lineage_log"
    assert not read_text(spark, text, 2).by_row
    assert holds(spark, text, 2) == "source"
