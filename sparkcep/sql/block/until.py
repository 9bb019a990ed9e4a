"""UNTIL, a clause of a block: an event that must not come between a match's first and last event."""

from __future__ import annotations

from dataclasses import replace

from sparkcep.pattern import Alternation, Concatenation, Negation, Pattern, Permutation, Quantified, Variable


class NotSayable(Exception):
    """A pattern for which UNTIL has no long form; the message says of what kind it is."""


def until(pattern: Pattern, negation: Negation) -> Pattern:
    """The pattern with a negation before each event but the first and, where it ends in a negation, behind it.

    >>> from sparkcep.pattern import render
    >>> render(until(Concatenation((Variable("A"), Variable("B"))), Negation(Variable("U"))))
    'A !U B'

    Raises:
        NotSayable: the first event may be left out or repeated, or stands in PERMUTE or AND.
    """
    ended = Concatenation((pattern, negation)) if _ends_in_negation(pattern) else pattern
    return _between(ended, negation, True)


def _between(node: Pattern, negation: Negation, first: bool) -> Pattern:
    if isinstance(node, Negation):
        return node
    if isinstance(node, Variable):
        return node if first else Concatenation((negation, node))
    if isinstance(node, Concatenation):
        items: list[Pattern] = []
        for item in node.items:
            between = _between(item, negation, first)
            items += between.items if isinstance(between, Concatenation) else (between,)
            first = first and isinstance(item, Negation)
        return Concatenation(tuple(items))
    if isinstance(node, Alternation):
        return Alternation(tuple(_between(i, negation, first) for i in node.items))
    if first:
        raise NotSayable("begins with an event that may be left out, repeated or in any order")
    if isinstance(node, Permutation):
        return replace(node, items=tuple(_between(i, negation, False) for i in node.items))
    assert isinstance(node, Quantified)
    return replace(node, item=_between(node.item, negation, False))


def _ends_in_negation(node: Pattern) -> bool:
    if isinstance(node, Concatenation):
        return _ends_in_negation(node.items[-1])
    if isinstance(node, (Alternation, Permutation)) and any(map(_ends_in_negation, node.items)):
        raise NotSayable("ends in alternatives with a negation behind them")
    if isinstance(node, Quantified) and _ends_in_negation(node.item):
        raise NotSayable("ends in a negation that may be left out or repeated")
    return isinstance(node, Negation)
