"""Patterns whose input depends on the query around them: what is compared makes partitions, and picks among matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql.types import IntegralType, StructField

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import (
    GROUP_KEY,
    PREFIX,
    KeyExpression,
    MatchNumber,
    Measure,
    PatternQuery,
    Scalar,
    TrendExpression,
    unescape,
)
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.session.messages.spark_errors import matched_as_a_join, outer_reference
from sparkcep.spark.plan import CHAR_METADATA
from sparkcep.spark.releases import no_star_except
from sparkcep.sql.correlation import Correlation, Subquery, correlations, outer_source, read_subquery
from sparkcep.sql.rewriter import InputSql, Rewriter
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence, Statement

_ROW = PREFIX + "row"


@dataclass(frozen=True, slots=True)
class CorrelatedInput:
    """An input that is read as a whole, with what it compares with the query around it as columns.

    Args:
        text: the query that reads it. frame: its rows.
        keys: names of these columns. predicates: what the statement demands of each, fit for Spark's formatted sql.
        conditions: the same as the user wrote it. lateral: whether LATERAL stands before the input. named: whether
            some of the columns are of the query around, named in the clause itself.
    """

    text: InputSql
    frame: DataFrame
    keys: tuple[str, ...]
    predicates: tuple[str, ...]
    conditions: tuple[str, ...]
    lateral: bool
    named: bool = False

    def filtered(self, sql: str) -> str:
        """The matches of one row of the query around: of all ``sql`` gives, those of its partition.

        Columns are a struct while the condition is read, so that none of them takes the place of an outer column.
        """
        keys = ", ".join(self.keys)
        rows = f"SELECT {keys}, struct(* EXCEPT ({keys})) AS {_ROW} FROM {sql}"
        return f"{'LATERAL ' * self.lateral}(SELECT {_ROW}.* FROM ({rows}) WHERE {' AND '.join(self.predicates)})"


def correlated_input(
    analyzer: SparkAnalyzer, rewriter: Rewriter, form: PatternOccurrence, *, unresolved: AnalysisException | None = None
) -> CorrelatedInput | None:
    """The input of a form that compares its columns with those of the query around it; None where it does not, as far
    as the text tells.

    Args:
        unresolved: what Spark says of the input as it stands. Without it only qualified names are taken for outer ones,
            so that an input which depends on nothing is not analysed twice.

    Raises:
        PatternAnalysisError: CEP_CORRELATED_INPUT, where partitions would not be what the comparison picks.
    """
    statement = rewriter.statement
    if form.kind is OccurrenceKind.WINDOW:  # each row of its input is a row of its SELECT
        return None
    subquery = read_subquery(statement, form)
    around = outer_source(statement, form)
    if subquery is None or around is None:
        return None
    if unresolved is None and not correlations(statement, subquery, None):
        return None
    text = rewriter.tokens_text
    try:
        columns = analyzer.run(rewriter.query_over(form, text(*subquery.source))).columns
    except AnalysisException:
        return None
    found = correlations(statement, subquery, {c.casefold() for c in columns})
    if not found:
        return None
    if why := no_star_except():
        raise PatternAnalysisError(
            "CEP_CORRELATED_INPUT", f"The input of a pattern cannot depend on the query around it: {why}.",
            text=statement.text, position=statement.tokens[found[0].inner[0]].start,
            hint="join the matches with that query instead",
        )  # fmt: skip
    try:
        outer = ", ".join(text(*c.outer) for c in found)
        outer_fields = analyzer.run(rewriter.query_over(form, text(*around), outer)).schema.fields
    except (AnalysisException, ParseException):
        return None
    keys = tuple(f"{PREFIX}outer{n}" for n in range(len(found)))
    input_sql, frame = _with_keys(analyzer, rewriter, form, subquery, dict(zip(keys, found, strict=True)))
    _check_types(rewriter, found, frame.schema.fields[-len(keys) :], outer_fields)
    predicates = tuple(f"{key} {c.operator} {text(*c.outer)}" for key, c in zip(keys, found, strict=True))
    written = tuple(unescape(text(*c.inner)) + f" {c.operator} " + unescape(text(*c.outer)) for c in found)
    return CorrelatedInput(input_sql, frame, keys, predicates, written, subquery.lateral)


def _with_keys(
    analyzer: SparkAnalyzer, rewriter: Rewriter, form: PatternOccurrence, subquery: Subquery,
    keys: Mapping[str, Correlation],
) -> tuple[InputSql, DataFrame]:  # fmt: skip
    """The input as a whole, from now on, with what is compared as columns instead of the comparisons.

    Raises:
        PatternAnalysisError: CEP_CORRELATED_INPUT.
    """
    statement = rewriter.statement
    items = ", ".join(f"{rewriter.tokens_text(*c.inner)} AS {key}" for key, c in keys.items())
    if form.where is None:
        behind_items = statement.tokens[subquery.source[0] - 1].start
        rewriter.edits.append((behind_items, behind_items, f", {items} "))
    for c in keys.values():
        low, high = c.conjunct
        rewriter.edits.append((statement.tokens[low].start, statement.tokens[high - 1].end, "true"))
    input_sql = rewriter.input_sql(form, "*" if form.where is None else f"*, {items}")
    try:
        return input_sql, analyzer.analyzed(input_sql.text)
    except AnalysisException as error:
        # Something else of the query around; or an aggregate, which would be over all of the input.
        first = next(iter(keys.values()))
        raise outer_reference(statement, form, error) or refused(
            statement, first.outer, "is of the query around an input whose rows are not rows of its FROM, one by one"
        ) from None


def _check_types(
    rewriter: Rewriter, correlations: Sequence[Correlation], inner: Sequence[StructField], outer: Sequence[StructField]
) -> None:
    """Refuse a comparison that several partitions may satisfy.

    Raises:
        PatternAnalysisError: CEP_CORRELATED_INPUT.
    """
    for c, inner_field, outer_field in zip(correlations, inner, outer, strict=True):
        if not _same(inner_field, outer_field):
            column, outer_type = unescape(rewriter.tokens_text(*c.inner)), outer_field.dataType.simpleString()
            type_ = inner_field.dataType.simpleString()
            raise refused(
                rewriter.statement,
                c.outer,
                f"of the query around the input is {outer_type}, {column} is {type_}: several partitions may equal it",
                f"give both one type in a subquery: SELECT *, CAST({column} AS {outer_type.upper()}) AS ...",
            )


def _same(a: StructField, b: StructField) -> bool:
    """Whether two columns are equal exactly where they are one group of GROUP BY."""
    if isinstance(a.dataType, IntegralType) and isinstance(b.dataType, IntegralType):
        return True
    chars = [(f.metadata or {}).get(CHAR_METADATA) for f in (a, b)]
    return a.dataType.simpleString() == b.dataType.simpleString() and chars[0] == chars[1]


def refused(statement: Statement, outer: tuple[int, int], why: str, hint: str = "") -> PatternAnalysisError:
    """CEP_CORRELATED_INPUT with the place of an outer column; the caller raises it."""
    token = statement.tokens[outer[0]]
    name = statement.text[token.start : statement.tokens[outer[1] - 1].end]
    return PatternAnalysisError(
        "CEP_CORRELATED_INPUT",
        f"{name} {why}.",
        text=statement.text,
        position=token.start,
        hint=hint or matched_as_a_join(name),
    )


def partitioned_by_outer(query: PatternQuery, keys: Sequence[str], start: int) -> PatternQuery:
    """A query over a correlated input, with its columns among the partition keys and in the output.

    Args:
        keys: the columns' names. start: where the form begins in the text.

    Raises:
        PatternAnalysisError: CEP_CORRELATED_INPUT, of what looks at more than one partition.
    """
    beyond = [
        name
        for name, clause in (
            ("GROUPS", query.groups),
            ("OMIT CENSORED MATCHES", query.omit_censored),
            ("EXPLAIN NON ANSWERS", query.non_answers),
        )
        if clause
    ]
    if beyond:
        raise PatternAnalysisError(
            "CEP_CORRELATED_INPUT",
            f"{beyond[0]} looks at all partitions of its input, which cannot depend on the query around the pattern.",
            text=query.text,
            position=start,
            hint=matched_as_a_join(""),
        )
    # First, since the last keys are those that RETURN hides.
    own = tuple(KeyExpression(name, start) for name in keys)
    shown = [TrendExpression(name, f"{GROUP_KEY}{len(query.group_by) + n}") for n, name in enumerate(keys)]
    nothing_shown = not (query.measures or query.partition_by or query.trends or query.rows_per_match.is_all)
    return replace(
        query,
        columns=(*query.columns, *keys),
        partition_by=(*own, *query.partition_by),
        # Behind the query's own, whose numbers its expressions know.
        group_by=(*query.group_by, *own) if query.trends else query.group_by,
        output=(*shown, *query.output) if query.trends else query.output,
        # Without keys a match has its number for a row.
        measures=(Measure("match_number", Scalar(("", MatchNumber(), ""))),) if nothing_shown else query.measures,
        wanted=None if query.wanted is None else query.wanted | set(keys),
        # Its LIMIT takes so many for each row of the query around, of other partitions too.
        most_probable=None,
    )
