"""Strategies of single components, which override the whole pattern's: `B b IMMEDIATELY`, `C c SKIP TILL ANY MATCH`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkcep.pattern import Concatenation, Negation, Pattern, Variable, mandatory
from sparkcep.query import POSITION, Component, Condition, Navigation, RowExpression, Scalar, Selection

#: Strategies of one component, by the words behind it.
STEPS = {
    "IMMEDIATELY": Selection.STRICT,
    "SKIP TILL NEXT MATCH": Selection.NEXT,
    "SKIP TILL ANY MATCH": Selection.ANY,
}


def by_step(
    selection: Selection, components: Sequence[Component], pattern: Pattern
) -> tuple[Selection, tuple[Component, ...]]:
    """The strategy of a block whose components may have their own, and its components with the one that each has.

    An event that comes IMMEDIATELY is never waited for, so it forbids nobody else to ignore it. In a sequence nobody
    else waits, and a condition is enough.
    """
    own = {c.step for c in components if not c.negated} - {None, selection}
    items = pattern.items if isinstance(pattern, Concatenation) else (pattern,)
    alone = selection is not Selection.NEXT or all(isinstance(i, (Variable, Negation)) for i in items)
    if not own or (own == {Selection.STRICT} and alone):
        return selection, tuple(components)
    return Selection.BY_STEP, tuple(c if c.negated else replace(c, step=c.step or selection) for c in components)


def immediately(components: Sequence[Component]) -> list[Condition]:
    """Each event of a component that is marked so comes right after the event that the match took before it; none of
    a negated one does."""
    taken = tuple(c.key for c in components if not c.negated)
    out = []
    for n, c in enumerate(components):
        if c.step is not Selection.STRICT:
            continue
        before = tuple(b.key for b in components[:n] if not b.negated) if c.negated else taken
        own, last = _place((c.key,), c), _place(before, c, 0 if c.negated else 1)
        scalar = Scalar(("", own, " = ", last, " + 1"), c.position)
        source = f"{c.variable} IMMEDIATELY"
        if c.negated:
            out.append(Condition(scalar, (c.key,), awaited=(before,), source=source))
        else:  # The first event of a match has none before it.
            out.append(Condition(scalar, (c.key,), after=taken, source=source))
    return out


def _place(keys: tuple[str, ...], c: Component, back: int = 0) -> Navigation:
    """The place of the last event of some components, or of one before that, for a condition on a component."""
    return Navigation(RowExpression((POSITION,)), keys, False, back, 0, True, c.position)


def not_the_next(
    components: Sequence[Component], pattern: Pattern, named: frozenset[str]
) -> list[Condition] | Component:
    """`!B n IMMEDIATELY` in front of a component that takes a B itself: that is not the very next event either.

    Args:
        named: keys of components that conditions name.

    Returns:
        Conditions; or the negated component, of which the next event may be one and may be none.
    """
    out = []
    always = mandatory(pattern)
    for n, c in enumerate(components):
        if not c.negated or c.step is not Selection.STRICT:
            continue
        before = tuple(b.key for b in components[:n] if not b.negated)
        for y in components[n + 1 :]:
            if y.negated:
                continue
            alike = not c.types or not y.types or set(c.types) & set(y.types)
            if alike and (c.key in named or (c.types and not set(c.types) >= set(y.types or ("",)))):
                return c
            if alike:
                own, last = _place((y.key,), c), _place(before, c)
                scalar = Scalar(("coalesce(", own, " > ", last, " + 1, true)"), c.position)
                out.append(Condition(scalar, (y.key,), first_only=True, source=f"!{c.variable} IMMEDIATELY"))
            if y.key in always:
                break
    return out
