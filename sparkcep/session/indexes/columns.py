"""Columns of a log as the pattern indexes on it name them: what a block takes that says nothing of its case, time and
type, where neither the table nor the settings say more (LANGUAGE, section 2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from sparkcep import index
from sparkcep.errors import PatternIndexError
from sparkcep.index import catalog, sources
from sparkcep.lineage.from_plan import origins
from sparkcep.lineage.from_text import text_origin
from sparkcep.lineage.text_steps import UnknownOrigin
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.spark.plan import is_bare, shows_plans
from sparkcep.sql.rewriter import InputSql

Roles = Mapping[str, str]


def index_columns(analyzer: SparkAnalyzer, source: DataFrame, input_sql: InputSql | None) -> Roles:
    """Columns of an input by `case`, `time`, `tiebreak` and `event`.

    Args:
        source: the input. input_sql: the query that reads it, where that is known.

    Returns:
        Nothing where no index is on the rows that the input comes from, or where several name different columns.
    """
    indexes = catalog.known(analyzer.spark).indexes
    found: list[Roles] = []
    for state, own in _relations(analyzer, source, input_sql) if indexes else ():
        for _, snapshot in indexes:
            before, d = snapshot.source_state, snapshot.definition
            same_files = not set(before.get("files", ())).isdisjoint(state.get("files", ()))
            if not same_files and (state.get("id") is None or before.get("id") != state["id"]):
                continue
            given = {"case": d.case, "time": d.time, "tiebreak": d.tiebreak, "event": d.event}
            roles = {role: own.get(column) for role, column in given.items() if column is not None}
            if all(roles.values()):
                found.append({role: str(column) for role, column in roles.items()})
    return found[0] if found and all(roles == found[0] for roles in found) else {}


def _relations(
    analyzer: SparkAnalyzer, source: DataFrame, input_sql: InputSql | None
) -> Iterator[tuple[sources.State, Roles]]:
    """States of relations that an input's rows come from, and its columns by theirs."""
    spark = analyzer.spark
    table = None if input_sql is None else input_sql.table
    if not shows_plans(spark) or is_bare(source):
        if (own := _state(spark, source, table)) is not None and own["kind"] != "unknown":
            yield own, {name: name for name in source.columns}
        elif not shows_plans(spark) and input_sql is not None:
            with suppress(UnknownOrigin):
                origin, leaf = text_origin(analyzer.as_statement, source, input_sql.text, source.columns)
                if (state := _state(spark, origin.files, str(leaf.source))) is not None:
                    yield state, {of: name for name, of in origin.columns.items()}
        return
    for origin in origins(source, source.columns):
        yield sources.files_state(spark, origin.files), {of: name for name, of in origin.columns.items()}


def _state(spark: SparkSession, source: DataFrame, table: str | None) -> sources.State | None:
    try:
        if table is None:
            return sources.files_state(spark, source) if shows_plans(spark) else None
        return sources.state_of(spark, index.parse_source(table), source)
    except (AnalysisException, PatternIndexError):
        return None
