"""A planned form as a relation of Spark SQL: what is matched, and the subquery that takes the form's place."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, cast

from pyspark.errors import AnalysisException, PySparkNotImplementedError, PySparkTypeError
from pyspark.sql import DataFrame

from sparkcep.errors import PatternAnalysisError, SparkCepError, not_boolean
from sparkcep.exec.engine import StreamingEngine
from sparkcep.exec.engines.by_spec import ENGINES
from sparkcep.exec.engines.non_answers.facts import partition_facts
from sparkcep.exec.engines.non_answers.spec import RepairSpec
from sparkcep.exec.operator import match
from sparkcep.exec.reports import Matched
from sparkcep.exec.shape import OperatorColumns
from sparkcep.exec.streaming.spark import match_stream
from sparkcep.planner.censored import log_end_name, log_end_sql
from sparkcep.planner.engines.non_answers.sql import FACTS
from sparkcep.planner.engines.shared.plan import SharedPlan
from sparkcep.planner.plan import AnyPlan, StreamInput
from sparkcep.query import PREFIX, SOURCE, PatternQuery, unescape
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.session.indexes.choice import Pruning
from sparkcep.session.machine.lost_executors import remember
from sparkcep.session.messages.spark_errors import located
from sparkcep.session.streams.history import history
from sparkcep.sql.rewriter import InputSql

#: Spark cannot send TIME to Python; pyspark neither intervals of months, nor NULLs inside of others.
_TIME = re.compile(r"\btime\(")
_NOT_SENT = re.compile(r"\btime\(|interval (?:year|month)|.void|geo")


@dataclass(frozen=True, slots=True)
class Relation:
    """A planned form: ``sql`` is the subquery that takes its place in the statement, ``source`` what it reads,
    ``pruning`` how that has become of ``given``, its input. ``warnings``: of the query itself.
    ``shared``: other patterns read the same rows."""

    name: str
    plan: AnyPlan
    source: DataFrame
    sql: str
    given: DataFrame
    pruning: Pruning = field(default_factory=Pruning)
    warnings: tuple[str, ...] = ()
    shared: bool = False


def name_log_end(analyzer: SparkAnalyzer, query: PatternQuery, log: DataFrame) -> None:
    """Let SQL of a plan name the relation with the time of the log's last event, where it asks for that."""
    if query.omit_censored and query.within is not None:
        analyzer.matched[log_end_name(query)] = analyzer.analyzed(log_end_sql(query), log)


def relation_sql(
    analyzer: SparkAnalyzer, name: str, planned: AnyPlan, source: DataFrame, input_sql: InputSql | None
) -> str:
    """The subquery that takes the form's place. Spark analyses it once, as a part of the user's statement.

    Args:
        input_sql: the query that reads ``source``, None where there is none.
    """
    remember(planned.input.layout)
    if planned.fold is not None:
        if input_sql is None:  # a DataFrame
            analyzer.matched[name], text = source, f"{{{name}}}"
        else:
            text = input_sql.plain_table or f"({input_sql.text})"
        return f"({planned.fold.sql().replace(f'{{{SOURCE}}}', text)})"
    frame = prepared(analyzer, planned, source)
    if planned.input.layout != "lists" and any(map(_TIME.search, _carried(planned, frame).values())):
        raise untransportable(planned, frame)  # Spark would say so of a statement that the user did not write
    try:
        found = matched(planned, frame, name, history(analyzer, planned, source))
    except (PySparkNotImplementedError, PySparkTypeError, ValueError) as error:
        if isinstance(error, ValueError) and "null type" not in str(error):  # pyarrow's, of `array()` and `map()`
            raise
        raise untransportable(planned, frame) from None
    analyzer.matched[name] = found.frame
    return f"({planned.output.sql().replace(f'{{{SOURCE}}}', found.sql(f'{{{name}}}'))})"


def matched(planned: AnyPlan, frame: DataFrame, name: str, before: DataFrame | None = None) -> Matched:
    """The operator over its input. ``name``: of the relation, by which a stream's metrics go. ``before``: what a stream
    starts with."""
    shape, spec = planned.input.shape, planned.engine.spec
    if planned.stream is None:
        return match(frame, planned.input.layout, shape, spec)
    return matched_stream(frame, shape, spec, planned.stream, name, before)


def matched_stream(
    frame: DataFrame, shape: OperatorColumns, spec: Any, stream: StreamInput, name: str, before: DataFrame | None
) -> Matched:
    """The operator of a spec over a stream; ``name`` and ``before`` as for :func:`matched`."""
    engine = cast("StreamingEngine[Any]", ENGINES[type(spec)])
    metrics = name.replace(PREFIX, "sparkcep_")
    return match_stream(frame, engine, shape, spec, stream.plan, metrics, stream.operator, stream.end, before)


def with_facts(
    analyzer: SparkAnalyzer, name: str, planned: AnyPlan, facts: RepairSpec, given: DataFrame, sql: str
) -> str:
    """What the log says of a query comes from all partitions, whatever an index leaves of them."""
    if f"{{{FACTS}}}" not in sql:
        return sql
    log_facts = partition_facts(prepared(analyzer, planned, given), planned.input.layout, planned.input.shape, facts)
    analyzer.matched[name + "_facts"] = log_facts
    return sql.replace(f"{{{FACTS}}}", f"{{{name}_facts}}")


def prepared(analyzer: SparkAnalyzer, planned: AnyPlan, source: DataFrame) -> DataFrame:
    """The operator's input."""
    try:
        return analyzer.analyzed(planned.before(), source)
    except AnalysisException as error:
        raise diagnosed(analyzer, planned, source, error) from None


def check(analyzer: SparkAnalyzer, relation: Relation) -> None:
    """Raise what Spark has against a form."""
    prepared(analyzer, relation.plan, relation.source)
    plan = relation.plan
    analyzer.checked(plan.query, lambda: analyzer.analyzed(f"SELECT * FROM {relation.sql}"), plan.output.place)


def diagnosed(analyzer: SparkAnalyzer, planned: AnyPlan, source: DataFrame, error: AnalysisException) -> SparkCepError:
    """Which condition Spark refuses, and why; the whole statement's error where it is none of them."""
    query = planned.query
    if (fault := analyzer.unparsed(query, error)) is not None:
        return fault
    for condition, statement in planned.input.condition_texts():
        try:
            type_ = analyzer.analyzed(statement, source).schema[0].dataType.simpleString()
        except AnalysisException as own:
            return located(query, own, condition.position)
        if type_ != "boolean":
            return not_boolean(type_, query.text, condition.position)
    return located(query, error)


def counted(analyzer: SparkAnalyzer, planned: AnyPlan, frame: DataFrame) -> tuple[int, int]:
    """How many partitions and rows a plan's input has."""
    keys = ", ".join(text for text, _ in planned.input.keys)
    distinct = f"count(DISTINCT struct({keys}))" if keys else "1"
    text = f"{planned.query.with_prefix}SELECT {distinct}, count(*) FROM {{{SOURCE}}}"
    partitions, rows = analyzer.run(text, frame).collect()[0]
    return partitions, rows


def without_within(analyzer: SparkAnalyzer, planned: AnyPlan, frame: DataFrame) -> int:
    """In how many rows of a plan's input WITHIN is NULL, so that no match begins there."""
    within = planned.input.shape.within
    if planned.query.within is None or within is None or within.bound is None:
        return 0
    text = f"{planned.query.with_prefix}SELECT count_if(({planned.query.within}) IS NULL) FROM {{{SOURCE}}}"
    return int(analyzer.run(text, frame).collect()[0][0])


def _carried(planned: AnyPlan | SharedPlan, prepared: DataFrame) -> dict[str, str]:
    """Columns that are sent to Python and come back as they are, with their types."""
    types = {f.name: f.dataType.simpleString() for f in prepared.schema.fields}
    fields = planned.input.fields
    return {fields.texts[g.field]: types[fields.name(g.field)] for g in planned.input.shape.gathers}


def untransportable(planned: AnyPlan | SharedPlan, prepared: DataFrame) -> PatternAnalysisError:
    """CEP_UNSUPPORTED_TYPE: the rows layout and streams send columns to Python, and Spark cannot send every type."""
    carried = _carried(planned, prepared)
    found = [f"{unescape(text)} ({type_})" for text, type_ in carried.items() if _NOT_SENT.search(type_)]
    query = planned.query
    return PatternAnalysisError(
        "CEP_UNSUPPORTED_TYPE",
        f"Spark cannot send {', '.join(found) or 'a column of this type'} to Python, as the rows layout needs "
        f"({planned.input.layout_reason}).",
        text=query.text or None,
        position=query.start,
        hint="leave the column out in a subquery, cast it, or partition so that the lists layout serves",
    )
