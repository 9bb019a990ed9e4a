"""Plan MATCH_RECOGNIZE under strict contiguity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkcep.errors import LimitError
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.conditions.programs import Labels
from sparkcep.exec.engines.rows.program import compile_pattern
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.masks import words_of
from sparkcep.expr.types import NotCompilable
from sparkcep.planner.censored import censored_rows, log_end
from sparkcep.planner.conditions.match_conditions import MatchConditions
from sparkcep.planner.conditions.row_conditions import RowCondition, row_condition, tests_by_name
from sparkcep.planner.engines.rows.plan import RowsPlan
from sparkcep.planner.engines.rows.rules import RULES
from sparkcep.planner.measures import MeasureSql
from sparkcep.planner.plan import Analyzer, PatternPlan
from sparkcep.planner.sampling import Sampler
from sparkcep.planner.steps import PlanSteps
from sparkcep.query import GAP, PatternQuery, Scalar
from sparkcep.settings import Settings


class RowsPlanner(PlanSteps):
    """Plans one bound clause; see :class:`PlanSteps`.

    Raises:
        PatternAnalysisError: CEP_UNSUPPORTED_CONDITION, CEP_WITHIN_TYPE, CEP_CENSORED.
        LimitError: CEP_PROGRAM_TOO_LARGE.
    """

    labels = Labels.COLUMN

    def compile(self) -> tuple[str, ...]:
        """The program of the clause's pattern.

        Raises:
            LimitError: CEP_PROGRAM_TOO_LARGE.
        """
        try:
            self.program = compile_pattern(self.query.pattern, self.settings.limit_program)
        except LimitError as error:
            raise error.placed(self.query.text or None, self.query.start) from None
        return self.program.names

    def plan(self) -> PatternPlan[RowsPlan]:
        """The plan of one clause, rules applied.

        Raises:
            PatternAnalysisError, LimitError: CEP_WITHIN_TYPE, CEP_UNSUPPORTED_CONDITION, CEP_CENSORED,
                CEP_PROGRAM_TOO_LARGE.
        """
        query = self.query
        keys = self.plan_keys()
        self.add_sort_fields()
        local, dependent = self.split_conditions()
        within, replaced = self.plan_within(), {}
        if query.omit_censored and within is not None:
            end = self.fields.add(f"CAST(NULL AS {self.within_type})")
            replaced[end] = f"CAST({log_end(query)} AS {self.within_type})"
            within = replace(within, end=end)
        shifts, layout, reason = self.choose_layout(local, dependent.pairs)
        measures = MeasureSql(query, keys, self.outputs, analyze=self.analyze)
        measures.prepare()
        conditions = self.compile_dependent(dependent)
        bits = {label: bit for bit, label in enumerate(sorted(local))}
        spec = MatchSpec(
            program=self.program,
            condition_bits=bits,
            mask_words=words_of(len(bits)),
            use_within=within is not None,
            rows_per_match=query.rows_per_match,
            skip=query.skip.mode,
            skip_labels=frozenset(self.names.index(v) for v in query.skip.variables),
            skip_target=query.skip.target or "",
            slots=tuple(self.outputs.slots),
            slot_registers=tuple(self.outputs.slot_registers),
            every_row=measures.has_aggregates,
            conditions=conditions,
            ansi=self.settings.ansi,
            limit_steps=self.settings.limit_steps,
            limit_rows=self.settings.limit_matches,
            gap=self.names.index(GAP) if query.window is not None and query.window.seek else -1,
            task_memory=self.settings.task_memory,
        )
        spec = censored_rows(query, spec)
        updates = self.mask_updates(local, bits, shifts) if layout == "lists" else ()
        shape = self.operator_columns(keys, bits, dependent.columns, within, updates)
        given = self.input_plan(keys, local, bits, (layout, reason), shape, pairs=dependent.pairs, replaced=replaced)
        unwanted = [m.name for m in query.measures if measures.is_unwanted(m)]
        engine = RowsPlan(spec, dependent.described, self.lacking, measures, self.outputs, unwanted)
        plan = PatternPlan(input=given, engine=engine, output=measures)
        return plan if query.streaming else self.improved(plan, RULES)

    # -- conditions ------------------------------------------------------------------------------------------------

    def split_conditions(self) -> tuple[dict[int, list[RowCondition]], MatchConditions]:
        """Conditions on one row and its neighbours by variable's code, which Spark evaluates; and the others."""
        local: dict[int, list[RowCondition]] = {}
        left: list[tuple[str, Scalar]] = []
        for defined in self.query.conditions:
            (variable,) = defined.decided_by
            condition = row_condition(defined.scalar, variable)
            if condition is None or self.kernel_looks(condition):
                left.append((variable, defined.scalar))
            elif condition.sql().strip().lower() != "true":
                local.setdefault(self.names.index(variable), []).append(condition)
        dependent = self.match_conditions(tests_by_name(local, self.names))
        for variable, scalar in left:
            dependent.tested = (variable,)
            dependent.add(self.names.index(variable), scalar)
        return local, dependent

    def kernel_looks(self, condition: RowCondition) -> bool:
        """Whether the kernel looks at a row's neighbours, since Spark would not see those that are to come: a stream's
        are in other micro-batches, and behind the log's end they decide what is censored."""
        ahead = self.query.omit_censored and any(s.offset > 0 for s in condition.shifts)
        return ahead or (self.looks_aside and bool(condition.shifts))

    def compile_dependent(self, dependent: MatchConditions) -> ConditionSet:
        """The condition set."""
        if not dependent.conditions:
            return ConditionSet()
        dependent.settle()
        kinds = dependent.column_kinds()
        conditions = ConditionSet(dependent.conditions, tuple(dependent.slots), kinds, tuple(dependent.registers))
        for label in sorted(dependent.conditions):
            try:
                self.note_place(conditions, label)
            except NotCompilable as error:
                defined = next(c for c in self.query.conditions if c.decided_by == (self.names[label],))
                raise dependent.unsupported(defined.scalar, str(error)) from None
        return replace(conditions, calls_back=bool(self.lacking))


def plan_rows(
    query: PatternQuery, settings: Settings, analyze: Analyzer, sample: Sampler, column_types: Sequence[str]
) -> PatternPlan[RowsPlan]:
    """Plan one bound clause; see :class:`RowsPlanner`."""
    return RowsPlanner(query, settings, analyze, sample, column_types).plan()
