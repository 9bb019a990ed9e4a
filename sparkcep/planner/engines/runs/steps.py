"""Steps that planning a block has for every engine: conditions, negations, time, which rows are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from sparkcep.errors import PatternAnalysisError, SparkCepError
from sparkcep.exec.automaton import Automaton, compile_automaton
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.engines.runs.spec import Check, RunSpec
from sparkcep.exec.engines.runs.tables import has_border, machine_tables
from sparkcep.exec.masks import words_of
from sparkcep.exec.shape import Within
from sparkcep.expr.nodes import LABEL_COLUMN, ROW_COLUMN, NavigationSlot, columns_read
from sparkcep.expr.types import TIMES, NotCompilable
from sparkcep.pattern import can_be_empty
from sparkcep.planner.conditions.consistency import span_of
from sparkcep.planner.conditions.match_conditions import MatchConditions
from sparkcep.planner.conditions.row_conditions import RowCondition, all_of, row_condition, tests_by_name
from sparkcep.planner.plan import Analyzer
from sparkcep.planner.steps import PlanSteps
from sparkcep.planner.test_codes import of_components
from sparkcep.query import (
    Component,
    Condition,
    Navigation,
    PatternQuery,
    RowsPerMatch,
    Scalar,
    Selection,
    SkipMode,
    TestedAt,
    string_literal,
)

#: WITHIN as a bare number.
_NUMBER = re.compile(r"\s*(\d+(?:\.\d+)?)\s*")
#: Why no row is left that is not of a component's event type.
ONLY_TAKEN = "rows that no component can take are dropped"


class BlockPlanner(PlanSteps):
    """What planners of blocks share.

    Args:
        query: a block, or a clause with EVENT SELECTION. The rest: as for :class:`PlanSteps`.

    Raises:
        PatternAnalysisError: CEP_UNSUPPORTED_CONDITION, CEP_UNSUPPORTED_PATTERN, CEP_EMPTY_NEGATION, CEP_WITHIN_TYPE,
            CEP_ORDER_MISSING, CEP_UNSUPPORTED_SELECTION.
        LimitError: CEP_PROGRAM_TOO_LARGE.
    """

    def compile(self) -> tuple[str, ...]:
        """The automaton of the query's pattern, and the query as its strategy can take it."""
        self.query = typed_query(self.query, self.analyze)
        self.automaton = self.compile_pattern()
        return self.automaton.names

    def compile_pattern(self) -> Automaton:
        """The pattern's automaton.

        Raises:
            SparkCepError: CEP_PROGRAM_TOO_LARGE, CEP_EMPTY_NEGATION, CEP_UNSUPPORTED_PATTERN, at the pattern.
        """
        query = self.query
        try:
            return compile_automaton(
                query.pattern,
                query.labels,
                self.settings.limit_program,
                ordered=not (query.trends or query.uncertainty),
                leaves=query.selection in (Selection.NEXT, Selection.BY_STEP),
            )
        except SparkCepError as error:
            raise error.placed(query.text or None, query.start) from None

    def run_spec(self, bits: dict[int, int], conditions: ConditionSet, checks: tuple[Check, ...]) -> RunSpec:
        """What every engine asks of the kernel that walks runs: all matches, of which nothing goes out.

        Args:
            bits: of tests of one event, by their codes.
        """
        query, settings = self.query, self.settings
        return RunSpec(
            pattern=query.pattern, automaton=self.automaton, condition_bits=of_components(bits),
            mask_words=words_of(len(bits)), selection=query.selection, strict_time=query.strict_time,
            rows_per_match=RowsPerMatch.ONE, skip=SkipMode.PAST_LAST_ROW, skip_target="",
            conditions=conditions, checks=checks, ansi=settings.ansi, limit_steps=settings.limit_steps,
            limit_rows=settings.limit_matches, task_memory=settings.task_memory, steps=query.steps,
        )  # fmt: skip

    # -- conditions ------------------------------------------------------------------------------------------------

    def split(self, any_row: bool = False) -> tuple[dict[int, list[RowCondition]], MatchConditions, list[Condition]]:
        """Conditions of one event by component code, and those that depend on the match.

        Args:
            any_row: the latter are also asked of events that do not satisfy the former.
        """
        local, left = self.split_local((*self.query.conditions, *self.equivalence_conditions()))
        return local, self.depend(left, {} if any_row else local), left

    def depend(self, conditions: Sequence[Condition], local: Mapping[int, Sequence[RowCondition]]) -> MatchConditions:
        """Conditions that depend on the match with what they read; numbers are places in ``conditions``.

        Args:
            local: those of one event by component code; other events need not be asked what may fail.

        Raises:
            PatternAnalysisError: CEP_UNSUPPORTED_CONDITION.
        """
        dependent = self.match_conditions(tests_by_name(local, self.names))
        for number, condition in enumerate(conditions):
            dependent.add(number, condition.scalar)
        return dependent

    def split_local(self, conditions: Sequence[Condition]) -> tuple[dict[int, list[RowCondition]], list[Condition]]:
        """Tests of one event by component code, and what is left of the conditions."""
        query = self.query
        local: dict[int, list[RowCondition]] = {}
        for code, component in enumerate(query.components):
            if test := type_test(component, query.event_type):
                local.setdefault(code, []).append(RowCondition((test,), component.position))
        left: list[Condition] = []
        for condition in conditions:
            own = row_conditions(condition)
            # The neighbours of a stream's row may be in other micro-batches: the kernel looks at them.
            if own is None or (self.looks_aside and any(one.shifts for one in own.values())):
                left.append(condition)
                continue
            for key, one in own.items():
                if one.sql().strip().lower() != "true":
                    local.setdefault(self.names.index(key), []).append(one)
        return local, left

    def equivalence_conditions(self) -> list[Condition]:
        """`[x]` that no partition key stands for: each event's x is that of the first."""
        query = self.query
        out = []
        for e in query.tested_equivalences:
            positive = tuple(c.key for c in query.components if not c.negated)
            keys = e.components or positive
            if len(keys) == 0:
                continue
            tested = e.components or query.labels
            for group in (tested,) if e.components else ((k,) for k in tested):
                last = Navigation(e.expression, tuple(group), False, 0, 0, True, e.position)
                first = Navigation(e.expression, keys, True, 0, 0, True, e.position)
                scalar = Scalar(("", last, " = ", first, ""), e.position)
                out.append(Condition(scalar, tuple(group), awaited=(keys,), source=f"[{e.expression.text}]"))
        return out

    def compile_runs(
        self, dependent: MatchConditions, conditions: Sequence[Condition]
    ) -> tuple[ConditionSet, tuple[Check, ...]]:
        """Conditions and when they are tested."""
        if not conditions:
            return ConditionSet(), ()
        dependent.settle()
        if any(LABEL_COLUMN in columns_read(node, dependent.slots) for node in dependent.conditions.values()):
            for key in self.names:
                dependent.register((key,))
        checks = tuple(self.check(k, c, dependent) for k, c in enumerate(conditions))  # adds registers and columns
        kinds = dependent.column_kinds()
        names = self.names
        tested = tuple(
            frozenset(names.index(k) for k in c.decided_by) if c.at is TestedAt.TAKE else frozenset()
            for c in conditions
        )
        out = ConditionSet(
            dependent.conditions, tuple(dependent.slots), kinds, tuple(dependent.registers), tested=tested,
            each=frozenset(dependent.each),
        )  # fmt: skip
        return out, checks

    def check(self, number: int, c: Condition, dependent: MatchConditions) -> Check:
        """When a condition is tested and over which registers, as the kernel takes it."""

        def codes(keys: Sequence[str]) -> frozenset[int]:
            return frozenset(self.names.index(k) for k in keys)

        counted = dependent.register(c.each, True) if c.each else dependent.register(c.decided_by)
        without = c.at is TestedAt.PASS
        return Check(
            number,
            codes(c.decided_by),
            c.at,
            counted,
            tuple(dependent.register(r) for r in c.required),
            0 if without and not c.each else c.minimum,
            c.first_only,
            codes(c.after),
            counted if c.each else -1,
            tuple(dependent.register(r) for r in c.awaited),
            dependent.register(c.decided_by) if without else -1,
            span_of(c, dependent.column),
            codes(c.beside),
        )

    def refuse_beyond_kernel(self, spec: RunSpec, conditions: Sequence[Condition], dependent: MatchConditions) -> None:
        """Refuse what the kernel cannot match.

        Raises:
            PatternAnalysisError: CEP_UNSUPPORTED_CONDITION for a condition that it lacks, CEP_UNSUPPORTED_PATTERN for
                negations; CEP_COLLAPSED.
        """
        beyond = self.beyond_kernel(spec.conditions, conditions)
        if beyond is not None:
            raise dependent.unsupported(beyond[0].scalar, beyond[1])
        query = self.query
        if spec.collapsed and any(has_border(n.automaton) for n in spec.automaton.negations):
            raise PatternAnalysisError(
                "CEP_COLLAPSED", "Matches cannot be collapsed with negation at the border of a negated sequence.",
                text=query.text or None, position=query.start,
            )  # fmt: skip
        if what := machine_lacks(spec) or self.preference_waits(spec):
            raise PatternAnalysisError(
                "CEP_UNSUPPORTED_PATTERN", f"A pattern cannot have {what}.", text=query.text or None,
                position=query.start, hint="test in a condition what a negation forbids, or write two patterns",
            )  # fmt: skip

    def beyond_kernel(
        self, compiled: ConditionSet, conditions: Sequence[Condition], numbers: Sequence[int] | None = None
    ) -> tuple[Condition, str] | None:
        """The first condition that a kernel cannot evaluate, also not by calling the interpreter, and what of it.

        ``lacking`` says for which it does, and why. ``numbers``: of the conditions among ``compiled``, where
        they are not all of them.
        """

        def attempt(k: int) -> None:
            self.note_place(compiled, k if numbers is None else numbers[k])

        return condition_beyond(attempt, conditions)

    def preference_waits(self, spec: RunSpec) -> str:
        """Why the order of matches is known at their ends only, where it is asked for; empty where it is not."""
        return ""

    # -- time, rows ------------------------------------------------------------------------------------------------

    def plan_times(self) -> Within | None:
        """The times that the kernel compares, if any: WITHIN, STRICT TIME, and how far back a leading negation looks.

        Raises:
            PatternAnalysisError: CEP_WITHIN_TYPE.
        """
        query = self.query
        if query.within is None:
            if not query.strict_time:
                return None
            return Within(self.fields.add(query.order_by[0].expression), None, 0)
        within = self.plan_within()
        if within is None or within.bound is None or not self.automaton.negates_before:
            return within
        key = self.fields.texts[within.key]
        lower = f"CAST((({key}) - ({self.within_text})) AS {self.within_type})"
        return replace(within, lower=self.fields.add(lower))

    def kept_rows(self) -> list[str]:
        """What rows must satisfy to be looked at at all, whatever the pattern."""
        query = self.query
        out = []
        if query.between is not None:
            low, high = query.between
            out.append(f"({query.order_by[0].expression}) BETWEEN ({low}) AND ({high})")
        return out + [f"({e.expression.text}) IS NOT NULL" for e in query.partitioning]

    def filters(self, local: dict[int, list[RowCondition]], dependent: MatchConditions) -> tuple[list[str], str]:
        """What rows must satisfy to be looked at at all, and why rows that nothing can take are kept if they are."""
        query = self.query
        out = self.kept_rows()
        if not self.settings.gap_elimination:
            return out, "spark.sparkcep.planner.gapElimination.enabled = false"
        why = ""
        if query.selection is Selection.STRICT:
            why = "contiguity needs all rows"
        elif self.outputs.traced is not None:
            why = "the output shows positions"
        elif any(s.physical for s in self.outputs.slots) or any(c.shifts for cs in local.values() for c in cs):
            why = "PREV or NEXT look at all rows"
        elif any(isinstance(s, NavigationSlot) and s.column == ROW_COLUMN for s in dependent.slots):
            why = "gap constraints count all rows"
        elif self.query.rows_per_match is RowsPerMatch.ALL_WITH_UNMATCHED:
            why = "unmatched rows are shown"
        elif len(local) < len(self.names):
            free = next(n for k, n in enumerate(self.names) if k not in local)
            why = f"{free} can take any row"
        if why:
            return out, why
        out.append(taken_by_any([local[k] for k in range(len(self.names))]))
        return out, ONLY_TAKEN


def taken_by_any(tests: Sequence[Sequence[RowCondition]]) -> str:
    """SQL of the rows that some component can take. ``tests``: by component, what each demands of a row."""
    texts = dict.fromkeys(all_of([c.sql() for c in own]) for own in tests)
    return " OR ".join(f"({text})" for text in texts)


def typed_query(query: PatternQuery, analyze: Analyzer) -> PatternQuery:
    """The query as its strategy can take it: a block's WITHIN has a unit, a clause's rows are those of matches.

    Raises:
        PatternAnalysisError: CEP_ORDER_MISSING, CEP_UNSUPPORTED_SELECTION.
    """
    if not query.is_block:
        refuse_unselectable(query)
        return query
    if not query.order_by:
        raise PatternAnalysisError(
            "CEP_ORDER_MISSING", "A pattern block needs an ORDER BY.", text=query.text or None, position=query.start
        )
    time_type = analyze([query.order_by[0].expression])[0][1]
    number = _NUMBER.fullmatch(query.within or "")
    return replace(query, within=f"INTERVAL '{number[1]}' SECOND") if number and time_type in TIMES else query


def refuse_unselectable(query: PatternQuery) -> None:
    """Raises CEP_UNSUPPORTED_SELECTION where a clause asks for what only strict contiguity has."""
    what = ""
    if query.rows_per_match is RowsPerMatch.ALL_WITH_UNMATCHED:
        what = query.rows_per_match.value
    elif query.filters_excluded:
        what = "{- -} with ALL ROWS PER MATCH"
    elif can_be_empty(query.pattern):
        what = "a pattern that may be empty"
    if what:
        raise PatternAnalysisError(
            "CEP_UNSUPPORTED_SELECTION",
            f"{query.selection.value} cannot have {what}.",
            text=query.text or None,
            position=query.start,
            hint="use STRICT CONTIGUITY, ONE ROW PER MATCH, or a pattern with a mandatory component",
        )


def condition_beyond(attempt: Callable[[int], object], conditions: Sequence[Condition]) -> tuple[Condition, str] | None:
    """The first condition that an engine lacks, and what of it."""
    for k, condition in enumerate(conditions):
        try:
            attempt(k)
        except NotCompilable as error:
            return condition, str(error)
    return None


def machine_lacks(spec: RunSpec) -> str:
    """Why the kernel cannot match a pattern with its negations; empty where it can."""
    try:
        machine_tables(spec)
    except NotCompilable as error:
        return str(error)
    return ""


def type_test(component: Component, event_type: str | None) -> str:
    """SQL that an event is of a component's types; empty where every event is."""
    return "" if not component.types or event_type is None else is_of_types(component.types, event_type)


def is_of_types(types: Collection[str], event_type: str) -> str:
    """SQL that an event is of one of some types."""
    names = ", ".join(map(string_literal, types))
    return f"{event_type} = {names}" if len(types) == 1 else f"{event_type} IN ({names})"


def row_conditions(c: Condition) -> dict[str, RowCondition] | None:
    """A condition as a test of an event alone, by the components it is tested for; None: it depends on the match."""
    if c.at is not TestedAt.TAKE or c.required or c.awaited or c.minimum != 1 or c.first_only or c.after or c.each:
        return None
    own = {key: row_condition(c.scalar, key) for key in c.decided_by}
    tests = {key: test for key, test in own.items() if test is not None}
    return tests if len(tests) == len(own) else None
