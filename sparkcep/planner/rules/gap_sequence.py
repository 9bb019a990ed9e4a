"""A plain sequence under SKIP TILL NEXT MATCH as a row pattern with gaps, which Spark's own aggregate can follow.

`SEQ(A a, B b, C c) MATCHES NON OVERLAPPING` (or FIRST), with conditions on single events only, takes the first A, the
first B behind it, the first C behind that. `(a g*? b g*? c) AFTER MATCH SKIP PAST LAST ROW` with an undefined g does
the same: a reluctant gap ends at the first event that fits, and if no C follows the first B, none follows a later one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkcep.block import BlockQuery, Matches, Selection
from sparkcep.pattern import Concatenation, Pattern, Quantified, Variable
from sparkcep.planner.block_clause import typed_block
from sparkcep.planner.engines.rows.plan import RowsPlan, RowsPlanner
from sparkcep.planner.engines.runs.steps import row_conditions, type_test
from sparkcep.planner.plan import Analyzer, PatternPlan
from sparkcep.planner.sampling import Sampler
from sparkcep.query import PREFIX, Definition, Events, Scalar
from sparkcep.settings import Settings

#: The variable that takes what lies between.
GAP = PREFIX + "gap"


def gap_sequence_plan(
    block: BlockQuery,
    settings: Settings,
    analyze: Analyzer,
    sample: Sampler,
    column_types: Sequence[str],
) -> PatternPlan[RowsPlan] | None:
    """The plan of a block as a row pattern, if it is a plain sequence that Spark can follow by itself.

    Args: as for :func:`sparkcep.planner.engines.runs.plan.plan_block`.
    """
    names = _plain_sequence(block)
    if names is None or not (settings.fold and settings.gap_elimination and settings.layout == "auto"):
        return None
    definitions = tuple(Definition(name, conjuncts, "") for name, conjuncts in _conjuncts(block).items() if conjuncts)
    if len(definitions) < len(names):
        return None
    block, query, hidden = typed_block(block, analyze)
    clause = replace(query, pattern=with_gaps(names), definitions=definitions, selection=Selection.STRICT)
    planned = RowsPlanner(clause, settings, analyze, sample, column_types, block, hidden).plan()
    return planned if planned.fold is not None else None


def with_gaps(names: Sequence[str]) -> Pattern:
    """Variables in order, with a reluctant gap between each two."""
    items: list[Pattern] = []
    for name in names:
        items += [Variable(name), Quantified(Variable(GAP), 0, None, False)]
    return Concatenation(tuple(items[:-1]))


def _plain_sequence(block: BlockQuery) -> list[str] | None:
    """Components of a plain sequence in order; None: it is something else."""
    items = block.pattern.items if isinstance(block.pattern, Concatenation) else ()
    if (
        len(items) < 2
        or not all(isinstance(i, Variable) for i in items)
        or block.selection is not Selection.NEXT
        or block.matches is Matches.ALL
        or block.collapsed or block.strict_time or block.trends or not block.returns or block.omit_censored
        or block.within is not None or block.between is not None or block.equivalences or block.groups
        or any(isinstance(s, Events) for m in block.returns for s in m.expression.slots)
    ):  # fmt: skip
        return None
    if any(row_conditions(c) is None for c in block.conditions):
        return None
    names = [i.name for i in items if isinstance(i, Variable)]
    return names if len(set(names)) == len(names) else None


def _conjuncts(block: BlockQuery) -> dict[str, tuple[Scalar, ...]]:
    """Tests of each component."""
    out: dict[str, list[Scalar]] = {}
    for component in block.components:
        test = type_test(component, block.event_type)
        out[component.key] = [Scalar((test,), component.position)] if test else []
    for condition in block.conditions:
        for key in condition.decided_by:
            out[key].append(condition.scalar)
    return {key: tuple(scalars) for key, scalars in out.items()}
