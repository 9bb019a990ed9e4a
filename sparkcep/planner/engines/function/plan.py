"""Plan a pattern block that runs as a table function: every condition in the kernel or in Python, none in Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.engines.function.matcher import FunctionSpec, Items
from sparkcep.exec.shape import Within
from sparkcep.expr.nodes import AggregateSlot, Expression, Load, NavigationSlot, RowValue
from sparkcep.expr.types import NotCompilable
from sparkcep.expr.typing_pass import Typing
from sparkcep.planner.conditions.match_conditions import MatchConditions, describe
from sparkcep.planner.conditions.trees import Conjunct
from sparkcep.planner.engines.function.row_expressions import RowExpressions, spark_type
from sparkcep.planner.engines.runs.plan import RunsPlan
from sparkcep.planner.engines.runs.planner import RunPlanner
from sparkcep.planner.fields import Fields
from sparkcep.planner.lengths import fixed_distance, whole_literal
from sparkcep.planner.plan import PatternPlan
from sparkcep.query import PatternQuery, Scalar, default_measures
from sparkcep.settings import Settings
from sparkcep.sql.block.binder import bind_block
from sparkcep.sql.function import FunctionSyntax
from sparkcep.sql.statement import Statement

#: Stands for ORDER BY where the call sorts the rows and nobody asks for their time.
ARRIVAL = "order of arrival"
_FIXED_ZONES = ("UTC", "Z", "GMT", "Etc/UTC", "+00:00")
_SAME = ("min", "max", "any_value", "max_by", "min_by")


@dataclass(frozen=True, slots=True)
class FunctionPlan:
    """``schema``: names and Spark types of the output. ``partition_by``: texts that Spark is to partition by."""

    spec: FunctionSpec
    schema: tuple[tuple[str, str], ...]
    partition_by: tuple[str, ...]


class _Planner(RunPlanner):
    """Times without Spark: WITHIN must be a fixed distance."""

    zone = "UTC"

    def plan_within(self) -> Within | None:
        query = self.query
        if query.within is None:
            return None
        key = query.order_by[0].expression
        own = self.analyze([key])[0][1]
        type_ = "bigint" if own in ("tinyint", "smallint", "int") else own
        within = (type_ == "bigint" and whole_literal(query.within)) or query.within
        # A day is not always 24 hours, except where clocks never change.
        distance = fixed_distance(
            within, "timestamp_ntz" if type_ == "timestamp" and self.zone in _FIXED_ZONES else type_
        )
        if distance is None:
            raise PatternAnalysisError(
                "CEP_FUNCTION_WITHIN",
                f"WITHIN in a pattern function must be a fixed distance of its {own} order.",
                text=query.text or None,
                position=query.within_position,
                hint="less than a day (days are 24 hours only in UTC and for TIMESTAMP_NTZ), or a whole number where "
                "the order is one; order by a column cast to TIMESTAMP_NTZ or BIGINT",
            )
        self.within_type = type_
        return Within(self.fields.add(f"CAST(({key}) AS {type_})"), None, distance)


def plan_function(
    statement: Statement, syntax: FunctionSyntax, types: Mapping[str, str], settings: Settings, zone: str
) -> FunctionPlan:
    """Bind and plan a function for an input of these columns.

    Args:
        types: Spark types of the input's columns, in order. zone: name of the session's time zone.

    Raises:
        PatternAnalysisError: as bind_block and RunPlanner; CEP_FUNCTION_EXPRESSION, CEP_FUNCTION_WITHIN,
            CEP_LOG_COLUMNS.
    """
    first = _bind(statement, syntax, types, settings, zone)[0]
    read = {c: t for c, t in types.items() if c.casefold() in first.identifiers}
    query, columns, arrival = _bind(statement, syntax, read, settings, zone)
    refuse_unsupported(query)
    if query.omit_censored:
        raise PatternAnalysisError(
            "CEP_CENSORED",
            "A pattern function sees one partition at a time, and cannot know where the log ends.",
            text=statement.text,
            position=query.censored_position,
            hint="run the block in spark.sql",
        )
    if query.timed_out:
        raise PatternAnalysisError(
            "CEP_TIMED_OUT",
            "A pattern function gives matches only, not runs that timed out.",
            text=statement.text,
            position=query.timed_out_position,
            hint="run the block in spark.sql",
        )
    if query.trends:
        raise PatternAnalysisError(
            "CEP_FUNCTION_TRENDS",
            "A pattern function does not aggregate over trends.",
            text=statement.text,
            position=query.trends[0].position,
            hint="run the block in spark.sql, or let the function return matches and aggregate them around its call",
        )
    return _plan(query, columns, settings, zone, arrival)


def refuse_unsupported(query: PatternQuery) -> None:
    """Raises CEP_UNSUPPORTED_CLAUSE for what a function's kernel has no part in."""
    parts = {"UNCERTAINTY": query.uncertainty, "EXPLAIN NON ANSWERS": query.non_answers}
    for what, found in parts.items():
        if found is not None:
            raise PatternAnalysisError(
                "CEP_UNSUPPORTED_CLAUSE",
                f"A pattern function cannot have {what}.",
                text=query.text or None,
                position=found.position or query.start,
                hint="run the block in spark.sql",
            )


def _bind(
    statement: Statement, syntax: FunctionSyntax, types: Mapping[str, str], settings: Settings, zone: str
) -> tuple[PatternQuery, RowExpressions, bool]:
    """The block, its input's columns, and whether only the call can say in which order they come."""

    def bound(types: Mapping[str, str], settings: Settings) -> tuple[PatternQuery, RowExpressions]:
        rows = RowExpressions(
            types,
            settings.case_sensitive,
            settings.ansi,
            zone,
            statement.text,
            statement.tokens[syntax.form.head[0]].start,
        )
        query = bind_block(
            statement, syntax.form, tuple(types), frozenset(),
            lambda low, high: statement.text[low:high].replace("{", "{{").replace("}", "}}"),
            settings, "", lambda relation: {}, lambda expression: rows.program(expression).spark,
        )  # fmt: skip
        return query, rows

    try:
        return *bound(types, settings), False
    except PatternAnalysisError as error:
        if error.error_class != "CEP_LOG_COLUMNS" or settings.log_time:
            raise
        refusal = error
    try:
        query, rows = bound({**types, ARRIVAL: "bigint"}, replace(settings, log_time=ARRIVAL))
    except PatternAnalysisError:
        raise refusal from None
    what = ""
    if query.partition_by:
        what = "a function with partitions of its own"  # the call can then say no ORDER BY
    elif query.within is not None:
        what = "WITHIN"
    elif not query.has_return:
        what = "the default output"
    elif query.strict_time:
        what = "STRICT TIME"
    elif any(ARRIVAL in describe(scalar) for scalar in _scalars(query)) or query.between is not None:
        what = "a condition or an item on time"
    if not what:
        return query, rows, True
    raise PatternAnalysisError(
        "CEP_LOG_COLUMNS",
        f"The function names no time column, and {what} needs one.",
        text=statement.text,
        position=query.within_position if what == "WITHIN" else query.start,
        hint="write ORDER BY before PATTERN, or SET spark.sparkcep.log.time before CREATE",
    )


def _scalars(query: PatternQuery) -> list[Scalar]:
    returned = query.measures if query.has_return else ()
    return [*(m.expression for m in returned), *(c.scalar for c in query.conditions)]


def _plan(query: PatternQuery, rows: RowExpressions, settings: Settings, zone: str, arrival: bool) -> FunctionPlan:
    settings = replace(settings, layout="rows", gap_elimination=False)
    time = rows.program(query.order_by[0].expression)
    # Items are not the planner's: it plans for the events of a match, and they are made of those.
    measures = default_measures(query.order_by[0].expression, query.components)
    planned = replace(query, measures=measures, has_return=False, hidden_keys=0)
    planner = _Planner(planned, settings, rows.analyze, lambda *_: None, list(rows.types.values()))
    planner.zone = zone
    plan = planner.plan()
    shown = [] if query.has_return else plan.input.keys
    keys = tuple(rows.program(text) for text, _ in shown)
    schema = [(name, program.spark) for (_, name), program in zip(shown, keys, strict=True)]
    items = None
    if query.has_return:
        items, more = _items(query, plan, rows, settings)
        schema += more
    else:
        event = f"array<struct<variable:string,position:int,time:{time.spark}>>"
        schema += [("match_number", "bigint"), ("start_time", time.spark), ("end_time", time.spark), ("events", event)]
        schema += [("exact", "boolean")] if query.collapsed else []
    order = [(rows.program(k.expression), k.ascending, k.nulls_first) for k in query.order_by]
    ties = plan.input.fields.texts[: plan.input.fields.sort_fields]
    order += [(rows.program(t), True, True) for t in ties]
    names = list(rows.types)
    spec = FunctionSpec(
        columns=tuple(n for n in names if n != ARRIVAL),
        kinds=rows.kinds,
        order=() if arrival else tuple(dict.fromkeys(order)),
        filters=tuple(rows.program(f) for f in plan.input.filters),
        masks=tuple(
            (code, tuple(rows.program(c.sql(), c.position or None) for c in own))
            for code, own in plan.input.tests.items()
        ),
        fields=tuple(rows.program(plan.input.fields.texts[f]) for f in plan.input.shape.kernel_fields),
        keys=keys,
        time=time,
        variables=tuple(c.variable for c in query.components),
        items=items,
        exact=None if plan.engine.collapse is None else plan.engine.collapse.exact,
        arrival=arrival,
        shape=plan.input.shape,
        runs=plan.engine.spec,
    )
    return FunctionPlan(spec, tuple(schema), tuple(text for text, _ in plan.input.keys))


def _items(
    query: PatternQuery, plan: PatternPlan[RunsPlan], rows: RowExpressions, settings: Settings
) -> tuple[Items, list[tuple[str, str]]]:
    """RETURN for the interpreter, with names and types."""
    fields = Fields(query.columns, settings.case_sensitive)
    owner = MatchConditions(plan.query, fields, rows.types)
    trees: list[Expression] = []
    found: list[tuple[str, str]] = []
    for measure in query.measures:
        position = measure.expression.position
        try:
            tree = Conjunct(owner, measure.expression.pieces).convert()
            programs = tuple(rows.program(fields.texts[i], position) for i in owner.columns)
            kinds = tuple(p.kind for p in programs)
            kind = Typing(tuple(owner.slots), kinds, settings.ansi).typed(tree).type
            own = [p.spark for p in programs]
            found.append((measure.name, _direct(tree, owner, own) or spark_type(kind)))
        except (NotCompilable, RecursionError) as error:
            raise PatternAnalysisError(
                "CEP_FUNCTION_EXPRESSION",
                f"RETURN of a pattern function cannot use {error}.",
                text=query.text or None,
                position=position,
                hint="return the values it is made of, and compute it in the query around the call",
            ) from None
        trees.append(tree)
    programs = tuple(rows.program(fields.texts[i]) for i in owner.columns)
    return Items(tuple(trees), tuple(owner.slots), tuple(owner.registers), programs), found


def _direct(tree: Expression, owner: MatchConditions, column_types: list[str]) -> str:
    """Spark's type of an item that is a column's value, or values: any type passes through."""
    slot = owner.slots[tree.slot] if isinstance(tree, Load) else None
    if isinstance(slot, NavigationSlot) and slot.argument is None and slot.column >= 0:
        return column_types[slot.column]
    if isinstance(slot, AggregateSlot) and slot.arguments and isinstance(slot.arguments[0], RowValue):
        of = column_types[slot.arguments[0].column]
        if slot.function in _SAME:
            return of
        if slot.function in ("array_agg", "collect_list"):
            return f"array<{of}>"
    return ""
