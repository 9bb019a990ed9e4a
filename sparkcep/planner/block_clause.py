"""A block and a clause in each other's form: what both share, and what types say of a block's WITHIN."""

from __future__ import annotations

import re
from dataclasses import replace

from sparkcep.block import BlockQuery, Component, Condition, Matches, Selection
from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.conditions.expressions import TIMES
from sparkcep.pattern import Negation, can_be_empty, has_exclusion, variables, walk
from sparkcep.planner.plan import Analyzer
from sparkcep.query import (
    Aggregate,
    Events,
    KeyExpression,
    MatchNumber,
    Measure,
    Navigation,
    PatternQuery,
    RowExpression,
    RowsPerMatch,
    Scalar,
    Skip,
    SkipMode,
    Slot,
    SortKey,
)

_NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?)\s*")


def partitions(block: BlockQuery) -> bool:
    """Whether unqualified equivalence tests make partitions."""
    return block.selection is not Selection.STRICT or block.partition_contiguity


def clause_of(block: BlockQuery, time_type: str) -> tuple[PatternQuery, int]:
    """A block's keys, order and outputs in the form of MATCH_RECOGNIZE, and how many last keys it hides."""
    order = list(block.order_by)
    if block.tiebreak is not None:
        order.append(SortKey(block.tiebreak))
    keys = list(block.partition_by)
    shown = {k.expression.strip("`").casefold() for k in keys}
    hidden = []
    for e in block.equivalences if partitions(block) else ():
        if not e.components and e.expression.text.strip().strip("`").casefold() not in shown:
            hidden.append(KeyExpression(e.expression.text.strip(), e.position))
    within = block.within
    if within is not None and (number := _NUMBER.fullmatch(within)) and time_type in TIMES:
        within = f"INTERVAL '{number[1]}' SECOND"
    query = PatternQuery(
        columns=block.columns,
        partition_by=(*keys, *hidden),
        order_by=tuple(order),
        event_type=block.event_type,
        measures=block.returns or default_measures(block),
        rows_per_match=RowsPerMatch.ONE,
        skip=Skip(SkipMode.PAST_LAST_ROW),
        pattern=block.pattern,
        within=within,
        within_position=block.within_position,
        subsets=(),
        definitions=(),
        identifiers=block.identifiers,
        wanted=block.wanted,
        partition_predicate=block.partition_predicate,
        with_prefix=block.with_prefix,
        text=block.text,
        start=block.start,
    )
    # RETURN lists all that is wanted; without it equivalence tests make partition columns like any other.
    return query, len(query.partition_by) if block.returns else 0


def default_measures(block: BlockQuery) -> tuple[Measure, ...]:
    """match_number, start_time, end_time, events."""
    time = block.order_by[0].expression
    start = Navigation(RowExpression((time,)), None, True, 0, 0, False)
    end = Navigation(RowExpression((time,)), None, False, 0, 0, False)
    shown = tuple(c.variable for c in block.components)
    slots: dict[str, Slot] = {
        "match_number": MatchNumber(),
        "start_time": start,
        "end_time": end,
        "events": Events(time, shown),
    }
    wanted = block.wanted
    return tuple(
        Measure(name, Scalar(("", slot, "")))
        for name, slot in slots.items()
        if wanted is None or name in wanted or name == "match_number"
    )


def typed_block(block: BlockQuery, analyze: Analyzer) -> tuple[BlockQuery, PatternQuery, int]:
    """A block whose WITHIN has a unit, its clause, and how many last keys the clause hides.

    Raises:
        PatternAnalysisError: CEP_ORDER_MISSING.
    """
    if not block.order_by:
        raise PatternAnalysisError(
            "CEP_ORDER_MISSING", "A pattern block needs an ORDER BY.", text=block.text or None, position=block.start
        )
    time_type = analyze([block.order_by[0].expression])[0][1]
    query, hidden = clause_of(block, time_type)
    return (block if query.within == block.within else replace(block, within=query.within)), query, hidden


def block_clause(block: BlockQuery) -> PatternQuery:
    """What a block shares with MATCH_RECOGNIZE, before types are known."""
    return clause_of(block, "")[0]


def block_of(query: PatternQuery) -> BlockQuery:
    """A MATCH_RECOGNIZE with EVENT SELECTION as a block: variables are its components, DEFINE its conditions."""
    negated = {name for n in walk(query.pattern) if isinstance(n, Negation) for name in variables(n)}
    names = variables(query.pattern)
    what = ""
    if query.rows_per_match is RowsPerMatch.ALL_WITH_UNMATCHED:
        what = query.rows_per_match.value
    elif query.rows_per_match.is_all and has_exclusion(query.pattern):
        what = "{- -} with ALL ROWS PER MATCH"
    elif can_be_empty(query.pattern):
        what = "a pattern that may be empty"
    if what:
        raise PatternAnalysisError(
            "CEP_UNSUPPORTED_SELECTION",
            f"{query.selection.value} cannot have {what}.",
            text=query.text or None,
            position=query.start,
            hint="use STRICT CONTIGUITY, ONE ROW PER MATCH, or a pattern with a mandatory component",
        )
    conditions = []
    for definition in query.definitions:
        own = definition.variable
        for conjunct in definition.conjuncts:
            read: tuple[tuple[str, ...], ...] = ()
            if own in negated:  # it is decided when what it reads has been taken
                slots = [s for s in conjunct.slots if isinstance(s, (Navigation, Aggregate)) and s.variables]
                read = tuple(dict.fromkeys(s.variables for s in slots if s.variables and own not in s.variables))
            conditions.append(Condition(conjunct, (own,), required=read, source=definition.source))
    components = tuple(Component(name, name, (), negated=name in negated) for name in names)
    return BlockQuery(
        columns=query.columns, partition_by=query.partition_by, order_by=query.order_by, event_type=None,
        components=components, pattern=query.pattern, conditions=tuple(conditions), equivalences=(),
        selection=query.selection, matches=Matches.NON_OVERLAPPING, collapsed=False, strict_time=False,
        within=query.within, within_position=query.within_position, slide=None, between=None, returns=query.measures,
        trends=(), group_by=(), groups=(), uncertainty=None, confidence=None, non_answers=query.non_answers,
        tiebreak=None,
        identifiers=query.identifiers, wanted=query.wanted, partition_predicate=query.partition_predicate,
        with_prefix=query.with_prefix, text=query.text, start=query.start,
    )  # fmt: skip
