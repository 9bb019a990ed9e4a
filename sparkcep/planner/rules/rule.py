"""What a rule of the planner is: it takes a plan and gives one, and says what it did.

The model is a query optimizer's list of rewrites: a rule looks at the plan that the rules before it have left, and at
what it may ask of the session. Each engine has one tuple of them, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.plan import Decision, EnginePlan, PatternPlan
from sparkcep.planner.sampling import Sample, Sampler
from sparkcep.settings import Settings

E = TypeVar("E", bound=EnginePlan)


@dataclass(frozen=True, slots=True)
class RuleContext:
    """What rules may look at beside the plan. ``sampler``: asks the first rows of a large input;
    ``field_types``: Spark types of the plan's fields, of which Spark may have to be asked."""

    settings: Settings
    sampler: Sampler
    field_types: Callable[[], Sequence[str]]

    @property
    def any_layout(self) -> bool:
        """Whether a rule may choose the layout: the setting exec.layout demands none."""
        return self.settings.layout == "auto"

    def sample(self, given: InputPlan, tests: Sequence[str]) -> Sample | None:
        """Some rows that the plan keeps of a large input; None where no partition can be told from another."""
        return self.sampler(tests, given.partition_by, given.filters) if given.partition_by else None


Rule: TypeAlias = Callable[[PatternPlan[E], RuleContext], tuple[PatternPlan[E], Decision | None]]
InputRule: TypeAlias = Callable[[InputPlan, RuleContext], InputPlan]


def of_input(rule: InputRule) -> Rule[E]:
    """A rule of the input alone as a rule of a plan."""
    return lambda plan, context: (replace(plan, input=rule(plan.input, context)), None)


def apply_rules(plan: PatternPlan[E], context: RuleContext, rules: Sequence[Rule[E]]) -> PatternPlan[E]:
    """The plan behind all rules, with their decisions."""
    decisions = []
    for rule in rules:
        plan, decision = rule(plan, context)
        if decision is not None:
            decisions.append(decision)
    return replace(plan, decisions=(*plan.decisions, *decisions))
