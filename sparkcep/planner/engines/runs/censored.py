"""OMIT CENSORED MATCHES: leave out matches whose trailing negation is not decided when the log ends.

A match that ends in a negation with WITHIN w is decided once an event later than its first event's time plus w is
known: only then can no forbidden event follow. Until then it is censored, as survival analysis says of what is
observed for a shorter time than it takes. The log's last event is that of all partitions, since a partition that has
ended tells nothing about how far the log goes. Of WITH TIMED OUT, a run that may still become a match is censored.
"""

from __future__ import annotations

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.automaton import ACCEPT, Automaton
from sparkcep.planner.engines.runs.timed_out import waiting_slot
from sparkcep.planner.measures import MeasureSql
from sparkcep.query import PREFIX, SOURCE, Navigation, PatternQuery, RowExpression, RowMarker, string_literal

#: How the statement names the relation of one row that holds the time of the log's last event.
LOG_END = PREFIX + "log_end"
_COLUMN = PREFIX + "end"


def check_censored(query: PatternQuery, automaton: Automaton) -> None:
    """Refuse OMIT CENSORED MATCHES where no match can be censored, or it cannot be told which.

    Raises:
        PatternAnalysisError: CEP_CENSORED.
    """
    wrong, hint = "", ""
    guarded, free = _accepting(automaton)
    if not guarded and not query.timed_out:
        wrong = "The pattern does not end in a negation, so each of its matches is decided."
        hint = "leave OMIT CENSORED MATCHES out"
    elif query.within is None:
        wrong = "Without WITHIN a trailing negation is never decided before the partition's end."
        hint = "add WITHIN: how long after the first event a forbidden event counts"
    elif guarded & free or (query.collapsed and free):
        wrong = "Matches that end alike may end in the negation or not, so it cannot be told which are censored."
        hint = "give the alternatives that end in the negation and the others different components"
    if wrong:
        raise PatternAnalysisError(
            "CEP_CENSORED", wrong, text=query.text or None, position=query.censored_position, hint=hint
        )


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
    decided = f"{measures.slot_columns[bound]} < (SELECT {_COLUMN} FROM {{{LOG_END}}})"
    guarded, free = _accepting(automaton)
    if guarded and not free:
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


def log_end_sql(query: PatternQuery) -> str:
    """The statement over ``{SOURCE}``, the block's whole input, that gives the time of the log's last event."""
    key = query.order_by[0].expression
    where = ""
    if query.between is not None:
        low, high = query.between
        where = f" WHERE ({key}) BETWEEN ({low}) AND ({high})"
    return f"{query.with_prefix}SELECT max({key}) AS {_COLUMN} FROM {{{SOURCE}}}{where}"
