"""The fold layout: a sequence with gaps followed by Spark's own `aggregate` over each partition's sorted list.

Where a pattern is a deterministic machine (planner/machine.py) and the oldest attempt to match always comes first, one
state per partition is enough, and no row has to leave the JVM. The fold gives the columns that the kernel would give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkcep.exec.shape import CURRENT_ROW, Gather
from sparkcep.exec.spec import MatchSpec
from sparkcep.planner.fields import Fields, quote
from sparkcep.planner.machine import Machine, Step
from sparkcep.planner.symbols import NULL, OTHER, Alphabet
from sparkcep.query import PREFIX, RowsPerMatch, SkipMode

_ROWS = PREFIX + "rows"
#: Matches are collected in chunks of this many, since each `concat` copies its arrays.
_CHUNK = 512
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


@dataclass(frozen=True, slots=True)
class Fold:
    """The fold of one pattern, as SQL over the prepared lists.

    The accumulator is a struct: state ``n``, a register for each gathered value, and the matches found, the last few
    of them in ``now`` and those before in ``done``, since appending copies. Steps are looked up in constant arrays, so
    that the expression does not grow with the pattern. A match is added when the row behind it comes, or at the end.

    Args:
        machine: over the symbols of the rows that are left.
        letters: the alphabet that the symbols are of.
        spec: slots, and the mask bits that stand for symbols.
        gathers: the values asked for.
        nulls: SQL of a NULL of each gathered value's type.
    """

    machine: Machine
    letters: Alphabet
    spec: MatchSpec
    gathers: Sequence[Gather]
    nulls: Sequence[str]

    def sql(self, keys: int, source: str) -> str:
        """One row per match: keys, number, code, self, flags and gathered values, as the operator gives them."""
        names = "".join(f"{PREFIX}k{i}, " for i in range(keys))
        values = [f"{value} AS {PREFIX}g{n}" for n, value in enumerate(self.values)]
        fixed = [f"i + 1 AS {PREFIX}number", f"CAST(NULL AS INT) AS {PREFIX}code", f"0 AS {PREFIX}self"]
        picked = ", ".join([*fixed, f"2 AS {PREFIX}flags", *values])
        return f"SELECT {names}{picked} FROM (SELECT {names}posexplode({self.matches()}) AS (i, m) FROM ({source}))"

    def exploded(self, keys: int, source: str) -> str:
        """One row per match: keys, and the match as ``m``, of which ``values`` are the gathered ones."""
        names = "".join(f"{PREFIX}k{i}, " for i in range(keys))
        return f"SELECT {names}explode({self.matches()}) AS m FROM ({source})"

    @property
    def values(self) -> list[str]:
        return [f"m.r{n}" for n in range(len(self.gathers))]

    # -- symbols ---------------------------------------------------------------------------------------------------

    def columns(self) -> list[int]:
        """Columns of the tables: for each number that ``symbol_sql`` gives to a row, a symbol of the machine."""
        symbols = self.machine.symbols
        if self.letters.column is None:
            return list(range(len(symbols)))
        values = self.letters.values
        known = [values[v] for v in self._constants()]
        outside = [values[v] for v in (OTHER, NULL) if values[v] in symbols]
        # Without a kept value outside of the constants no row has the number 0.
        return [symbols.index(s) for s in [*(outside[:1] or symbols[:1]), *known, *outside[1:]]]

    def symbol_sql(self, mask: str) -> str:
        """A row's column in the tables, from the column that all conditions read or else from the mask."""
        if self.letters.column is None:
            bits = self.spec.condition_bits.items()
            masks = [sum(1 << b for code, b in bits if code in s) for s in self.machine.symbols]
            return f"CAST(array_position({_array([f'{m}L' for m in masks])}, {mask}) AS INT) - 1"
        constants = self._constants()
        found = f"CAST(array_position({_array(constants)}, {quote(self.letters.column)}) AS INT)" if constants else "0"
        both = all(self.letters.values[v] in self.machine.symbols for v in (OTHER, NULL))
        return f"nvl({found}, {len(constants) + 1 if both else 0})"

    def _constants(self) -> list[str]:
        """Constants that rows may have, in Spark's order of their values."""
        values = self.letters.values
        kept = [v for v in values if v not in (OTHER, NULL) and values[v] in self.machine.symbols]
        return sorted(kept, key=lambda v: (int(v), b"") if v.isdigit() else (0, v.encode()))

    @property
    def orders_column(self) -> bool:
        """Whether ``symbol_sql`` orders rows as the only column does; NULL comes first, other values do not occur."""
        return self.letters.column is not None and self.letters.values[OTHER] not in self.machine.symbols

    # -- the fold --------------------------------------------------------------------------------------------------

    def matches(self) -> str:
        """Array of the matches of the list in ``__cep_rows``, each a struct of gathered values."""
        nothing = {f"r{n}": null for n, null in enumerate(self.nulls)}
        registers = {f"r{n}": f"s.r{n}" for n in range(len(self.gathers))}
        match = f"array({_struct(registers or _EMPTY)})"
        empty = f"slice(array({_struct(nothing or _EMPTY)}), 1, 0)"
        ended = f"s.n = {self.end}"
        full = f"size(s.now) >= {_CHUNK}"
        after = {
            "n": f"get({_integers(self.targets())}, {self.place})",
            **{f"r{n}": self.register(n) for n in range(len(self.gathers))},
            "now": f"CASE WHEN NOT {ended} THEN s.now WHEN {full} THEN {match} ELSE concat(s.now, {match}) END",
            "done": f"CASE WHEN {ended} AND {full} THEN concat(s.done, s.now) ELSE s.done END",
        }
        start = _struct({"n": "0", **nothing, "now": empty, "done": empty})
        last = f"CASE WHEN {ended} THEN concat(s.done, s.now, {match}) ELSE concat(s.done, s.now) END"
        return f"aggregate({_ROWS}, {start}, (s, e) -> {_struct(after)}, s -> {last})"

    @property
    def end(self) -> int:
        """The accepting state. There is one: without steps, all have the same future."""
        return self.machine.accepts.index(True)

    @property
    def place(self) -> str:
        """Where the tables speak of the accumulator ``s`` and the row ``e``."""
        return f"s.n * {len(self.columns())} + e.{PREFIX}m0"

    def steps(self) -> Iterator[tuple[int, Step | None]]:
        """State and step in the order of the tables; state 0 where the row begins an attempt."""
        columns, begun = self.columns(), self.machine.steps[0]
        for state, own in enumerate(self.machine.steps):
            for k in columns:
                yield (0, begun[k]) if own[k] is None else (state, own[k])

    def targets(self) -> list[str]:
        return [str(step.target if step is not None else 0) for _, step in self.steps()]

    def begins_nothing(self, state: int) -> bool:
        """Whether no row that ends an attempt in a state begins another one."""
        steps = zip(self.machine.steps[state], self.machine.steps[0], strict=True)
        return self.machine.accepts[state] or all(own is not None or begun is None for own, begun in steps)

    def register(self, gather: int) -> str:
        """What a register holds behind a row."""
        slot, taken = self.gathers[gather].row, f"e.{Fields.name(self.gathers[gather].field)}"
        if slot == CURRENT_ROW:
            return taken  # the last row, so far
        every = len(self.spec.slot_registers[self.spec.slots[slot].register]) == len(self.spec.program.names)
        first = self.spec.slots[slot].from_first
        before = noticed_before(self.machine, slot)

        def takes(state: int, step: Step) -> bool:
            if every:
                return state == 0 or not first
            return slot in step.seen[0] and not (first and before[state] == ALWAYS)

        if all(takes(state, step) for state, step in self.steps() if step is not None and step.target == self.end):
            return taken
        if every and all(state == 0 or self.begins_nothing(state) for state in range(len(self.machine.steps))):
            # Outside of an attempt the register may hold anything.
            return f"CASE WHEN s.n IN (0, {self.end}) THEN {taken} ELSE s.r{gather} END"
        must_forget = not every and before[self.end] != ALWAYS
        choices: list[str] = []
        for state, step in self.steps():
            if step is not None and takes(state, step):
                choices.append("1")
            else:
                choices.append("2" if state == 0 and must_forget else "0")
        forget = f" WHEN 2 THEN {self.nulls[gather]}" if must_forget else ""
        return f"CASE get({_integers(choices)}, {self.place}) WHEN 1 THEN {taken}{forget} ELSE s.r{gather} END"


def _integers(items: Sequence[str]) -> str:
    """A constant array. One string is read faster than many literals, and Spark's optimizer folds it all the same."""
    return f"CAST(split('{','.join(items)}', ',') AS ARRAY<INT>)"


def _array(items: Sequence[str]) -> str:
    return f"array({', '.join(items)})"


def _struct(fields: Mapping[str, str]) -> str:
    return "named_struct(" + ", ".join(f"'{name}', {value}" for name, value in fields.items()) + ")"
