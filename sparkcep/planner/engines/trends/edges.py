"""What a block's conditions demand on each edge of the automaton, where they look at two adjacent events of a trend.

A trend is not constructed, so a condition can see the event that is taken and the one taken right before it. Whether
its slots point at these is told from the automaton: which components a path may have taken before it stands in a state.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sparkcep.exec.automaton import ACCEPT, Automaton, Edge, components_ahead, decided
from sparkcep.planner.conditions.match_conditions import describe
from sparkcep.planner.engines.trends.linear import Linear
from sparkcep.query import POSITION, Aggregate, Condition, Navigation, Scalar, TestedAt, unescape
from sparkcep.sql.lexicon import Token, pair_parentheses, tokenize

BEFORE, AFTER = "before", "after"
_FLIPPED = {"=": "=", "==": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_LOGICAL = frozenset("AND OR NOT BETWEEN IN IS LIKE ILIKE RLIKE CASE WHEN XOR EXISTS <> != <=> ! ->".split())


class NotAdjacent(Exception):
    """A condition looks at events that need not be adjacent in the trend."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """``before operator after``: row expressions of two adjacent events; ``operator`` is one of = < <= > >=.
    ``may_fail``: not to be evaluated for other events. ``linear``: the sides as integers made of columns, where they
    can be."""

    before: str
    operator: str
    after: str
    may_fail: bool = False
    linear: tuple[Linear, Linear] | None = None


@dataclass(frozen=True, slots=True)
class Demand:
    """What an edge demands: of the event before it, of the one it takes, and of both."""

    before: tuple[Scalar, ...] = ()
    after: tuple[Scalar, ...] = ()
    both: tuple[Scalar, ...] = ()


class EdgeConditions:
    """Resolves conditions on the edges of an automaton.

    Args:
        names: component keys; a code is a place here.
    """

    def __init__(self, automaton: Automaton, conditions: Sequence[Condition]) -> None:
        self.automaton = automaton
        self.conditions = conditions
        self.names = automaton.names
        self.earlier = self.reachable()
        self.ahead = components_ahead(automaton)

    def reachable(self) -> list[frozenset[int]]:
        """Per state the components that may have been taken before its event."""
        automaton = self.automaton
        found: list[frozenset[int]] = [frozenset()] * (automaton.states + 1)
        changed = True
        while changed:
            changed = False
            for s in range(automaton.states):
                through = found[s] | {automaton.components[s]}
                for e in automaton.edges[s]:
                    if e.target != ACCEPT and not through <= found[e.target]:
                        found[e.target] |= through
                        changed = True
        return found

    def demand(self, state: int, edge: Edge) -> Demand:
        """What an edge demands.

        Raises:
            NotAdjacent: it depends on more than two adjacent events.
        """
        before: list[Scalar] = []
        after: list[Scalar] = []
        both: list[Scalar] = []
        for condition in self.conditions:
            for scalar in self.resolved(condition, state, edge):
                sides = {s.variables for s in scalar.slots if isinstance(s, Navigation)}
                single = before if (BEFORE,) in sides or edge.target == ACCEPT else after
                into = both if len(sides) == 2 else single
                if scalar not in into:
                    into.append(scalar)
        return Demand(tuple(before), tuple(after), tuple(both))

    def resolved(self, c: Condition, state: int, edge: Edge) -> list[Scalar]:
        """The condition as it is tested on an edge, over the events BEFORE and AFTER; empty where it holds untested."""
        start = state == self.automaton.states
        own = -1 if start else self.automaton.components[state]
        codes = frozenset(self.names.index(k) for k in c.decided_by)
        beside = frozenset(self.names.index(k) for k in c.beside)
        if not decided(c.at, codes, beside, own, edge, self.ahead, state):
            return []
        if c.after and (start or self.names[own] not in c.after):
            return []
        tail = [(own, BEFORE)] * (not start) + [(edge.component, AFTER)] * (edge.target != ACCEPT)
        earlier = frozenset() if start else self.earlier[state]

        def count(keys: Sequence[str]) -> tuple[int, bool]:
            """How many events of these components stand at the end, and whether there may be more before."""
            of = {self.names.index(k) for k in keys}
            return sum(code in of for code, _ in tail), bool(of & earlier)

        if c.at is TestedAt.PASS and count(c.decided_by)[1]:
            raise self.far(c)
        for keys in c.required:
            known, more = count(keys)
            if not known and more:
                raise self.far(c)
            if not known:
                return []
        known, more = count(c.each or c.decided_by)
        if c.at is TestedAt.PASS and not c.each:
            return [self.filled(c, tail, earlier, None)]
        if c.each and c.minimum == 1 and not (known or more):
            return [self.filled(c, tail, earlier, 0)]
        if more and (c.each or c.first_only or known < c.minimum):
            raise self.far(c)
        if known < c.minimum or (c.first_only and known > 1):
            return []
        rounds = range(c.minimum, known + 1) if c.each else (known,)
        return [self.filled(c, tail, earlier, seen if c.each else None) for seen in rounds]

    def filled(
        self, c: Condition, tail: Sequence[tuple[int, str]], earlier: frozenset[int], seen: int | None
    ) -> Scalar:
        """A condition whose navigations point at the events of an edge, or are NULL where there is none.

        ``tail``: components of these events with their sides; ``earlier``: components that may have come before;
        ``seen``: how many events of an `each` count.

        Raises:
            NotAdjacent: an event is read that may lie further back.
        """
        pieces: list[str | Navigation] = []
        for p in c.scalar.pieces:
            if isinstance(p, str):
                pieces.append(p)
                continue
            if not isinstance(p, Navigation) or p.variables is None or p.physical or p.argument.markers:
                raise self.far(c)
            of = {self.names.index(k) for k in p.variables}
            events = [side for code, side in tail if code in of]
            if p.each and seen is not None:
                events = events[:seen]
            more = bool(of & earlier)
            place = p.logical if p.from_first else len(events) - 1 - p.logical
            if more and (p.from_first or place < 0):
                raise self.far(c)
            if 0 <= place < len(events):
                pieces.append(Navigation(p.argument, (events[place],), False, 0, 0, True, p.position))
            else:
                pieces.append("NULL")
        return Scalar(tuple(pieces), c.scalar.position)

    def far(self, c: Condition) -> NotAdjacent:
        """Why trends must be constructed for a condition; the caller raises it."""
        if any(isinstance(s, Aggregate) for s in c.scalar.slots):
            return NotAdjacent(f"{self.text(c)} aggregates over the events of a trend")
        return NotAdjacent(f"{self.text(c)} relates events that need not be adjacent in a trend")

    @staticmethod
    def text(c: Condition) -> str:
        """A condition as the user wrote it, or as near to that as is known."""
        return unescape(c.source) or describe(c.scalar)


def comparisons(scalar: Scalar) -> tuple[Comparison, ...]:
    """A test of two events as comparisons of one's value with the other's, none where it is no such test.

    Positions are known to the kernel alone, so that what compares them is its own.

    >>> from sparkcep.query import RowExpression
    >>> price = lambda side: Navigation(RowExpression(("price",)), (side,), False, 0, 0, True)
    >>> [(c.before, c.operator, c.after) for c in comparisons(Scalar((price(BEFORE), " * 2 > ", price(AFTER))))]
    [('price * 2', '>', 'price')]
    >>> price_between = price(AFTER), " BETWEEN ", price(BEFORE), " AND ", price(BEFORE), " + 9"
    >>> [c.operator for c in comparisons(Scalar(price_between))]
    ['<=', '>=']
    """
    text, owners = "", []
    for p in scalar.pieces:
        if isinstance(p, str):
            text += p
        elif isinstance(p, Navigation) and p.variables is not None and p.argument.text != POSITION:
            owners.append((len(text), p.variables[0]))
            value = p.argument.text
            text += value if re.fullmatch(r"\w+|`[^`]+`", value) else f"({value})"
        else:
            return ()
    tokens = tokenize(unescape(text))
    # Braces are doubled in the text, so offsets agree only where there are none.
    if "{" in text or "}" in text:
        return ()
    found = _operators(tokens)
    words = [tokens[i].upper for i in found]
    of_borders: tuple[str, ...]
    if words == ["BETWEEN", "AND"]:
        of_borders = (">=", "<=")
    elif len(words) == 1 and words[0] in _FLIPPED:
        of_borders = ("=" if words[0] == "==" else words[0],)
    else:
        return ()
    ends = [*(tokens[i].start for i in found), len(text)]
    begins = [0, *(tokens[i].end for i in found)]
    parts = [text[low:high].strip() for low, high in zip(begins, ends, strict=True)]
    sides = [{o for at, o in owners if low <= at < high} for low, high in zip(begins, ends, strict=True)]
    out = []
    for operator, border, side in zip(of_borders, parts[1:], sides[1:], strict=True):
        if (sides[0], side) == ({BEFORE}, {AFTER}):
            out.append(Comparison(parts[0], operator, border))
        elif (sides[0], side) == ({AFTER}, {BEFORE}):
            out.append(Comparison(border, _FLIPPED[operator], parts[0]))
        else:
            return ()
    return tuple(out)


def _operators(tokens: tuple[Token, ...]) -> list[int]:
    """Places of comparisons and logical words outside parentheses."""
    pairs = pair_parentheses(tokens)
    found = []
    i = 0
    while i < len(tokens):
        if tokens[i].upper in _FLIPPED or tokens[i].upper in _LOGICAL:
            found.append(i)
        i = pairs.get(i, i) + 1
    return found
