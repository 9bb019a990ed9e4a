"""IMMEDIATELY behind a component of a pattern block: contiguity of one event, whatever the block's strategy."""

from __future__ import annotations

from collections.abc import Sequence

from sparkcep.query import POSITION, Component, Condition, Navigation, RowExpression, Scalar


def immediately(components: Sequence[Component]) -> list[Condition]:
    """Each event of a component that is marked so comes right after the event that the match took before it."""
    taken = tuple(c.key for c in components if not c.negated)
    position = RowExpression((POSITION,))
    out = []
    for c in components:
        if c.immediately:
            own = Navigation(position, (c.key,), False, 0, 0, True, c.position)
            before = Navigation(position, taken, False, 1, 0, True, c.position)
            scalar = Scalar(("", own, " = ", before, " + 1"), c.position)
            # The first event of a match has none before it.
            out.append(Condition(scalar, (c.key,), after=taken, source=f"{c.variable} IMMEDIATELY"))
    return out
