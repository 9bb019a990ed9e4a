"""Compile a pattern with negation to a deterministic automaton over components (Glushkov's, made deterministic).

A match is its sequence of (component, event), so the automaton reads components: copies that `{n,m}` makes of one are
the same letter, and each match is exactly one path. Every edge takes an event. Successors are in order of preference.
What a negation forbids lies on the edges that step over it: ``absent`` are negations of which there must be none
between the two events, ``present`` those of which there must be one (only where copies of a component would otherwise
be told apart by a negation between them).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.instructions import DONE, OTHER, PER_POSITION, SPLIT, TAKE, Instructions, too_large
from sparkcep.pattern import (
    Alternation,
    Concatenation,
    Exclusion,
    Negation,
    Pattern,
    Quantified,
    can_be_empty,
    render,
)
from sparkcep.query import TestedAt

ACCEPT = -1
#: Most negations between two events that a choice among copies of a component may depend on.
_MAXIMUM_GUARDS = 6


@dataclass(frozen=True, slots=True)
class Edge:
    """``target``: state or ACCEPT. ``component``: code, -1 for ACCEPT. ``ends``: leaves a Kleene that might go on.

    ``absent``, ``present``: numbers of negations that must not, or must, occur between the two events.
    """

    target: int
    component: int
    absent: frozenset[int] = frozenset()
    present: frozenset[int] = frozenset()
    ends: bool = False

    @property
    def guarded(self) -> bool:
        """Whether a negation stands between the two events."""
        return bool(self.absent or self.present)


@dataclass(frozen=True, slots=True)
class NegatedPattern:
    """A negation's own automaton."""

    item: Pattern
    automaton: Automaton


@dataclass(frozen=True, slots=True)
class Automaton:
    """States 0 to S - 1 with their edges; the initial edges are those of ``edges[S]``.

    ``names``: component keys, their codes are places. ``components`` (S,): what each state has just taken.
    ``negations``: what the numbers in edges' guards mean.
    """

    names: tuple[str, ...]
    components: tuple[int, ...]
    edges: tuple[tuple[Edge, ...], ...]
    negations: tuple[NegatedPattern, ...]

    @property
    def states(self) -> int:
        """How many there are; the initial one, which has taken nothing, is not counted."""
        return len(self.components)

    @property
    def initial(self) -> tuple[Edge, ...]:
        """Where a match may begin: edges in order of preference that no event comes before."""
        return self.edges[-1]

    @property
    def negates_before(self) -> bool:
        """Whether a negation stands before the first event."""
        return any(e.guarded for e in self.initial)

    @property
    def negates_behind(self) -> bool:
        """Whether a negation stands behind the last event."""
        return any(e.guarded for edges in self.edges for e in edges if e.target == ACCEPT)

    def taken(self, state: int) -> int:
        """The component that a state has just taken; -1 for the initial one."""
        return self.components[state] if state < self.states else -1

    def describe(self, shown: Mapping[str, str] | None = None) -> str:
        """One line per state, for EXPLAIN. ``shown``: component keys to what users call them."""

        def name(state: int) -> str:
            key = self.names[self.components[state]]
            return f"{(shown or {}).get(key, key)}.{state}"

        def edge(e: Edge) -> str:
            text = "accept" if e.target == ACCEPT else name(e.target)
            text += "".join(f" unless {render(self.negations[n].item)}" for n in sorted(e.absent))
            return text + "".join(f" if {render(self.negations[n].item)}" for n in sorted(e.present))

        lines = []
        for state in (self.states, *range(self.states)):
            head = "start" if state == self.states else name(state)
            lines.append(f"{head} -> {', '.join(map(edge, self.edges[state])) or 'dead end'}")
        return "\n".join(lines)


#: NOT carries a negation's number. LOOP is a SPLIT that decides whether a Kleene goes on; its argument is the way out
#: that ends it. ENTER is where a Kleene begins whose iterations may take nothing: to pass it and to leave before an
#: event is taken ends no Kleene.
_NOT, _LOOP, _ENTER = OTHER, OTHER + 1, OTHER + 2


@dataclass(slots=True)
class _Move:
    """A way from an instruction to the next event (or to acceptance) over these negations."""

    target: int
    crossed: frozenset[int]
    ends: bool


class _Compiler(Instructions):
    def __init__(self, codes: Mapping[str, int], limit: int, negations: list[NegatedPattern]) -> None:
        super().__init__(codes, limit)
        self.negations = negations
        #: Ways into an unbounded loop's body, (instruction, which of its ways), to the loop.
        self.again: dict[tuple[int, int], int] = {}
        #: LOOPs to the ENTER of their Kleene.
        self.entered: dict[int, int] = {}

    def other(self, node: Pattern, after: int) -> int:
        if isinstance(node, Negation):
            for item in reversed(alternatives(node.item)):
                here = self.emit(_NOT, self.negation(Negation(item, node.position)))
                self.next[here] = [after]
                after = here
            return after
        if isinstance(node, Exclusion):
            return self.add(node.item, after)
        raise PatternAnalysisError(
            "CEP_UNSUPPORTED_PATTERN", f"{render(node)} has no meaning under the skip strategies."
        )

    def negation(self, node: Negation) -> int:
        """A number for each place: what is between depends on where it stands, its automaton does not."""
        if can_be_empty(node.item):
            raise PatternAnalysisError(
                "CEP_EMPTY_NEGATION",
                f"{render(node)} excludes the empty sequence, so nothing can match.",
                hint="negate a pattern that takes at least one event",
            )
        automaton = compile_automaton(node.item, tuple(self.codes), self.limit, self.negations, False, False)
        # The automaton says nothing that the pattern does not.
        for number, known in enumerate(self.negations):
            if known.item == node.item:
                return number
        self.negations.append(NegatedPattern(node.item, automaton))
        return len(self.negations) - 1

    def quantified(self, node: Quantified, after: int) -> int:
        """`x{n,m}`: n copies, then up to m - n optional ones, or a loop."""
        if not can_be_empty(node.item) or node.maximum == 1:
            return self.copies(node, after)
        enter = self.emit(_ENTER)
        low = len(self.kind)
        self.next[enter] = [self.copies(node, after)]
        for k in range(low, len(self.kind)):
            if self.kind[k] == _LOOP:
                self.entered.setdefault(k, enter)  # those of Kleenes inside have theirs
        return enter

    def copies(self, node: Quantified, after: int) -> int:
        """The way past an optional part is a SPLIT where nothing of the Kleene was taken, a LOOP behind a copy."""
        several = node.maximum is None or node.maximum > 1

        def choice(body: int, kind: int) -> int:
            here = self.emit(kind)
            self.next[here] = [body, after] if node.greedy else [after, body]
            return here

        if node.maximum is None:
            loop = self.emit(_LOOP, int(node.greedy))
            body = self.add(node.item, loop)
            self.next[loop] = [body, after] if node.greedy else [after, body]
            self.again[loop, 1 - int(node.greedy)] = loop
            if node.minimum == 0:
                entry = choice(body, SPLIT)
                self.again[entry, 1 - int(node.greedy)] = loop
                return entry
            entry, rest = body, node.minimum - 1
            if can_be_empty(node.item):
                entry, rest = loop, node.minimum
        else:
            entry = after
            for k in range(node.maximum - node.minimum):
                first = node.minimum == 0 and k == node.maximum - 1
                body = self.add(node.item, entry)
                entry = choice(body, SPLIT if first or not several else _LOOP)
                if not first and several:
                    self.argument[entry] = int(node.greedy)
            rest = node.minimum
        return self.repeated(node.item, rest, entry)

    def moves(self, start: int) -> list[_Move]:
        """Ways on from an instruction in order of preference; one that an earlier way makes superfluous is left out.

        An iteration of a loop that takes nothing is not continued, so a loop under way is not come back to.
        """
        out: list[_Move] = []
        none: frozenset[int] = frozenset()
        seen: dict[tuple[int, frozenset[int], frozenset[int]], list[tuple[frozenset[int], bool]]] = {}
        stack = [(start, none, False, none, none)]
        while stack:
            at, crossed, ends, loops, entered = stack.pop()
            earlier = seen.setdefault((at, loops, entered), [])
            if at in loops or any(c <= crossed and e <= ends for c, e in earlier):
                continue
            earlier.append((crossed, ends))
            kind = self.kind[at]
            if kind in (TAKE, DONE):
                out.append(_Move(self.argument[at] if kind == TAKE else ACCEPT, crossed, ends))
            elif kind == _NOT:
                stack.append((self.next[at][0], crossed | {self.argument[at]}, ends, loops, entered))
            elif kind == _ENTER:
                stack.append((self.next[at][0], crossed, ends, loops, entered | {at}))
            else:
                # Which way out ends the Kleene.
                leave = -1 if kind == SPLIT or self.entered.get(at) in entered else self.argument[at]
                for k in reversed(range(len(self.next[at]))):
                    under_way = loops | {self.again[at, k]} if (at, k) in self.again else loops
                    stack.append((self.next[at][k], crossed, ends or k == leave, under_way, entered))
        return out


def alternatives(item: Pattern) -> list[Pattern]:
    """Patterns none of which may match where ``item`` must not; simpler ones where that is the same."""
    if isinstance(item, Alternation):
        return [a for i in item.items for a in alternatives(i)]
    if isinstance(item, Quantified) and item.minimum == 1:  # x+ is there where x is
        return alternatives(item.item)
    if isinstance(item, Concatenation) and len(item.items) == 1:
        return alternatives(item.items[0])
    return [item]


def _resolved(moves: Sequence[_Move], component: int, ordered: bool, leaves: bool) -> Iterator[tuple[list[int], Edge]]:
    """Positions that one component leads to, as edges that exclude each other.

    ``moves``: all ways to the component (or to acceptance), in order. Where negations decide which of them are open,
    there is one edge for each outcome; if ``ordered`` also where they decide which of them comes first, if ``leaves``
    whether a Kleene that might go on is left.
    """
    if component == ACCEPT:  # one target, and no Kleene goes on
        ordered = leaves = False
    guards = sorted(frozenset().union(*(m.crossed for m in moves)))
    order = list(dict.fromkeys(m.target for m in moves))
    ends = all(m.ends for m in moves)
    always = [m for m in moves if not m.crossed]
    all_open = {m.target for m in always} == set(order)
    decides = ordered or (leaves and all(m.ends for m in always) != ends)
    # Beyond so many negations the order is that of the ways which are always open.
    if all_open and not (decides and 0 < len(guards) <= _MAXIMUM_GUARDS):
        yield list(dict.fromkeys(m.target for m in always)), Edge(0, component, ends=ends)
    else:
        yield from _outcomes(moves, component, guards, order, ordered, leaves)


def _outcomes(
    moves: Sequence[_Move], component: int, guards: Sequence[int], order: Sequence[int], ordered: bool, leaves: bool
) -> Iterator[tuple[list[int], Edge]]:
    """See :func:`_resolved`; by all sets of negations that are absent."""
    if len(guards) > _MAXIMUM_GUARDS:
        raise PatternAnalysisError(
            "CEP_PROGRAM_TOO_LARGE", f"More than {_MAXIMUM_GUARDS} negations are between the same two events."
        )
    whole = all(m.ends for m in moves)
    found: dict[tuple[tuple[int, ...], bool], list[frozenset[int]]] = {}
    for flags in itertools.product((True, False), repeat=len(guards)):
        absent = frozenset(g for g, flag in zip(guards, flags, strict=True) if flag)
        free = [m for m in moves if m.crossed <= absent]
        targets = tuple(dict.fromkeys(m.target for m in free))
        if not ordered:
            targets = tuple(t for t in order if t in targets)
        if targets:
            ends = all(m.ends for m in free) if leaves else whole
            found.setdefault((targets, ends), []).append(absent)
    for (targets, ends), cases in found.items():
        for absent, present in _cubes(cases, frozenset(guards)):
            yield list(targets), Edge(0, component, absent, present, ends)


def _cubes(cases: list[frozenset[int]], guards: frozenset[int]) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    """Cases (sets of absent negations) as disjoint pairs (must be absent, must be present)."""
    common = frozenset.intersection(*cases)
    free = guards - common
    if len(cases) == 1 << len(free):
        yield common, frozenset()
        return
    for absent in cases:
        yield absent, guards - absent


def compile_automaton(
    pattern: Pattern,
    names: tuple[str, ...],
    limit: int,
    negations: list[NegatedPattern] | None = None,
    ordered: bool = True,
    leaves: bool = True,
) -> Automaton:
    """The automaton of a pattern over component keys.

    Args:
        ordered: whether the order of matches, which negations may decide, is asked for.
        leaves: whether it matters that an event leaves a Kleene that might go on (SKIP TILL NEXT MATCH).

    Raises:
        LimitError: CEP_PROGRAM_TOO_LARGE.
        PatternAnalysisError: CEP_EMPTY_NEGATION, CEP_UNSUPPORTED_PATTERN (anchors).
    """
    shared = [] if negations is None else negations
    compiler = _Compiler({name: k for k, name in enumerate(names)}, limit, shared)
    done = compiler.emit(DONE)
    entry = compiler.add(pattern, done)
    after: dict[int, list[_Move]] = {}
    ways = 0
    for i, kind in enumerate(compiler.kind):
        if kind == TAKE:
            after[compiler.argument[i]] = moves = compiler.moves(compiler.next[i][0])
            ways += len(moves)
            if ways > PER_POSITION * limit:
                raise too_large(limit)
    numbers: dict[tuple[int, ...], int] = {}
    order: list[tuple[int, ...]] = []

    def number(positions: Sequence[int]) -> int:
        key = tuple(positions)
        if key not in numbers:
            if len(order) >= limit:
                raise too_large(limit)
            numbers[key] = len(order)
            order.append(key)
        return numbers[key]

    def edges(moves: Sequence[_Move]) -> tuple[Edge, ...]:
        groups: dict[int, list[_Move]] = {}
        for move in moves:
            component = ACCEPT if move.target == ACCEPT else compiler.labels[move.target]
            groups.setdefault(component, []).append(move)
        out = []
        for component, some in groups.items():
            for targets, edge in _resolved(some, component, ordered, leaves):
                target = ACCEPT if component == ACCEPT else number(targets)
                out.append(Edge(target, component, edge.absent, edge.present, edge.ends))
        return tuple(out)

    initial = edges([m for m in compiler.moves(entry) if m.target != ACCEPT])
    table: list[tuple[Edge, ...]] = []
    size = 0
    while len(table) < len(order):
        table.append(edges([m for p in order[len(table)] for m in after[p]]))
        size += len(table[-1])
        if size > PER_POSITION * limit:
            raise too_large(limit)
    components = tuple(compiler.labels[key[0]] for key in order)
    # The numbers of negations are shared with the pattern around this one, which may still add to them.
    return Automaton(names, components, (*table, initial), tuple(shared) if negations is None else ())


def components_ahead(automaton: Automaton) -> list[int]:
    """Of each state, the initial one too, the components that can still be taken, as bits of a number."""
    ahead = [0] * (automaton.states + 1)
    changed = True
    while changed:
        changed = False
        # Most edges lead to later states: these first.
        for s in reversed(range(len(ahead))):
            found = ahead[s]
            for edge in automaton.edges[s]:
                if edge.target != ACCEPT:
                    found |= ahead[edge.target] | 1 << edge.component
            if found != ahead[s]:
                ahead[s], changed = found, True
    return ahead


def decided(
    at: TestedAt, by: frozenset[int], beside: frozenset[int], before: int, edge: Edge,
    ahead: Sequence[int], state: int,
) -> bool:  # fmt: skip
    """Whether a condition of components ``by`` is tested as a run goes on over an edge of a state.

    ``beside``: see :class:`sparkcep.query.Condition`. ``before``: the state's component. ``ahead``: of every state, as
    :func:`components_ahead` gives it.
    """
    if at is TestedAt.TAKE:
        return edge.component in by
    if at is TestedAt.LEAVE:
        return before in by and edge.component not in by
    behind = 0 if edge.target == ACCEPT else ahead[edge.target]
    awaited = sum(1 << component for component in by | beside)
    return before not in by and edge.component not in by and bool(awaited & ahead[state]) and not awaited & behind


def events_left(targets: Sequence[Sequence[int]]) -> list[int]:
    """Of each state, the fewest events before a match may end; their number where it comes to no end.

    Args:
        targets: of each state's edges, states or ACCEPT.
    """
    most = len(targets)  # a shortest way passes no state twice
    left = [most] * most
    changed = True
    while changed:
        changed = False
        for s, following in enumerate(targets):
            least = min([left[s], *(0 if t == ACCEPT else left[t] + 1 for t in following)])
            if least < left[s]:
                left[s], changed = least, True
    return left
