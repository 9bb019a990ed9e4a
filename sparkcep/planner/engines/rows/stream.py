"""What of a row pattern a stream never decides: rows behind the match that may never come, the partition's end."""

from __future__ import annotations

from sparkcep.exec.automaton import events_left
from sparkcep.exec.engines.rows.program import AT_END, Program
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.expr.nodes import Call, Expression, Load, NavigationSlot
from sparkcep.planner.plan import NEXT_IN_OUTPUT


def never_decided(spec: MatchSpec) -> tuple[str, str] | None:
    """``$``, and NEXT in conditions or outputs of rows that may be the match's last, with what to write instead."""
    program = spec.program
    if (program.edge_condition & AT_END).any():
        return "`$`: a stream's partitions have no end", "use WITHIN to say when a match is over"
    after = rows_after(program)
    for label, condition in spec.conditions.conditions.items():
        for number in loaded(condition):
            slot = spec.conditions.slots[number]
            if not isinstance(slot, NavigationSlot) or slot.physical <= 0:
                continue
            of = spec.conditions.registers[slot.register]
            if label in of and not slot.from_first and not slot.logical:
                of = frozenset([label])  # the row that is tested
            if _least(spec, after, of) < slot.physical:
                return (
                    "NEXT in DEFINE that may look past the match, at a row that may never come",
                    "add a variable for that row to the pattern",
                )
    ahead = [s for s in spec.slots if s.physical > 0]
    if any(_least(spec, after, spec.slot_registers[s.register]) < s.physical for s in ahead):
        return NEXT_IN_OUTPUT
    return None


def loaded(node: Expression) -> set[int]:
    """Slots that a condition reads."""
    if isinstance(node, Load):
        return {node.slot}
    return set().union(*(loaded(a) for a in node.arguments)) if isinstance(node, Call) else set()


def rows_after(program: Program) -> list[int]:
    """Of each position, how many rows a match takes behind it at least; 0 where it comes to no end."""
    most = program.positions
    left = events_left([[target for target, _ in program.successors(p)] for p in range(most)])
    return [n if n < most else 0 for n in left]


def _least(spec: MatchSpec, after: list[int], labels: frozenset[int]) -> int:
    return min((n for n, label in zip(after, spec.program.labels.tolist(), strict=True) if label in labels), default=0)
