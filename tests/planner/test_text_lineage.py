"""Texts of inputs, and what is read from them: the table's columns that theirs carry, whether its rows are theirs one
by one, what filters ask of them; or why nothing is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql.connect import functions as F
from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
from pyspark.sql.connect.plan import Read
from pyspark.sql.types import StructType

from sparkcep.lineage.comparisons import Comparison
from sparkcep.lineage.from_text import text_origin, text_tests
from sparkcep.lineage.origin import Origin
from sparkcep.lineage.text_steps import UnknownOrigin
from sparkcep.query import SOURCE

from .catalog import Frame, Session, Table, View, analyzer, as_frame, schema

#: A log: who, when, the order of what is at one time, what, a number, a day.
LOG = {"k": "string", "t": "timestamp", "p": "bigint", "e": "string", "v": "int", "d": "date"}


def view(text: str, columns: str, outputs: str = "", **told: object) -> View:
    """A view; its columns as :func:`typed` reads them."""
    return View(text, typed(columns), outputs.split(), told)


def typed(columns: str) -> dict[str, str]:
    """Names of columns, with types where these are others than the log's of this name."""
    return {
        name: type_ or LOG.get(name.lower(), "string")
        for name, _, type_ in (own.partition(":") for own in columns.split())
    }


TABLES = {
    "one.log": Table(LOG, {"s3://log/part0": [8, 1]}),
    "one.other": Table(LOG, {"s3://other/part0": [8, 1]}),
    "one.shadow": Table(LOG),
    "one.padded": Table({"k": "char(3)", "e": "varchar(9)", "v": "int"}),
    "one.own_format": Table(LOG, {"s3://own/part0": [8, 1]}, is_told=False),
    "one.versions": Table(LOG, {"s3://versions/part0": [8, 1]}, provider="delta"),
    "one.function": Table(LOG, kind="FUNCTION"),
    "two.log": Table({"k": "string", "e": "string", "other": "string"}, {"s3://two/part0": [8, 1]}),
}
VIEWS = {
    "one.recent": view("SELECT * FROM log WHERE v > 2 AND d >= DATE'2024-01-01'", "k t p e v d"),
    "one.renamed": view("SELECT k, e, t FROM one.log", "id kind t", "k e t"),
    "two.over": view("SELECT kind AS e, id AS k, t FROM one.renamed WHERE kind <> 'x'", "e k t"),
    "two.here": view("SELECT k, e AS kind FROM log", "k kind"),
    "one.loud": view("SELECT k, upper(e) AS e, v FROM log WHERE v IN (1, 2) OR v > 7", "k e v"),
    "one.by_length": view("SELECT k, e FROM log WHERE length(k) > 2", "k e"),
    "one.braces": view("SELECT k, e FROM log WHERE e = '{a}'", "k e"),
    "one.timed": view("SELECT k, t FROM log WHERE t > TIMESTAMP'2024-01-01 00:00:00'", "k t"),
    "one.timed_elsewhere": view(
        "SELECT k, t FROM log WHERE t > TIMESTAMP'2024-01-01 00:00:00'",
        "k t",
        view_creation_spark_configuration={"spark.sql.session.timeZone": "Asia/Tokyo"},
    ),
    "one.now": view("SELECT k, t FROM log WHERE t > current_timestamp()", "k t"),
    "one.wider": view("SELECT k, v FROM log", "k v:bigint"),
    "one.lacking": view("SELECT k, e AS kind FROM log", "k e"),
    "one.joined": view("SELECT l.k, l.e, o.v FROM log l JOIN other o ON l.k = o.k", "k e v"),
    "one.grouped": view("SELECT k, max(e) AS e FROM log GROUP BY k", "k e"),
    "one.untold": view("", "k e"),
    "one.evolving": view("SELECT * FROM log", "k e", view_schema_mode="TYPE EVOLUTION"),
    "one.collated": view("SELECT * FROM log", "k e", collation="UNICODE"),
    "one.doubled": view("SELECT k, e AS k FROM log", "k e", "k K"),
    "one.by_patterns": view(
        "SELECT k FROM log", "k", view_creation_spark_configuration={"spark.sql.parser.quotedRegexColumnNames": "true"}
    ),
    "one.nowhere": view("SELECT k FROM log", "k", view_catalog_and_namespace=""),
    "one.of_a_catalog": view("SELECT k FROM lake.log", "k"),
    "one.of_the_session": view("SELECT k FROM session.mine", "k"),
    "one.of_nothing": view("SELECT k FROM nothing", "k"),
    "one.endless": view("SELECT k FROM endless", "k"),
    "session.mine": view("SELECT k, e AS kind FROM log WHERE v < 9", "k kind"),
    "session.shadow": view("SELECT k, e FROM other", "k e"),
    "session.over_shadow": view("SELECT k, e FROM shadow", "k e"),
    "session.over_mine": view("SELECT k, kind FROM mine", "k kind"),
    "session.with_pattern": view("SELECT `(k)?+.+` FROM log", "e"),
}
#: Types of constants, and their values where somebody may ask; of times and days as numbers.
CONSTANTS = {
    "DATE'2024-01-01'": ("date", 19723),
    "TIMESTAMP'2024-01-01 00:00:00'": ("timestamp", 1_704_067_200_000_000),
    "'2024-01-01'": ("string", 1_704_067_200_000_000),
    "1 + 2": ("int", 3),
    "1.5": ("double", 1),
    "CAST('a' AS STRING)": ("string", "a"),
}
ALL = "k t p e v d"


def session(settings: Mapping[str, str] = {}) -> Session:
    return Session(TABLES, VIEWS, constants=CONSTANTS, settings=settings)


def read(
    text: str, columns: str, *, wanted: str = "", predicates: Sequence[str] = (), files: Sequence[str] = (),
    spark: Session | None = None, **frames: Any,
) -> Origin:  # fmt: skip
    """What is read from an input's text.

    Args:
        columns: of the input. wanted: those whose values matter, all where none is named.
        predicates: what the pattern asks of it. files: that Spark reads for it. frames: the statement's arguments.
    """
    fields = [schema(typed(own)).fields[0] for own in columns.split()]  # names may be there twice
    frame = as_frame(Frame(StructType(fields), files))
    names = wanted.split() or [field.name for field in fields]
    return text_origin(analyzer(spark or session(), **frames).as_statement, frame, text, names, predicates)[0]


def carried(origin: Origin, columns: str) -> str:
    """Which of an input's columns are nothing but a column of the table, and of which, if it is called otherwise."""
    found = [(own, origin.columns[own]) for own in typed(columns) if own in origin.columns]
    return " ".join(own if own == of else f"{own}={of}" for own, of in found)


def told(tests: Mapping[str, tuple[Comparison, ...]]) -> str:
    """Tests of columns as a text."""

    def shown(test: Comparison) -> str:
        if test.either:
            return f"({' or '.join(map(shown, test.either))})"
        return f"{test.operator} {', '.join(map(str, test.values))}"

    return "; ".join(f"{column} {shown(test)}" for column, own in tests.items() for test in own)


#: An input, its columns, those that carry one of the table's, and whether its rows are the table's one by one.
CARRIED = [
    ("SELECT * FROM log", ALL, ALL, True),
    ("SELECT k, t FROM one.log", "k t", "k t", True),
    ("SELECT k FROM spark_catalog.one.log", "k", "k", True),
    ("SELECT K, `e` FROM `LOG`", "K e", "K=k e", True),
    ("SELECT k FROM parquet.`s3://log/part0`", "k", "k", True),
    ("SELECT other, e FROM two.log", "other e", "other e", True),
    ("SELECT k FROM own_format", "k", "k", True),
    # Names that are given.
    ("SELECT e AS k, k AS e, v w FROM log", "k e w:int", "k=e e=k w=v", True),
    ("SELECT l.k, l.e kind FROM log AS l", "k kind", "k kind=e", True),
    ("SELECT log.k FROM one.log", "k", "k", True),
    ("SELECT * FROM log AS l(a, b, c, d, e, f)", "a b:timestamp c:bigint d:string e:int f:date",
     "a=k b=t c=p d=e e=v f=d", True),
    ("SELECT k AS own, l.* FROM log l", f"own {ALL}", f"own=k {ALL}", True),
    ("SELECT e, k FROM (SELECT k AS e, e AS k FROM log) AS q", "e k", "e=k k=e", True),
    # Values of more than a column.
    ("SELECT k, v + p AS s, 'a' AS e FROM log", "k s:bigint e", "k", True),
    ("SELECT k, (e) AS e, CAST(v AS INT) AS v FROM log", "k e v", "k", True),
    ("SELECT k, CASE WHEN v > 2 THEN e ELSE k END AS e FROM log", "k e", "k", True),
    ("SELECT k, rand() AS v FROM log", "k v:double", "k", False),
    ("SELECT k, current_date AS d FROM log", "k d", "k", False),
    ("SELECT k, x.y AS e FROM log", "k e", "k", False),
    # Names that may be those of two columns.
    ("SELECT upper(k) AS y, y AS k, e FROM log", "y k e", "e", False),
    ("SELECT 1 AS E, e FROM log", "E:int e", "", False),
    ("SELECT k, k FROM log", "k k", "", False),
    ("SELECT k, e FROM (SELECT k, e, v AS K FROM log) q", "k e", "e", False),
    # WITH lists.
    ("WITH own AS (SELECT k, e FROM log WHERE v > 2) SELECT * FROM own", "k e", "k e", True),
    ("WITH own(a, b) AS (SELECT k, e FROM log) SELECT b, a FROM own", "b a", "b=e a=k", True),
    ("WITH log AS (SELECT k, e AS v FROM log) SELECT * FROM log", "k v:string", "k v=e", True),
    ("WITH a AS (SELECT k FROM log), b AS (SELECT k AS e FROM a) SELECT e AS t FROM b", "t:string", "t=k", True),
    ("WITH own AS (SELECT k FROM log) SELECT * FROM OWN", "k", "k", True),
    ("WITH few AS (SELECT 1), own AS (SELECT k FROM log) SELECT k FROM own", "k", "k", True),
    # Clauses that take rows away, and joins, which are no matter of one row.
    ("SELECT DISTINCT k, e FROM log", "k e", "k e", False),
    ("SELECT ALL k FROM log", "k", "k", True),
    ("SELECT * FROM log ORDER BY t LIMIT 7", ALL, ALL, False),
    ("SELECT k, e FROM log OFFSET 3", "k e", "k e", False),
    ("SELECT k, e FROM log WHERE k IN (SELECT k FROM other)", "k e", "k e", False),
    ("SELECT k, e FROM log WHERE rand() < 0.5", "k e", "k e", False),
    ("SELECT l.k, l.e FROM log l LEFT SEMI JOIN other o ON l.k = o.k", "k e", "k e", False),
    ("SELECT l.*, o.v AS w FROM log l LEFT JOIN other o ON l.k = o.k", f"{ALL} w:int", ALL, False),
    ("SELECT * FROM log l JOIN other o ON l.k = o.k", "k t p e v d k t p e v d", "", False),
    ("SELECT k, e, n FROM log LATERAL VIEW explode(array(1, 2)) x AS n", "k e n:int", "k e", False),
    ("SELECT k, e, explode(array(1, 2)) AS n FROM log", "k e n:int", "k e", False),
    # Views.
    ("SELECT * FROM recent", ALL, ALL, True),
    ("SELECT * FROM renamed", "id kind t", "id=k kind=e t", True),
    ("SELECT e, k FROM two.over", "e k", "e k", False),
    ("SELECT * FROM two.here", "k kind", "k kind=e", True),
    ("SELECT k, e, v FROM loud", "k e v", "k v", False),
    ("SELECT k, v FROM loud", "k v", "k v", True),
    ("SELECT * FROM by_length", "k e", "k e", False),
    ("SELECT * FROM timed", "k t", "k t", True),
    ("SELECT * FROM timed_elsewhere", "k t", "k t", False),
    ("SELECT * FROM now", "k t", "k t", False),
    ("SELECT * FROM wider", "k v:bigint", "k", False),
    ("SELECT * FROM lacking", "k e", "k", False),
    ("SELECT * FROM joined", "k e v", "k e", False),
    ("SELECT * FROM mine", "k kind", "k kind=e", True),
    ("SELECT * FROM session.mine", "k kind", "k kind=e", True),
    ("SELECT * FROM over_mine", "k kind", "k kind=e", True),
]  # fmt: skip


@pytest.mark.parametrize(("text", "columns", "expected", "by_row"), CARRIED)
def test_what_columns_carry(text: str, columns: str, expected: str, by_row: bool) -> None:
    origin = read(text, columns)
    assert (carried(origin, columns), origin.by_row) == (expected, by_row)


#: Whether a row of the table may come more than once.
REPEATS = [
    ("SELECT k, e FROM log", "k e", False),
    ("SELECT k, upper(e) AS e FROM log", "k e", False),
    ("SELECT DISTINCT k FROM log", "k", False),
    ("SELECT k, inline(array(struct(1))) AS n FROM log", "k n:int", True),
    ("SELECT k FROM log, other", "k", None),
    ("SELECT l.k FROM log l LEFT ANTI JOIN other o ON l.k = o.k", "k", False),
    ("SELECT l.k FROM log l CROSS JOIN other o", "k", True),
    ("SELECT k FROM log LATERAL VIEW OUTER explode(array()) x AS n", "k", True),
    ("SELECT * FROM joined", "k e v", True),
]


@pytest.mark.parametrize(("text", "columns", "expected"), REPEATS)
def test_rows_that_come_more_than_once(text: str, columns: str, expected: bool | None) -> None:
    if expected is None:
        with pytest.raises(UnknownOrigin):
            read(text, columns)
    else:
        assert read(text, columns).repeats == expected


#: Columns of the table that each of the input's is made of, and those that filters look at.
MADE = [
    ("SELECT k, v + p AS s FROM log", "k s:bigint", {"k": "k", "s": "p v"}, ""),
    (
        "SELECT s AS r, k FROM (SELECT k, v + p AS s FROM log) q WHERE s > 3",
        "r:bigint k",
        {"r": "p v", "k": "k"},
        "p v",
    ),
    ("SELECT k FROM log WHERE v > p AND e LIKE 'a%'", "k", {"k": "k"}, "e p v"),
    ("SELECT k FROM (SELECT k, e AS kind FROM log WHERE v = 1) q WHERE kind = 'a'", "k", {"k": "k"}, "e v"),
    ("SELECT k, 'a' AS e FROM log", "k e", {"k": "k"}, ""),
    ("SELECT upper(kind) AS w FROM renamed", "w", {"w": "e"}, ""),
]


@pytest.mark.parametrize(("text", "columns", "made_from", "tested"), MADE)
def test_what_rows_are_made_of(text: str, columns: str, made_from: dict[str, str], tested: str) -> None:
    origin = read(text, columns)
    assert {own: " ".join(sorted(of)) for own, of in origin.made_from.items()} == made_from
    assert " ".join(sorted(origin.tested)) == tested


#: A filter of the log, and what it asks of columns.
FILTERS = [
    ("v > 2 AND k IN ('a', 'b')", "v > 2; k = a, b"),
    ("2 < v AND NOT (k = 'a')", "v > 2"),
    ("v BETWEEN 1 AND 3", "v >= 1; v <= 3"),
    ("v < 2 OR v = 7", "v (< 2 or = 7)"),
    ("v < 2 OR p = 7", ""),
    ("v < 2 OR v > 1.5", ""),
    ("v = 1 + 2 AND k = CAST('a' AS STRING)", "v = 3; k = a"),
    ("t >= TIMESTAMP'2024-01-01 00:00:00' AND d < DATE'2024-01-01'", "t >= 1704067200000000; d < 19723"),
    ("t < '2024-01-01'", "t < 1704067200000000"),
    ("t > 'now'", ""),  # which is another time for each who asks
    ("v < 1.5 AND p = 1 AND k < 5", "p = 1"),  # others are compared as other numbers than these
    ("v < 3000000000 AND p < 3000000000", "p < 3000000000"),
    ("k = 'a\\'b' AND v = 1", "v = 1"),
    ("k = e AND p = 1", "p = 1"),
    ("v = 1 + 3", ""),  # of which Spark says nothing
]


@pytest.mark.parametrize(("condition", "expected"), FILTERS)
def test_what_a_filter_asks(condition: str, expected: str) -> None:
    assert told(read(f"SELECT * FROM log WHERE {condition}", ALL).tests) == expected


#: Filters somewhere in an input's text, and what they ask of the table's columns.
BELOW = [
    ("SELECT * FROM padded WHERE k = 'a' AND e = 'b' AND v = 1", "k e v", "v = 1"),
    ("SELECT * FROM (SELECT *, e AS kind FROM log) q WHERE kind = 'a'", f"{ALL} kind", "e = a"),
    ("SELECT * FROM (SELECT k, upper(e) AS kind FROM log) q WHERE kind = 'a' AND k = 'b'", "k kind", "k = b"),
    ("SELECT * FROM (SELECT v AS k, k AS v FROM log) q WHERE k = 1 AND v = 'a'", "k:int v:string", "v = 1; k = a"),
    ("SELECT l.k FROM log l JOIN other o ON l.k = o.k WHERE l.v = 1 AND o.v = 2", "k", "v = 1"),
    ("SELECT * FROM recent WHERE k = 'a'", ALL, "k = a; v > 2; d >= 19723"),
    ("SELECT * FROM loud", "k e v", "v (= 1, 2 or > 7)"),
    ("SELECT * FROM two.over WHERE k > 'a'", "e k t", "k > a"),
    ("SELECT * FROM timed", "k t", "t > 1704067200000000"),
    ("SELECT * FROM timed_elsewhere", "k t", ""),
]


@pytest.mark.parametrize(("text", "columns", "expected"), BELOW)
def test_what_filters_below_ask(text: str, columns: str, expected: str) -> None:
    assert told(read(text, columns).tests) == expected


PREDICATES = [
    (["id = 'a' AND kind IN ('b', 'c')"], "k = a; e = b, c"),
    (["id > 'a'", "t < '2024-01-01'"], "k > a; t < 1704067200000000"),
    (["missing = 'a'", "upper(id) = 'A'"], ""),
]


@pytest.mark.parametrize(("predicates", "expected"), PREDICATES)
def test_what_the_pattern_asks_of_its_input(predicates: list[str], expected: str) -> None:
    assert told(read("SELECT * FROM renamed", "id kind t", predicates=predicates).tests) == expected


def test_what_the_pattern_asks_of_a_table() -> None:
    frame = Frame(schema({"k": "string", "v": "int", "e": "char(3)"}))
    tests = text_tests(analyzer(session()).as_statement, as_frame(frame), ["v < 3 AND e = 'a'", "k > 'b' OR k = 'a'"])
    assert told(tests) == "v < 3; k (> b or = a)"


#: Inputs of which nothing is told, and why.
REFUSED = [
    ("SELECT k FROM log GROUP BY k", "GROUP BY"),
    ("SELECT k FROM log UNION ALL SELECT k FROM other", "UNION"),
    ("SELECT k FROM log WHERE v > 1 INTERSECT SELECT k FROM other", "INTERSECT"),
    ("SELECT k FROM log QUALIFY row_number() OVER (ORDER BY v) = 1", "QUALIFY"),
    ("SELECT k FROM log TABLESAMPLE (10 PERCENT)", "TABLESAMPLE"),
    ("SELECT k FROM log RIGHT JOIN other USING (k)", "RIGHT JOIN"),
    ("SELECT o.k FROM log l FULL OUTER JOIN other o ON l.k = o.k", "FULL OUTER JOIN"),
    ("SELECT k FROM log, LATERAL (SELECT 1)", ","),
    ("SELECT 1", "no FROM"),
    ("VALUES (1)", "no SELECT"),
    ("SELECT k FROM range(3)", "a table function"),
    ("SELECT /*+ BROADCAST(log) */ k FROM log", "a hint"),
    ("SELECT k FROM ${name}", "${...}, which Spark puts other text for"),
    ("SELECT k FROM log WHERE k = 'a", "a text that is not closed"),
    ("SELECT o.* FROM log l JOIN other o ON l.k = o.k", "o.* may be columns of another relation"),
    ("SELECT * FROM log AS l(a, b)", "more or fewer names than columns"),
    ("WITH own AS (SELECT k FROM log GROUP BY k) SELECT * FROM own", "GROUP BY in own"),
    ("WITH own AS (SELECT k FROM log) SELECT * FROM (WITH own AS (SELECT k FROM other) SELECT * FROM own)",
     "own is defined in more than one WITH list"),
    ("SELECT k FROM missing", "Spark does not say what missing is"),
    ("SELECT k FROM parquet.`s3://nowhere`", "parquet.`s3://nowhere` cannot be read: [None] there is no s3://nowhere"),
    ("SELECT k FROM function", "function is neither a table nor a view"),
    ("SELECT * FROM grouped", "GROUP BY in the view spark_catalog.one.grouped"),
    ("SELECT * FROM untold", "Spark does not tell the text of the view spark_catalog.one.untold"),
    ("SELECT * FROM evolving", "the view spark_catalog.one.evolving has columns or collations of its own kind"),
    ("SELECT * FROM collated", "the view spark_catalog.one.collated has columns or collations of its own kind"),
    ("SELECT * FROM doubled", "the columns of the view spark_catalog.one.doubled are ambiguous"),
    ("SELECT * FROM by_patterns", "names in the view spark_catalog.one.by_patterns are patterns of names"),
    ("SELECT * FROM nowhere", "Spark does not tell where names in the view spark_catalog.one.nowhere are looked up"),
    ("SELECT * FROM of_the_session", "session.mine may be in another catalog"),
    ("SELECT * FROM of_nothing", "Spark does not say what nothing is"),
    ("SELECT * FROM over_shadow", "shadow is a table and a temporary view"),
    ("SELECT * FROM with_pattern", "`(k)?+.+` may be a pattern of names"),
    ("SELECT * FROM endless", "too many queries in each other"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_why_nothing_is_told(text: str, reason: str) -> None:
    with pytest.raises(UnknownOrigin) as told_why:
        read(text, "k")
    assert str(told_why.value) == reason


#: What settings change: a setting, an input, and the reason or what its columns carry.
SETTINGS = [
    ("spark.sql.parser.quotedRegexColumnNames", "true", "SELECT k FROM log", "names of columns are patterns of names"),
    ("spark.sql.caseSensitive", "true", "WITH own AS (SELECT k FROM log) SELECT k FROM OWN",
     "OWN may be own of a WITH list"),
    ("spark.sql.caseSensitive", "true", "SELECT k FROM log", "k"),
    ("spark.sql.path.enabled", "true", "SELECT k FROM timed",
     "names in the view spark_catalog.one.timed are looked up by a path"),
    ("spark.sql.catalog.lake", "a.Catalog", "SELECT * FROM of_a_catalog", "lake.log may be in another catalog"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "text", "expected"), SETTINGS)
def test_settings(key: str, value: str, text: str, expected: str) -> None:
    try:
        found = carried(read(text, "k", spark=session({key: value})), "k")
    except UnknownOrigin as error:
        found = str(error)
    assert found == expected


#: Files that Spark reads for an input, and whether that is told.
FILES = [
    ("SELECT * FROM log", ["s3://log/part0"], True),
    ("SELECT * FROM log", ["s3://log/part0", "s3://other/part0"], False),
    ("SELECT k, t, p, e, v, d FROM log WHERE v > 1", ["s3://other/part0"], False),
    # Subqueries, and versions of a table, read more.
    ("SELECT * FROM log WHERE k IN (SELECT k FROM other)", ["s3://log/part0", "s3://other/part0"], True),
    ("SELECT * FROM versions", ["s3://versions/_delta_log"], True),
]


@pytest.mark.parametrize(("text", "files", "is_told"), FILES)
def test_files_that_spark_reads(text: str, files: list[str], is_told: bool) -> None:
    if is_told:
        assert carried(read(text, ALL, files=files), ALL) == ALL
    else:
        with pytest.raises(UnknownOrigin, match="Spark reads other files for the input than those of"):
            read(text, ALL, files=files)


#: Columns of an input that are not those of its text.
OTHER_COLUMNS = [("SELECT k, e FROM log", "k"), ("SELECT k FROM log", "k e"), ("SELECT k FROM log", "e"),
                 ("SELECT k, o.* FROM log JOIN other o ON true", "")]  # fmt: skip


@pytest.mark.parametrize(("text", "columns"), OTHER_COLUMNS)
def test_columns_are_those_of_the_text(text: str, columns: str) -> None:
    with pytest.raises(UnknownOrigin):
        read(text, columns)


#: Inputs, their columns, those whose values matter, the query that makes these of other rows, and what is picked of it.
OVER = [
    ("SELECT * FROM log", "k t p e v d", "k e", "SELECT `log`.`k` AS `k`, `log`.`e` AS `e` FROM {rows} AS `log`",
     "`k` AS k, CAST(NULL AS TIMESTAMP) AS t, CAST(NULL AS BIGINT) AS p, `e` AS e, CAST(NULL AS INT) AS v, "
     "CAST(NULL AS DATE) AS d"),
    ("SELECT k, v + p AS s FROM log AS l WHERE v > 2", "k s", "",
     "SELECT `l`.`k` AS `k`, v + p AS `s` FROM {rows} AS `l` WHERE v > 2", "`k` AS k, `s` AS s"),
    ("SELECT e FROM (SELECT e, upper(k) AS w FROM log) WHERE e > 'a'", "e", "",
     "SELECT `__cep_below`.`e` AS `e` FROM (SELECT `log`.`e` AS `e` FROM {rows} AS `log`) AS `__cep_below` "
     "WHERE e > 'a'", "`e` AS e"),
    # What stands in a view is no argument of the statement.
    ("SELECT e FROM braces", "e", "",
     "SELECT `braces`.`e` AS `e` FROM (SELECT `__cep_below`.`e` AS `e` FROM (SELECT `log`.`e` AS `e` "
     "FROM {rows} AS `log` WHERE e = '{{a}}') AS `__cep_below`) AS `braces`", "`e` AS e"),
    ("SELECT k, upper(e) FROM log", "k u", "",
     "SELECT `log`.`k` AS `k`, upper(e) AS `__cep_c1` FROM {rows} AS `log`", "`k` AS k, `__cep_c1` AS u"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "columns", "wanted", "query", "picked"), OVER)
def test_other_rows(
    monkeypatch: pytest.MonkeyPatch, text: str, columns: str, wanted: str, query: str, picked: str
) -> None:
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")  # as a Connect client sets it: columns need no JVM
    made: Any = read(text, columns, wanted=wanted).over(as_frame(Frame(schema(LOG))))
    assert made.text.replace(SOURCE, "rows") == f"{query} -> {picked}"


def test_other_rows_give_columns_of_the_inputs_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    with pytest.raises(TypeError, match="n would be string"):
        read("SELECT k, length(k) AS n FROM log", "k n:int").over(as_frame(Frame(schema(LOG))))


def test_other_rows_have_the_types_of_the_tables() -> None:
    with pytest.raises(TypeError, match="v is string, not that of"):
        read("SELECT k FROM log", "k").over(as_frame(Frame(schema({"k": "string", "v": "string"}))))


def frame(spark: Session, name: str = "log") -> Any:
    """A table as a DataFrame of the client, which makes its messages without a server."""
    own: Any = spark
    return ConnectFrame(Read(name), own)


#: DataFrames as arguments: what is done with a table, the input's columns, and those that are carried, or why none is.
FRAMES: list[tuple[Callable[[Any], Any], str, str]] = [
    (lambda log: log, ALL, ALL),
    (lambda log: log.where("v > 2").orderBy("k").limit(3), ALL, ALL),
    (lambda log: log.alias("l").select("k", F.col("e").alias("kind")), "k kind", "k kind=e"),
    (lambda log: log.select("e", "*"), f"e {ALL}", "k t p v d"),
    (lambda log: log.withColumnRenamed("e", "kind").withColumn("w", F.col("v")), "k t p kind v d w:int",
     "k t p kind=e v d w=v"),
    (lambda log: log.withColumn("k", F.upper("k")), ALL, "t p e v d"),
    (lambda log: log.withColumn("K", F.upper("k")), ALL, "a DataFrame with ambiguous columns"),
    (lambda log: log.withColumnRenamed("E", "kind"), ALL, "a DataFrame with E renamed"),
    (lambda log: log.groupBy("k").count(), "k", "a DataFrame with aggregate"),
    (lambda log: log.union(log), ALL, "a DataFrame with set_op"),
    (lambda log: log.select(log.k), "k", ""),
    (lambda log: frame(session()), ALL, "{df} is a DataFrame of another session"),
    (lambda log: "log", ALL, "{df} does not tell what it is"),
    (lambda log: frame(log.sparkSession, "recent").select("k"), "k", "k"),
    (lambda log: frame(log.sparkSession, "a.b.c.d"), "k", "Spark does not say what a.b.c.d is"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "columns", "expected"), FRAMES)
def test_arguments(monkeypatch: pytest.MonkeyPatch, make: Callable[[Any], Any], columns: str, expected: str) -> None:
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    spark = session()
    try:
        found = carried(read("SELECT * FROM {df}", columns, spark=spark, df=make(frame(spark))), columns)
    except UnknownOrigin as error:
        found = str(error)
    assert found == expected
