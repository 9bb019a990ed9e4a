"""Spark as the planner's analyzer: names, types and estimates of what a form's text asks of its input."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from sparkcep.errors import PatternParseError, SparkCepError
from sparkcep.index import is_no_table
from sparkcep.lineage.from_text import Statement
from sparkcep.planner.fields import Fields
from sparkcep.planner.sampling import (
    SIZE,
    Sample,
    estimated_bytes,
    first_rows,
    magnitude,
    partitions_sql,
    random_rows,
    sample_sql,
)
from sparkcep.query import PREFIX, SOURCE, UP_TO, WHOLE, PatternQuery, unescape
from sparkcep.session.messages.expressions import syntax_error
from sparkcep.session.messages.spark_errors import located, quietly
from sparkcep.session.plan_cache import SAMPLES, keep
from sparkcep.settings import Settings
from sparkcep.spark.exceptions import fragments
from sparkcep.spark.plan import estimated_size, log_properties, scans_columns
from sparkcep.spark.repeatable import what_changes
from sparkcep.sql.log_columns import roles_of
from sparkcep.sql.rewriter import InputSql

T = TypeVar("T")
SqlMethod: TypeAlias = Callable[..., DataFrame]
Arguments: TypeAlias = dict[str, Any] | list[Any] | None


#: Bytes of a row in a file, at the least: the random share of rows to look at is taken for that.
ROW_IN_FILE = 16


@dataclass(frozen=True, slots=True)
class SparkAnalyzer:
    """One statement's questions to Spark.

    Args:
        plain: the session's own sql.
        text, args, kwargs: the statement, as ``spark.sql`` was given it.
        matched: results of operators that formatted text may name, by name.
        volatile: questions asked so far whose answers may change from one statement to the next.
        properties: inputs by identity, and what their plans tell of their tables' properties. sizes: likewise, bytes.
        samples: of inputs that arguments are part of.
    """

    spark: SparkSession
    plain: SqlMethod
    text: str
    args: Arguments
    kwargs: dict[str, Any]
    settings: Settings
    matched: dict[str, DataFrame] = field(default_factory=dict)
    volatile: list[str] = field(default_factory=list)
    properties: dict[int, tuple[DataFrame, Mapping[str, str] | None]] = field(default_factory=dict)
    sizes: dict[int, tuple[DataFrame, float | None]] = field(default_factory=dict)
    samples: dict[tuple[object, ...], Sample | None] = field(default_factory=dict)

    @property
    def values(self) -> tuple[Arguments, dict[str, Any]]:
        """The statement's arguments, but for DataFrames: those of args, and those by name."""
        return self.args, {k: v for k, v in self.kwargs.items() if not isinstance(v, DataFrame)}

    @property
    def as_statement(self) -> Statement:
        """What lineage reads texts with."""
        return Statement(self.spark, self.kwargs, self.settings.case_sensitive, self.run)

    def run(self, text: str, source: DataFrame | None = None) -> DataFrame:
        """Spark's own sql on formatted text that may name ``source`` and the operators' results so far."""
        values = {**self.kwargs, **self.matched}
        if source is not None:
            values[SOURCE] = source
        # Without keyword arguments Spark does not format the text, and doubled braces would stay doubled.
        return self.plain(text if values else unescape(text), self.args, **values)

    def analyzed(self, statement: str, source: DataFrame | None = None) -> DataFrame:
        """A statement's DataFrame, analysed now also on Connect. ``source``: what ``{SOURCE}`` stands for.

        Raises:
            AnalysisException: Spark's own.
        """
        frame = self.run(statement, source=source)
        if type(frame).__module__.startswith("pyspark.sql.connect."):
            _ = frame.schema  # Connect analyses lazily; errors belong here, where the clause is known
        return frame

    def checked(
        self,
        query: PatternQuery,
        action: Callable[[], T],
        place: Callable[[Sequence[str]], tuple[int | None, Mapping[str, str]]] | None = None,
    ) -> T:
        """Run an analysis; Spark's complaint comes back with the place of the clause in the user's text.

        Args:
            place: for SQL that Spark complains of, where it begins in the user's text and what is written there for
                names of ours.
        """
        try:
            with quietly():
                return action()
        except SparkCepError:
            raise
        except AnalysisException as error:
            if (fault := self.unparsed(query, error)) is not None:
                raise fault from None
            start, names = place(fragments(error)) if place is not None else (None, {})
            raise located(query, error, start, names) from None

    def unparsed(self, query: PatternQuery, error: AnalysisException) -> PatternParseError | None:
        """The error of the user's expression that Spark cannot parse, where one is to blame."""
        if not isinstance(error, ParseException) or self.kwargs:
            return None
        with quietly():
            return syntax_error(query, lambda text: self.plain(text).schema)

    def analyze(self, query: PatternQuery, source: DataFrame, items: Sequence[str]) -> list[tuple[str, str]]:
        """Names and types of expressions over the input: columns have those they have, others by Spark's analyser."""
        fields = Fields(query.columns, self.settings.case_sensitive)
        columns = [fields.column_of(item) for item in items]
        folded = [n.casefold() for n in query.columns]
        if all(c is not None and folded.count(c.casefold()) == 1 for c in columns):
            types = {f.name: f.dataType.simpleString() for f in source.schema.fields}
            return [(str(c), types[str(c)]) for c in columns]
        return self.checked(query, lambda: self.expression_types(items, source, query.with_prefix))

    def expression_types(self, items: Sequence[str], source: DataFrame, prefix: str = "") -> list[tuple[str, str]]:
        """Names and types of expressions over the input, by Spark's analyser; ``prefix``: the statement's WITH."""
        select = f"{prefix}SELECT {', '.join(items)} FROM {{{SOURCE}}}"
        windows = [
            f"{name} AS (PARTITION BY 1{order})"
            for name, order in ((WHOLE, ""), (UP_TO, " ORDER BY 1"), (f"{PREFIX}w", " ORDER BY 1"))
            if any(re.search(rf"OVER {name}\b", item) for item in items)
        ]
        if windows:
            select += f" WINDOW {', '.join(windows)}"
        self.volatile.append(select)
        return [(f.name, f.dataType.simpleString()) for f in self.run(select, source=source).schema.fields]

    def sample(
        self, query: PatternQuery, source: DataFrame, input_sql: InputSql, tests: Sequence[str], keys: Sequence[str],
        filters: Sequence[str] | None = (),
    ) -> Sample | None:  # fmt: skip
        """Some rows of an input that Spark takes for large; asked once per session, input and question, and again when
        the input has grown to four times its size.

        Args:
            tests: of the first rows; without them, how many rows are of one partition.
            filters: what rows must satisfy to be looked at, beside what the statement demands of keys; None: nothing.
        """
        demanded = [query.partition_predicate] if query.partition_predicate else []
        filters = [] if filters is None else [*filters, *demanded]
        size = self.input_bytes(input_sql, source)
        if size < self.settings.sampling_bytes:
            return None
        may_be_long = not tests and size * 4 > self.settings.list_bytes
        wanted = tuple(tests), tuple(keys), tuple(filters)
        question = (id(self.spark), magnitude(size), input_sql.text, wanted, may_be_long)
        # Arguments may be anything: of what they stand for no other statement knows.
        known = self.samples if self.args or self.kwargs else SAMPLES
        if question not in known:
            if tests:
                text = query.with_prefix + sample_sql(tests, keys, filters, f"{{{SOURCE}}}")
                rows, partitions, *passing = self.checked(query, lambda: self.run(text, source).collect()[0])
                explain = f"EXPLAIN EXTENDED {query.with_prefix}SELECT * FROM {{{SOURCE}}}"
                changes = what_changes(source, lambda: str(self.run(explain, source).collect()[0][0]))
                found = Sample(rows, partitions, tuple(passing), size, changes=changes)
            else:
                found = self._partitions(query, source, keys, filters, size, may_be_long)
            keep(known, question, found)
        return known[question]

    def _partitions(
        self, query: PatternQuery, source: DataFrame, keys: Sequence[str], filters: Sequence[str], size: float,
        may_be_long: bool,
    ) -> Sample:  # fmt: skip
        """How rows are spread over partitions. ``may_be_long``: one partition may be too long for a list."""

        def counted(of: str) -> tuple[int, int, int, int]:
            text = query.with_prefix + partitions_sql(keys, filters, of)
            rows, kept, partitions, largest = self.run(text, source).collect()[0]
            return rows, kept, partitions, largest

        rows, kept, partitions, largest = self.checked(query, lambda: counted(first_rows(f"{{{SOURCE}}}")))
        found = Sample(kept, partitions, (), size, most=largest)
        if not may_be_long:
            return found
        found = replace(found, largest=largest / max(1, rows), largest_rows=largest, columns=len(query.columns))
        if scans_columns(source):
            # To read all rows pays where columns can be read alone; some of them the query itself may never look at.
            share = min(1.0, SIZE * ROW_IN_FILE / size)
            with suppress(PySparkException):
                rows, _, _, largest = counted(random_rows(f"{{{SOURCE}}}", share))
                found = replace(found, total=rows / share, largest=largest / max(1, rows), largest_rows=largest)
        return found

    def input_bytes(self, input_sql: InputSql, source: DataFrame) -> float:
        """Spark's estimate of an input's size; 0 where it has none. On Spark Connect it costs a statement, each time:
        a table may have grown since the last one."""
        known = self.planned_bytes(source)
        if known is None:
            costs = self.run(f"EXPLAIN COST {input_sql.text}").collect()[0][0]
            known = estimated_bytes(str(costs))
            self.sizes[id(source)] = source, known
        return known

    def planned_bytes(self, source: DataFrame) -> float | None:
        """As :func:`spark_plan.estimated_size`, asked once for an input."""
        if id(source) not in self.sizes:
            self.sizes[id(source)] = source, estimated_size(source)
        return self.sizes[id(source)][1]

    def log_properties(self, source: DataFrame) -> Mapping[str, str] | None:
        """As :func:`spark_plan.log_properties`, which walks the plan, asked once for an input."""
        if id(source) not in self.properties:
            known = log_properties(source)
            self.properties[id(source)] = source, None if known is None else {**roles_of(source.schema), **known}
        return self.properties[id(source)][1]

    def table_properties(self, relation: str, source: DataFrame) -> Mapping[str, str]:
        """Properties of the table whose name an input is, ``relation``; none where there is no such table."""
        known = self.log_properties(source)
        if known is not None:
            return known
        self.volatile.append(relation)
        return {**roles_of(source.schema), **shown_properties(self.plain, relation)}


def shown_properties(plain: SqlMethod, relation: str) -> Mapping[str, str]:
    """Properties of a table by its name as SQL; none where there is no such table, as a view is."""
    if is_no_table(relation):  # PySpark logs what is not found, by ten kilobytes on Connect
        return {}
    try:
        return {row[0]: row[1] for row in plain(f"SHOW TBLPROPERTIES {relation}").collect()}
    except AnalysisException:
        return {}
