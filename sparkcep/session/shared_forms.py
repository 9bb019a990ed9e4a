"""Patterns of one statement over the same relation: read, grouped, sorted and sent to Python once for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from sparkcep.errors import SparkCepError
from sparkcep.exec.layouts.shared_lists import match_shared, part_rows
from sparkcep.planner.choice import make_plan
from sparkcep.planner.engines.shared.forms import FormsPlan, FormsPlanner, own_query, own_settings
from sparkcep.planner.engines.shared.input import NotShared
from sparkcep.planner.explain_before import indent
from sparkcep.planner.fields import Fields
from sparkcep.planner.measures import MeasureSql
from sparkcep.planner.plan import AnyPlan, Decision
from sparkcep.query import PREFIX, SOURCE, Matches, Selection, unescape
from sparkcep.session.indexes.choice import Pruning
from sparkcep.session.planning import OccurrencePlanner
from sparkcep.session.relations import Relation
from sparkcep.sql.outer import as_relation
from sparkcep.sql.rewriter import InputSql, Rewriter
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence, Statement

#: From so many patterns on one pass costs less, also where Spark could fold some of them by itself: two folds take as
#: long as a pass, three take longer (benchmarks/forms.py).
FOLDS_SHARED = 3


@dataclass(frozen=True, slots=True)
class PlannedForm:
    """A pattern that is planned, and not yet in the text. ``source``: its input, through no index. ``warnings``: of the
    query itself."""

    form: PatternOccurrence
    plan: AnyPlan
    input_sql: InputSql
    source: DataFrame
    pruning: Pruning
    warnings: tuple[str, ...]


@dataclass(slots=True)
class SharedForms:
    """What a statement's patterns share. ``definitions``: of the WITH list that gives their rows. ``relations``: by
    where the pattern begins, ``texts``: the subqueries that take their places. ``plans``: of the inputs. ``alone``: why
    each of the others reads its input by itself; those that have no company are not in it."""

    definitions: list[str] = field(default_factory=list)
    relations: dict[int, Relation] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    plans: list[FormsPlan] = field(default_factory=list)
    alone: dict[int, str] = field(default_factory=dict)


def unread(statement: Statement, rewriter: Rewriter) -> frozenset[tuple[int, int]]:
    """Spans of patterns that no other one reads, so that they may wait for company; none of one alone."""
    s = statement
    forms = [f for f in s.forms if f.kind in (OccurrenceKind.CLAUSE, OccurrenceKind.BLOCK)]
    if len(forms) < 2:
        return frozenset()
    # What each form of any kind reads: its own span, and the definitions of WITH lists that it names.
    read = [(other, [(other.start, s.span_end(other)), *_definitions(rewriter, other)]) for other in s.forms]
    return frozenset(
        (form.start, form.end)
        for form in forms
        if not any(
            start <= form.start and form.end <= end
            for other, spans in read if other is not form
            for start, end in spans
        )
    )  # fmt: skip


def _definitions(rewriter: Rewriter, form: PatternOccurrence) -> list[tuple[int, int]]:
    return [(table.start, table.end) for table in rewriter.tables_read(form)]


def takes_part(planner: OccurrencePlanner, form: PatternOccurrence, plan: AnyPlan, pruning: Pruning) -> bool:
    """Whether a plan reads its input as others may: whole partitions of a relation at rest, all of them; and gives so
    few rows that writing them once more costs less than reading the input."""
    query = plan.query
    relation = as_relation(planner.statement, form)
    special = plan.stream is not None or query.groups or query.omit_censored or query.limit is not None
    return not (
        special
        or pruning.frame is not None
        or plan.engine.facts is not None
        or plan.input.layout == "rows"
        or plan.input.key_join is not None
        or gives_many(plan)
        or (relation is not None and planner.partition_predicate(query, relation))
    )


def gives_many(plan: AnyPlan) -> bool:
    """Whether more than a row may come out for each event that a match begins with: rows of matches, also those that
    Spark computes aggregates over."""
    query = plan.query
    if query.trends:
        return False
    every = query.selection in (Selection.ANY, Selection.BY_STEP) and query.matches is Matches.ALL
    aggregates = isinstance(plan.output, MeasureSql) and plan.output.has_aggregates
    return query.rows_per_match.is_all or aggregates or every or query.uncertainty is not None


def share(planner: OccurrencePlanner, forms: Sequence[PlannedForm], names: Iterable[str]) -> SharedForms:
    """Plan patterns together that read the same relation by the same keys in the same order.

    Args:
        names: of relations to come.
    """
    out = SharedForms()
    groups: dict[tuple[object, ...], list[PlannedForm]] = {}
    for form in forms:
        groups.setdefault(_reads(planner, form), []).append(form)
    fresh = iter(names)
    for group in groups.values():
        shared = group
        if len(group) < FOLDS_SHARED:
            shared = [planned for planned in group if planned.plan.input.layout != "fold"]
            if len(group) > 1:
                why = "Spark folds it, which for two patterns takes no longer"
                out.alone |= {p.form.start: why for p in group if p.plan.input.layout == "fold"}
        if len(shared) > 1:
            _share_group(planner, shared, next(fresh), out)
    return out


def _reads(planner: OccurrencePlanner, planned: PlannedForm) -> tuple[object, ...]:
    """What patterns have in common that share their input."""
    query = planned.plan.bound
    fields = Fields(query.columns, planner.settings.case_sensitive)

    def same(text: str) -> str:
        return fields.column_of(text) or text

    order = tuple((same(k.expression), k.ascending, k.nulls_first) for k in query.order_by)
    keys = tuple(same(k.expression) for k in planned.plan.query.partition_by)
    return planned.input_sql.text, keys, order, query.with_prefix


def _share_group(planner: OccurrencePlanner, group: Sequence[PlannedForm], name: str, out: SharedForms) -> None:
    """Put the plans of a group into what is shared, and the others among those that run alone."""
    first = group[0]
    settings = planner.settings
    plans: list[tuple[PlannedForm, AnyPlan]] = []
    for planned in group:
        arguments = planner.planner_arguments(
            own_query(planned.plan.original or planned.plan.bound), planned.source, planned.input_sql
        )
        try:
            plans.append((planned, _explained(make_plan(arguments[0], own_settings(settings), *arguments[2:]))))
        except SparkCepError as error:
            out.alone[planned.form.start] = error.sentence
    if len(plans) < 2:
        return
    arguments = planner.planner_arguments(plans[0][1].query, first.source, first.input_sql)
    shared = FormsPlanner([plan.query for _, plan in plans], settings, *arguments[2:])
    taken: list[tuple[PlannedForm, AnyPlan]] = []
    for planned, plan in plans:
        try:
            shared.add(plan)
            taken.append((planned, plan))
        except NotShared as why:
            out.alone[planned.form.start] = str(why)
    if len(taken) < 2:
        return
    try:
        made = shared.plan()
        frame = match_shared(planner.analyzer.analyzed(made.input.sql(), first.source), made.lists)
    except NotShared as why:
        out.alone |= {planned.form.start: str(why) for planned, _ in taken}
        return
    except AnalysisException:  # of one of them, which by itself says where
        return
    planner.analyzer.matched[name] = frame
    common = f"{name}_once"
    definition = f"{common} AS (SELECT * FROM {{{name}}})"
    out.definitions.append(definition)
    out.plans.append(made)
    keys = "".join(f"{PREFIX}k{i}, " for i in range(made.lists.shape.keys))
    for number, (planned, plan) in enumerate(taken):
        rows = f"(SELECT {keys}inline({part_rows(number)}) FROM {common})"
        sql = f"({plan.output.sql().replace(f'{{{SOURCE}}}', rows)})"
        alone = f"(WITH {definition} SELECT * FROM {sql})"
        start = planned.form.start
        out.texts[start] = sql
        out.relations[start] = Relation(
            f"{name}_part{number}", plan, planned.source, alone, planned.source, planned.pruning, planned.warnings,
            shared=True,
        )  # fmt: skip


def _explained(plan: AnyPlan) -> AnyPlan:
    """A plan over shared rows, with the reason why it drops no partitions."""
    own = Decision("Join prefilter", False, "other patterns read the same rows")
    return replace(plan, decisions=tuple(own if d.rule == own.rule else d for d in plan.decisions))


def explained(shared: SharedForms, positions: Mapping[int, str]) -> list[str]:
    """What EXPLAIN says of shared inputs. ``positions``: how patterns are called, by where they begin."""
    lines: list[str] = []
    for made in shared.plans:
        lines.append(f"Shared input: {len(made.lists.parts)} patterns read one input, in one pass")
        lines.append(f"  conditions evaluated by Spark, each once: {len(made.input.bits)}")
        lines.append(f"  columns sent to the matchers: {len(made.input.shape.columns)}")
        lines.append("  SQL before:")
        lines.append(indent(unescape(made.input.sql()).replace(PREFIX, "_")))
    for start, why in shared.alone.items():
        lines.append(f"{positions[start]} reads its input by itself: {why}")
    return lines
