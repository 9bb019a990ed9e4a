"""Windows with patterns: their SELECT reads a relation that has a column for each call over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from sparkcep.errors import PatternAnalysisError, streaming_unsupported
from sparkcep.planner.plan import AnyPlan
from sparkcep.planner.ties import tie
from sparkcep.query import PREFIX, SOURCE, quote
from sparkcep.session.indexes.choice import Pruning
from sparkcep.session.inputs.window_source import WindowedInput
from sparkcep.session.planning import OccurrencePlanner
from sparkcep.session.relations import Relation, relation_sql
from sparkcep.sql.outer import wanted_names
from sparkcep.sql.rewriter import InputSql
from sparkcep.sql.statement import PatternOccurrence, Statement, WindowCall, WindowedSelect
from sparkcep.sql.windows.binder import ROW, BoundWindow, WindowBinder
from sparkcep.sql.windows.parser import WindowSyntax, parse_window
from sparkcep.sql.windows.selected import SelectEdits, relation_alias

#: How names of columns begin that answer calls.
RESULT = PREFIX + "w"
_WHOLE_NUMBERS = ("tinyint", "smallint", "int", "bigint")


@dataclass(frozen=True, slots=True)
class PlannedWindows:
    """``relations``: a window's each, which reads that of the window before. ``input``: what the first one reads.
    ``columns``: of the last. ``edits``: of the SELECT."""

    relations: tuple[Relation, ...]
    input: WindowedInput
    columns: tuple[str, ...]
    edits: SelectEdits


@dataclass(frozen=True, slots=True)
class WindowPlanner:
    """Plans the windows of one SELECT.

    Args:
        planner: of the statement. form: the SELECT's source.
    """

    planner: OccurrencePlanner
    form: PatternOccurrence

    @property
    def statement(self) -> Statement:
        """The statement."""
        return self.planner.statement

    @property
    def windowed(self) -> WindowedSelect:
        """Where the parts of the SELECT stand."""
        assert self.form.windowed is not None
        return self.form.windowed

    def parse(self) -> dict[int, WindowSyntax]:
        """The windows by the parentheses that open them.

        Raises:
            PatternParseError: see :func:`parse_window`.
            PatternAnalysisError: CEP_WINDOW_CALL.
        """
        formatted = bool(self.planner.analyzer.kwargs)
        parsed = {at: parse_window(self.statement, self.windowed, at, formatted) for at in self.windowed.patterns}
        self.check_calls()
        return parsed

    def check_calls(self) -> None:
        """Refuse calls where windows are not known yet.

        Raises:
            PatternAnalysisError: CEP_WINDOW_CALL.
        """
        s, windowed = self.statement, self.windowed
        for call in windowed.calls:
            if windowed.source < call.over < windowed.rows_end:
                raise PatternAnalysisError(
                    "CEP_WINDOW_CALL",
                    "A window may be called in the SELECT list and in ORDER BY, not in FROM, WHERE or GROUP BY.",
                    text=s.text,
                    position=s.tokens[call.over].start,
                    hint="call it in a subquery and give it a name: FROM (SELECT *, m OVER w AS x ...) WHERE x ...",
                )

    def check_names(self, source: DataFrame) -> None:
        """Refuse an input with columns that are named like ours.

        Raises:
            PatternAnalysisError: CEP_RESERVED_COLUMN.
        """
        for column in source.columns:
            if column.casefold().startswith(PREFIX):
                raise PatternAnalysisError(
                    "CEP_RESERVED_COLUMN",
                    f"Column {column} has the reserved prefix {PREFIX}.",
                    text=self.statement.text,
                    position=self.form.start,
                )

    def bind(
        self, number: int, window: WindowSyntax, calls: Sequence[WindowCall], source: DataFrame,
        computed: Mapping[int, int],
    ) -> BoundWindow:  # fmt: skip
        """One window over its input. ``number``: its place among them. ``computed``: see :class:`WindowedInput`."""
        planner, s = self.planner, self.statement
        alias = relation_alias(s, self.windowed)
        binder = WindowBinder(
            s, window, calls, f"{RESULT}{number}_", source.columns,
            frozenset() if alias is None else frozenset({s.tokens[alias].text.casefold()}),
            planner.rewriter.render, planner.settings, computed,
        )  # fmt: skip
        bound = binder.bind_window(source.columns, planner.rewriter.with_prefix(self.form))
        self.check_frame(bound, window, binder, source)
        if planner.settings.column_pruning and not planner.analyzer.kwargs:
            wanted = wanted_names(s, self.form)
            if wanted is not None:
                results = [c for c in (*source.columns, *bound.columns.values()) if c.startswith(PREFIX)]
                return replace(bound, query=replace(bound.query, wanted=wanted | {c.casefold() for c in results}))
        return bound

    def check_frame(self, bound: BoundWindow, window: WindowSyntax, binder: WindowBinder, source: DataFrame) -> None:
        """Refuse a number of rows that is none.

        Raises:
            PatternAnalysisError: CEP_WINDOW_FRAME.
        """
        if window.frame is None or window.frame[0] == window.frame[1]:
            return
        low, high = window.frame
        given = self.planner.rewriter.tokens_text(low, high)
        if bound.query.within != given + "L":
            text = f"{bound.query.with_prefix}SELECT {binder.plain(window.frame)} FROM {{{SOURCE}}}"
            analyzer = self.planner.analyzer
            given_type = analyzer.checked(bound.query, lambda: analyzer.run(text, source).schema[0].dataType)
            if given_type.simpleString() not in _WHOLE_NUMBERS:
                raise binder.wrong_frame(self.statement.tokens[low])

    def placed(self, bound: BoundWindow, source: DataFrame) -> DataFrame:
        """The input with each row's place in its partition. Ties go by the columns the window names, then by the
        others."""
        query = bound.query
        user = [f for f in source.schema.fields if not f.name.startswith(RESULT)]
        user.sort(key=lambda f: f.name.casefold() not in query.identifiers)
        ties = [text for f in user if (text := tie(f.name, f.dataType.simpleString()))]
        order = [k.text for k in bound.order] + [f"{text} ASC NULLS FIRST" for text in ties]
        keys = ", ".join(f"({k.expression})" for k in query.partition_by)
        partition = f"PARTITION BY {keys} " if keys else ""
        over = f"{partition}ORDER BY {', '.join(order) or 'NULL'}"
        text = f"{query.with_prefix}SELECT *, row_number() OVER ({over}) AS {ROW} FROM {{{SOURCE}}}"
        analyzer = self.planner.analyzer
        return analyzer.checked(query, lambda: analyzer.analyzed(text, source))

    def over(self, bound: BoundWindow) -> str:
        """The window without its pattern, for functions that see the partition."""
        keys = ", ".join(k.expression for k in bound.query.partition_by)
        order = ", ".join(k.text for k in bound.order)
        return f"{f'PARTITION BY {keys} ' if keys else ''}{f'ORDER BY {order}' if order else ''}"

    def plan(self, bound: BoundWindow, source: DataFrame, input_sql: InputSql | None) -> AnyPlan:
        """A bound window's plan over its input with places."""
        return self.planner.plan_bound(bound.query, source, input_sql)

    def related(self, plan: AnyPlan, sql: str) -> DataFrame:
        """A window's relation, which the next one reads; what Spark has against it comes with its place."""
        analyzer = self.planner.analyzer
        return analyzer.checked(plan.query, lambda: analyzer.analyzed(f"SELECT * FROM {sql}"), plan.output.place)


def plan_windows(
    planner: OccurrencePlanner,
    form: PatternOccurrence,
    read: Callable[[Mapping[int, WindowSyntax]], WindowedInput],
    names: Sequence[str],
) -> PlannedWindows:
    """Plan the windows of a SELECT, one relation after the other.

    Args:
        read: gives what the windows, by the parentheses that open them, read. names: of as many relations as
            there are windows.

    Raises:
        PatternParseError, PatternAnalysisError: see :class:`WindowParser` and :class:`WindowBinder`.
    """
    own = WindowPlanner(planner, form)
    analyzer = planner.analyzer
    parsed = own.parse()
    given = read(parsed)
    source = given.frame
    if source.isStreaming:
        text, position = planner.statement.text, form.keyword.start
        raise streaming_unsupported("windows with patterns", text, position, "MATCH_RECOGNIZE reads streams")
    if own.windowed.is_plain:
        own.check_names(source)
    relations: list[Relation] = []
    columns: dict[WindowCall, str] = {}
    over: dict[WindowCall, str] = {}
    for number, (opens, window) in enumerate(parsed.items()):
        calls = [c for c in own.windowed.calls if own.windowed.opens(c.window) == opens]
        bound = own.bind(number, window, calls, source, given.computed)
        columns |= bound.columns
        over |= {call: own.over(bound) for call in bound.others}
        if not bound.columns:
            continue
        placed = own.placed(bound, source)
        plan = own.plan(bound, placed, given.text if not relations else None)
        sql = relation_sql(analyzer, names[number], plan, placed, None)
        pruning = Pruning(lines=["not used: the result has every row of the input"])
        relations.append(Relation(names[number], plan, placed, sql, placed, pruning))
        source = own.related(plan, sql)
    edits = SelectEdits(planner.rewriter, own.windowed, columns, over, given.sides, given.names)
    return PlannedWindows(tuple(relations), given, tuple(source.columns), edits)


def source_text(planner: OccurrencePlanner, form: PatternOccurrence, windows: PlannedWindows) -> str:
    """What stands for FROM and WHERE of a SELECT: the relation of its last window, by the name of its own relation."""
    s, rewriter = planner.statement, planner.rewriter
    assert form.windowed is not None
    if not windows.relations and form.windowed.is_plain:
        return rewriter.render(form.start, form.end)
    sql = windows.relations[-1].sql if windows.relations else f"({windows.input.text.text})"
    if shown := windows.input.shown:
        items = (f"{quote(c)} AS {quote(shown[c])}" if c in shown else quote(c) for c in windows.columns)
        sql = f"(SELECT {', '.join(items)} FROM {sql})"
    alias = relation_alias(s, form.windowed)
    return sql if alias is None else f"{sql} AS {rewriter.tokens_text(alias, alias + 1)}"
