"""Enumerate the matches that rows of a COLLAPSED block stand for, later and only for those rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from sparkcep import settings
from sparkcep.errors import PatternAnalysisError, streaming_unsupported
from sparkcep.planner.engines.runs.collapse import first_component, last_component
from sparkcep.planner.engines.runs.plan import RunsPlan
from sparkcep.planner.engines.runs.planner import plan_runs
from sparkcep.planner.plan import PatternPlan
from sparkcep.query import PREFIX, SOURCE, Condition, Navigation, PatternQuery, RowExpression, Scalar, quote
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.session.originals import plain_sql
from sparkcep.session.relations import Relation, relation_sql
from sparkcep.session.spark_text import as_spark_reads
from sparkcep.session.statement import StatementExecution
from sparkcep.session.statement_settings import statement_settings
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence

_GIVEN = PREFIX + "given"
_STARTS = PREFIX + "starts"
_ENDS = PREFIX + "ends"
_RESULT = PREFIX + "result"


def expand_collapsed(df: DataFrame, query: str) -> DataFrame:
    """Enumerate the matches that rows of a COLLAPSED block stand for, as the block without COLLAPSED returns them.

    Lazy. It reads only the partitions of these rows. If the component that takes the first (or last) event takes no
    other events, it tries only those at a row's start_time (or end_time). ``match_number`` counts enumerated matches.

    Args:
        df: any rows of the block's output, with its partition columns, start_time, end_time and events.
        query: the text of that block, with or without COLLAPSED.

    Raises:
        SparkCepError: CEP_EXPAND if the text is not exactly one block, or the rows lack columns of its output;
            CEP_COLLAPSED if the block cannot be collapsed; CEP_STREAMING_UNSUPPORTED if the rows are a stream; and the
            block's own errors.
    """
    spark = df.sparkSession
    if df.isStreaming:
        raise streaming_unsupported("expand_collapsed()")
    get = settings.getter(spark)
    statement = read_statement(as_spark_reads(spark, get, query))
    if not statement.forms:
        raise _not_a_block(query, 0)
    own = statement_settings(spark, get)
    run = StatementExecution.of(spark, plain_sql(spark), statement, None, {}, own)
    return _Expansion(run, df).result(statement.forms[0])


@dataclass(slots=True)
class _Expansion:
    """The statement of the block, ``given`` rows of its collapsed result and the names of their ``keys``."""

    run: StatementExecution
    given: DataFrame
    keys: tuple[str, ...] = ()

    @property
    def analyzer(self) -> SparkAnalyzer:
        return self.run.analyzer

    def result(self, form: PatternOccurrence) -> DataFrame:
        run, text = self.run, self.run.statement.text
        before = text[: form.start].strip()
        if len(run.statement.forms) > 1 or form.kind is not OccurrenceKind.BLOCK or before or self.behind(form):
            raise _not_a_block(text, form.start)
        _, source, _ = run.blamed(lambda: run.input(form))
        query = run.planner.bound_block(form, source)
        source = run.planner.merged(query, source)
        if query.trends:
            raise _not_a_block(text, query.trends[0].position)
        collapsed = plan_runs(*run.planner.planner_arguments(replace(query, collapsed=True), source))
        self.keys = tuple(name for _, name in collapsed.input.keys)
        self.check_columns(form)
        restricted = self.restricted(collapsed, source)
        planned = plan_runs(*run.planner.planner_arguments(self.between_ends(query, collapsed), restricted))
        sql = relation_sql(self.analyzer, _RESULT, planned, restricted, None)
        run.relations.append(Relation(_RESULT, planned, restricted, sql, restricted))
        run.rewriter.replace(form, self.of_given_ends(sql))
        return run.rewritten(0)

    def behind(self, form: PatternOccurrence) -> str:
        return self.run.statement.text[form.end :].strip().strip(";")

    def check_columns(self, form: PatternOccurrence) -> None:
        columns = {c.casefold() for c in self.given.columns}
        missing = [c for c in (*self.keys, "start_time", "end_time", "events") if c.casefold() not in columns]
        if missing:
            raise PatternAnalysisError(
                "CEP_EXPAND",
                f"The rows are not of this block's output: they lack {', '.join(missing)}.",
                text=self.run.statement.text,
                position=form.keyword.start,
                hint="keep all columns except match_number and exact",
            )

    def given_sql(self, items: str) -> str:
        keys = [f"{quote(name)} AS {PREFIX}e{i}" for i, name in enumerate(self.keys)]
        return f"SELECT {', '.join([*keys, items])} FROM {{{_GIVEN}}}"

    def restricted(self, collapsed: PatternPlan[RunsPlan], source: DataFrame) -> DataFrame:
        """The input's rows of the given rows' partitions, with the times at which matches are to begin and end."""
        self.analyzer.matched[_GIVEN] = self.given
        names = [f"{PREFIX}e{i}" for i in range(len(self.keys))]
        ends = f"collect_set(start_time) AS {_STARTS}, collect_set(end_time) AS {_ENDS}"
        grouped = f"SELECT {', '.join([*names, ends])} FROM ({self.given_sql('start_time, end_time')})"
        grouped += f" GROUP BY {', '.join(names)}" if names else ""
        same = [f"({text}) <=> {name}" for (text, _), name in zip(collapsed.input.keys, names, strict=True)]
        columns = [*(quote(c) for c in source.columns), _STARTS, _ENDS]
        prefix = collapsed.query.with_prefix
        return self.analyzer.analyzed(
            f"{prefix}SELECT {', '.join(columns)} FROM {{{SOURCE}}} JOIN ({grouped}) ON {' AND '.join(same) or 'true'}",
            source,
        )

    def between_ends(self, query: PatternQuery, collapsed: PatternPlan[RunsPlan]) -> PatternQuery:
        """The block with conditions on its first and last events, where these are of components of their own."""
        time = query.order_by[0].expression
        more = []
        components = collapsed.engine.spec.automaton
        for code, times in ((first_component(components), _STARTS), (last_component(components), _ENDS)):
            if code >= 0:
                at = Navigation(RowExpression((time,)), (components.names[code],), False, 0, 0, True)
                scalar = Scalar((f"array_contains({times}, ", at, ") OR ", at, " IS NULL"))
                more.append(
                    Condition(scalar, (components.names[code],), source=f"a given {times.removeprefix(PREFIX)}")
                )
        columns = (*query.columns, _STARTS, _ENDS)
        own = replace(query, columns=columns, conditions=(*more, *query.conditions), collapsed=False)
        return replace(own, omit_censored=False)  # a given row is decided, and so are its matches

    def of_given_ends(self, sql: str) -> str:
        """Of the matches those whose first and last events are a given row's: times may be shared by events."""
        positions = "transform(events, e -> e.position)"
        ends = f"array_min({positions}) AS {PREFIX}first, array_max({positions}) AS {PREFIX}last"
        same = [f"m.{quote(name)} <=> g.{PREFIX}e{i}" for i, name in enumerate(self.keys)]
        same += [f"m.events[0].position = g.{PREFIX}first", f"element_at(m.events, -1).position = g.{PREFIX}last"]
        return f"SELECT m.* FROM {sql} m LEFT SEMI JOIN ({self.given_sql(ends)}) g ON {' AND '.join(same)}"


def _not_a_block(text: str, position: int) -> PatternAnalysisError:
    return PatternAnalysisError(
        "CEP_EXPAND",
        "The query must be one pattern block and nothing else.",
        text=text,
        position=position,
        hint="give the text from FROM to the block's last clause",
    )
