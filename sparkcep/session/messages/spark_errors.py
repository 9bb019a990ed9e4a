"""Spark's analysis errors with their place in the user's statement."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from logging import LogRecord
from threading import get_ident

from pyspark.errors import AnalysisException, ParseException

from sparkcep.errors import PatternAnalysisError, PatternParseError, SparkCepError, near_hint
from sparkcep.planner.conditions.units import is_without_unit, without_unit
from sparkcep.query import PREFIX, PatternQuery, quote
from sparkcep.session.messages.expressions import hint_of_column, hint_of_function, parse_offset, place_of, quoted
from sparkcep.spark.exceptions import condition_of, fragments, parameters_of, sentence
from sparkcep.spark.releases import error_logger
from sparkcep.sql.block.parser import CLAUSES
from sparkcep.sql.lexicon import Token
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.statement import PatternOccurrence, Statement

_BEFORE_RELATION = ("FROM", "JOIN", "TABLE", "INTO", "USING")


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
    condition, message = _said(error)
    start = query.start if start is None else start
    if condition.startswith(("MISSING_GROUP_BY", "MISSING_AGGREGATION", "GROUP_BY")):
        return PatternAnalysisError(
            "CEP_UNSUPPORTED_AGGREGATE",
            "MEASURES or DEFINE uses an aggregate function that cannot run over the rows of a match.",
            text=query.text or None,
            position=start,
            hint="FIRST and LAST give first and last values; array_agg collects rows for any other function",
        )
    parameters = parameters_of(error)
    name = _name_at_fault(error) or parameters.get("funcName", "").strip('"').partition("(")[0]
    parts = name.replace("`", "").split(".")
    token = _token(query, parts[-1], start) if name else None
    position = token.start if token is not None else start
    if condition == "INVALID_EXTRACT_BASE_FIELD_TYPE":
        string = quoted(query, parameters.get("base", ""), start)
        if string is not None:
            hint = f"in double quotes it is a string: write {string.text} without quotes"
            return PatternAnalysisError(condition, message, text=query.text, position=string.start, hint=hint)
    if token is None:
        places = (place_of(query, start, fragment, names or {}) for fragment in fragments(error))
        position = next((at for at in places if at is not None), start)
    if condition.startswith("UNRESOLVED_COLUMN"):  # Spark's suggestions are columns of our own
        columns = [c for c in query.columns if not c.startswith(PREFIX)]
        if query.is_block and len(parts) == 1:
            columns += [v for v in query.labels if len(v) > 2]
        better = hint_of_column(query, parts[0]) if len(parts) == 1 else None
        plain = _no_column(parts, columns, query.text or None, position, better)
        measure = next((m for m in query.measures if m.name.casefold() == name.strip("`").casefold()), None)
        if better or len(parts) > 1 or measure is None or measure.expression.pieces in ((parts[0],), (name,)):
            return plain
        return PatternAnalysisError(
            plain.error_class, plain.sentence, text=plain.text, position=position,
            hint=f"{parts[0]} is a column of the result: repeat its expression here, or compute with it in a query "
            "around the pattern",
        )  # fmt: skip
    longest_first = sorted(names or {}, key=len, reverse=True)
    own = re.compile("|".join(rf"\b{re.escape(n)}\b" for n in longest_first) or "(?!)")
    message = own.sub(lambda m: (names or {})[m[0]], message).replace(PREFIX, "")
    incomplete = condition.startswith("PARSE_")
    advice = "an expression of the pattern is not complete, or has a word too many" if incomplete else None
    advice = advice or hint_of_function(query, condition, parts[-1])
    if condition.startswith("DATATYPE_MISMATCH.BINARY_OP") and is_without_unit(*_sides(parameters)):
        found = without_unit(query.text, position)
        if found is not None:
            message, position, advice = found.message, found.position, found.hint
    return PatternAnalysisError(condition, message, text=query.text or None, position=position, hint=advice)


@contextmanager
def quietly() -> Iterator[None]:
    """Keep PySpark from printing errors of this thread as JSON: they come back in other words, or are an answer."""
    own = get_ident()

    def is_of_others(record: LogRecord) -> bool:
        return record.thread != own

    logger = error_logger("SQL")
    logger.addFilter(is_of_others)
    try:
        yield
    finally:
        logger.removeFilter(is_of_others)


def _sides(parameters: Mapping[str, str]) -> tuple[str, str]:
    """Spark's types of the two sides of an operator, as conditions call them."""
    left, right = (parameters.get(side, "").strip('"').split(" ")[0].casefold() for side in ("left", "right"))
    return left, right


def is_of_rewritten_text(error: AnalysisException) -> bool:
    """Whether an error of Spark's shows names that stand in a statement once its patterns are replaced."""
    return not isinstance(error, SparkCepError) and any(name in str(error) for name in (PREFIX, "_pyspark_"))


def as_written(statement: Statement, error: AnalysisException) -> SparkCepError:
    """Spark's error of a statement whose patterns were replaced, with its place in the text as the user wrote it."""
    condition, message = _said(error)
    found: list[int] = []
    parameters = parameters_of(error)
    for text in (*fragments(error), parameters.get("objectName", "").replace("`", "")):
        places = [m.start() for m in re.finditer(rf"(?<!\w){re.escape(text)}(?!\w)", statement.text)] if text else []
        outside = [at for at in places if not any(form.start <= at < form.end for form in statement.forms)]
        found = found or outside
    cls = PatternParseError if isinstance(error, ParseException) else PatternAnalysisError
    return cls(
        condition, message.replace(PREFIX, ""), text=statement.text, position=found[0] if len(found) == 1 else None
    )


def in_relation(
    statement: Statement, form: PatternOccurrence, error: AnalysisException, sql: str
) -> SparkCepError | None:
    """Spark's error of a form's input, with its place in the text as the user wrote it; None where that is not found.

    Args:
        sql: what Spark was given.
    """
    low, high = form.relation_start, form.relation_end
    condition, message = _said(error)
    if condition == "TABLE_OR_VIEW_NOT_FOUND":  # see no_relation
        return None
    if isinstance(error, ParseException):
        at = sql.find(statement.text[low:high].strip())
        position = low + parse_offset(error, sql) - at if at >= 0 else -1
        if not low <= position < high:
            return None
        return PatternParseError(condition, message, text=statement.text, position=position)
    name = parameters_of(error).get("objectName", "").replace("`", "")
    for text in (*fragments(error), name, name.rpartition(".")[2]):
        found = re.search(rf"(?<!\w){re.escape(text)}(?!\w)", statement.text[low:high]) if text else None
        if found is not None:
            message = message.partition(";\n")[0]
            return PatternAnalysisError(condition, message, text=statement.text, position=low + found.start())
    return None


def _said(error: AnalysisException) -> tuple[str, str]:
    """Spark's error class and sentence."""
    return condition_of(error) or "CEP_ANALYSIS", sentence(error)


def _name_at_fault(error: AnalysisException) -> str:
    """The column or function that an error complains of, as Spark quotes it; empty where it is about none."""
    parameters = parameters_of(error)
    return parameters.get("objectName") or parameters.get("routineName") or parameters.get("functionName") or ""


def _token(query: PatternQuery, name: str, start: int) -> Token | None:
    """The first token of a name behind a place in the statement, rather where it is read than where AS gives it."""
    tokens = read_statement(query.text).tokens if query.text else ()
    named = [k for k, t in enumerate(tokens) if t.text.casefold() == name.casefold()]
    # Before a window stand the calls over it.
    found = [k for k in named if tokens[k].start >= start] or (named if query.window is not None else [])
    read = (tokens[k] for k in found if k == 0 or tokens[k - 1].upper != "AS")
    return next(read, tokens[found[0]] if found else None)


def no_relation(
    statement: Statement, error: AnalysisException, names: Callable[[str], Sequence[str]]
) -> SparkCepError | None:
    """Spark's error of a table or view that there is none of, with its place and a near name; None of any other error,
    and where the name is not in the text.

    Args:
        names: of tables and views, by the name of their schema, quoted, or for none of the current one.
    """
    if condition_of(error) != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    s, written = statement, parameters_of(error).get("relationName", "")
    *schema, name = written.strip("`").split("`.`")
    named = (k for k, t in enumerate(s.tokens) if t.kind in ("word", "quoted") and t.text.casefold() == name.casefold())
    place = next((at for k in named if (at := _relation_at(s, k)) >= 0), -1)
    if place < 0:
        return None
    common = [table.name for form in s.forms for scope in form.scopes for table in scope]
    known = [*([] if schema else common), *names(".".join(map(quote, schema)))]
    return PatternAnalysisError(
        "TABLE_OR_VIEW_NOT_FOUND",
        f"There is no table or view {'.'.join([*schema, name])}.",
        text=s.text, position=s.tokens[place].start,
        hint=near_hint(name, known, "SHOW TABLES lists the tables and views"),
    )  # fmt: skip


def _relation_at(s: Statement, k: int) -> int:
    """Where a relation's name begins whose last part is a token; -1 where it is the name of something else."""
    while s.operator(k - 1) == ".":
        k -= 2
    before = k - 1
    while s.operator(before) in ("(", "<"):
        before -= 1
    return k if s.word(before) in _BEFORE_RELATION else -1


def of_filter(
    statement: Statement, form: PatternOccurrence, error: AnalysisException, sql: str, columns: Sequence[str]
) -> SparkCepError:
    """Spark's error of a WHERE before PATTERN, with its place in the user's text.

    Args:
        sql: what Spark was given, which ends with the condition. columns: those of the input.
    """
    s = statement
    low, high = form.where or (0, 0)
    start, end = s.tokens[low].start, s.tokens[high - 1].end
    if isinstance(error, ParseException):
        return _unread_filter(s, error, start, end, sql)
    condition, message = _said(error)
    name = _name_at_fault(error)
    parts = name.replace("`", "").split(".")
    named = [t for t in s.tokens[low:high] if name and t.text.casefold() in (parts[0].casefold(), parts[-1].casefold())]
    texts = [s.text.find(fragment, start, end) for fragment in fragments(error) if fragment]
    position = named[0].start if named else next((at for at in texts if at >= 0), start)
    if condition.startswith("UNRESOLVED_COLUMN"):
        if len(parts) > 1 and parts[0].casefold() in s.words(*form.body):
            return PatternAnalysisError(
                "CEP_PATTERN_VARIABLE_NOT_ALLOWED",
                f"WHERE before PATTERN filters the input; it cannot name an event of the match, here {parts[0]}.",
                text=s.text, position=position, hint="write this condition in a WHERE after PATTERN",
            )  # fmt: skip
        return _no_column(parts, columns, s.text, position)
    return PatternAnalysisError(condition, message, text=s.text, position=position)


def _unread_filter(s: Statement, error: ParseException, start: int, end: int, sql: str) -> PatternParseError:
    """The error of a condition from ``start`` to ``end`` that Spark could not read, at the end of ``sql``."""
    condition, message = _said(error)
    position, word = start, ""
    near = re.search(r"near '(.+?)'", message)
    if near is not None:
        at = parse_offset(error, sql)
        # Of what was replaced in the condition nothing lies behind the place, or nothing before it.
        for found in (end - len(sql) + at, start + at - (len(sql) - (end - start))):
            if start <= found < end and s.text.startswith(near[1], found):
                position, word = found, near[1]
                break
    if word.upper() in CLAUSES:
        hint = "before PATTERN a block has WHERE, PARTITION BY, ORDER BY, EVENT TYPE and RETURN"
        return PatternParseError(
            "CEP_SYNTAX_ERROR", f"{word} comes after PATTERN.", text=s.text, position=position, hint=hint
        )
    return PatternParseError(condition, message, text=s.text, position=position)


def _no_column(
    parts: Sequence[str], columns: Sequence[str], text: str | None, position: int, hint: str | None = None
) -> PatternAnalysisError:
    """The error of a name that is no column of an input. ``hint``: one that is better than a near name."""
    return PatternAnalysisError(
        "CEP_UNRESOLVED_COLUMN",
        f"There is no column {'.'.join(parts)} here.",
        text=text, position=position,
        hint=hint or near_hint(parts[-1], columns, f"the input's columns are {', '.join(columns)}"),
    )  # fmt: skip


def outer_reference(
    statement: Statement, form: PatternOccurrence, error: AnalysisException
) -> PatternAnalysisError | None:
    """The error of an input that reads the query around it (LATERAL, EXISTS); None where that is not the fault."""
    name = parameters_of(error).get("objectName", "").replace("`", "").split(".")
    if not condition_of(error).startswith("UNRESOLVED_COLUMN") or len(name) < 2:
        return None

    def is_qualifier(k: int) -> bool:
        return statement.tokens[k].text.casefold() == name[0].casefold() and statement.operator(k + 1) == "."

    low, high = form.relation_tokens
    if form.windowed is not None:  # its WHERE too
        high = form.windowed.source_end
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
        hint=matched_as_a_join(".".join(name)),
    )


def matched_as_a_join(outer: str) -> str:
    """How a pattern over an input that depends on a column ``outer`` is written by hand, as a hint."""
    name = outer.rpartition(".")[0] or "o"
    return (
        "only an equality of two columns, in the WHERE of the input itself, can be one with the query around; else "
        f"match the join of both: FROM (SELECT {name}.id, i.* FROM ... {name} JOIN ... i ON ...) "
        "MATCH_RECOGNIZE (PARTITION BY id ...)"
    )
