"""pattern_rule_costs: what each rule of a set costs over a log."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from sparkcep.exec.layouts.rule_costs import rule_costs

if TYPE_CHECKING:
    from sparkcep.session.rules.run import RuleSet

_NAMES = StructType(
    [
        StructField("pass", IntegerType()), StructField("number", IntegerType()), StructField("rule", StringType()),
        StructField("runs_alone", StringType()),
    ]
)  # fmt: skip


#: Columns of figures, with SQL of what a rule has that was given no rows.
_FIGURES = {"looked_at": "0L", "matches": "0L", "cpu_seconds": "0D"}
#: As many rules EXPLAIN ANALYZE lists.
_LISTED = 20


def cost_lines(rules: RuleSet) -> list[str]:
    """What EXPLAIN ANALYZE says of the rules that cost most."""
    rows = rules.analyzer.run(f"{costs_sql(rules)} ORDER BY cpu_seconds DESC NULLS LAST, rule").collect()
    of_set = [row for row in rows if row.runs_alone is None]
    if not of_set:
        return []
    lines = ["", "== Rules ==", "CPU seconds, matches, rows looked at, of each rule that shares its input:"]
    lines += [f"  {row.cpu_seconds:.3f}  {row.matches:,}  {row.looked_at:,}  {row.rule}" for row in of_set[:_LISTED]]
    if len(of_set) > _LISTED:
        lines.append(f"  and {len(of_set) - _LISTED} more: pattern_rule_costs has all")
    return lines


def costs_sql(rules: RuleSet) -> str:
    """SQL of a row for each rule that runs: its name, how many rows it looked at, its matches and seconds of the
    processor; or why it runs by itself, of which nothing is measured. ``rules``: of a log at rest."""
    rules.call = replace(rules.call, settings=replace(rules.call.settings, layout="rows"))
    passes, alone = rules.shared()
    names: list[tuple[int | None, int | None, str, str | None]] = [(None, None, *why) for why in alone.items()]
    parts: list[str] = []
    for number, shared in enumerate(passes):
        plan = shared.plan
        names += [(number, rule.number, rule.name, None) for rule in plan.spec.rules]
        source = rules.call.source if shared.pruning.frame is None else shared.pruning.frame
        found = rule_costs(rules.analyzer.analyzed(plan.before(), source), plan.input.shape, plan.spec)
        of_pass = found.sql(rules.named("costs", found.frame))
        parts.append(f"SELECT {number} AS pass, rule AS number, {', '.join(_FIGURES)} FROM {of_pass}")
    known = rules.named("rule_names", rules.analyzer.spark.createDataFrame(names, _NAMES))
    if not parts:
        zeros = ", ".join(f"{zero} AS {name}" for name, zero in _FIGURES.items())
        parts.append(f"SELECT 0 AS pass, 0 AS number, {zeros} WHERE false")
    sums = ", ".join(
        f"CASE WHEN first(runs_alone) IS NULL THEN coalesce(sum({name}), {zero}) END AS {name}"
        for name, zero in _FIGURES.items()
    )
    return (
        f"SELECT rule, {sums}, first(runs_alone) AS runs_alone FROM {known} LEFT JOIN ({' UNION ALL '.join(parts)}) "
        "USING (pass, number) GROUP BY pass, number, rule"
    )
