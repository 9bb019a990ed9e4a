"""Pattern tables by name: where they are, and as relations of a session.

Spark has no table of Delta's format without a package, so a pattern table is a temporary view of its newest version:
made where a statement first names it, and made again where it has another version by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from sparkcep.errors import PatternIndexError, SparkCepError, near_hint
from sparkcep.index.path import index_path
from sparkcep.index.storage import Location, call
from sparkcep.index.tables import checked_name
from sparkcep.query import in_backticks
from sparkcep.session.tables.known import DIRECTORY, known
from sparkcep.session.tables.reading import read_files
from sparkcep.session.tables.storage import CASE, RULE, Version, list_tables, newest_commit, read_newest
from sparkcep.spark.exceptions import condition_of, parameters_of
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.statement import Statement


def tables_path(spark: SparkSession) -> Location:
    """Where pattern tables live."""
    return index_path(spark).child(DIRECTORY)


def locate(spark: SparkSession, name: str) -> Location:
    """The directory of a pattern table, whether or not it is there; a name may have a schema's in front."""
    return tables_path(spark).child(".".join(checked_name(part, "pattern table") for part in name.split(".")))


def newest(spark: SparkSession, name: str, *, checked: bool = True) -> tuple[Location, Version]:
    """A pattern table and its newest version.

    Args:
        checked: whether to refuse rows that another program has changed since.

    Raises:
        PatternIndexError: CEP_PATTERN_TABLE_NOT_FOUND, CEP_PATTERN_TABLE_CHANGED, CEP_INDEX_FORMAT.
    """
    table = locate(spark, name)
    version = call(spark, read_newest, table, checked)
    if version is None:
        names = call(spark, list_tables, tables_path(spark))
        raise PatternIndexError(
            "CEP_PATTERN_TABLE_NOT_FOUND", f"There is no pattern table {name}.", blame="name",
            hint=near_hint(name, names, "SHOW PATTERN TABLES lists them"),
        )  # fmt: skip
    return table, version


def rows_of(spark: SparkSession, table: Location, version: Version) -> DataFrame:
    """The rows of a version, as its readers see them."""
    return read_files(spark, table, version.files, version.definition.schema()).drop(CASE, RULE)


def show(spark: SparkSession, name: str) -> bool:
    """Make the view of a pattern table's newest version, where it is another one; gives whether there is the table."""
    name = name.lower()
    table = locate(spark, name)
    shown = known(spark)
    commit = call(spark, newest_commit, table)
    if not commit:
        forget(spark, name)
        return False
    if shown.get(name) != commit:
        version = call(spark, read_newest, table)
        if version is None:
            return False
        rows_of(spark, table, version).createOrReplaceTempView(in_backticks(name))
        shown[name] = commit
    return True


def with_views(spark: SparkSession, text: str, names: Sequence[str]) -> str:
    """A statement that may name pattern tables, whose views have the newest versions then.

    A view has no schema: where a table's name has one, it takes the place of the name, under its last part.
    """
    shown = [name for name in names if _is_shown(spark, name)]
    dotted = {tuple(name.split(".")): name for name in shown if "." in name}
    if not dotted:
        return text
    s = read_statement(text)
    parts: list[str] = []
    start = k = 0
    while k < len(s.tokens):
        is_relation = s.word(k - 1) in ("FROM", "JOIN")
        found = next((name for name in dotted if is_relation and _is_name(s, k, name)), None)
        end = k + 1
        if found is not None:
            end = k + 2 * len(found) - 1
            view, last = in_backticks(dotted[found]), found[-1]
            qualifies = any(_is_name(s, j, (last,), qualifies=True) for j in range(len(s.tokens)))
            behind = s.tokens[end] if end < len(s.tokens) else None
            has_alias = behind is not None and behind.kind in ("word", "quoted") and behind.upper not in _BEHIND
            parts += [text[start : s.tokens[k].start], view, f" AS {last}" if qualifies and not has_alias else ""]
            start = s.tokens[end - 1].end
        k = end
    return "".join([*parts, text[start:]])


#: What may follow a relation that has no alias.
_BEHIND = frozenset(
    "WHERE GROUP HAVING ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET JOIN INNER LEFT RIGHT FULL CROSS ANTI SEMI NATURAL "
    "ON USING UNION INTERSECT EXCEPT MINUS LATERAL TABLESAMPLE PIVOT UNPIVOT WINDOW QUALIFY SELECT MATCH_RECOGNIZE "
    "PATTERN PARTITION EVENT CASE TIME RETURN".split()
)


def _is_shown(spark: SparkSession, name: str) -> bool:
    """Whether there is a view of a table that a statement may name, or may not: that one is damaged is said where Spark
    misses its view."""
    try:
        return show(spark, name)
    except PatternIndexError:
        forget(spark, name)
        return False


def _is_name(s: Statement, k: int, parts: Sequence[str], *, qualifies: bool = False) -> bool:
    """Whether a name, and nothing else, begins at a token. ``qualifies``: a column's is expected behind it."""
    if s.operator(k - 1) == "." or (s.operator(k + 2 * len(parts) - 1) == ".") != qualifies:
        return False
    names = s.tokens[k : k + 2 * len(parts) - 1 : 2]
    dots = all(s.operator(k + 2 * n + 1) == "." for n in range(len(parts) - 1))
    return dots and [t.text.casefold() for t in names if t.kind in ("word", "quoted")] == list(parts)


def forget(spark: SparkSession, name: str) -> None:
    """Drop the view of a pattern table that is gone."""
    if known(spark).pop(name, ""):
        spark.catalog.dropTempView(name)


def show_missing(spark: SparkSession, error: AnalysisException) -> str:
    """Make the view of the relation that Spark says is missing; gives its name, empty where it is no pattern table."""
    if condition_of(error) != "TABLE_OR_VIEW_NOT_FOUND":
        return ""
    if isinstance(error, SparkCepError):  # ours has a place in the text, Spark's, of which it was made, the name
        error = cast("AnalysisException", error.__context__)
    parts = parameters_of(error).get("relationName", "").strip("`").split("`.`")
    name = ".".join(parts).lower()
    known(spark).pop(name, None)  # its view may have been dropped
    try:
        return name if show(spark, name) else ""
    except PatternIndexError as fault:
        if fault.error_class not in ("CEP_PATTERN_TABLE_CHANGED", "CEP_INDEX_FORMAT", "CEP_INDEX_DAMAGED"):
            return ""
        raise
