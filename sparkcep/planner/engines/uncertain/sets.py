"""Which Kleene variables of a block with UNCERTAINTY are sets, and why the others are sequences.

Under SKIP TILL ANY MATCH the worlds in which the same events match as members of one Kleene variable are one match,
whatever their order, unless something depends on that order. What holds or fails for each member alone, and an
aggregate over all of them, does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkcep.exec.automaton import Automaton
from sparkcep.query import Aggregate, Condition, Navigation, PatternQuery, Selection, Slot, TestedAt

#: Aggregates whose value is the same in any order of the rows.
ORDER_FREE = frozenset({"count", "sum", "min", "max", "avg", "mean"})


def why_sequences(query: PatternQuery, automaton: Automaton, conditions: Sequence[Condition]) -> Mapping[int, str]:
    """For the code of each Kleene component of the match why its members are a sequence; empty where they are a set.

    Args:
        conditions: all that depend on more than one event.
    """
    negated_between = {
        e.component
        for s, own in enumerate(automaton.edges[:-1])
        for e in own
        if e.component == automaton.components[s] and e.absent
    }
    out: dict[int, str] = {}
    for code, key in enumerate(automaton.names):
        component = query.component(key)
        if not component.kleene or component.negated:
            continue
        ordered = next((c for c in conditions if depends_on_order(c, key)), None)
        if query.selection is not Selection.ANY:
            out[code] = "SKIP TILL NEXT MATCH takes events in their order"
        elif code in negated_between:
            out[code] = "a negation stands between its members"
        elif ordered is not None:
            out[code] = f"{ordered.source} depends on the order of its members"
        else:
            out[code] = ""
    return out


def depends_on_order(c: Condition, key: str) -> bool:
    """Whether a condition may tell two orders of a component's events apart."""
    decides = key in c.decided_by
    known = [s for s in c.scalar.slots if isinstance(s, (Navigation, Aggregate))]
    own = [s for s in known if s.variables is None or key in s.variables]
    if not own and not decides:
        return False
    if len(known) < len(c.scalar.slots):
        return True
    if decides and (c.first_only or c.after):
        return True
    if c.minimum > 1 and key in (c.each or c.decided_by):
        return True
    taking = decides and c.at is TestedAt.TAKE
    return not all(_is_order_free(s, taking, key in c.each) for s in own)


def _is_order_free(slot: Slot, taking: bool, each: bool) -> bool:
    """Whether a slot over a component's events has one value whatever their order, or is meant for each event alone.

    ``taking``: the condition is tested on taking an event of the component. ``each``: it is tested for each of them
    when all are there.
    """
    if isinstance(slot, Aggregate):
        whole = not slot.each and not slot.before and not taking
        return whole and slot.function.lower() in ORDER_FREE
    assert isinstance(slot, Navigation)
    alone = slot.each if each else taking
    return alone and not slot.from_first and slot.logical == 0 and slot.physical == 0
