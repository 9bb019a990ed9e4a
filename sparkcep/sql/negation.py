"""What may stand under `!` and what `!` may stand under: one rule for both surface forms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sparkcep.pattern import (
    Alternation,
    Anchor,
    Conjunction,
    Exclusion,
    Negation,
    Pattern,
    Permutation,
    Quantified,
    Variable,
    can_be_empty,
    children,
    variables,
    walk,
)


@dataclass(frozen=True, slots=True)
class NegationFault:
    """A sentence and a hint for the user, and the offset in the statement that they are about."""

    message: str
    hint: str
    position: int


def negation_fault(root: Pattern) -> NegationFault | None:
    """What is wrong with the negations of a pattern, if anything is."""
    negations = [n for n in walk(root) if isinstance(n, Negation)]
    if not negations:
        return None
    if not _has_event(root):
        return NegationFault(
            "The pattern has no event that is not negated.", "PATTERN SEQ(A a, !B b)", negations[0].position
        )
    for negation in negations:
        if isinstance(negation.item, Negation):
            return NegationFault("A negation cannot be negated itself.", "leave both out", negation.position)
        if can_be_empty(negation.item):
            return NegationFault(
                "The negated pattern can be empty, so it occurs everywhere and nothing can match.",
                "write !B for !B*",
                negation.position,
            )
        if any(isinstance(n, (Exclusion, Anchor)) for n in walk(negation.item)):
            return NegationFault("{- -}, ^ and $ mean nothing inside a negation.", "leave them out", negation.position)
    for node in walk(root):
        # A part that may stand alone, or more than once, needs an event that it is about.
        parts: tuple[Pattern, ...] = ()
        if isinstance(node, (Alternation, Conjunction, Permutation)):
            parts = node.items
        elif isinstance(node, (Quantified, Exclusion)):
            parts = (node.item,)
        for part in parts:
            alone = next((n for n in walk(part) if isinstance(n, Negation)), None)
            if alone is not None and not _has_event(part):
                return NegationFault(
                    "A branch or a repeated group needs an event that is not negated.",
                    "write !(B+), or put the negation into the sequence around it",
                    alone.position,
                )
    return None


def _outside(node: Pattern) -> Iterator[Pattern]:
    """Nodes outside of negations."""
    stack = [node]
    while stack:
        node = stack.pop()
        if not isinstance(node, Negation):
            yield node
            stack.extend(children(node))


def _has_event(node: Pattern) -> bool:
    return any(isinstance(n, Variable) for n in _outside(node))


def negated_only(root: Pattern) -> frozenset[str]:
    """Variables that stand under a negation wherever they stand."""
    positive = {n.name for n in _outside(root) if isinstance(n, Variable)}
    return frozenset(variables(root)) - positive
