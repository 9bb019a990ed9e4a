"""How many rows of a match stand at least before, and behind, those of a variable."""

from __future__ import annotations

from sparkcep.pattern import Alternation, Pattern, Permutation, Quantified, Variable, children


def shortest(node: Pattern) -> int:
    """Rows of the shortest match of a pattern, conditions aside.

    >>> from sparkcep.pattern import Concatenation
    >>> shortest(Concatenation((Variable("A"), Quantified(Variable("B"), 2, None))))
    3
    """
    if isinstance(node, Variable):
        return 1
    if isinstance(node, Alternation):
        return min(shortest(i) for i in node.items)
    if isinstance(node, Quantified):
        return node.minimum * shortest(node.item)
    return sum(shortest(i) for i in children(node))


def rows_before(node: Pattern, variable: str) -> int:
    """Rows that any match has before a row of the variable, at least.

    >>> from sparkcep.pattern import Concatenation
    >>> rows_before(Concatenation((Variable("A"), Quantified(Variable("B"), 1, None))), "B")
    1
    """
    return _beside(node, variable, first=True) or 0


def rows_after(node: Pattern, variable: str) -> int:
    """Rows that any match has behind a row of the variable, at least."""
    return _beside(node, variable, first=False) or 0


def _beside(node: Pattern, variable: str, first: bool) -> int | None:
    """Rows on one side of any of the variable's within a node; None where it has none."""
    if isinstance(node, Variable):
        return 0 if node.name == variable else None
    items = children(node)
    found: list[int] = []
    for k, item in enumerate(items):
        own = _beside(item, variable, first)
        if own is None:
            continue
        others = items[:k] if first else items[k + 1 :]
        # Of a permutation any item may stand at either end.
        fixed = not isinstance(node, (Alternation, Permutation))
        found.append(own + (sum(shortest(i) for i in others) if fixed else 0))
    return min(found, default=None)
