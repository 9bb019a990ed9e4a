"""COLLAPSED: which conditions are tested on each candidate, and which are left to whoever expands a match.

SASE++ (section 4) sorts conditions by what they keep true of an event when other events are dropped from the match.
A condition that looks at the event itself and at the first event of the match only is true-and-false-consistent: its
outcome is the same in every match of these ends, so it is tested here. All others are postponed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.automaton import ACCEPT, Automaton
from sparkcep.planner.conditions.consistency import is_consistent
from sparkcep.query import Condition, Matches, PatternQuery, Selection


@dataclass(frozen=True, slots=True)
class Collapse:
    """``postponed``: numbers of conditions that are not tested. ``exact``: every choice of candidates is a match."""

    postponed: frozenset[int]
    exact: bool


def first_component(automaton: Automaton) -> int:
    """The component that every match begins with and that stands nowhere else, or -1."""
    first = {e.component for e in automaton.initial}
    later = {e.component for edges in automaton.edges[:-1] for e in edges}
    return first.pop() if len(first) == 1 and not first & later else -1


def last_component(automaton: Automaton) -> int:
    """The component that every match ends with and that nothing follows, or -1."""
    last = {
        automaton.components[s] for s in range(automaton.states) if any(e.target == ACCEPT for e in automaton.edges[s])
    }
    followed = {
        automaton.components[s] for s in range(automaton.states) if any(e.target != ACCEPT for e in automaton.edges[s])
    }
    return last.pop() if len(last) == 1 and not last & followed else -1


def collapse(query: PatternQuery, automaton: Automaton, conditions: Sequence[Condition]) -> Collapse:
    """Plan COLLAPSED.

    Raises:
        PatternAnalysisError: CEP_COLLAPSED, for another strategy than SKIP TILL ANY MATCH, another mode than MATCHES
            ALL, and items in RETURN.
    """
    wrong = ""
    if query.selection is not Selection.ANY:
        wrong = f"COLLAPSED stands for the matches under SKIP TILL ANY MATCH, not {query.selection.value}."
    elif query.matches is not Matches.ALL:
        wrong = f"COLLAPSED stands for all matches, not {query.matches.value}."
    elif query.has_return:
        wrong = "A collapsed match has no items of its own: leave RETURN out."
    if wrong:
        raise PatternAnalysisError("CEP_COLLAPSED", wrong, text=query.text or None, position=query.start)
    first = first_component(automaton)
    key = automaton.names[first] if first >= 0 else ""
    negated = {c.key for c in query.components if c.negated}
    postponed = frozenset(
        k for k, c in enumerate(conditions) if not is_consistent(c, key) or negated & set(c.decided_by)
    )
    return Collapse(postponed, not postponed and is_exact(query, automaton))


def is_exact(query: PatternQuery, automaton: Automaton) -> bool:
    """Whether candidates, as many of each component as the pattern takes, are a match however they are chosen."""
    own = automaton.components
    after = [[e for e in edges if e.target != ACCEPT] for edges in automaton.edges[:-1]]
    later = {e.target for edges in after for e in edges}
    inner = {s for s in later if after[s]}  # where neither the first nor the last event stands
    first = {e.component for e in automaton.initial}
    last = {own[s] for s in later if any(e.target == ACCEPT for e in automaton.edges[s])}
    if not all(query.tells_apart([automaton.names[c] for c in ends]) for ends in (first, last)):
        return False
    if not inner:
        return True
    repeats = any(e.target in inner for s in inner for e in after[s])
    crossed = any(e.guarded for edges in after for e in edges)
    # Events of one time exclude each other under STRICT TIME.
    return len({own[s] for s in inner}) == 1 and not crossed and not (query.strict_time and repeats)
