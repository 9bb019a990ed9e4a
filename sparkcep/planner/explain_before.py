"""What every pattern plan shows of the SQL before matching."""

from __future__ import annotations

from collections.abc import Mapping

from sparkcep.planner.plan import AnyPlan, slow
from sparkcep.query import unescape


def indent(text: str, by: str = "    ") -> str:
    """Each line with ``by`` in front."""
    return "\n".join(by + line for line in text.splitlines())


def before_lines(plan: AnyPlan, tested: Mapping[int, str] | None = None) -> list[str]:
    """Keys, order and conditions of one row.

    Args:
        tested: what the condition with a code is called; without it by the variable of that code.
    """
    lines = ["  Spark evaluates before matching:"]
    lines.append("    partition by: " + (", ".join(unescape(t) for t, _ in plan.input.keys) or "(one partition)"))
    order = [unescape(k.text) for k in plan.query.order_by]
    ties = [unescape(t) for t in plan.input.fields.texts[len(order) : plan.input.fields.sort_fields]]
    lines.append(
        "    order by: " + (", ".join(order) or "(nothing)") + (f"; ties by {', '.join(ties)}" if ties else "")
    )
    for code, bit in plan.input.bits.items():
        text = " AND ".join(c.describe() for c in plan.input.tests[code])
        name = plan.engine.names[code] if tested is None else tested[code]
        lines.append(f"    bit {bit}: {name} AS {text}")
    return lines


def place_lines(lacking: Mapping[int, str], number: int) -> list[str]:
    """Where a condition is evaluated, if not in the kernel."""
    return [f"      {slow('by the interpreter', lacking[number])}"] if number in lacking else []


def layout_line(plan: AnyPlan) -> str:
    """The layout and why it was chosen."""
    return f"  Layout: {plan.input.layout} ({plan.input.layout_reason})"


def filter_line(plan: AnyPlan, why: str) -> str:
    """Which rows are read. ``why``: why rows that nothing can take are kept, or that they are not."""
    return f"  Filter first: {'; '.join(unescape(f) for f in plan.input.filters) or 'no'}, {why}"


def decision_lines(plan: AnyPlan) -> list[str]:
    """What rules decided, in their order."""
    out = []
    for d in plan.decisions:
        out += [f"  {d.rule}: {'yes' if d.applied else 'no'}, {d.reason}", *(f"    {line}" for line in d.lines)]
    return out
