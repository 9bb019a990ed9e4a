"""The pattern tree: frozen dataclasses, no text, no Spark.

Names follow ISO/IEC 19075-5 (row pattern recognition).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Variable:
    """A primary pattern variable. ``position`` is its character offset in the statement."""

    name: str
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Concatenation:
    """One item after the other; rows of two neighbours are adjacent unless the strategy skips events."""

    items: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """Branches in order of preference."""

    items: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Permutation:
    """``PERMUTE(...)``: every order of the items, preferred in lexicographic order of their places.

    An earlier order is preferred whatever ways a later one has to match.
    """

    items: tuple[Pattern, ...]
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Quantified:
    """``maximum`` None means unbounded; ``greedy`` False is the reluctant form."""

    item: Pattern
    minimum: int
    maximum: int | None
    greedy: bool = True


@dataclass(frozen=True, slots=True)
class Exclusion:
    """``{- item -}``: matched, but left out of ALL ROWS PER MATCH."""

    item: Pattern


@dataclass(frozen=True, slots=True)
class Empty:
    """``()``"""


@dataclass(frozen=True, slots=True)
class Anchor:
    """``^`` (start of the partition) or ``$`` (its end)."""

    at_start: bool


@dataclass(frozen=True, slots=True)
class Negation:
    """``!item``: no match of the item between the events before and after it (skip strategies)."""

    item: Pattern
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Conjunction:
    """``AND(p, q)``: for counts of trends only (GRETA, section 9)."""

    items: tuple[Pattern, ...]
    position: int = field(default=0, compare=False)


Pattern: TypeAlias = (
    Variable
    | Concatenation
    | Alternation
    | Permutation
    | Quantified
    | Exclusion
    | Empty
    | Anchor
    | Negation
    | Conjunction
)


def children(node: Pattern) -> tuple[Pattern, ...]:
    """The direct children of a node."""
    if isinstance(node, (Concatenation, Alternation, Permutation, Conjunction)):
        return node.items
    if isinstance(node, (Quantified, Exclusion, Negation)):
        return (node.item,)
    return ()


def walk(node: Pattern) -> Iterator[Pattern]:
    """All nodes, parents first, in textual order; without recursion, patterns may nest deeply."""
    stack = [node]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def flattened(node: Pattern) -> Iterator[Pattern]:
    """The items of a sequence, with those of sequences in it in their places; anything else is its own."""
    if isinstance(node, Concatenation):
        for item in node.items:
            yield from flattened(item)
    else:
        yield node


def variables(node: Pattern) -> tuple[str, ...]:
    """Names of the primary pattern variables in order of first appearance."""
    return tuple(dict.fromkeys(n.name for n in walk(node) if isinstance(n, Variable)))


def has_exclusion(node: Pattern) -> bool:
    """Whether ``{- -}`` occurs."""
    return any(isinstance(n, Exclusion) for n in walk(node))


def repeats(node: Pattern) -> bool:
    """Whether a match may have any number of rows.

    >>> repeats(Quantified(Variable("A"), 1, None))
    True
    """
    return any(isinstance(n, Quantified) and n.maximum is None for n in walk(node))


def renamed(node: Pattern, names: Mapping[str, str]) -> Pattern:
    """The pattern with other names for its variables.

    >>> render(renamed(Concatenation((Variable("A"), Negation(Variable("B")))), {"A": "x", "B": "y"}))
    'x !y'
    """
    if isinstance(node, Variable):
        return replace(node, name=names[node.name])
    if isinstance(node, (Quantified, Exclusion, Negation)):
        return replace(node, item=renamed(node.item, names))
    if isinstance(node, (Concatenation, Alternation, Permutation, Conjunction)):
        return replace(node, items=tuple(renamed(i, names) for i in node.items))
    return node


def can_be_empty(node: Pattern) -> bool:
    """Whether the pattern has a match without rows (anchors are taken as satisfied)."""
    return can_do_without(node, variables(node))


def can_do_without(node: Pattern, names: Collection[str]) -> bool:
    """Whether the pattern has a match without rows of these variables (anchors are taken as satisfied)."""
    if isinstance(node, Variable):
        return node.name not in names
    if isinstance(node, Negation):
        return True
    if isinstance(node, Alternation):
        return any(can_do_without(i, names) for i in node.items)
    if isinstance(node, Quantified):
        return node.minimum == 0 or can_do_without(node.item, names)
    return all(can_do_without(i, names) for i in children(node))


def mandatory(node: Pattern) -> frozenset[str]:
    """Variables that every match takes at least once."""
    if isinstance(node, Variable):
        return frozenset([node.name])
    if isinstance(node, Negation) or (isinstance(node, Quantified) and node.minimum == 0):
        return frozenset()
    parts = [mandatory(child) for child in children(node)]
    if isinstance(node, Alternation):
        return frozenset.intersection(*parts)
    return frozenset().union(*parts)


def taken_before(node: Pattern, name: str, at: str) -> bool:
    """Whether every match has taken a variable before each row of another one.

    >>> a, b = Variable("A"), Variable("B")
    >>> taken_before(Concatenation((a, Quantified(b, 1, None))), "A", "B")
    True
    >>> taken_before(Concatenation((b, a)), "A", "B")
    False
    """
    if at not in variables(node):
        return True
    if isinstance(node, (Variable, Negation, Conjunction)):
        return False
    for item in children(node):
        if not taken_before(item, name, at):
            return False
        if isinstance(node, Concatenation) and name in mandatory(item):
            return True
    return True


def directly_before(node: Pattern, name: str) -> frozenset[str]:
    """Variables that the row before a row of ``name`` may have; with "" where it may be the match's first, and for
    patterns that have no order of their own.

    >>> a, b = Variable("A"), Variable("B")
    >>> sorted(directly_before(Concatenation((a, Quantified(b, 1, None))), "B"))
    ['A', 'B']
    """
    if any(isinstance(n, (Permutation, Negation, Conjunction)) for n in walk(node)):
        return frozenset([""])
    firsts, _, neighbours = _borders(node)
    return frozenset([a for a, b in neighbours if b == name] + [""] * (name in firsts))


def _borders(node: Pattern) -> tuple[set[str], set[str], set[tuple[str, str]]]:
    """Variables that a pattern's first and last row may have, and pairs that may stand side by side."""
    if isinstance(node, Variable):
        return {node.name}, {node.name}, set()
    firsts, lasts, pairs = set[str](), set[str](), set[tuple[str, str]]()
    begins = True  # nothing before an item, or nothing that takes a row
    for item in children(node):
        first, last, inner = _borders(item)
        optional = isinstance(node, Alternation) or can_be_empty(item)
        pairs |= inner
        if not isinstance(node, Alternation):
            pairs |= {(a, b) for a in lasts for b in first}
        firsts |= first if begins else set()
        lasts = last | (lasts if optional else set())
        begins = begins and optional
    if isinstance(node, Quantified) and (node.maximum is None or node.maximum > 1):
        pairs |= {(a, b) for a in lasts for b in firsts}
    return firsts, lasts, pairs


def matches_one_way(node: Pattern) -> bool:
    """Whether the pattern has at most one match that begins with a given row: nothing in it is a choice."""
    if isinstance(node, (Alternation, Permutation)):
        return False
    if isinstance(node, Quantified) and node.minimum != node.maximum:
        return False
    return all(matches_one_way(i) for i in children(node))


def render(node: Pattern) -> str:
    """The pattern as text, for EXPLAIN."""
    if isinstance(node, Variable):
        return node.name if node.name.isidentifier() else "`" + node.name.replace("`", "``") + "`"
    if isinstance(node, Concatenation):
        return " ".join(f"({render(i)})" if isinstance(i, Alternation) else render(i) for i in node.items)
    if isinstance(node, Alternation):
        return " | ".join(render(i) for i in node.items)
    if isinstance(node, Permutation):
        return "PERMUTE(" + ", ".join(render(i) for i in node.items) + ")"
    if isinstance(node, Exclusion):
        return "{- " + render(node.item) + " -}"
    if isinstance(node, Conjunction):
        return "AND(" + ", ".join(render(i) for i in node.items) + ")"
    if isinstance(node, Negation):
        return "!" + (render(node.item) if isinstance(node.item, Variable) else f"({render(node.item)})")
    if isinstance(node, Anchor):
        return "^" if node.at_start else "$"
    if isinstance(node, Quantified):
        inner = render(node.item)
        if not isinstance(node.item, (Variable, Permutation, Exclusion, Anchor, Conjunction)):
            inner = f"({inner})"
        low, high = node.minimum, node.maximum
        sign = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
        if sign is None:
            sign = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
        return inner + sign + ("" if node.greedy else "?")
    return "()"
