"""MATCHES ... WITH TIMED OUT: also the run of each start event that WITHIN ended before it could be a match."""

from __future__ import annotations

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.automaton import Automaton
from sparkcep.query import Measure, PatternQuery, Scalar, Waiting


def check_timed_out(query: PatternQuery, automaton: Automaton) -> None:
    """Refuse WITH TIMED OUT of a pattern whose first event a negation stands before.

    Raises:
        PatternAnalysisError: CEP_TIMED_OUT.
    """
    if automaton.negates_before:
        raise PatternAnalysisError(
            "CEP_TIMED_OUT",
            "A negation before the first event looks back from where a match ends, and a run that timed out does not.",
            text=query.text or None,
            position=query.timed_out_position,
            hint="leave WITH TIMED OUT out, or the negation",
        )


def waiting_slot(query: PatternQuery) -> Waiting:
    """The component that a run lacks, by the names that users gave."""
    return Waiting(tuple(c.variable for c in query.components))


def timed_out_measures(query: PatternQuery) -> tuple[Measure, ...]:
    """The columns ``timed_out`` and ``waiting_for``."""
    waiting = waiting_slot(query)
    return (
        Measure("timed_out", Scalar(("", waiting, " IS NOT NULL"))),
        Measure("waiting_for", Scalar(("", waiting, ""))),
    )
