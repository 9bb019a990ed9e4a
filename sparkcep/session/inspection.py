"""What a statement is planned as, and why it has no rows: for EXPLAIN, pictures, the shell and notebooks."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from sparkcep.session.analyzer import Arguments
from sparkcep.session.no_rows import notes, unknown_constants, unknown_rule_types
from sparkcep.session.originals import plain_sql
from sparkcep.session.statement import StatementExecution, run_statement
from sparkcep.sql.statement import mentions_pattern


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


def no_rows_notes(spark: SparkSession, statement: str) -> list[str]:
    """What to tell somebody whose statement gave no rows: notes on those of its patterns that have none.

    Runs Spark jobs over the patterns' inputs. Empty where the statement holds no pattern or its patterns have rows.

    Raises:
        pyspark.errors.PySparkException: Spark's own errors, as the statement itself would raise.
    """
    if not mentions_pattern(statement):
        return []
    run = explained(spark, statement)[1]
    found = []
    if run is None:
        return []
    for relation in run.relations:
        if not run.analyzer.run(f"SELECT 1 FROM {relation.sql} LIMIT 1").collect():
            found += notes(run.analyzer, relation, has_rows=False)
    return found


def unknown_constant_notes(spark: SparkSession, statement: str) -> list[str]:
    """A sentence for each event type, or other constant, that the statement's patterns name and their inputs lack.

    One aggregate over each pattern's input, and the values of a column where it lacks one. Empty where there is none.

    Raises:
        pyspark.errors.PySparkException: Spark's own errors, as the statement itself would raise.
    """
    if not mentions_pattern(statement):
        return []
    run = explained(spark, statement)[1]
    if run is None:
        return []
    of_rules = [note for s in run.rule_sets for note in unknown_rule_types(run.analyzer, s)]
    return [note for r in run.relations for note in unknown_constants(run.analyzer, r)] + of_rules
