"""Conditions that tie a negated event to the match, where its events have no certain order.

The probability that no such event lies in a gap is worked out once the match is complete. That is the meaning of the
condition where it then reads what it reads when the ordinary engines decide it: of a variable before the negation all
events, of a variable behind it the only one.
"""

from __future__ import annotations

from collections.abc import Iterator

from sparkcep.pattern import Pattern, Permutation, Quantified, Variable, children, walk
from sparkcep.query import Aggregate, Condition, Navigation, Selection


def why_untied(condition: Condition, key: str, pattern: Pattern, negated: set[str], selection: Selection) -> str:
    """Why the probability of a negation under a condition is not worked out; empty where it is.

    Args:
        key: of the negated component. negated: keys of all negated components.
    """
    read = [s.variables or () for s in condition.scalar.slots if isinstance(s, (Navigation, Aggregate))]
    others = set(condition.named)
    others |= {k for keys in condition.awaited for k in keys}
    others -= {key}
    if others & negated:
        return "it relates two negated events"
    if any(isinstance(n, Permutation) for n in walk(pattern)):
        return "it ties a negated event to a match whose components have no order"
    order = [n.name for n in walk(pattern) if isinstance(n, Variable)]
    repeated = set(_repeated(pattern, False))
    if key in repeated:
        return "it ties a negated event that is repeated to the match"
    behind = others & set(order[order.index(key) :])
    if behind & repeated or any(len(keys) > 1 and behind & set(keys) for keys in read):
        return "it ties a negated event to a repeated one after it"
    if behind and selection is Selection.NEXT:
        return "under SKIP TILL NEXT MATCH it may be tied to events before it only"
    return ""


def _repeated(node: Pattern, inside: bool) -> Iterator[str]:
    """Components that a match may take more than once; of a negation, those that it may have more than one gap for."""
    if isinstance(node, Variable):
        if inside:
            yield node.name
        return
    inside |= isinstance(node, Quantified) and node.maximum != 1
    for child in children(node):
        yield from _repeated(child, inside)
