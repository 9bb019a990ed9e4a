"""Gap elimination: rows that only skip are dropped before grouping.

In `A X* B` with X = NOT B (or X undefined and reluctant) the rows between A and B decide nothing. Where that can be
proven, Spark filters them out below the grouping, and the same program runs on what is left. There are two proofs.

By symbols, where all conditions are match-independent: the pattern is a deterministic machine (rules/machine.py), and
a symbol may be dropped if it starts no match and, in every state that goes on, leads back to that state unseen.

By positions, whatever the conditions are: a dropped row is one that every gap variable can take and no other variable
can. Behind any position that a match can continue from, dropped rows can only move the match into a gap position; if
all gap positions that follow have the very same successors in the same order, the choices behind the dropped rows are
those before them. A match neither begins nor ends with a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sparkcep.exec.engines.rows.program import ACCEPT, Program
from sparkcep.exec.shape import OutputSlot
from sparkcep.planner.conditions.row_conditions import RowCondition, all_of
from sparkcep.planner.conditions.symbols import Alphabet, Symbol
from sparkcep.planner.rules.machine import Machine, machine
from sparkcep.query import Aggregate, Navigation, PatternQuery, RowsPerMatch, Slot


@dataclass(frozen=True, slots=True)
class GapElimination:
    """``keep`` is the SQL predicate of the rows to keep, empty where nothing is dropped; ``reason`` says why (not).

    Where the proof is by symbols, ``alphabet`` holds them and ``machine`` the pattern over the symbols that stay.
    """

    keep: str
    reason: str
    alphabet: Alphabet | None = None
    machine: Machine | None = None


def droppable_symbols(pattern: Machine) -> frozenset[Symbol]:
    """Symbols whose rows may be dropped (module docstring)."""
    if pattern.accepts[0] or not any(pattern.accepts) or not pattern.ends_promptly:
        return frozenset()
    # A state without steps is an end; no row is taken there.
    going = [(state, steps) for state, steps in enumerate(pattern.steps) if state and any(steps)]

    def skips(k: int) -> bool:
        return pattern.steps[0][k] is None and all(
            (step := steps[k]) is not None and step.target == state and not step.seen[0] for state, steps in going
        )

    return frozenset(symbol for k, symbol in enumerate(pattern.symbols) if skips(k))


def transparent_gaps(program: Program, candidates: Iterable[int]) -> frozenset[int]:
    """The candidate labels whose rows may be dropped (module docstring); empty where contiguity matters somewhere.

    Args:
        program: the automaton.
        candidates: codes of variables that nothing outside of the pattern looks at.
    """
    gaps = set(candidates)
    labels = program.labels.tolist()
    edges = [program.successors(p) for p in range(program.positions + 1)]
    if any(condition for e in edges for _, condition in e):
        return frozenset()  # an anchor
    if any(t == ACCEPT for t, _ in edges[program.positions]):
        return frozenset()  # every row may start an empty match
    # A candidate is a gap only if each of its positions loops and none ends the match.
    for p, label in enumerate(labels):
        targets = [t for t, _ in edges[p]]
        if p not in targets or ACCEPT in targets:
            gaps.discard(label)
    gaps -= {labels[t] for t, _ in edges[program.positions] if t != ACCEPT}
    while True:
        wrong = {
            labels[g]
            for p in range(program.positions)
            for g, _ in edges[p]
            if g != ACCEPT and labels[g] in gaps and edges[g] != edges[p]
        }
        if not wrong:
            break
        gaps -= wrong
    for p in range(program.positions):
        following = [t for t, _ in edges[p] if t != ACCEPT]
        if following and not any(labels[t] in gaps for t in following):
            return frozenset()
    return frozenset(gaps)


def _sees_gaps(slot: Slot, gaps: frozenset[str]) -> bool:
    """Whether a slot's value could change when rows of gap variables are dropped."""
    if isinstance(slot, Navigation):
        if slot.physical:
            return True
        # The first and the last row of a match are never gaps.
        return bool(slot.logical) if slot.variables is None else bool(gaps & set(slot.variables))
    if isinstance(slot, Aggregate):
        return slot.variables is None or bool(gaps & set(slot.variables))
    return False


def gap_elimination(
    query: PatternQuery,
    program: Program,
    local: Mapping[int, Sequence[RowCondition]],
    dependent: Iterable[int],
    alphabet: Alphabet | None,
    slots: Sequence[tuple[OutputSlot, frozenset[int]]],
) -> GapElimination:
    """Whether and how the rule applies.

    Args:
        query: the clause.
        program: its automaton.
        local: variable code -> match-independent conjuncts.
        dependent: codes of variables with match-dependent conjuncts.
        alphabet: that of the conditions; None where they are not all match-independent, or too many.
        slots: what measures need of a match, each with the codes of the variables it looks at.
    """
    if query.rows_per_match is not RowsPerMatch.ONE:
        all_rows = query.rows_per_match.is_all
        return GapElimination("", f"the result has all rows of {'a match' if all_rows else 'the input'}")
    if any(c.shifts for cs in local.values() for c in cs):
        return GapElimination("", "a condition looks at neighbouring rows")
    if alphabet is not None and not any(s.physical for s, _ in slots):
        found = _by_symbols(query, program, local, alphabet, slots)
        if found is not None:
            return found
    return _by_positions(query, program, local, dependent)


def _by_symbols(
    query: PatternQuery,
    program: Program,
    local: Mapping[int, Sequence[RowCondition]],
    alphabet: Alphabet,
    slots: Sequence[tuple[OutputSlot, frozenset[int]]],
) -> GapElimination | None:
    names = program.names
    every = frozenset(range(len(names)))
    # The first and the last row of a match never skip.
    looks: list[frozenset[int]] = [frozenset() if of == every and not s.logical else of for s, of in slots]
    aggregates = [s for m in query.measures for s in m.expression.slots if isinstance(s, Aggregate)]
    looks += [every if s.variables is None else frozenset(map(names.index, s.variables)) for s in aggregates]
    looks.append(frozenset(map(names.index, query.skip.variables)))
    labels = any(s.label for s, _ in slots)

    def seen(code: int) -> tuple[frozenset[int], int | None]:
        return frozenset(k for k, of in enumerate(looks) if code in of), code if labels else None

    pattern = machine(program, alphabet.symbols, seen)
    if pattern is None:
        return None
    dropped = droppable_symbols(pattern)
    if not dropped:
        return None
    skipping = sorted({names[code] for symbol in dropped for code in symbol}, key=names.index)
    reason = f"{', '.join(skipping)} only skip rows" if skipping else "some rows are of no use"
    return GapElimination(alphabet.keep(dropped, local), reason, alphabet, pattern.without(dropped))


def _by_positions(
    query: PatternQuery, program: Program, local: Mapping[int, Sequence[RowCondition]], dependent: Iterable[int]
) -> GapElimination:
    names = program.names
    # (who looks, at what). A gap's own condition may name itself: X.activity <> 'b' is a condition on the row.
    looks: list[tuple[str, Slot]] = [("", s) for m in query.measures for s in m.expression.slots]
    looks += [(name, s) for c in query.conditions for name in c.decided_by for s in c.scalar.slots]
    candidates = [
        code
        for code, name in enumerate(names)
        if code not in dependent
        and name not in query.skip.variables
        and not any(_sees_gaps(slot, frozenset({name})) for who, slot in looks if who != name)
    ]
    gaps = transparent_gaps(program, candidates)
    if not gaps:
        return GapElimination("", "no variable only skips rows, or contiguity matters somewhere")
    rest = [code for code in range(len(names)) if code not in gaps]
    free = [names[code] for code in rest if code not in local]
    if free:
        return GapElimination("", f"{free[0]} can take any row")
    takes = [_conjunction(local[code]) for code in rest]
    refuses = [f"NOT coalesce({_conjunction(local[code])}, false)" for code in sorted(gaps) if code in local]
    skipping = ", ".join(names[code] for code in sorted(gaps))
    return GapElimination(" OR ".join([*takes, *refuses]), f"{skipping} only skip rows")


def _conjunction(conditions: Sequence[RowCondition]) -> str:
    return f"({all_of([c.sql() for c in conditions])})"
