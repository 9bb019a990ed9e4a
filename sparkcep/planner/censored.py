"""OMIT CENSORED MATCHES: leave out matches that depend on what comes after the log's end.

A match that ends in a negation with WITHIN w is decided once an event later than its first event's time plus w is
known: only then can no forbidden event follow. Until then it is censored, as survival analysis says of what is
observed for a shorter time than it takes. The log's last event is that of all partitions, since a partition that has
ended tells nothing about how far the log goes. Of WITH TIMED OUT, a run that may still become a match is censored.

Where one match is preferred for each start event, and SKIP goes on behind it, an earlier start or a longer match may
still take the place of any match until that time. Under strict contiguity the matcher sees which start rows more rows
could decide otherwise (kernels.rows); there WITHIN only says which rows may still be taken.
"""

from __future__ import annotations

from dataclasses import replace
from zlib import crc32

from sqlglot import exp

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.automaton import ACCEPT, Automaton
from sparkcep.exec.engines.rows.program import AT_END
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.kernels.rows.rows import MATCHING_OVER, PASSED_OVER
from sparkcep.planner.engines.runs.timed_out import waiting_slot
from sparkcep.planner.measures import MeasureSql
from sparkcep.query import (
    PREFIX,
    SOURCE,
    Matches,
    MatchNumber,
    Navigation,
    PatternQuery,
    RowExpression,
    RowMarker,
    SkipMode,
    string_literal,
    unescape,
)
from sparkcep.sql.lexicon import parse_expression

_COLUMN = PREFIX + "end"


def log_end_name(query: PatternQuery) -> str:
    """How SQL of a plan names the relation of one row that holds the time of the log's last event."""
    part = "" if query.between is None else f"_{crc32(repr(query.between).encode())}"  # rules of a set start alike
    return f"{PREFIX}log_end_{query.start}{part}"


def log_end(query: PatternQuery) -> str:
    """SQL of that time."""
    return f"(SELECT {_COLUMN} FROM {{{log_end_name(query)}}})"


def log_end_sql(query: PatternQuery) -> str:
    """The statement over ``{SOURCE}``, the form's whole input, that gives the time of the log's last event."""
    key = query.order_by[0].expression
    where = ""
    if query.between is not None:
        low, high = query.between
        where = f" WHERE ({key}) BETWEEN ({low}) AND ({high})"
    return f"{query.with_prefix}SELECT max({key}) AS {_COLUMN} FROM {{{SOURCE}}}{where}"


def check_censored_runs(query: PatternQuery, automaton: Automaton, *, looks_ahead: bool) -> None:
    """Refuse OMIT CENSORED MATCHES where no match can be censored, or it cannot be told which.

    Args:
        looks_ahead: an expression looks at the row behind another one.

    Raises:
        PatternAnalysisError: CEP_CENSORED.
    """
    wrong, hint = "", ""
    guarded, free = _accepting(automaton)
    chosen = query.matches is not Matches.ALL
    if not guarded and not query.timed_out and not chosen:
        wrong = "The pattern does not end in a negation, so each of its matches is decided."
        hint = "leave OMIT CENSORED MATCHES out"
    elif query.within is None and not guarded:
        wrong = "Without WITHIN an earlier or a longer match may take a match's place until the partition's end."
        hint = "add WITHIN: how long after its first event a match may go on"
    elif query.within is None:
        wrong = "Without WITHIN a trailing negation is never decided before the partition's end."
        hint = "add WITHIN: how long after the first event a forbidden event counts"
    elif chosen and query.skip.mode is not SkipMode.TO_NEXT_ROW and names_columns(query.within):
        wrong = "WITHIN differs by row, so that a match may be decided before one that would take its place."
        hint = "give WITHIN one length for all rows"
    elif looks_ahead:
        wrong = "With EVENT SELECTION, OMIT CENSORED MATCHES cannot be combined with NEXT, whose row may come later."
        hint = "add a variable for that row to the pattern"
    elif not chosen and (guarded & free or (query.collapsed and free)):
        wrong = "Matches that end alike may end in the negation or not, so it is unknown which are censored."
        hint = "give the alternatives that end in the negation and the others different components"
    if wrong:
        raise _censored(query, wrong, hint)


def names_columns(expression: str) -> bool:
    """Whether an expression may have another value in another row."""
    parsed = parse_expression(unescape(expression))
    return parsed is None or parsed.find(exp.Column) is not None


def _accepting(automaton: Automaton) -> tuple[frozenset[int], frozenset[int]]:
    """Components behind which a match may end only where a negation is absent, and those without such a condition."""
    guarded: set[int] = set()
    free: set[int] = set()
    for component, edges in zip(automaton.components, automaton.edges[:-1], strict=True):
        for edge in edges:
            if edge.target == ACCEPT:
                (guarded if edge.absent else free).add(component)
    return frozenset(guarded), frozenset(free)


def decided_sql(query: PatternQuery, automaton: Automaton, measures: MeasureSql, within: str) -> str:
    """SQL over the operator's output that is true of matches that are not censored.

    Args:
        within: the interval, as it is added to the ORDER BY key.
    """
    key = query.order_by[0].expression
    bound = Navigation(RowExpression((f"(({key}) + ({within}))",)), None, True, 0, 0, False)
    measures.slot_column(bound)
    decided = f"{measures.slot_columns[bound]} < {log_end(query)}"
    guarded, free = _accepting(automaton)
    if query.matches is not Matches.ALL or (guarded and not free):
        return decided
    certain = []
    if query.timed_out:
        waiting = waiting_slot(query)
        measures.slot_column(waiting)
        certain.append(f"{measures.slot_columns[waiting]} IS NULL")
    if guarded:
        label = Navigation(RowExpression((RowMarker.LABEL,)), None, False, 0, 0, False)
        measures.slot_column(label)
        names = ", ".join(string_literal(automaton.names[c]) for c in sorted(guarded))
        certain.append(f"{measures.slot_columns[label]} NOT IN ({names})")
    return f"(({' AND '.join(certain)}) OR {decided})"


def censored_rows(query: PatternQuery, spec: MatchSpec) -> MatchSpec:
    """The spec of a clause under strict contiguity, with what becomes of rows that more rows could decide otherwise.

    Behind such a row nothing is decided: its match may be numbered, shown, or skipped past. Only where the search goes
    on at the next row whatever it finds is each row decided by itself.

    Raises:
        PatternAnalysisError: CEP_CENSORED.
    """
    if not query.omit_censored:
        return spec
    if (spec.program.edge_condition & AT_END).any():
        raise _censored(
            query, "`$` holds where the log ends, so that each match that needs it is censored.",
            "leave `$` out, or OMIT CENSORED MATCHES",
        )  # fmt: skip
    numbered = spec.conditions.numbered or any(
        isinstance(s, MatchNumber) for m in query.measures for s in m.expression.slots
    )
    alone = spec.skip is SkipMode.TO_NEXT_ROW and not numbered and not spec.rows_per_match.has_unmatched
    return replace(spec, undecided=PASSED_OVER if alone else MATCHING_OVER)


def _censored(query: PatternQuery, wrong: str, hint: str) -> PatternAnalysisError:
    return PatternAnalysisError(
        "CEP_CENSORED", wrong, text=query.text or None, position=query.censored_position, hint=hint
    )
