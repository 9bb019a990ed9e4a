"""What kind of statement a pattern form stands in, where that changes what is done with it."""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.errors import PatternAnalysisError, PatternParseError
from sparkcep.sql.statement import Statement


@dataclass(frozen=True, slots=True)
class Explain:
    """`EXPLAIN [mode] query`. ``head`` is the text to put before the rewritten query; ``analyze``: the query runs, and
    what it met is told."""

    head: str
    query_start: int
    analyze: bool = False


@dataclass(frozen=True, slots=True)
class TemporaryView:
    """`CREATE [OR REPLACE] [GLOBAL] TEMPORARY VIEW ... AS query`."""

    query_start: int


def classify(statement: Statement) -> Explain | TemporaryView | None:
    """The kind of a statement that holds pattern forms; None: Spark runs it with the forms replaced.

    Raises:
        PatternAnalysisError: CEP_PERSISTENT_VIEW, CEP_SQL_SCRIPT, CEP_EXPLAIN_MODE.
        PatternParseError: CEP_SYNTAX_ERROR, a view without a name or a query.
    """
    w, tokens = statement.word, statement.tokens
    first = w(0)
    if first == "EXPLAIN" or (first in ("DESCRIBE", "DESC") and w(1) == "QUERY"):
        mode = w(1) if w(1) in ("EXTENDED", "FORMATTED", "COST", "CODEGEN", "ANALYZE", "LOGICAL") else ""
        index = 2 if mode else 1
        is_query = w(index) in ("SELECT", "WITH", "FROM", "VALUES", "TABLE") or statement.operator(index) == "("
        if mode == "LOGICAL" or (mode == "ANALYZE" and not is_query):
            raise PatternAnalysisError(
                "CEP_EXPLAIN_MODE",
                "EXPLAIN ANALYZE runs what it explains; only a query may follow."
                if mode == "ANALYZE"
                else f"EXPLAIN {mode} is not supported for pattern queries.",
                text=statement.text,
                position=tokens[index if mode == "ANALYZE" else 1].start,
                hint="use EXPLAIN, EXPLAIN ANALYZE query, EXTENDED, FORMATTED, COST or CODEGEN",
            )
        if first != "EXPLAIN":
            return None
        if mode == "ANALYZE":
            return Explain("EXPLAIN ", tokens[index].start, True)
        return Explain(f"EXPLAIN {mode} " if mode else "EXPLAIN ", tokens[index].start)
    if first == "BEGIN" or (first == "DECLARE" and any(statement.operator(i) == ";" for i in range(len(tokens) - 1))):
        raise read_by_spark(statement, statement.forms[0].keyword.start, "a SQL script", "runs the script's statements")
    if first == "CREATE":
        return _view(statement)
    if first == "CACHE" or (first == "ALTER" and w(1) == "VIEW"):
        raise _stored(statement, f"{first} {'TABLE' if first == 'CACHE' else 'VIEW'} ... AS")
    return None


def read_by_spark(statement: Statement, position: int, where: str, why: str) -> PatternAnalysisError:
    """A pattern query in what Spark reads without asking sparkcep."""
    return PatternAnalysisError(
        "CEP_SQL_SCRIPT",
        f"A pattern query cannot be used inside {where}: Spark {why} itself.",
        text=statement.text,
        position=position,
        hint="CREATE TEMPORARY PATTERN FUNCTION f AS ... before, and read f(TABLE(t)) there; or let it read a "
        "temporary view of the pattern query",
    )


def _stored(statement: Statement, what: str) -> PatternAnalysisError:
    """Statements whose text Spark keeps and reads again later, when the pattern's relation is gone."""
    return PatternAnalysisError(
        "CEP_UNSUPPORTED_STATEMENT",
        f"{what} keeps the text of its query, and Spark alone cannot read a pattern query again.",
        text=statement.text,
        position=statement.tokens[0].start,
        hint="CREATE OR REPLACE TEMPORARY VIEW v AS the pattern query, then use v (CACHE TABLE v)",
    )


def _view(statement: Statement) -> TemporaryView | None:
    w = statement.word
    i = 1
    i += 2 if w(i) == "OR" and w(i + 1) == "REPLACE" else 0
    i += w(i) == "GLOBAL"
    temporary = w(i) in ("TEMP", "TEMPORARY")
    i += temporary
    if w(i) == "FUNCTION":
        raise _stored(statement, "CREATE FUNCTION")
    if w(i) not in ("VIEW", "MATERIALIZED", "STREAMING"):
        return None
    if not temporary:
        raise PatternAnalysisError(
            "CEP_PERSISTENT_VIEW",
            "A persistent view cannot hold a pattern query: whoever reads the view would need sparkcep to do so.",
            text=statement.text,
            position=statement.tokens[i].start,
            hint="make a table of it (CREATE TABLE ... AS, in dbt materialized='table'), or a TEMPORARY VIEW",
        )
    at = i + 1
    while at < len(statement.tokens) and w(at) != "AS":
        if statement.operator(at) == "(" and at not in statement.pairs:
            raise _expected(statement, at, "The parenthesis is not closed.")
        at = statement.pairs.get(at, at) + 1
    if at == i + 1:
        raise _expected(statement, at, "The view's name is expected here.")
    if at + 1 >= len(statement.tokens):
        raise _expected(statement, i + 2, "AS and a query are expected here.")
    return TemporaryView(statement.tokens[at + 1].start)


def _expected(statement: Statement, i: int, message: str) -> PatternParseError:
    at = statement.tokens[i].start if i < len(statement.tokens) else len(statement.text)
    return PatternParseError("CEP_SYNTAX_ERROR", message, text=statement.text, position=at)
