"""Pattern functions: a pattern block as a table function, for texts that never pass through ``spark.sql`` in Python.

A function's output depends on its input's columns, and of Spark's Python table functions only those that take rows one
by one may say so: ``arrow_udtf`` has no ``analyze`` (INVALID_ARROW_UDTF_WITH_ANALYZE), so its schema would have to be
known at CREATE, when no table is named yet. Measured on 100,000 rows in 1,000 partitions (two busy cores): a plain
table function moves 11,500 rows/s, with ``useArrow`` 5,700 (it makes the same rows out of Arrow), an arrow_udtf 48,000.
So a pattern block in ``spark.sql`` stays the fast way, and a function is the one that is reachable from everywhere.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udtf
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NullType,
    Row,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, PartitioningColumn, SelectedColumn

from sparkcep.errors import PatternAnalysisError, SparkCepError, streaming_unsupported
from sparkcep.exec.engines.function.matcher import FunctionMatcher, FunctionSpec
from sparkcep.exec.reports import hide_traceback
from sparkcep.planner.engines.function.plan import FunctionPlan, plan_function
from sparkcep.query import quote, string_literal, unescape
from sparkcep.session.column_types import column_types
from sparkcep.session.originals import FUNCTIONS
from sparkcep.settings import Settings
from sparkcep.spark.shipping import loader, versions
from sparkcep.sql.function import FunctionSyntax, read_function
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.statement import Statement

_PLAIN: tuple[DataType, ...] = (
    BooleanType(), ByteType(), ShortType(), IntegerType(), LongType(), FloatType(), DoubleType(), StringType(),
    DateType(), TimestampType(), TimestampNTZType(), NullType(), DayTimeIntervalType(), DayTimeIntervalType(0, 0),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Definition:
    """What CREATE keeps: the statement, and what the session said then."""

    text: str
    settings: Settings
    zone: str

    def plan(self, schema: StructType) -> FunctionPlan:
        """The plan for a table of this schema.

        Raises:
            PatternAnalysisError: CEP_DUPLICATE_COLUMN, and all that the text can be refused for.
        """
        statement = read_statement(self.text)
        syntax = read_function(statement)
        assert syntax is not None
        types = dict(zip(schema.names, column_types(schema, self.settings), strict=True))
        if len(types) < len(schema.fields):
            name = next(f.name for i, f in enumerate(schema.fields) if f.name in schema.names[:i])
            raise PatternAnalysisError("CEP_DUPLICATE_COLUMN", f"The table has two columns named {name}.")
        return plan_function(statement, syntax, types, self.settings, self.zone)


@dataclass
class Analyzed(AnalyzeResult):
    """What analysis hands on to the executors."""

    spec: FunctionSpec | None = None
    partitioned: bool = True
    matcher: list[FunctionMatcher] = field(default_factory=list)


def analyze(definition: Definition, table: AnalyzeArgument) -> Analyzed:
    """Bind and plan the function for a call's table."""
    if not table.isTable or not isinstance(table.dataType, StructType):
        raise PatternAnalysisError("CEP_FUNCTION_ARGUMENT", "A pattern function takes a table.", hint="f(TABLE(t))")
    plan = definition.plan(table.dataType)
    types = _Types(table.dataType)
    schema = StructType([StructField(name, types.of(type_)) for name, type_ in plan.schema])
    return Analyzed(
        schema,
        partitionBy=[PartitioningColumn(unescape(text)) for text in plan.partition_by],
        select=[SelectedColumn(unescape(quote(c))) for c in plan.spec.columns],
        spec=plan.spec,
        partitioned=bool(plan.partition_by),
    )


class _Types:
    """Spark's types by their names, without a JVM: those of the input, and what patterns make of them."""

    def __init__(self, schema: StructType) -> None:
        self.known: dict[str, DataType] = {t.simpleString(): t for t in _PLAIN}
        self.known |= {f.dataType.simpleString(): f.dataType for f in schema.fields}

    def of(self, name: str) -> DataType:
        if name in self.known:
            return self.known[name]
        if name.startswith("char("):
            return StringType()
        if name.startswith("decimal("):
            precision, scale = name[8:-1].split(",")
            return DecimalType(int(precision), int(scale))
        if name.startswith("array<"):
            return ArrayType(self.of(name[6:-1]))
        fields, at, depth = [], 7, 0  # struct<...>
        for i in range(7, len(name)):
            depth += (name[i] in "<(") - (name[i] in ">)")
            if (name[i] == "," and depth == 0) or i == len(name) - 1:
                field_name, _, type_ = name[at:i].partition(":")
                fields.append(StructField(field_name, self.of(type_)))
                at = i + 1
        return StructType(fields)


class PatternFunction:
    """What a call of the function does on an executor, for one partition after the other."""

    def __init__(self, analyzed: Analyzed) -> None:
        self.analyzed = analyzed
        self.whole = analyzed.partitioned or _is_partitioned()
        self.rows: list[Row] = []

    def eval(self, row: Row) -> None:
        """Take one row of the partition."""
        self.rows.append(row)

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        """Rows of the partition's matches, once all of its rows are there."""
        try:
            if not self.whole:
                check_single_partition(len(self.rows))
            cache = self.analyzed.matcher
            if not cache:
                assert self.analyzed.spec is not None
                cache.append(FunctionMatcher(self.analyzed.spec))
            yield from cache[0].match(self.rows)
        except SparkCepError:
            hide_traceback()
            raise


def analyze_call(definition: Definition, table: AnalyzeArgument) -> Analyzed:
    """As :func:`analyze`, where an error leaves a worker."""
    try:
        return analyze(definition, table)
    except SparkCepError:
        hide_traceback()
        raise


def handler(definition: Definition) -> type:
    """The table function's class. It travels as a whole, and looks for the package itself (sparkcep.spark.shipping)."""
    load = loader(pickle.dumps((definition, analyze_call, PatternFunction)), *versions())

    class Handler:
        @staticmethod
        def analyze(table: AnalyzeArgument) -> AnalyzeResult:
            import pickle
            from dataclasses import field, make_dataclass

            from pyspark.sql.udtf import AnalyzeResult

            definition, analyze_call, _ = load()
            found = analyze_call(definition, table)
            # `made`: what is packed, once a process, since its matcher serves all partitions.
            own = [("packed", bytes, b""), ("made", list, field(default_factory=list))]
            call = make_dataclass("Call", own, bases=(AnalyzeResult,))
            return call(  # type: ignore[no-any-return]
                found.schema, partitionBy=found.partitionBy, select=found.select, packed=pickle.dumps(found)
            )

        def __init__(self, call: Any) -> None:
            import pickle

            if not call.made:
                make = load()[2]
                call.made += [make, pickle.loads(call.packed)]
            make, analyzed = call.made
            self.function = make(analyzed)

        def eval(self, row: Row) -> None:
            self.function.eval(row)

        def terminate(self) -> Iterator[tuple[Any, ...]]:
            yield from self.function.terminate()

    return Handler


def _is_partitioned() -> bool:
    """Whether the call says PARTITION BY. Spark tells a table function nothing of it, but wraps it then."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if type(frame.f_locals.get("self")).__name__ == "UDTFWithPartitions":
            return True
        frame = frame.f_back
    return False


def check_single_partition(rows: int) -> None:
    """Raises CEP_FUNCTION_PARTITION where Spark has cut the table into pieces of its own."""
    context = TaskContext.get()
    if rows and context is not None and context.partitionId() > 0:
        raise SparkCepError(
            "CEP_FUNCTION_PARTITION",
            "Neither the function nor the call says how the table is partitioned.",
            hint="f(TABLE(t) PARTITION BY case), f(TABLE(t) WITH SINGLE PARTITION), or PARTITION BY before PATTERN",
        )


def refuse_streams(frame: DataFrame, text: str, plain: Callable[[str], DataFrame]) -> None:
    """A pattern function sees rows, never whether they are a stream's: its arguments are looked at from outside.

    Args:
        frame: what Spark makes of a statement. plain: Spark's own ``sql``.

    Raises:
        PatternAnalysisError: CEP_STREAMING_UNSUPPORTED.
    """
    folded = text.casefold() if FUNCTIONS else ""
    if not any(name in folded for name in FUNCTIONS) or not frame.isStreaming:
        return
    statement = read_statement(text)
    tokens = statement.tokens
    for i, token in enumerate(tokens):
        if token.text.casefold() not in FUNCTIONS or statement.operator(i + 1) != "(":
            continue
        for k in range(i + 2, statement.pairs.get(i + 1, i + 2)):
            close = statement.pairs.get(k + 1)
            if statement.word(k) != "TABLE" or close is None:
                continue
            relation = text[tokens[k + 1].start : tokens[close].end]
            if statement.word(k + 2) not in ("SELECT", "WITH", "FROM", "VALUES"):
                relation = relation[1:-1]
            if _is_stream(f"SELECT * FROM {relation}", plain):
                raise streaming_unsupported("a pattern function", text, tokens[k].start)


def _is_stream(query: str, plain: Callable[[str], DataFrame]) -> bool:
    """Whether a part of a streaming statement reads a stream; yes where Spark cannot read it by itself."""
    try:
        return plain(query).isStreaming
    except PySparkException:
        return True


def create_function(
    spark: SparkSession,
    plain: Callable[[str], DataFrame],
    statement: Statement,
    syntax: FunctionSyntax,
    settings: Settings,
) -> DataFrame:
    """Run CREATE TEMPORARY PATTERN FUNCTION.

    Args:
        plain: Spark's own ``sql``.

    Raises:
        PatternAnalysisError: ROUTINE_ALREADY_EXISTS.
    """
    name = syntax.name
    if not syntax.replace:
        taken = plain(f"SHOW FUNCTIONS LIKE {string_literal(name)}").collect()
        if any(row[0].casefold() == name.casefold() for row in taken):
            raise PatternAnalysisError(
                "ROUTINE_ALREADY_EXISTS",
                f"Cannot create the function `{name}` because a function of that name already exists.",
                text=statement.text,
                position=next(t.start for t in statement.tokens[3:] if t.text == name),
                hint="CREATE OR REPLACE TEMPORARY PATTERN FUNCTION, or DROP TEMPORARY FUNCTION first",
            )
    zone = str(spark.conf.get("spark.sql.session.timeZone"))
    made = udtf(handler(Definition(statement.text, settings, zone)), useArrow=False)
    spark.udtf.register(name, made)  # type: ignore[arg-type]
    FUNCTIONS.add(name.casefold())
    return spark.createDataFrame([], StructType([]))
