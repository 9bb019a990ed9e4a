"""Spark's analysis errors with their place in the user's statement."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.errors import AnalysisException, QueryContextType

from sparkcep.errors import PatternAnalysisError, near_name
from sparkcep.query import PREFIX, PatternQuery
from sparkcep.sql.lexicon import Token
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.statement import PatternOccurrence, Statement


def located(
    query: PatternQuery,
    error: AnalysisException,
    start: int | None = None,
    names: Mapping[str, str] | None = None,
) -> PatternAnalysisError:
    """Spark's analysis error with a place in the user's statement, found by the name it complains of.

    Args:
        start: where the part at fault begins in the text, as far as that is known. names: what stands in the user's
            text for names of ours.
    """
    message = (error.getMessage() or str(error)).strip()
    # Places and SQL states belong to the statement that Spark saw, not to the user's.
    message = re.split(r"\n== SQL|; line \d| SQLSTATE:", message)[0].strip()
    condition = error.getCondition() or "CEP_ANALYSIS"
    start = query.start if start is None else start
    if condition.startswith(("MISSING_GROUP_BY", "MISSING_AGGREGATION", "GROUP_BY")):
        return PatternAnalysisError(
            "CEP_UNSUPPORTED_AGGREGATE",
            "MEASURES or DEFINE uses an aggregate function that cannot run over the rows of a match.",
            text=query.text or None,
            position=start,
            hint="FIRST and LAST give first and last values; array_agg collects rows for any other function",
        )
    parameters = error.getMessageParameters() or {}
    name = parameters.get("objectName") or parameters.get("routineName") or parameters.get("functionName") or ""
    parts = name.replace("`", "").split(".")
    token = _token(query, parts[-1], start) if name else None
    position = token.start if token is not None else start
    if condition.startswith("UNRESOLVED_COLUMN"):  # Spark's suggestions are columns of our own
        near = near_name(parts[-1], query.columns)
        hint = f"did you mean {near}?" if near else f"the input's columns are {', '.join(query.columns)}"
        if any(m.name.casefold() == name.replace("`", "").casefold() for m in query.measures):
            hint = (
                f"{parts[-1]} is an output column, which expressions beside it do not see: repeat its expression, or "
                f"write SELECT *, ... FROM (...) around the pattern"
            )
        return PatternAnalysisError(
            "CEP_UNRESOLVED_COLUMN",
            f"There is no column {'.'.join(parts)} here.",
            text=query.text or None,
            position=position,
            hint=hint,
        )
    if message.startswith(f"[{condition}] "):
        message = message[len(condition) + 3 :]
    longest_first = sorted(names or {}, key=len, reverse=True)
    own = re.compile("|".join(rf"\b{re.escape(n)}\b" for n in longest_first) or "(?!)")
    message = own.sub(lambda m: (names or {})[m[0]], message).replace(PREFIX, "")
    return PatternAnalysisError(condition, message, text=query.text or None, position=position)


def fragments(error: AnalysisException) -> list[str]:
    """The SQL that Spark complains of."""
    contexts = error.getQueryContext() or []
    return [c.fragment() for c in contexts if c.contextType() is QueryContextType.SQL]


def _token(query: PatternQuery, name: str, start: int) -> Token | None:
    """The first token of a name behind a place in the statement."""
    tokens = read_statement(query.text).tokens if query.text else ()
    return next((t for t in tokens if t.start >= start and t.text.casefold() == name.casefold()), None)


def outer_reference(
    statement: Statement, form: PatternOccurrence, error: AnalysisException
) -> PatternAnalysisError | None:
    """The error of an input that reads the query around it (LATERAL, EXISTS); None where that is not the fault."""
    name = (error.getMessageParameters() or {}).get("objectName", "").replace("`", "").split(".")
    if not (error.getCondition() or "").startswith("UNRESOLVED_COLUMN") or len(name) < 2:
        return None

    def is_qualifier(k: int) -> bool:
        return statement.tokens[k].text.casefold() == name[0].casefold() and statement.operator(k + 1) == "."

    low, high = form.relation_tokens
    inside = [k for k in range(low, high) if is_qualifier(k)]
    outside = [
        t for k, t in enumerate(statement.tokens)
        if not low <= k < high and t.text.casefold() == name[0].casefold() and not is_qualifier(k)
    ]  # fmt: skip
    if not inside or not outside:
        return None
    return PatternAnalysisError(
        "CEP_CORRELATED_INPUT",
        f"The input of a pattern cannot use columns of the query around it, here {'.'.join(name)}.",
        text=statement.text,
        position=statement.tokens[inside[0]].start,
        hint="match all of the input, PARTITION BY the column that is compared, and join the result to the outer table",
    )
