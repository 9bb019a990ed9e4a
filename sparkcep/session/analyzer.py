"""Spark as the planner's analyser: names, types and estimates of what a form's text asks of its input."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from pyspark.errors import AnalysisException, QueryContextType
from pyspark.sql import DataFrame, SparkSession

from sparkcep.errors import PatternAnalysisError, SparkCepError, near_name
from sparkcep.planner.fields import Fields
from sparkcep.planner.sampling import Sample, estimated_bytes, sample_sql
from sparkcep.query import PREFIX, SOURCE, WHOLE, PatternQuery, unescape
from sparkcep.session.plan_cache import SAMPLES, keep
from sparkcep.settings import Settings
from sparkcep.spark_plan import log_properties
from sparkcep.sql.lexicon import Token
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.rewriter import InputSql
from sparkcep.sql.statement import PatternOccurrence, Statement

T = TypeVar("T")
SqlMethod: TypeAlias = Callable[..., DataFrame]
Arguments: TypeAlias = dict[str, Any] | list[Any] | None


@dataclass(slots=True)
class Analyser:
    """One statement's questions to Spark.

    ``plain``: the session's own sql. ``matched``: results of operators that formatted text may name. ``asked``: how
    many questions there were whose answers may change. ``told``: an input, and what its plan tells of its properties.
    """

    spark: SparkSession
    plain: SqlMethod
    text: str
    args: Arguments
    kwargs: dict[str, Any]
    settings: Settings = field(init=False)
    matched: dict[str, DataFrame] = field(default_factory=dict)
    asked: int = 0
    told: tuple[DataFrame, Mapping[str, str] | None] | None = None

    def run(self, text: str, source: DataFrame | None = None) -> DataFrame:
        """Spark's own sql on formatted text that may name ``source`` and the operators' results so far."""
        values = {**self.kwargs, **self.matched}
        if source is not None:
            values[SOURCE] = source
        # Without keyword arguments Spark does not format the text, and doubled braces would stay doubled.
        return self.plain(text if values else unescape(text), self.args, **values)

    def analyzed(self, statement: str, source: DataFrame | None = None) -> DataFrame:
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
            return action()
        except SparkCepError:
            raise
        except AnalysisException as error:
            start, names = place(_fragments(error)) if place is not None else (None, {})
            raise located(query, error, start, names) from None

    def analyze(self, query: PatternQuery, source: DataFrame, items: Sequence[str]) -> list[tuple[str, str]]:
        """Names and types of expressions over the input: columns have those they have, others by Spark's analyser."""
        fields = Fields(query.columns, self.settings.case_sensitive)
        columns = [fields.column_of(item) for item in items]
        folded = [n.casefold() for n in query.columns]
        if all(c is not None and folded.count(c.casefold()) == 1 for c in columns):
            types = {f.name: f.dataType.simpleString() for f in source.schema.fields}
            return [(str(c), types[str(c)]) for c in columns]
        self.asked += 1
        select = f"{query.with_prefix}SELECT {', '.join(items)} FROM {{{SOURCE}}}"
        if any(WHOLE in item for item in items):
            select += f" WINDOW {WHOLE} AS (PARTITION BY 1)"
        schema = self.checked(query, lambda: self.run(select, source=source).schema)
        return [(f.name, f.dataType.simpleString()) for f in schema.fields]

    def sample(
        self, query: PatternQuery, source: DataFrame, input_sql: InputSql, tests: Sequence[str], keys: Sequence[str]
    ) -> Sample | None:
        """The first rows of an input that Spark takes for large; asked once per session, input and question."""
        self.asked += 1
        question = (id(self.spark), self.settings.sampling_bytes, input_sql.text, tuple(tests), tuple(keys))
        if question in SAMPLES:
            return SAMPLES[question]
        costs = str(self.run(f"EXPLAIN COST {input_sql.text}").collect()[0][0])
        found = None
        if estimated_bytes(costs) >= self.settings.sampling_bytes:
            text = query.with_prefix + sample_sql(tests, keys, f"{{{SOURCE}}}")
            rows, partitions, *passing = self.checked(query, lambda: self.run(text, source).collect()[0])
            found = Sample(rows, partitions, tuple(passing))
        return keep(SAMPLES, question, found)

    def log_properties(self, source: DataFrame) -> Mapping[str, str] | None:
        """As :func:`relations.log_properties`, which walks the plan, asked once for an input."""
        if self.told is None or self.told[0] is not source:
            self.told = source, log_properties(source)
        return self.told[1]

    def table_properties(self, relation: str, source: DataFrame) -> Mapping[str, str]:
        """Properties of the table that a relation's text names; none where it names none."""
        if not re.fullmatch(r"(\w+|`[^`]+`)(\s*\.\s*(\w+|`[^`]+`)){0,2}", relation.strip()):
            return {}
        known = self.log_properties(source)
        if known is not None:
            return known
        self.asked += 1  # what they say may change
        try:
            rows = self.plain(f"SHOW TBLPROPERTIES {relation}").collect()
        except AnalysisException:
            return {}
        return {row[0]: row[1] for row in rows}


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
        return PatternAnalysisError(
            "CEP_UNRESOLVED_COLUMN",
            f"There is no column {'.'.join(parts)} here.",
            text=query.text or None,
            position=position,
            hint=f"did you mean {near}?" if near else f"the input's columns are {', '.join(query.columns)}",
        )
    if message.startswith(f"[{condition}] "):
        message = message[len(condition) + 3 :]
    longest_first = sorted(names or {}, key=len, reverse=True)
    own = re.compile("|".join(rf"\b{re.escape(n)}\b" for n in longest_first) or "(?!)")
    message = own.sub(lambda m: (names or {})[m[0]], message).replace(PREFIX, "")
    return PatternAnalysisError(condition, message, text=query.text or None, position=position)


def _fragments(error: AnalysisException) -> list[str]:
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
