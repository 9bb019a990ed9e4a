"""What a statement is planned as, and why it has no rows: for EXPLAIN, pictures, the shell and notebooks."""

from __future__ import annotations

import re
from typing import Any

from pyspark.sql import SparkSession

from sparkcep.session.analyzer import Arguments
from sparkcep.session.inspection.no_rows import notes, unknown_constants, unknown_rule_types
from sparkcep.session.originals import plain_sql
from sparkcep.session.statement import StatementExecution, run_statement
from sparkcep.spark.plan import estimated_size
from sparkcep.sql.statement import mentions_pattern

#: How statements begin that are asked about their rows: not EXPLAIN, SHOW and the like.
_QUERY = re.compile(r"\s*(?:--[^\n]*\n\s*|/\*.*?\*/\s*)*(?:SELECT|WITH|FROM|\()", re.DOTALL | re.IGNORECASE)
#: So much of an input is read once more beside a result.
LOOKED_AT_BYTES = 64 << 20


def is_query(statement: str) -> bool:
    """Whether a statement asks for rows.

    >>> is_query("-- a comment\\n FROM log PATTERN SEQ(a, b)"), is_query("EXPLAIN SELECT 1")
    (True, False)
    """
    return _QUERY.match(statement) is not None


def explained(
    spark: SparkSession, text: str, args: Arguments = None, kwargs: dict[str, Any] | None = None, analyze: bool = False
) -> tuple[str, StatementExecution | None]:
    """What EXPLAIN says of a statement, and the statement as it was planned for that, None where it has no pattern.

    Args:
        analyze: run it, as EXPLAIN ANALYZE does.
    """
    statement = "EXPLAIN ANALYZE " + text if analyze else text
    frame, run = run_statement(spark, plain_sql(spark), statement, args, kwargs, explain_only=not analyze)
    return str(frame.collect()[0][0]), run


def _planned(spark: SparkSession, statement: str) -> StatementExecution | None:
    """A statement as it is planned; None where no pattern is in it."""
    if not mentions_pattern(statement):
        return None
    return run_statement(spark, plain_sql(spark), statement, None, {}, explain_only=True)[1]


def no_rows_notes(spark: SparkSession, statement: str) -> list[str]:
    """What to tell somebody whose statement gave no rows: notes on those of its patterns that have none.

    Runs Spark jobs over the patterns' inputs. Empty where the statement holds no pattern or its patterns have rows.

    Raises:
        pyspark.errors.PySparkException: Spark's own errors, as the statement itself would raise.
    """
    if (run := _planned(spark, statement)) is None:
        return []
    found = []
    for relation in run.relations:
        if not run.analyzer.run(f"SELECT 1 FROM {relation.sql} LIMIT 1").collect():
            found += notes(run.analyzer, relation, has_rows=False)
    return found


def notes_of_result(spark: SparkSession, statement: str, has_rows: bool) -> list[str]:
    """What to tell somebody who looks at a result: why it has no rows, or else which event types its log lacks.

    The latter reads a column of each pattern's input again, and is left out where that may take long, and where an
    index has told it already.

    Raises:
        pyspark.errors.PySparkException: Spark's own errors, as the statement itself would raise.
    """
    if not has_rows:
        return no_rows_notes(spark, statement)
    if not is_query(statement) or (run := _planned(spark, statement)) is None:
        return []
    found: list[str] = []
    for relation in run.relations:
        size = estimated_size(relation.given)
        if size is not None and size <= LOOKED_AT_BYTES and not relation.pruning.warnings:
            found += unknown_constants(run.analyzer, relation)
    return found


def unknown_constant_notes(spark: SparkSession, statement: str) -> list[str]:
    """A sentence for each event type, or other constant, that the statement's patterns name and their inputs lack.

    One aggregate over each pattern's input, and the values of a column where it lacks one. Empty where there is none.

    Raises:
        pyspark.errors.PySparkException: Spark's own errors, as the statement itself would raise.
    """
    if (run := _planned(spark, statement)) is None:
        return []
    of_rules = [note for s in run.rule_sets for note in unknown_rule_types(run.analyzer, s)]
    return [note for r in run.relations for note in unknown_constants(run.analyzer, r)] + of_rules
