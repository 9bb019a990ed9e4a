"""What the rules of a set need of a case together, so that an index is asked once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparkcep.planner.engines.shared.plan import SharedPlan
from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.plan import AnyPlan
from sparkcep.planner.pruning import NotPrunable, PlanAsks, Requirements, Roles, columns_read
from sparkcep.query import PatternQuery


@dataclass(frozen=True, slots=True)
class SetAsks:
    """See :class:`Asks`: the rules that share an input. ``rules``: names and plans.

    A case is wanted that one of the rules can match in, with all of its events, since positions count them. A rule that
    no index serves needs the whole log, which then is read once for all.
    """

    plan: SharedPlan
    rules: Sequence[tuple[str, AnyPlan]]

    @property
    def query(self) -> PatternQuery:
        """See :class:`Asks`."""
        return self.plan.query

    @property
    def input(self) -> InputPlan:
        """See :class:`Asks`."""
        return self.plan.input

    def columns_read(self) -> frozenset[str]:
        """See :class:`Asks`."""
        # And what orders rows of equal keys, which are columns that any rule names.
        return columns_read(self.plan).union(*(PlanAsks(plan).columns_read() for _, plan in self.rules))

    def requirements(self, roles: Roles) -> Requirements:
        """See :class:`Asks`.

        Raises:
            NotPrunable: which of the rules needs all cases, and why.
        """
        found: list[Requirements] = []
        refused: list[tuple[str, str]] = []
        for name, plan in self.rules:
            try:
                found.append(PlanAsks(plan).requirements(roles))
            except NotPrunable as why:
                refused.append((name, str(why)))
        if refused:
            (name, reason), more = refused[0], len(refused) - 1
            others = f", and {more} more {'does' if more == 1 else 'do'}" if more else ""
            raise NotPrunable(f"the rules are read together, and rule {name} needs all cases{others}: {reason}")
        bounds = [needs.bound for needs in found]
        return Requirements(
            branches=tuple(dict.fromkeys(branch for needs in found for branch in needs.branches)),
            unordered=next((needs.unordered for needs in found if needs.unordered), ""),
            bound=None if None in bounds else max(bound for bound in bounds if bound is not None),
            only=None,
            columns=self.columns_read(),
        )

    def named(self, column: str) -> Sequence[str]:
        """See :class:`Asks`."""
        return list(dict.fromkeys(value for _, plan in self.rules for value in PlanAsks(plan).named(column)))
