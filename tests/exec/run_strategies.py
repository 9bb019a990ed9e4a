"""Random cases for the engines of the event selection strategies.

A case holds what an engine gets (block.Condition, components, pattern) and what the reference gets, so a test reads
``assert engine(case) == case.reference()``. Left out are patterns where one run can stand at several places because of
counting (``((A{1,2} B?)+``), and conditions on leaving v that name what may be taken after v was left. Features are
counted by tests/exec/features.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from sparkcep.pattern import (
    Alternation,
    Concatenation,
    Empty,
    Exclusion,
    Negation,
    Pattern,
    Permutation,
    Quantified,
    Variable,
    can_do_without,
    children,
    render,
    variables,
    walk,
)
from sparkcep.query import (
    Aggregate,
    Component,
    Condition,
    Matches,
    Navigation,
    RowExpression,
    Scalar,
    Selection,
    Slot,
    TestedAt,
)
from sparkcep.sql.permutations import unordered
from sparkcep.sql.strategies import by_step, immediately

from .reference_runs import Path, ReferenceCondition, reference_runs
from .strategies import row_pattern

TYPES = ("A", "B", "C", "D")
MAXIMUM_COMPONENTS = 6
MAXIMUM_ROWS = 10
SELECTIONS = (Selection.NEXT, Selection.NEXT, Selection.ANY, Selection.ANY, Selection.STRICT)
MATCHES = (Matches.ALL, Matches.ALL, Matches.NON_OVERLAPPING, Matches.FIRST)
#: Patterns in which conditions and strategies decide much; the others are random.
SHAPES = """A B+ C; A B C; A+ B+; A B* C; (A+ B)+; A+; A (B | C)+ D; (A | B)+ C; A B? C+; A+ A; A B{1,2} C; A B+ A
A B{2,} C; A B+? C; A (B C)+ D; A (B? C?)+ D; (A* | B)+ C; A B{1,2}? C; A B{2,}? C; (A B?){1,2}? C*?
(A* B?)+ C; (A B? | C?)+ D; (A? | B+)+
A B? C; A? B C; A B* C* D; A (B | C) D; A (B C)? D; A (B+ | C) D?; A* B+; A B{0,2} C; (A | B C?) D; A? B? C"""
NEGATIONS = """A !C B; A+ !C B; A !C B+; A !C B D; A+ !C B* D; (A !C B)+; A !C !D B; A !(C D) B; A !(C | D) B; A B+ !C
A !(C !D B) A; !C A B+; !C A+; A !C B? D; A !(C+) B; (A !C B+ D)+; A (!C B | D) A; A+ !B; A !C B+ D+
A B* !C D; A B* !C D+; A B? !C D; A B* !C; A B? !C; A (B D)* !C A; A (B | D) !C A; A (B | D)* !C A; A (B | D?) !C A
B* !C A; A B* !C D* !C A; (A B* !C D)+; A (B* !C | D) A; A !C B*; A !C B* D; A (B D?)* !C A; A B{0,2} !C D; A B*? !C D
A !C (B | D); A !C (B | D)+; A !C B?; A !C B? D
A (!C B? D)+; (A* !C B?)+ D; (A | B) !C (B D)* A; A? !C B; A !C B D?; (A | B) !C D; A B? !C D A?"""
#: Patterns of a block in which components come in any order.
ORDERS = """PERMUTE(A, B); PERMUTE(A+, B, C); A PERMUTE(B, C) D; A PERMUTE(B+, C); PERMUTE(A, B C?) D; PERMUTE(A | B, C)
PERMUTE(A, B)+; (A PERMUTE(B, C))+; PERMUTE(A+?, B) C; PERMUTE(A?, B+); A PERMUTE(B, A) C; PERMUTE(PERMUTE(A, B), C)"""
ORDERS_AND_NEGATIONS = """A PERMUTE(B+, !D C); PERMUTE(A !C B, D); A !D PERMUTE(B, C); PERMUTE(A, B) !C D
A PERMUTE(B, C) !D; PERMUTE(A !C, B, D+); !C PERMUTE(A, B); A PERMUTE(!D B, C?); (PERMUTE(A, !C B))+"""
#: Patterns of MATCH_RECOGNIZE: what a block does not have, and variables at several places.
CLAUSES = """PERMUTE(A, B); PERMUTE(A+, B, C); PERMUTE(A+?, B, C); PERMUTE(A, B C?, B); PERMUTE(A | B, C)
A PERMUTE(B, C) D; PERMUTE(A?, B, C); PERMUTE(A*, B) C; PERMUTE(PERMUTE(A, B), C); PERMUTE(A, B){1,2}; (PERMUTE(A, B+))+
A B A; A+ B A+; A+ B | A+ C; A B | A C D; (A | B) A
{- A -} B; PERMUTE({- A -}, B+); PERMUTE(A !C B, D); PERMUTE(A, B) !C D
PERMUTE(A+, B) !C A; A PERMUTE(B*, C+); (A B)+ A B; A? A; () A+ B; A (() | B) C; PERMUTE(A !C, B, D+)"""
QUANTIFIERS = ((0, None), (1, None), (1, None), (0, 1), (1, 2), (0, 2), (2, None))
#: Quantifiers of what stands next to a negation.
NEIGHBOURS = ((0, 1), (0, None), (1, None))
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
}
AGGREGATES: dict[str, Callable[[list[int]], Any]] = {
    "avg": lambda values: sum(values) / len(values),
    "sum": sum,
    "min": min,
    "max": max,
    "count": len,
}
V = RowExpression(("v",))
W = RowExpression(("w",))
Keys = tuple[str, ...]


@dataclass(frozen=True, repr=False)
class RunCase:
    """One partition and one query. ``types``, ``values`` (column v) and ``times`` have an entry per row."""

    pattern: Pattern
    components: tuple[Component, ...]
    types: tuple[str, ...]
    values: tuple[int | None, ...]
    times: tuple[int, ...]
    conditions: tuple[Condition, ...]
    references: tuple[ReferenceCondition, ...] = field(compare=False)
    selection: Selection
    matches: Matches
    within: int | None
    strict_time: bool

    def __repr__(self) -> str:
        log = " ".join(f"{e}@{t}={v}" for e, t, v in zip(self.types, self.times, self.values, strict=True))
        keys = ", ".join(f"{c.key} of {c.variable}: {'|'.join(c.types) or 'every row'}" for c in self.components)
        lines = [f"PATTERN {render(self.pattern)}  ({keys})", f"{self.selection.value}, {self.matches.value}"]
        lines += [f"WITHIN {self.within}"] * (self.within is not None) + ["STRICT TIME"] * self.strict_time
        return "\n  ".join(["RunCase:", *lines, *map(describe, self.conditions), f"log {log}"])

    def can_take(self, key: str, row: int) -> bool:
        types = next(c.types for c in self.components if c.key == key)
        return not types or self.types[row] in types

    def reference(self) -> list[Path]:
        times, width = self.times, self.within
        bounds: dict[str, Callable[[int, int], bool]] = {}
        if width is not None:
            bounds["within"] = bounds["trailing"] = lambda first, row: times[row] <= times[first] + width
            bounds["leading"] = lambda last, row: times[row] >= times[last] - width
        return reference_runs(
            self.pattern,
            len(times),
            self.can_take,
            self.references,
            self.selection,
            self.matches,
            strict_time=times if self.strict_time else None,
            steps={c.key: c.step for c in self.components if c.step is not None},
            **bounds,
        )


def describe(condition: Condition) -> str:
    vacuous = f"required={condition.required} minimum={condition.minimum} first_only={condition.first_only}"
    vacuous += f" awaited={condition.awaited}"
    return (
        f"{condition.source}  {condition.at.value} {condition.decided_by} {vacuous} "
        f"after={condition.after} each={condition.each}"
    )


def scrambled(value: int | None) -> int | None:
    """w of an event, by its v."""
    return None if value is None else 5 * value % 7


# Conditions, written once and given twice: as a scalar with slots and as a Python function.


@dataclass(frozen=True)
class Operand:
    """``FIRST``, ``LAST`` (with an offset) or an aggregate of v over the events of a variable; ``scrambled``: of w,
    which v determines, but which has another order. ``default``: instead of NULL."""

    function: str
    keys: Keys
    offset: int = 0
    each: bool = False
    before: bool = False
    scrambled: bool = False
    default: int | None = None

    @property
    def pieces(self) -> tuple[str | Slot, ...]:
        return (self.slot,) if self.default is None else ("coalesce(", self.slot, f", {self.default})")

    @property
    def slot(self) -> Slot:
        if self.function in AGGREGATES:
            return Aggregate(self.function, (V,), False, self.keys, True, False, each=self.each, before=self.before)
        of = W if self.scrambled else V
        return Navigation(of, self.keys, self.function == "FIRST", self.offset, 0, True, each=self.each)

    @property
    def text(self) -> str:
        marks = f"{' each' * self.each}{' before' * self.before}"
        column = "w" if self.scrambled else "v"
        text = f"{self.function}({'/'.join(self.keys)}.{column}{f', {self.offset}' * bool(self.offset)}{marks})"
        return text if self.default is None else f"coalesce({text}, {self.default})"

    def value(self, path: Path, k: int | None, column: tuple[int | None, ...]) -> Any:
        value = self.known(path, k, column)
        return self.default if value is None else value

    def known(self, path: Path, k: int | None, column: tuple[int | None, ...]) -> Any:
        rows = [row for key, row in path if key in self.keys]
        if self.each and k is not None:
            rows = rows[: k + 1]
        if self.before:
            rows = rows[:-1]
        if self.function in AGGREGATES:
            known = [value for row in rows if (value := column[row]) is not None]
            return AGGREGATES[self.function](known) if known or self.function == "count" else None
        place = self.offset if self.function == "FIRST" else len(rows) - 1 - self.offset
        value = column[rows[place]] if 0 <= place < len(rows) else None
        return scrambled(value) if self.scrambled else value


@dataclass(frozen=True)
class Comparison:
    left: Operand
    operator: str
    right: Operand | int

    @property
    def scalar(self) -> Scalar:
        if isinstance(self.right, int):
            return Scalar((*self.left.pieces, f" {self.operator} {self.right}"))
        return Scalar((*self.left.pieces, f" {self.operator} ", *self.right.pieces))

    @property
    def text(self) -> str:
        return f"{self.left.text} {self.operator} {self.right if isinstance(self.right, int) else self.right.text}"

    def test(self, column: tuple[int | None, ...]) -> Callable[..., bool]:
        def holds(path: Path, k: int | None = None) -> bool:
            left = self.left.value(path, k, column)
            right = self.right if isinstance(self.right, int) else self.right.value(path, k, column)
            return left is not None and right is not None and OPERATORS[self.operator](left, right)

        return holds


Draft = tuple[Comparison, Condition]


def draft(left: Operand, operator: str, right: Operand | int, by: Keys, **fields: Any) -> Draft:
    comparison = Comparison(left, operator, right)
    return comparison, Condition(comparison.scalar, by, source=comparison.text, **fields)


def as_reference(comparison: Comparison, condition: Condition, column: tuple[int | None, ...]) -> ReferenceCondition:
    c = condition
    return ReferenceCondition(
        c.decided_by,
        c.at,
        comparison.test(column),
        c.required,
        c.minimum,
        c.first_only,
        c.after,
        c.each,
        c.awaited,
        c.beside,
    )


def last(keys: Keys, offset: int = 0, **marks: bool) -> Operand:
    return Operand("LAST", keys, offset, **marks)


def one_variable(draw: st.DrawFn, w: Keys) -> Draft:
    """A condition that names one variable of the match."""
    kind = draw(st.sampled_from(["value", "step", "first", "before", "next"]))
    operator, constant = draw(st.sampled_from(list(OPERATORS))), draw(st.integers(0, 3))
    if kind == "value":
        return draft(last(w), operator, constant, w, first_only=draw(st.booleans()))
    if kind == "step":
        return draft(last(w), operator, last(w, 1), w, minimum=2)
    if kind == "first":
        return draft(last(w), operator, Operand("FIRST", w), w, minimum=draw(st.integers(1, 2)))
    if kind == "before":
        return draft(last(w), operator, Operand(draw(AGGREGATE_NAMES), w, before=True), w, minimum=2)
    return draft(last(w, 1), operator, last(w), w, after=w)


def leaving(draw: st.DrawFn, w: Keys, settled: list[Keys]) -> list[Draft]:
    """A condition on leaving w, and where it is of w as a whole, on taking none of w; ``settled`` are variables that
    are taken before w only."""
    operator, function = draw(st.sampled_from(list(OPERATORS))), draw(AGGREGATE_NAMES)
    others = ["other", "other", "each other"] * bool(settled)
    kind = draw(st.sampled_from(["constant", "constant", "last", "first", "each", "each before", *others]))
    if kind == "each":
        return [draft(last(w, each=True), operator, Operand(function, w), w, at=TestedAt.LEAVE, each=w)]
    if kind == "each before":
        earlier = Operand(function, w, each=True, before=True)
        return [draft(last(w, each=True), operator, earlier, w, at=TestedAt.LEAVE, each=w, minimum=2)]
    whole = draw(st.sampled_from([Operand(function, w), Operand(function, w), last(w)]))
    whole = replace(whole, default=draw(DEFAULTS))
    if kind == "first":
        return [draft(whole, operator, Operand("FIRST", w), w, at=TestedAt.LEAVE)]
    fields: dict[str, Any] = {}
    right: Operand | int = draw(st.integers(0, 3))
    if kind == "last":
        right = last(w)
    elif kind != "constant":
        u = draw(st.sampled_from(settled))
        each = kind == "each other"
        right = last(u, each=each, default=draw(DEFAULTS))
        fields = {"required": waits(draw, u), "each": u if each else ()}
    return [draft(whole, operator, right, w, at=at, **fields) for at in (TestedAt.LEAVE, TestedAt.PASS)]


def waits(draw: st.DrawFn, u: Keys) -> tuple[Keys, ...]:
    """Whether a condition holds untested while u has no event, or reads that it has none."""
    return (u,) if draw(st.integers(0, 5)) == 0 else ()


def two_variables(draw: st.DrawFn, w: Keys, u: Keys, follows: bool = True) -> Draft:
    """A condition on taking w that names another variable, wherever that stands; ``follows``: w may come after it, and
    is not negated."""
    operator = draw(st.sampled_from(list(OPERATORS)))
    kinds = ["last", "first", "first only", "total", "each", "each step"]
    kind = draw(st.sampled_from([*kinds, "next"] if follows else kinds))
    if kind == "next":
        return draft(last(u), operator, last(w), w, after=u)
    fields: dict[str, Any] = {"required": waits(draw, u), "awaited": () if follows else (u,)}
    default = draw(DEFAULTS)
    if kind == "each":
        return draft(last(w), operator, last(u, each=True, default=default), w, each=u, **fields)
    if kind == "each step":
        return draft(last(w), operator, last(u, 1, each=True), w, each=u, minimum=2, **fields)
    right = {"first": Operand("FIRST", u), "total": Operand(draw(AGGREGATE_NAMES), u)}.get(kind, last(u))
    right = replace(right, default=default)
    return draft(last(w), operator, right, w, first_only=kind == "first only", **fields)


def of_optional(draw: st.DrawFn, u: Keys, taken: list[Keys], negated: list[Keys]) -> list[Draft]:
    """A condition that names a variable which may take nothing, another one decides it or u itself does."""
    operator, default = draw(st.sampled_from(list(OPERATORS))), draw(DEFAULTS)
    total = Operand(draw(AGGREGATE_NAMES), u, default=default)
    read = draw(st.sampled_from([total, total, last(u, default=default), last(u, each=True, default=default)]))
    others = [w for w in taken if w != u] + negated * 2
    if not others or draw(st.integers(0, 2)) == 0:
        whole = replace(read, each=False)
        constant = draw(st.integers(0, 3))
        return [draft(whole, operator, constant, u, at=at) for at in (TestedAt.LEAVE, TestedAt.PASS)]
    w = draw(st.sampled_from(others))
    fields: dict[str, Any] = {"each": u} if read.each else {}
    if w in negated:
        fields |= {"awaited": (u,), "required": waits(draw, u)}
    return [draft(last(w), operator, read, w, **fields)]


#: What a value is where there is none.
DEFAULTS = st.sampled_from([None, None, 1])
AGGREGATE_NAMES = st.sampled_from(list(AGGREGATES))


def either_order(draw: st.DrawFn, w: Keys, u: Keys) -> list[Draft]:
    """A condition on the last of two variables, of which either may come first, as a block has it."""
    operator = draw(st.sampled_from(list(OPERATORS)))
    return [draft(last(u), operator, last(w), by, required=(other,)) for by, other in ((w, u), (u, w))]


@st.composite
def drafts(draw: st.DrawFn, pattern: Pattern, components: tuple[Component, ...]) -> list[Draft]:
    """A condition of some component of the pattern, as one that each of the components in any order decides."""

    def keys(negated: bool) -> list[Keys]:
        names = dict.fromkeys(c.variable for c in components if c.negated is negated)
        return [tuple(c.key for c in components if c.variable == name) for name in names]

    taken, negated = keys(False), keys(True)
    optional = [keys for keys in taken if can_do_without(pattern, keys)]
    if optional and draw(st.booleans()):
        return of_optional(draw, draw(st.sampled_from(optional)), taken, negated)
    if negated and draw(st.booleans()):
        x = draw(st.sampled_from(negated))
        others = [y for y in negated if y != x and together(pattern, x, y)] + taken
        if draw(st.integers(0, 3)) == 0:
            return [one_variable(draw, x)]
        return [two_variables(draw, x, draw(st.sampled_from(others)), False)]
    pairs = {(x, y) for x, y, _ in unordered(pattern)}
    free = [(w, u) for w in taken for u in taken if w != u and any((x, y) in pairs for x in w for y in u)]
    if free and draw(st.booleans()):
        return either_order(draw, *draw(st.sampled_from(free)))
    w = draw(st.sampled_from(taken))
    others = [u for u in taken if u != w]
    kind = draw(st.sampled_from(["one", "leaving", *["two"] * 2 * bool(others)]))
    if kind == "two":
        return [two_variables(draw, w, draw(st.sampled_from(others)))]
    if kind == "leaving":
        return leaving(draw, w, [u for u in others if before_only(pattern, u, w)])
    return [one_variable(draw, w)]


def right_after(path: Path) -> bool:
    """IMMEDIATELY, by definition: the event taken last is the row after the one before it."""
    return path[-1][1] == path[-2][1] + 1


def together(pattern: Pattern, x: Keys, y: Keys) -> bool:
    """Whether two negated variables stand in the same negation, outermost ones."""
    outer = [set(variables(node)) for node in walk(pattern) if isinstance(node, Negation)]
    return any(set(x + y) <= inside for inside in outer)


def before_only(node: Pattern, u: Keys, w: Keys) -> bool:
    """Whether no event of u can follow one of w."""
    if isinstance(node, Quantified) and node.maximum != 1:
        return False
    if isinstance(node, Concatenation):
        places = [(name, n) for n, item in enumerate(node.items) for name in variables(item)]
        if max(n for name, n in places if name in u) < min(n for name, n in places if name in w):
            return True
    own = [item for item in children(node) if set(u + w) & set(variables(item))]
    return len(own) == 1 and before_only(own[0], u, w)


# Patterns


@st.composite
def patterns(
    draw: st.DrawFn, negation: bool = True, reluctant: bool = True, nested_counts: bool = False, clause: bool = False
) -> Pattern:
    """Patterns of about MAXIMUM_COMPONENTS leaves at most; keys are A, B, A2 and so on.

    ``clause``: also those of MATCH_RECOGNIZE, where a variable may stand at several places.
    """
    clause = clause and draw(st.booleans())

    def grow(depth: int, room: int, counted: bool) -> Pattern:
        """At most ``room`` components; ``counted``: quantifiers may be counted."""
        quantifier = draw(st.sampled_from(QUANTIFIERS)) if draw(st.booleans()) else None
        shapes = ["leaf", "leaf", "sequence", "sequence", "alternatives", *["permutation"] * (2 if clause else 1)]
        shape = "leaf" if depth == 0 or room == 1 else draw(st.sampled_from(shapes))
        inner = nested_counts or (counted and quantifier is None)
        node = leaf() if shape == "leaf" else several(shape, depth, room, inner)
        if clause and draw(st.integers(0, 9)) == 9:
            node = Exclusion(node)
        if quantifier is None:
            return node
        low, high = quantifier
        plain = high == 1 or (high is None and low < 2)
        nested = any(isinstance(n, Quantified) for n in walk(node))
        if not plain and not nested_counts and (nested or not counted):
            low, high = 1, None
        return Quantified(node, low, high, not (reluctant and draw(st.integers(0, 2)) == 0))

    def leaf() -> Pattern:
        empty = clause and draw(st.integers(0, 11)) == 11
        return Empty() if empty else Variable(draw(st.sampled_from(types)))

    def several(shape: str, depth: int, room: int, counted: bool) -> Pattern:
        kept = draw(st.integers(1, min(2, room - 2))) if negation and room > 2 and shape == "sequence" else 0
        room -= kept
        left = draw(st.integers(1, room - 1))
        rooms = [left, room - left]
        if rooms[1] > 1 and draw(st.integers(0, 2)) < (1 if shape == "sequence" else 2):
            rooms[1:] = [1, rooms[1] - 1]
        items = [grow(depth - 1, own, counted) for own in rooms]
        if shape == "alternatives":
            if negation and room < MAXIMUM_COMPONENTS and draw(st.integers(0, 5)) == 5:
                items[0] = Concatenation((Negation(negated(1)), items[0]))
            return Alternation(tuple(items))
        if shape == "permutation":
            more = draw(st.integers(0, 4))
            if more == 4:
                items[-1] = Alternation((items[-1], leaf()))
            elif more == 3 and negation and takes(items[0]):
                items[0] = Concatenation((items[0], Negation(negated(1))))
            return Permutation(tuple(items))
        spare = max(0, kept + room - sum(map(size, items)))
        if negation and spare and draw(st.integers(0, 2)):
            place = draw(st.sampled_from([0, 1, 1, 1, 2]))
            for n in range(max(0, place - 1), min(len(items), place + 1)):
                kind = draw(st.sampled_from((0, 1, 2, 3, 3, 4))) if isinstance(items[n], Variable) else 4
                if kind < len(NEIGHBOURS):
                    items[n] = Quantified(items[n], *NEIGHBOURS[kind])
                elif kind == 3 and spare > 1:
                    items[n] = Alternation((items[n], leaf()))
                    spare -= 1
            items.insert(place, Negation(negated(min(spare, 3))))
        return Concatenation(tuple(items))

    def negated(room: int) -> Pattern:
        leaves = [Variable(draw(st.sampled_from(types))) for _ in range(draw(st.integers(1, min(3, room))))]
        if len(leaves) == 1:
            kleene = draw(st.integers(0, 3)) == 0
            return Quantified(leaves[0], 1, None) if kleene else leaves[0]
        if len(leaves) == 3:
            return Concatenation((leaves[0], Negation(leaves[1]), leaves[2]))
        return Concatenation(tuple(leaves)) if draw(st.booleans()) else Alternation(tuple(leaves))

    if draw(st.integers(0, 2)) == 0:
        texts = CLAUSES if clause else "\n".join((SHAPES, NEGATIONS, ORDERS, ORDERS_AND_NEGATIONS))
        known = [text for text in re.split(r"; |\n", texts) if negation or "!" not in text]
        text = draw(st.sampled_from(known))
        node = row_pattern(text if reluctant else re.sub(r"([+*}])\?", r"\1", text), skips=True)
        return repeated(node) if clause else numbered(node)
    types = TYPES[: draw(st.integers(2, len(TYPES)))]
    room = draw(st.integers(1, MAXIMUM_COMPONENTS))
    top = draw(st.sampled_from((*TOP, "permutation", "permutation") if clause else (*TOP * 2, "permutation")))
    node = grow(3, room, True) if room == 1 else several(top, 3, room, True)
    spare = max(0, MAXIMUM_COMPONENTS - size(node))
    if negation and spare and draw(st.integers(0, 2)) == 0:
        edge = Negation(negated(spare))
        node = Concatenation((edge, node) if draw(st.booleans()) else (node, edge))
    if clause and not takes(node):
        node = Concatenation((node, Variable("A")))
    return repeated(node) if clause else numbered(node)


TOP = ("sequence", "sequence", "sequence", "alternatives")


def size(node: Pattern) -> int:
    return sum(isinstance(n, Variable) for n in walk(node))


def takes(node: Pattern) -> bool:
    """Whether a variable stands outside of negations."""
    return isinstance(node, Variable) or (not isinstance(node, Negation) and any(map(takes, children(node))))


def numbered(node: Pattern, taken: bool = True) -> Pattern:
    """The pattern with a key for each component, in textual order; ``taken`` False: for the negated ones only."""
    seen: dict[str, int] = {} if taken else dict.fromkeys(TYPES, 1)

    def rename(node: Pattern, own: bool) -> Pattern:
        if isinstance(node, Variable):
            if not own:
                return node
            seen[node.name] = seen.get(node.name, 0) + 1
            return Variable(node.name if seen[node.name] == 1 else f"{node.name}{seen[node.name]}")
        if isinstance(node, (Concatenation, Alternation, Permutation)):
            return replace(node, items=tuple(rename(item, own) for item in node.items))
        if isinstance(node, (Quantified, Negation, Exclusion)):
            return replace(node, item=rename(node.item, own or isinstance(node, Negation)))
        return node

    return rename(node, taken)


def repeated(node: Pattern) -> Pattern:
    """The pattern as MATCH_RECOGNIZE reads it: a variable is the same component wherever it stands."""
    return numbered(node, taken=False)


@st.composite
def components(draw: st.DrawFn, pattern: Pattern) -> tuple[Component, ...]:
    """The pattern's components; some take other types too, or every row, and some share a variable."""
    negated = {name for n in walk(pattern) if isinstance(n, Negation) for name in variables(n)}
    kleene = {
        n.item.name
        for n in walk(pattern)
        if isinstance(n, Quantified) and isinstance(n.item, Variable) and n.maximum != 1
    }
    shared = draw(st.booleans())
    found = []
    for key in variables(pattern):
        kind = draw(st.integers(0, 11))
        types = () if kind == 0 else (key[0], draw(st.sampled_from(TYPES))) if kind == 1 else (key[0],)
        variable = ("not " if key in negated else "") + key[0] if shared else key
        found.append(Component(key, variable, tuple(dict.fromkeys(types)), key in kleene, key in negated))
    return tuple(found)


@st.composite
def run_cases(
    draw: st.DrawFn,
    selections: tuple[Selection, ...] = (
        Selection.NEXT,
        Selection.ANY,
        Selection.NEXT,
        Selection.ANY,
        Selection.STRICT,
    ),
    matches: tuple[Matches, ...] = (Matches.ALL, Matches.ALL, Matches.NON_OVERLAPPING, Matches.FIRST),
    negation: bool = True,
    reluctant: bool = True,
    nested_counts: bool = False,
    maximum_conditions: int = 3,
    maximum_rows: int = MAXIMUM_ROWS,
    shape: Pattern | None = None,
    clause: bool = False,
    contiguous: bool = True,
    steps: bool = False,
) -> RunCase:
    """Cases of the given strategies and constructs, or of one pattern.

    ``clause``: of MATCH_RECOGNIZE too. ``contiguous``: components may be marked IMMEDIATELY, which is
    a condition, too. ``steps``: components may have strategies of their own.
    """
    pattern = draw(patterns(negation, reluctant, nested_counts, clause)) if shape is None else shape
    parts = draw(components(pattern))
    if contiguous and maximum_conditions and draw(st.integers(0, 4)) == 0:
        taken = st.sampled_from([c.key for c in parts if not c.negated])
        marked = draw(st.lists(taken, min_size=1, max_size=2))
        parts = tuple(replace(c, step=Selection.STRICT if c.key in marked else None) for c in parts)
    selection = draw(st.sampled_from(selections))
    if steps and draw(st.booleans()):
        own = st.sampled_from([None, None, Selection.STRICT, Selection.NEXT, Selection.ANY])
        parts = tuple(c if c.negated else replace(c, step=draw(own)) for c in parts)
        selection, parts = by_step(selection, parts, pattern)
    nexts = immediately(parts)
    loops = sum(isinstance(n, Quantified) and n.maximum is None for n in walk(pattern))
    many = loops > 2 or (loops > 0 and any(not c.types for c in parts))
    longest = max(0, maximum_rows - 3 * many)
    length = draw(st.one_of(st.integers(0, longest), st.integers(longest // 2, longest), st.just(longest)))
    of_length = {"min_size": length, "max_size": length}
    named = [c.types[0] for c in parts if c.types]
    # Under SKIP TILL NEXT MATCH what can be taken is: a variable takes nothing where its type is rare.
    optional = {t for c in parts if len(c.types) == 1 and can_do_without(pattern, (c.key,)) for t in c.types}
    rare = draw(st.sampled_from([*[None] * 3, *sorted(optional)]))
    types = draw(st.lists(st.sampled_from([t for t in named if t != rare] * 3 + list(TYPES)), **of_length))
    values = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3, 0, 1, 2, 3, None]), **of_length)))
    waits = draw(st.lists(st.sampled_from([0, 1, 1, 2]), **of_length))
    chosen = [d for found in draw(st.lists(drafts(pattern, parts), max_size=maximum_conditions)) for d in found]
    return RunCase(
        pattern,
        parts,
        tuple(types),
        values,
        tuple(sum(waits[: n + 1]) for n in range(length)),
        (*(condition for _, condition in chosen), *nexts),
        (
            *(as_reference(comparison, condition, values) for comparison, condition in chosen),
            *(ReferenceCondition(c.decided_by, c.at, right_after, after=c.after) for c in nexts),
        ),
        selection,
        draw(st.sampled_from(matches)),
        draw(st.one_of(st.none(), st.none(), st.integers(0, maximum_rows))),
        draw(st.integers(0, 3)) == 0,
    )
