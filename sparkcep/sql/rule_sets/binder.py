"""Bind a rule: what it gives is the same for all rules of a set, whatever it says that it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import (
    PREFIX,
    Aggregate,
    Events,
    Measure,
    PatternQuery,
    RowExpression,
    RowMarker,
    RowsPerMatch,
    Scalar,
    Selection,
    default_measures,
    string_literal,
)
from sparkcep.settings import Settings
from sparkcep.sql.block.binder import bind_block
from sparkcep.sql.block.parser import parse_block
from sparkcep.sql.block.pattern import parse_block_pattern
from sparkcep.sql.clause.binder import bind
from sparkcep.sql.clause.parser import parse_clause
from sparkcep.sql.rewriter import Rewriter
from sparkcep.sql.rule_sets.keys import LogKeys
from sparkcep.sql.rule_sets.reader import read_rule
from sparkcep.sql.rule_sets.regexes import regexes
from sparkcep.sql.rule_sets.rule import Rule
from sparkcep.sql.rule_sets.suppress import suppressed_for
from sparkcep.sql.statement import OccurrenceKind, PatternOccurrence, Statement

#: Prefix of the columns that RETURN and MEASURES are computed as.
VALUE = PREFIX + "v"
#: Columns of a rule set's result beside the keys, in order; the keys stand behind the first.
COLUMNS = ("rule", "match_number", "start_time", "end_time", "events", "measures", "match_id")


@dataclass(frozen=True, slots=True)
class BoundRule:
    """A rule with names resolved. ``query`` gives match_number, start_time, end_time and events, then a column for
    each of ``measures``: what RETURN or MEASURES name, of which the n-th column is called ``VALUE + n``.
    ``suppress``: how long behind one of its rows it gives no others of the same key, as SQL of lengths. ``regexes``:
    those in its text, with their places."""

    rule: Rule
    query: PatternQuery
    measures: tuple[Measure, ...]
    suppress: tuple[str, ...] = ()
    regexes: tuple[tuple[str, int], ...] = ()


def bind_rule(
    rule: Rule, columns: Sequence[str], keys: LogKeys, settings: Settings, type_of: Callable[[str], str]
) -> BoundRule:
    """Parse and bind one rule.

    Args:
        columns: those of the log, in table order. keys: how the rule set partitions and orders it.
        settings: the session's, where the event type's column is named if a rule does not.
        type_of: Spark's name of the type of an expression over the log.

    Raises:
        PatternParseError: the rule cannot be read.
        PatternAnalysisError: it names or combines what it may not; CEP_RULE_OUTPUT, it gives something else than
            matches; CEP_RULE_KEYS, CEP_RULE_SOURCE, CEP_RULE_PARAMETER, CEP_RULE_SUPPRESS,
            CEP_RULE_METADATA.
    """
    statement, form = read_rule(rule)
    suppress = suppressed_for(rule)
    render = Rewriter(statement).render

    if form.kind is OccurrenceKind.CLAUSE:
        clause = parse_clause(statement, form.body)
        query = bind(statement, clause, form.body, columns, frozenset(), render, settings, keys=keys)
        returned = query.measures
    else:
        query = bind_block(statement, form, columns, frozenset(), render, settings, type_of=type_of, keys=keys)
        returned = query.measures if query.has_return else ()
    _refuse(query, statement, form)
    own = query.partition_by[len(keys.partition_by) :]
    query = replace(
        query,
        measures=(
            *_common(query, returned, keys.event_id),
            *(replace(m, name=f"{VALUE}{n}") for n, m in enumerate(returned)),
        ),
        has_return=False,
        hidden_keys=len(own),
    )
    return BoundRule(rule, query, tuple(returned), suppress, regexes(statement))


def parse_rule(rule: Rule) -> None:
    """Parse a rule whose log is not known.

    Raises:
        PatternParseError, PatternAnalysisError: as for :func:`bind_rule`, for what its text alone tells.
    """
    statement, form = read_rule(rule)
    suppressed_for(rule)
    if form.kind is OccurrenceKind.CLAUSE:
        parse_clause(statement, form.body)
        return
    syntax = parse_block(statement, form)
    low, high = syntax.pattern
    parse_block_pattern(statement, (low, high), statement.tokens[high - 1].end)


def _refuse(query: PatternQuery, statement: Statement, form: PatternOccurrence) -> None:
    """Raises CEP_RULE_OUTPUT for what gives something else than one row for each match."""
    parts: dict[str, tuple[bool, int | None]] = {
        "aggregates over trends": (bool(query.trends), query.trends[0].position if query.trends else None),
        "UNCERTAINTY": (query.uncertainty is not None, query.uncertainty.position if query.uncertainty else None),
        "EXPLAIN NON ANSWERS": (
            query.non_answers is not None, query.non_answers.position if query.non_answers else None
        ),
        "GROUPS": (bool(query.groups), query.groups_position),
        "COLLAPSED": (query.collapsed, None),
        "timed-out matches": (query.timed_out, query.timed_out_position),
        query.rows_per_match.value: (query.rows_per_match is not RowsPerMatch.ONE, None),
    }  # fmt: skip
    for what, (found, position) in parts.items():
        if found:
            raise PatternAnalysisError(
                "CEP_RULE_OUTPUT",
                f"A rule gives a row for each of its matches; it cannot have {what}.",
                text=statement.text,
                position=form.keyword.start if position is None or position < 0 else position,
                hint="run it as a statement of its own",
            )


def _common(query: PatternQuery, returned: Sequence[Measure], event_id: str) -> tuple[Measure, ...]:
    """match_number, start_time, end_time and events, those with their ids where they have some."""
    time = query.order_by[0].expression
    number, start, end, events = default_measures(time, query.components)
    if event_id:
        (slot,) = (s for s in events.expression.slots if isinstance(s, Events))
        events = replace(events, expression=Scalar(("", replace(slot, event_id=event_id), "")))
    aggregates = any(isinstance(slot, Aggregate) for m in returned for slot in m.expression.slots)
    if (query.is_block or query.selection is not Selection.STRICT) and not aggregates:
        return number, start, end, events
    # Where Spark has the rows of a match, for its aggregates and under strict contiguity, it collects the events too.
    shown = {c.key: c.variable for c in query.components}
    label: tuple[str | RowMarker, ...] = (RowMarker.LABEL,)
    if any(key != variable for key, variable in shown.items()):
        names = " ".join(f"WHEN {string_literal(k)} THEN {string_literal(v)}" for k, v in shown.items())
        label = ("CASE ", RowMarker.LABEL, f" {names} END")
    more = f", 'id', {event_id}" if event_id else ""
    event = RowExpression(("named_struct('variable', ", *label, f", 'position', {PREFIX}self, 'time', {time}{more})"))
    collected = Aggregate("collect_list", (event,), False, None, False, False)
    return number, start, end, replace(events, expression=Scalar(("", collected, "")))
