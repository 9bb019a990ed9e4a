"""Pattern tables by name: where they are, and as relations of a session.

Spark has no table of Delta's format without a package, so a pattern table is a temporary view of its newest version:
made where a statement first names it, and made again where it has another version by then.
"""

from __future__ import annotations

from typing import cast

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from sparkcep.errors import PatternIndexError, SparkCepError, near_hint
from sparkcep.index.path import index_path
from sparkcep.index.storage import Location, call
from sparkcep.index.tables import checked_name
from sparkcep.query import quote
from sparkcep.session.tables.known import DIRECTORY, known
from sparkcep.session.tables.reading import read_files
from sparkcep.session.tables.storage import CASE, Version, list_tables, newest_commit, read_newest
from sparkcep.spark.exceptions import condition_of, parameters_of


def tables_path(spark: SparkSession) -> Location:
    """Where pattern tables live."""
    return index_path(spark).child(DIRECTORY)


def locate(spark: SparkSession, name: str) -> Location:
    """The directory of a pattern table, whether or not it is there."""
    return tables_path(spark).child(checked_name(name))


def newest(spark: SparkSession, name: str) -> tuple[Location, Version]:
    """A pattern table and its newest version.

    Raises:
        PatternIndexError: CEP_PATTERN_TABLE_NOT_FOUND, CEP_PATTERN_TABLE_CHANGED, CEP_INDEX_FORMAT.
    """
    table = locate(spark, name)
    version = call(spark, read_newest, table)
    if version is None:
        names = call(spark, list_tables, tables_path(spark))
        raise PatternIndexError(
            "CEP_PATTERN_TABLE_NOT_FOUND", f"There is no pattern table {name}.", blame="name",
            hint=near_hint(name, names, "SHOW PATTERN TABLES lists them"),
        )  # fmt: skip
    return table, version


def rows_of(spark: SparkSession, table: Location, version: Version) -> DataFrame:
    """The rows of a version, as its readers see them."""
    return read_files(spark, table, version.files, version.definition.schema()).drop(CASE)


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
        rows_of(spark, table, version).createOrReplaceTempView(quote(name))
        shown[name] = commit
    return True


def forget(spark: SparkSession, name: str) -> None:
    """Drop the view of a pattern table that is gone."""
    if known(spark).pop(name, ""):
        spark.catalog.dropTempView(name)


def show_missing(spark: SparkSession, error: AnalysisException) -> bool:
    """Make the view of the relation that Spark says is missing; gives whether it is a pattern table."""
    if condition_of(error) != "TABLE_OR_VIEW_NOT_FOUND":
        return False
    if isinstance(error, SparkCepError):  # ours has a place in the text, Spark's, of which it was made, the name
        error = cast("AnalysisException", error.__context__)
    parts = parameters_of(error).get("relationName", "").strip("`").split("`.`")
    if len(parts) != 1 or known(spark).get(parts[0].lower()):
        return False
    try:
        return show(spark, parts[0])
    except PatternIndexError as fault:
        if fault.error_class in ("CEP_INDEX_NAME", "CEP_INDEX_PATH", "CEP_INDEX_STORAGE_OPTION"):
            return False
        raise
