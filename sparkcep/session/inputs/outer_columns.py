"""Columns of the query around that a pattern names in its conditions and measures: its input once for each of their
values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pyspark.errors import AnalysisException, ParseException

from sparkcep.query import PREFIX, unescape
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.session.inputs.correlated import CorrelatedInput, correlated_input, refused
from sparkcep.session.messages.spark_errors import matched_as_a_join
from sparkcep.spark.repeatable import what_changes
from sparkcep.sql.correlation import outer_source
from sparkcep.sql.outer_names import outer_names
from sparkcep.sql.rewriter import InputSql, Rewriter
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence
from sparkcep.sql.token_text import Range

#: Types whose values are one group of GROUP BY where nothing tells them apart.
_EXACT = re.compile(
    r"(tinyint|smallint|int|bigint|decimal\(\d+,\d+\)|string|char\(\d+\)|varchar\(\d+\)|boolean|date|timestamp|"
    r"timestamp_ntz|time\(\d\)|binary|interval [a-z ]+)"
)
#: Of these 0 and -0 are one group, and two values.
_FLOATING = ("float", "double")


def input_by_outer(
    analyzer: SparkAnalyzer, rewriter: Rewriter, form: PatternOccurrence, *, unresolved: AnalysisException | None = None
) -> CorrelatedInput | None:
    """As :func:`correlated_input`, also where conditions and measures name columns of the query around: then the input
    comes once for each distinct row of these and of what is compared, and they are among its keys.

    Raises:
        PatternAnalysisError: CEP_CORRELATED_INPUT.
    """
    read = correlated_input(analyzer, rewriter, form, unresolved=unresolved)
    around = None if form.kind is OccurrenceKind.WINDOW else outer_source(rewriter.statement, form)
    if around is None:
        return read
    s = rewriter.statement
    named = outer_names(s, form, around, rewriter.qualifiers(form), formatted=bool(analyzer.kwargs))
    if not named:
        return read
    if read is None:
        text = rewriter.input_sql(form)
        try:
            read = CorrelatedInput(text, analyzer.analyzed(text.text), (), (), (), False)
        except AnalysisException:
            return None
    own = {c.casefold() for c in read.frame.columns}
    named = [n for n in named if s.tokens[n.span[0]].text.casefold() not in own]
    if not named:
        return read if read.keys else None
    if len(own) < len(read.frame.columns):
        raise refused(s, named[0].span, "cannot be named over an input that has several columns of one name")
    for name in named:
        if name.without_row:
            raise refused(
                s, name.span, "cannot be a measure where a match may be empty, or a row unmatched",
                "select it beside the matches",
            )  # fmt: skip
    return _with_columns(analyzer, rewriter, form, read, around, [n.span for n in named])


def _with_columns(
    analyzer: SparkAnalyzer, rewriter: Rewriter, form: PatternOccurrence, read: CorrelatedInput, around: Range,
    named: Sequence[Range],
) -> CorrelatedInput:  # fmt: skip
    """The input joined to the distinct rows of the columns; where they are named stand the input's columns from now on.

    Raises:
        PatternAnalysisError: CEP_CORRELATED_INPUT.
    """
    s = rewriter.statement
    texts = list(dict.fromkeys(rewriter.tokens_text(*span) for span in named))
    types = _types(analyzer, rewriter, form, around, named)
    keys = {text: f"{PREFIX}outer{n}" for n, text in enumerate(texts, len(read.keys))}
    # As text each floating number is a value of its own, and comes back as it was.
    shown = {t: f"CAST({t} AS STRING)" if types[t] in _FLOATING else t for t in texts}
    compared = [predicate.split(" ", 2) for predicate in read.predicates]
    sides = [f"{PREFIX}side{n}" for n in range(len(compared))]
    items = [f"{outer} AS {side}" for (_, _, outer), side in zip(compared, sides, strict=True)]
    items += [f"{shown[t]} AS {keys[t]}" for t in texts]
    rows = rewriter.query_over(form, rewriter.tokens_text(*around), f"DISTINCT {', '.join(items)}")
    floating = any(f.dataType.simpleString() in _FLOATING for f in read.frame.schema.fields[-len(read.keys or "1") :])
    _check_repeatable(analyzer, rewriter, rows, named[0], floating or any(t in _FLOATING for t in types.values()))
    equal = " AND ".join(f"{key} {operator} {side}" for (key, operator, _), side in zip(compared, sides, strict=True))
    columns = f"* EXCEPT ({', '.join(sides)})" if sides else "*"
    query = f"SELECT {columns} FROM ({read.text.text}) CROSS JOIN ({rows}) {f'WHERE {equal}' if equal else ''}"
    frame = analyzer.analyzed(query)
    for low, high in named:
        text = rewriter.tokens_text(low, high)
        value = f"CAST({keys[text]} AS {types[text].upper()})" if types[text] in _FLOATING else keys[text]
        rewriter.put(low, high, value)
        rewriter.constants[low] = high
    lateral = read.lateral or s.word(form.relation_tokens[0]) == "LATERAL"
    return replace(
        read,
        text=InputSql(query),
        frame=frame,
        keys=(*read.keys, *keys.values()),
        predicates=(*read.predicates, *(f"{keys[t]} <=> {shown[t]}" for t in texts)),
        conditions=(*read.conditions, *(unescape(t) for t in texts)),
        lateral=lateral,
        named=True,
    )


def _types(
    analyzer: SparkAnalyzer, rewriter: Rewriter, form: PatternOccurrence, around: Range, named: Sequence[Range]
) -> dict[str, str]:
    """Types of columns of the query around, by their text.

    Raises:
        PatternAnalysisError: CEP_CORRELATED_INPUT.
    """
    found = {}
    for span in named:
        text = rewriter.tokens_text(*span)
        if text in found:
            continue
        query = rewriter.query_over(form, rewriter.tokens_text(*around), text)
        try:
            frame = analyzer.analyzed(query)
        except (AnalysisException, ParseException):
            raise refused(
                rewriter.statement, span, "is not a column of the FROM around the pattern",
                matched_as_a_join(unescape(text)),
            ) from None  # fmt: skip
        type_ = frame.schema[0].dataType.simpleString()
        if type_ not in _FLOATING and not _EXACT.fullmatch(type_):
            raise refused(rewriter.statement, span, f"is {type_}: several values may be one of its groups")
        if frame.isStreaming:
            raise refused(rewriter.statement, span, "is of a stream")
        found[text] = type_
    return found


def _check_repeatable(analyzer: SparkAnalyzer, rewriter: Rewriter, rows: str, place: Range, floating: bool) -> None:
    """Refuse rows that may be others when they are read again: they are read for the matches, and around them.

    Raises:
        PatternAnalysisError: CEP_CORRELATED_INPUT.
    """
    explain = f"EXPLAIN EXTENDED {rows}"
    if what := what_changes(analyzer.analyzed(rows), lambda: str(analyzer.run(explain).collect()[0][0]), floating):
        raise refused(
            rewriter.statement, place, f"is of rows that may be others when they are read again ({what})",
            "write the rows around the pattern into a table first",
        )  # fmt: skip
