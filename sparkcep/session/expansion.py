"""Enumerate the matches that rows of a COLLAPSED block stand for, later and only for those rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from sparkcep.block import BlockQuery, Condition
from sparkcep.errors import PatternAnalysisError, streaming_unsupported
from sparkcep.planner.engines.runs.collapse import first_component, last_component
from sparkcep.planner.engines.runs.plan import RunsPlan, plan_block
from sparkcep.planner.fields import quote
from sparkcep.planner.plan import PatternPlan
from sparkcep.query import PREFIX, SOURCE, Navigation, RowExpression, Scalar
from sparkcep.session.originals import plain_sql
from sparkcep.session.planning import Relation
from sparkcep.session.statement import StatementExecution
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence

_GIVEN = PREFIX + "given"
_STARTS = PREFIX + "starts"
_ENDS = PREFIX + "ends"
_RESULT = PREFIX + "result"


def expand_collapsed(df: DataFrame, query: str) -> DataFrame:
    """The matches behind rows of a collapsed block, as the block gives them without COLLAPSED.

    Lazy. Only the rows' partitions are read, and in them only matches that begin and end when a given row does are
    enumerated, where the pattern tells its first and last events from others; ``match_number`` counts those.

    Args:
        df: any rows of the block's output, with its partition columns, start_time, end_time and events.
        query: the text of that block, with or without COLLAPSED.

    Raises:
        SparkCepError: CEP_EXPAND, where the text is not one block, or the rows are not of its output; CEP_COLLAPSED,
            where the block cannot be collapsed; and all that the block itself may raise.
    """
    spark = df.sparkSession
    if df.isStreaming:
        raise streaming_unsupported()
    if not read_statement(query).forms:
        raise _not_a_block(query, 0)
    return _Expansion(spark, plain_sql(spark), query, None, {}, given=df).result()


@dataclass(slots=True)
class _Expansion(StatementExecution):
    given: DataFrame | None = None
    keys: tuple[str, ...] = ()

    def plan_form(self, form: PatternOccurrence) -> None:
        before = self.text[: form.start].strip()
        if len(self.statement.forms) > 1 or form.kind is not OccurrenceKind.BLOCK or before or self.behind(form):
            raise _not_a_block(self.text, form.start)
        input_sql = self.rewriter.input_sql(form)
        source = self.blamed(lambda: self.input(form, input_sql))
        block = self.bound_block(form, source)
        source = self.merged(block, source)
        if block.trends:
            raise _not_a_block(self.text, block.trends[0].position)
        collapsed = self.plan_bound(replace(block, collapsed=True), source, plan_block)
        self.keys = tuple(name for _, name in collapsed.input.keys)
        self.check_columns(form)
        restricted = self.restricted(collapsed, source)
        planned = self.plan_bound(self.between_ends(block, collapsed), restricted, plan_block)
        sql = self.relation_sql(_RESULT, planned, restricted, None)
        self.relations.append(Relation(_RESULT, planned, restricted, sql, restricted))
        self.rewriter.replace(form, self.of_given_ends(sql))

    def behind(self, form: PatternOccurrence) -> str:
        return self.text[form.end :].strip().strip(";")

    def check_columns(self, form: PatternOccurrence) -> None:
        assert self.given is not None
        columns = {c.casefold() for c in self.given.columns}
        missing = [c for c in (*self.keys, "start_time", "end_time", "events") if c.casefold() not in columns]
        if missing:
            raise PatternAnalysisError(
                "CEP_EXPAND",
                f"The rows are not of this block's output: they lack {', '.join(missing)}.",
                text=self.text,
                position=form.keyword.start,
                hint="keep all columns except match_number and exact",
            )

    def given_sql(self, items: str) -> str:
        keys = [f"{quote(name)} AS {PREFIX}e{i}" for i, name in enumerate(self.keys)]
        return f"SELECT {', '.join([*keys, items])} FROM {{{_GIVEN}}}"

    def restricted(self, collapsed: PatternPlan[RunsPlan], source: DataFrame) -> DataFrame:
        """The input's rows of the given rows' partitions, with the times at which matches are to begin and end."""
        assert self.given is not None
        self.matched[_GIVEN] = self.given
        names = [f"{PREFIX}e{i}" for i in range(len(self.keys))]
        ends = f"collect_set(start_time) AS {_STARTS}, collect_set(end_time) AS {_ENDS}"
        grouped = f"SELECT {', '.join([*names, ends])} FROM ({self.given_sql('start_time, end_time')})"
        grouped += f" GROUP BY {', '.join(names)}" if names else ""
        same = [f"({text}) <=> {name}" for (text, _), name in zip(collapsed.input.keys, names, strict=True)]
        columns = [*(quote(c) for c in source.columns), _STARTS, _ENDS]
        prefix = collapsed.query.with_prefix
        return self.analyzed(
            f"{prefix}SELECT {', '.join(columns)} FROM {{{SOURCE}}} JOIN ({grouped}) ON {' AND '.join(same) or 'true'}",
            source,
        )

    def between_ends(self, block: BlockQuery, collapsed: PatternPlan[RunsPlan]) -> BlockQuery:
        """The block with conditions on its first and last events, where these are of components of their own."""
        time = block.order_by[0].expression
        more = []
        components = collapsed.engine.spec.automaton
        for code, times in ((first_component(components), _STARTS), (last_component(components), _ENDS)):
            if code >= 0:
                at = Navigation(RowExpression((time,)), (components.names[code],), False, 0, 0, True)
                scalar = Scalar((f"array_contains({times}, ", at, ") OR ", at, " IS NULL"))
                more.append(
                    Condition(scalar, (components.names[code],), source=f"a given {times.removeprefix(PREFIX)}")
                )
        columns = (*block.columns, _STARTS, _ENDS)
        own = replace(block, columns=columns, conditions=(*more, *block.conditions), collapsed=False)
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
