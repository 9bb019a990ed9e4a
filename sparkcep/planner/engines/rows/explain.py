"""The plan of a row pattern as text: the very objects that run."""

from __future__ import annotations

from sparkcep.pattern import render
from sparkcep.planner.engines.rows.plan import RowsPlan
from sparkcep.planner.explain_before import before_lines, decision_lines, indent, layout_line, place_lines
from sparkcep.planner.plan import PatternPlan
from sparkcep.query import pattern_proper, unescape


def explain_rows(plan: PatternPlan[RowsPlan]) -> list[str]:
    """Lines of the plan, without the SQL around the kernel."""
    query, engine = plan.query, plan.engine
    program, lines = engine.spec.program, []
    if (block := plan.sequence) is not None:
        lines.append(f"  Block: {render(block.pattern)}, {block.selection.value}, {block.matches.value}; run as:")
    if (window := query.window) is not None:
        lines.append(f"  Pattern: {render(pattern_proper(query))}")
        begin = "SEEK" if window.seek else "INITIAL"
        end = unescape(window.frame)
        lines.append(f"  Window: ROWS BETWEEN CURRENT ROW AND {end}, AFTER MATCH {query.skip.text()}, {begin}")
        order = ", ".join(unescape(k.text) for k in window.order)
        lines.append(f"  Rows are placed by: {order or 'their columns'}")
    else:
        lines.append(f"  Pattern: {render(query.pattern)}")
        lines.append(f"  Selection: STRICT CONTIGUITY, {query.rows_per_match.value}, AFTER MATCH {query.skip.text()}")
    if query.within is not None and query.window is None:
        lines.append(f"  Within: {unescape(query.within)} (inclusive)")
    if query.omit_censored:
        lines.append("  Censored: matches that rows behind their partition's last could change are left out")
    states = f"{program.positions} positions, {len(program.edge_target)} edges"
    lines += [f"  Program: {states}", indent(program.describe())]
    lines += before_lines(plan)
    free = [n for k, n in enumerate(program.names) if k not in engine.spec.condition_bits and k not in engine.described]
    if free:
        lines.append(f"    always true: {', '.join(free)}")
    lines.append("  Kernel evaluates while matching:")
    if not engine.described:
        lines.append("    nothing; matching is linear in the rows")
    for label, text in engine.described.items():
        lines += [f"    {program.names[label]} AS {text}", *place_lines(engine.lacking, label)]
    if engine.described and not engine.lacking:
        lines.append("    by compiled condition programs")
    lines += [layout_line(plan), *decision_lines(plan)]
    if engine.unwanted:
        lines.append(f"  Column pruning: the statement does not use {', '.join(engine.unwanted)}")
    return lines
