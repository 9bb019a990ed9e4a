"""Which cases of a pattern's input have changed since a state of its source: those whose rows lie in new files.

Where that cannot be told, all cases have: the input is made of more than one relation, its rows do not come one by one
from rows of files, files are gone or were written again, or the session does not show how its input is made.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sparkcep.index import sources
from sparkcep.index.tables import Source
from sparkcep.lineage.from_plan import origins
from sparkcep.lineage.from_text import text_origin
from sparkcep.lineage.origin import Origin
from sparkcep.lineage.text_steps import UnknownOrigin
from sparkcep.query import PREFIX, SOURCE, PatternQuery
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.session.originals import plain_sql
from sparkcep.spark.plan import (
    analysed,
    analysed_texts,
    inlined,
    is_bare,
    list_files_again,
    plan_texts,
    same_for_all,
    shows_plans,
)
from sparkcep.sql.rewriter import InputSql

#: Subqueries, and nodes of more than one relation, as Spark prints plans.
_OTHERS = re.compile(r"\b[a-z-]+#\d+ \[|^[ :]*:- (?!CTERelationDef)", re.MULTILINE)

_NOT_BY_ROW = "rows of its log do not come one by one from rows of files"


@dataclass(frozen=True, slots=True)
class SourceState:
    """What a pattern's input is made of now.

    ``state``: of its files; ``sources.UNKNOWN`` where nothing tells. ``plan``: digest of how the input is made of them.
    ``rows_of``: the input made of some of the files alone. ``unknown``: why nothing tells.
    """

    state: sources.State
    plan: str = ""
    rows_of: Callable[[Collection[str]], DataFrame] | None = None
    unknown: str = ""


def source_state(analyzer: SparkAnalyzer, source: DataFrame, input_sql: InputSql) -> SourceState:
    """The state of an input. ``input_sql``: the query that reads it."""
    spark = source.sparkSession
    if shows_plans(spark):
        return _state_by_plan(spark, inlined(source))
    return _state_by_text(analyzer, source, input_sql.text)


def _state_by_text(analyzer: SparkAnalyzer, source: DataFrame, text: str) -> SourceState:
    """The state of an input whose plan is printed at most. ``text``: the query that it is."""
    spark = analyzer.spark
    (plan,) = analysed_texts(source) or ("",)
    same = same_for_all(plan)
    if not same:
        return SourceState(sources.UNKNOWN, unknown="this session does not show what its log is made of")
    if unknown := _why_not(spark, plan):
        return SourceState(sources.UNKNOWN, unknown=unknown)
    try:
        origin, leaf = text_origin(analyzer.as_statement, source, text, source.columns)
    except UnknownOrigin as error:
        return SourceState(sources.UNKNOWN, unknown=f"what its log is made of is not told: {error}")
    if leaf.source.kind == "table":  # what has come since is to be seen, which another DataFrame shows alone
        spark.catalog.refreshTable(leaf.source.table_name)
        origin = replace(origin, files=sources.load(spark, leaf.source))
    return _state_of_origin(spark, origin, leaf.source, _digest(source, same + origin.text))


def _state_by_plan(spark: SparkSession, source: DataFrame) -> SourceState:
    plan = analysed(source)
    list_files_again(source)  # what has come since is to be seen, and nothing that is not
    text, canonical = plan_texts(spark, plan, plan.canonicalized())
    if unknown := _why_not(spark, text):
        return SourceState(sources.UNKNOWN, unknown=unknown)
    if not bool(plan.deterministic()):  # numbers of rows and names of files are others once there are more files
        return SourceState(sources.UNKNOWN, unknown="its log has values that depend on how it is read")
    digest = _digest(source, canonical)
    if is_bare(source):
        state = sources.files_state(spark, source)
        return _with_reason(SourceState(state, digest, lambda files: sources.in_files(source, files)))
    for origin in origins(source, source.columns):
        if origin.by_row:
            return _state_of_origin(spark, origin, None, digest)
    return SourceState(sources.UNKNOWN, unknown=_NOT_BY_ROW)


def _why_not(spark: SparkSession, plan: str) -> str:
    """Why the printed plan of an input proves nothing of single rows; empty where it may."""
    if _OTHERS.search(plan):
        return "its log is made of more than one relation"
    if (own := functions_of_users(spark) & set(re.findall(r"\w+(?=\()", plan.lower()))) or re.search(r"\)#\d+", plan):
        return f"its log is made with {', '.join(own) or 'functions in Python'}"
    return ""


def _digest(source: DataFrame, plan: str) -> str:
    return hashlib.sha256(f"{source.columns} {plan}".encode()).hexdigest()[:16]


def _state_of_origin(spark: SparkSession, origin: Origin, named: Source | None, digest: str) -> SourceState:
    if not origin.by_row:
        return SourceState(sources.UNKNOWN, unknown=_NOT_BY_ROW)
    state = sources.files_state(spark, origin.files, named)
    return _with_reason(SourceState(state, digest, partial(_from_files, origin)))


def functions_of_users(spark: SparkSession) -> set[str]:
    """Names of functions, without a schema, whose definition Spark's plans do not show."""
    return {row[0].rpartition(".")[2].lower() for row in plain_sql(spark)("SHOW USER FUNCTIONS").collect()}


def _from_files(origin: Origin, files: Collection[str]) -> DataFrame:
    return origin.over(sources.in_files(origin.files, files))


def _with_reason(log_state: SourceState) -> SourceState:
    if log_state.state["kind"] == "files":
        return log_state
    return SourceState(sources.UNKNOWN, unknown="its log has no files, or does not tell which")


@dataclass(frozen=True, slots=True)
class Changed:
    """Which cases are to be matched again.

    ``keys``: a row for each, with a column for each key, named by :func:`key_name`; None: all cases. ``nothing``:
    whether the log is as it was. ``reason``: why, for people. ``files``: that are new.
    """

    keys: DataFrame | None
    reason: str
    nothing: bool = False
    files: tuple[str, ...] = ()


def key_name(number: int) -> str:
    """The column of a key."""
    return f"{PREFIX}case_{number}"


def changed_cases(
    analyzer: SparkAnalyzer, query: PatternQuery, keys: Collection[str], now: SourceState, before: Mapping[str, Any],
    plan_before: str, gone_cases: Callable[[Collection[str]], DataFrame | None],
) -> Changed:  # fmt: skip
    """The cases that have rows in files that are new since a state, or had some in files that are gone.

    Args:
        keys: SQL of the case's keys over the input. gone_cases: the cases of files that are gone; None: not known.
    """
    if now.rows_of is None or now.state["kind"] == "unknown":
        return Changed(None, now.unknown)
    if now.plan != plan_before:
        return Changed(None, "its log is made otherwise than it was")
    found = sources.compared(analyzer.spark, before, now.state)
    if found.mode == "none":
        return Changed(None, found.reason, nothing=True)
    gone = gone_cases(found.gone) if found.gone and len(found.added) <= sources.MAX_NAMED_FILES else None
    if found.mode != "added" and gone is None:
        return Changed(None, found.reason)
    new = distinct_keys(analyzer, query, keys, now.rows_of(found.added)) if found.added else None
    cases = new if gone is None else (gone if new is None else gone.union(new)).distinct()
    return Changed(cases, found.reason, files=found.added)


def distinct_keys(
    analyzer: SparkAnalyzer, query: PatternQuery, keys: Collection[str], rows: DataFrame, condition: str = "",
    more: str = "",
) -> DataFrame:  # fmt: skip
    """A row for each case of some rows of an input. ``more``: a further column, with a comma behind it."""
    items = more + ", ".join(f"({text}) AS {key_name(k)}" for k, text in enumerate(keys))
    where = f" WHERE {condition}" if condition else ""
    return analyzer.analyzed(f"{query.with_prefix}SELECT DISTINCT {items} FROM {{{SOURCE}}}{where}", rows)
