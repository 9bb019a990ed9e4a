"""A statement with pattern queries as SQL for Spark alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from pyspark.sql import SparkSession

from sparkcep import settings
from sparkcep.errors import PatternAnalysisError
from sparkcep.query import SOURCE, unescape
from sparkcep.session.originals import plain_sql
from sparkcep.session.spark_text import as_spark_reads
from sparkcep.session.statement import StatementExecution
from sparkcep.session.templates import Templates
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence, Statement


def compiled(spark: SparkSession, sqlQuery: str) -> str:
    """A statement as SQL that Spark runs without sparkcep's reading it; nothing is run, tables must exist.

    Patterns that one pass of Spark's own ``aggregate`` can follow become plain SQL. Other blocks become calls of
    pattern functions, whose CREATE TEMPORARY PATTERN FUNCTION comes first, for sparkcep to run once per session.

    Raises:
        PatternAnalysisError: CEP_NOT_COMPILABLE, for what needs both Python and sparkcep's planner.
    """
    # Files of an index are this session's business.
    get = settings.getter(spark)
    own = replace(settings.read(get), index=False)
    text = as_spark_reads(spark, get, sqlQuery)
    plain, templates = plain_sql(spark), Templates(text)
    statement = templates.expanded(plain, read_statement(text), own, frames={})
    with templates.located():
        return _compiled(StatementExecution.of(spark, plain, statement, None, {}, own))


def _compiled(run: StatementExecution) -> str:
    """The statement's text with plain SQL for its forms."""
    functions: list[str] = []
    names = (f"pattern_{n}" for n in count(1))
    for form in run.statement.forms:
        _replace(run, form, functions, names.__next__)
    text = run.rewriter.render(0, len(run.statement.text))
    return ";\n\n".join([*functions, unescape(text)])


def _replace(run: StatementExecution, form: PatternOccurrence, functions: list[str], name: Callable[[], str]) -> None:
    """Put plain SQL, or a call of a function that is added to ``functions``, in a form's place."""
    if form.kind is OccurrenceKind.CALL:
        raise _refused(run, form, "A table function of the index is answered by sparkcep.")
    if form.kind is OccurrenceKind.WINDOW:
        raise _refused(run, form, "A window with a pattern is matched in Python.")
    input_sql, source, correlated = run.blamed(lambda: run.input(form))
    planned = run.planned(form, source, input_sql, () if correlated is None else correlated.keys)
    if planned.fold is not None:
        sql = f"({planned.fold.sql().replace(f'{{{SOURCE}}}', f'({input_sql.text})')})"
        sql = sql if correlated is None else correlated.filtered(sql)
    elif correlated is not None:
        raise _refused(run, form, "Its input depends on the query around it.")
    elif planned.engine.name == "runs" and form.kind is OccurrenceKind.BLOCK and not planned.query.groups:
        own = name()
        functions.append(f"CREATE OR REPLACE TEMPORARY PATTERN FUNCTION {own} AS\n{_block(run.statement, form)}")
        sql = f"{own}(TABLE({input_sql.text}))"
    else:
        raise _refused(run, form, f"It is matched in Python ({planned.input.layout_reason or planned.input.layout}).")
    run.put(form, sql)


def _block(statement: Statement, form: PatternOccurrence) -> str:
    """A block's text without its input."""
    text, tokens, start = statement.text, statement.tokens, form.relation_end
    if form.where is None:
        return text[start : form.end].strip()
    low, high = form.where
    return (text[start : tokens[low - 1].start] + text[tokens[high - 1].end : form.end]).strip()


def _refused(run: StatementExecution, form: PatternOccurrence, why: str) -> PatternAnalysisError:
    return PatternAnalysisError(
        "CEP_NOT_COMPILABLE",
        f"This pattern has no form in plain SQL. {why}",
        text=run.statement.text,
        position=form.keyword.start,
        hint="run it through sparkcep (spark.sql, sparkcep sql, dbt); a pattern block can be a pattern function",
    )
