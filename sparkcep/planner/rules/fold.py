"""The fold layout: a sequence with gaps followed by Spark's own `aggregate` over each partition's sorted list.

Where a pattern is a deterministic machine (rules/machine.py) and the oldest attempt to match always comes first, one
state per partition is enough, and no row has to leave the JVM. The fold gives the columns that the kernel would give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.shape import CURRENT_ROW, Gather
from sparkcep.planner.conditions.symbols import NULL, OTHER, Alphabet
from sparkcep.planner.fields import Fields
from sparkcep.planner.rules.machine import Machine, Step
from sparkcep.query import PREFIX, RowsPerMatch, SkipMode, quote

#: A list is followed in chunks of this many rows: behind each row Spark copies the accumulator, with all matches in it.
_CHUNK = 256
_EMPTY = {"r": "0"}


def single_attempt(machine: Machine) -> bool:
    """Whether it is enough to follow one attempt: while one is alive, one begun later never ends before it."""
    if machine.accepts[0] or not any(machine.accepts) or not machine.ends_promptly:
        return False
    for state, steps in enumerate(machine.steps):
        for step, begun in zip(steps, machine.steps[0], strict=True):
            if state == 0 or step is None or begun is None or machine.accepts[step.target]:
                continue
            if not machine.simulated[step.target] >> begun.target & 1:
                return False
    return True


def can_fold(machine: Machine | None, spec: MatchSpec) -> bool:
    """Whether the fold gives all that is asked of the matches."""
    return (
        machine is not None
        and spec.rows_per_match is RowsPerMatch.ONE
        and spec.skip is SkipMode.PAST_LAST_ROW
        and spec.mask_words == 1
        and not (spec.use_within or spec.every_row or spec.conditions.conditions)
        and not any(s.label or s.logical or s.physical for s in spec.slots)
        and single_attempt(machine)
        and all(MAYBE not in noticed_before(machine, k) for k, s in enumerate(spec.slots) if s.from_first)
    )


NEVER, ALWAYS, MAYBE = range(3)


def noticed_before(machine: Machine, slot: int) -> list[int]:
    """For each state, whether an attempt that is there has taken a row which a slot looks at."""
    found: list[set[bool]] = [set() for _ in machine.steps]
    found[0].add(False)
    todo = [(0, False)]
    while todo:
        state, noticed = todo.pop()
        for step in machine.steps[state]:
            if step is None:
                continue
            after = noticed or slot in step.seen[0]
            if after not in found[step.target]:
                found[step.target].add(after)
                todo.append((step.target, after))
    return [MAYBE if len(f) > 1 else (ALWAYS if True in f else NEVER) for f in found]


#: What a row does to a register: it stays, takes the row's value, becomes NULL, or may become anything.
KEEP, TAKE, FORGET, ANY = range(4)
#: Codes of the table beside states: the accumulator stays as it is; a match ends.
_NOTHING, _END = -1, -2
#: Where the table speaks of the accumulator ``s`` and the row ``e``.
_PLACE = f"s.n + e.{PREFIX}m0"


@dataclass(frozen=True, slots=True)
class Move:
    """What a row does to an attempt in ``state``; ``origin`` is 0 where it begins another one, ``step`` None where it
    only ends this one."""

    state: int
    origin: int
    step: Step | None


@dataclass(frozen=True, slots=True)
class Fold:
    """The fold of one pattern, as SQL over sorted lists.

    The accumulator is a struct: place ``n`` of the state in the table, a register for each value that has to be
    remembered, and the matches found. Spark copies it behind each row, so the list is followed in chunks: the inner
    fold has a chunk's matches, the outer one those of all chunks before. What a row does is looked up in a constant
    array, so that the expression does not grow with the pattern.

    Args:
        machine: over the symbols of the rows that are left.
        alphabet: what the symbols are of.
        spec: slots, and the mask bits that stand for symbols.
        gathers: the values asked for.
        nulls: SQL of a NULL of each gathered value's type.
        first_only: a list's first match is wanted, not all.
    """

    machine: Machine
    alphabet: Alphabet
    spec: MatchSpec
    gathers: Sequence[Gather]
    nulls: Sequence[str]
    first_only: bool = False

    def sql(self, keys: int, source: str) -> str:
        """One row per match: keys, number, code, self, flags and gathered values, as the operator gives them."""
        names = "".join(f"{PREFIX}k{i}, " for i in range(keys))
        values = [f"m.r{n} AS {PREFIX}g{n}" for n in range(len(self.gathers))]
        fixed = [f"i + 1 AS {PREFIX}number", f"CAST(NULL AS INT) AS {PREFIX}code", f"0 AS {PREFIX}self"]
        picked = ", ".join([*fixed, f"2 AS {PREFIX}flags", *values])
        matches = self.matches(f"{PREFIX}rows", range(len(self.gathers)))
        return f"SELECT {names}{picked} FROM (SELECT {names}posexplode({matches}) AS (i, m) FROM ({source}))"

    # -- symbols ---------------------------------------------------------------------------------------------------

    def columns(self) -> list[int]:
        """Columns of the tables: for each number that ``symbol_sql`` gives to a row, a symbol of the machine."""
        symbols = self.machine.symbols
        if self.alphabet.column is None:
            return list(range(len(symbols)))
        values = self.alphabet.values
        known = [values[v] for v in self._constants()]
        outside = [values[v] for v in (OTHER, NULL) if values[v] in symbols]
        # Without a kept value outside of the constants no row has the number 0.
        return [symbols.index(s) for s in [*(outside[:1] or symbols[:1]), *known, *outside[1:]]]

    def symbol_sql(self, mask: str) -> str:
        """A row's column in the tables, from the column that all conditions read or else from the mask."""
        if self.alphabet.column is None:
            bits = self.spec.condition_bits.items()
            masks = [sum(1 << b for code, b in bits if code in s) for s in self.machine.symbols]
            return f"CAST(array_position({_array([f'{m}L' for m in masks])}, {mask}) AS INT) - 1"
        constants = self._constants()
        found = f"CAST(array_position({_array(constants)}, {quote(self.alphabet.column)}) AS INT)" if constants else "0"
        both = all(self.alphabet.values[v] in self.machine.symbols for v in (OTHER, NULL))
        return f"nvl({found}, {len(constants) + 1 if both else 0})"

    def _constants(self) -> list[str]:
        """Constants that rows may have, in Spark's order of their values."""
        values = self.alphabet.values
        kept = [v for v in values if v not in (OTHER, NULL) and values[v] in self.machine.symbols]
        return sorted(kept, key=lambda v: (int(v), b"") if v.isdigit() else (0, v.encode()))

    @property
    def orders_column(self) -> bool:
        """Whether ``symbol_sql`` orders rows as the only column does; NULL comes first, other values do not occur."""
        return self.alphabet.column is not None and self.alphabet.values[OTHER] not in self.machine.symbols

    # -- the fold --------------------------------------------------------------------------------------------------

    def matches(self, rows: str, values: Sequence[int]) -> str:
        """Array of the matches of a sorted list, each a struct of some gathered values."""
        moves = self.moves()
        ends = [m for m in moves if m.step is not None and m.step.target == self.end]
        gathered = sorted(set(values))
        kept = [g for g in gathered if self.register(g, ends) != self.taken(g)]
        codes = [self.code(m, kept) for m in moves]
        goes = [m for m, code in zip(moves, codes, strict=True) if code >= 0]
        registers = {f"r{g}": f"s.r{g}" for g in kept}
        match = _struct({f"r{n}": self.register(g, ends) for n, g in enumerate(values)} or _EMPTY)
        empty = f"array_repeat({_struct({f'r{n}': self.nulls[g] for n, g in enumerate(values)} or _EMPTY)}, 0)"
        start = {"n": "0", **{f"r{g}": self.nulls[g] for g in kept}, "found": empty}
        code = f"get({_integers(codes)}, {_PLACE})"
        ended = {"n": "0", **registers, "found": f"concat(s.found, array({match}))"}
        gone = {"n": code, **{f"r{g}": self.register(g, goes) for g in kept}, "found": "s.found"}
        after = f"CASE {code} WHEN {_NOTHING} THEN s WHEN {_END} THEN {_struct(ended)} ELSE {_struct(gone)} END"
        begun = {"n": "t.n", **{name: f"t.{name}" for name in registers}, "found": empty}
        left = {"n": "s.n", **registers, "found": "concat(t.found, s.found)"}
        chunk = f"aggregate(c, {_struct(begun)}, (s, e) -> {after}, s -> {_struct(left)})"
        found = "slice(t.found, 1, 1)" if self.first_only else "t.found"
        return f"aggregate({_chunks(rows)}, {_struct(start)}, (t, c) -> {chunk}, t -> {found})"

    @property
    def end(self) -> int:
        """The accepting state. There is one: without steps, all have the same future."""
        return self.machine.accepts.index(True)

    def place(self, state: int) -> int:
        """Where the table speaks of a state; it has nothing on the accepting one, which lasts for no row."""
        return (state - (state > self.end)) * len(self.columns())

    def moves(self) -> list[Move]:
        """What rows do, in the order of the table."""
        columns, begun = self.columns(), self.machine.steps[0]
        return [
            Move(state, state, own[k]) if own[k] is not None else Move(state, 0, begun[k])
            for state, own in enumerate(self.machine.steps)
            if state != self.end
            for k in columns
        ]

    def code(self, move: Move, kept: Sequence[int]) -> int:
        """The table's entry; ``kept`` are the gathers that have registers."""
        target = move.step.target if move.step is not None else 0
        if target == self.end:
            return _END
        if target == move.state and all(self.effect(g, move) in (KEEP, ANY) for g in kept):
            return _NOTHING
        return self.place(target)

    def effect(self, gather: int, move: Move) -> int:
        """What a row does to a gathered value."""
        slot = self.gathers[gather].row
        if move.step is None:
            return ANY  # outside of an attempt
        if slot == CURRENT_ROW:
            return TAKE  # the last row, so far
        first = self.spec.slots[slot].from_first
        if len(self.spec.slot_registers[self.spec.slots[slot].register]) == len(self.spec.program.names):
            return TAKE if move.origin == 0 or not first else KEEP
        before = noticed_before(self.machine, slot)
        if slot in move.step.seen[0] and not (first and before[move.origin] == ALWAYS):
            return TAKE
        if before[self.end] == ALWAYS:  # what is not noticed yet will be
            return ANY if before[move.origin] == NEVER else KEEP
        return FORGET if move.origin == 0 else KEEP

    def taken(self, gather: int) -> str:
        """SQL of a gathered field of the row at hand, ``e``."""
        return f"e.{Fields.name(self.gathers[gather].field)}"

    def register(self, gather: int, moves: Sequence[Move]) -> str:
        """A gathered value behind one of some moves."""
        effects = [self.effect(gather, m) for m in moves]
        taken, kept = self.taken(gather), f"s.r{gather}"
        if not {KEEP, FORGET} & set(effects):
            return taken
        if not {TAKE, FORGET} & set(effects):
            return kept
        taking = {m.state for m, effect in zip(moves, effects, strict=True) if effect == TAKE}
        others = {m.state for m, effect in zip(moves, effects, strict=True) if effect == KEEP}
        if FORGET not in effects and len(taking) == 1 and not taking & others:
            return f"CASE WHEN s.n = {self.place(*taking)} THEN {taken} ELSE {kept} END"
        table = [self.effect(gather, m) for m in self.moves()]
        forget = f" WHEN {FORGET} THEN {self.nulls[gather]}" if FORGET in effects else ""
        return f"CASE get({_integers(table)}, {_PLACE}) WHEN {TAKE} THEN {taken}{forget} ELSE {kept} END"


def _integers(items: Sequence[object]) -> str:
    """A constant array. One string is read faster than many literals, and Spark's optimizer folds it all the same."""
    return f"CAST(split('{','.join(map(str, items))}', ',') AS ARRAY<INT>)"


def _chunks(rows: str) -> str:
    """Array of the parts of a list, which is written once, as it may be an aggregate to be sorted. A short one is the
    only part."""
    parts = f"transform(sequence(1, size(l), {_CHUNK}), i -> slice(l, i, {_CHUNK}))"
    return f"flatten(transform(array({rows}), l -> CASE WHEN size(l) <= {_CHUNK} THEN array(l) ELSE {parts} END))"


def _array(items: Sequence[str]) -> str:
    return f"array({', '.join(items)})"


def _struct(fields: Mapping[str, str]) -> str:
    return "named_struct(" + ", ".join(f"'{name}', {value}" for name, value in fields.items()) + ")"
