"""Plan EXPLAIN NON ANSWERS: which repairs are looked for, and what else is said of partitions without a match."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.automaton import ACCEPT, Automaton
from sparkcep.exec.engines.non_answers.spec import Bound, Facts, Repair, RepairSpec
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.kernels.non_answers.tables import FARTHEST
from sparkcep.expr.nodes import NavigationSlot
from sparkcep.pattern import Concatenation, Pattern, Variable
from sparkcep.planner.conditions.differences import Difference, TimeUnits, difference, names_any
from sparkcep.planner.conditions.match_conditions import MatchConditions
from sparkcep.planner.conditions.row_conditions import RowCondition
from sparkcep.planner.engines.non_answers.sql import NonAnswersSql
from sparkcep.planner.engines.runs.rules import BLOCK_RULES
from sparkcep.planner.engines.runs.steps import BlockPlanner, type_test
from sparkcep.planner.lengths import is_fixed_zone
from sparkcep.planner.plan import Analyzer, EngineDefaults, IndexNeeds, PatternPlan
from sparkcep.planner.sampling import Sampler
from sparkcep.planner.test_codes import type_test_of
from sparkcep.query import (
    POSITION,
    Aggregate,
    Condition,
    Navigation,
    PatternQuery,
    Selection,
    unescape,
)
from sparkcep.settings import Settings

_LARGEST = 1 << 58


@dataclass(frozen=True, slots=True)
class NonAnswersPlan(EngineDefaults):
    """EXPLAIN NON ANSWERS. ``unrepaired``: why nothing is repaired, empty where it is. ``warns``: whether warnings are
    asked for. The rest as of :class:`RunsPlan`."""

    spec: RepairSpec
    described: Mapping[int, str]
    conditions: Sequence[Condition]
    unrepaired: str
    warns: bool
    filter_reason: str = "every partition counts, and positions are shown"
    lacking: Mapping[int, str] = field(default_factory=dict)
    name: ClassVar[str] = "non_answers"

    @property
    def names(self) -> Sequence[str]:
        """See :class:`EnginePlan`; the repair and the matcher number components alike."""
        return self.spec.run.automaton.names

    @property
    def facts(self) -> RepairSpec:
        """Warnings are about the whole log, also where an index leaves out partitions."""
        return self.spec

    @property
    def index_needs(self) -> IndexNeeds:
        """An index serves repairs only, without order and WITHIN, which a repair may change."""
        wants_all = "each partition without a match gives a row; WHERE cost IS NOT NULL asks for repairs only"
        return IndexNeeds("" if self.spec.repairs_only else wants_all, "a repair may change it", bounded=False)


class NonAnswersPlanner(BlockPlanner):
    """Plans one bound block with EXPLAIN NON ANSWERS.

    Raises:
        PatternAnalysisError: CEP_NON_ANSWERS, CEP_NON_ANSWERS_TYPE, and those of :class:`BlockPlanner`.
    """

    def plan(self) -> PatternPlan[NonAnswersPlan]:
        """See :class:`NonAnswersPlanner`.

        Raises:
            PatternAnalysisError: CEP_NON_ANSWERS, CEP_NON_ANSWERS_TYPE, CEP_UNSUPPORTED_CONDITION.
        """
        query = self.query
        self.refuse()
        keys = self.plan_keys()
        self.add_sort_fields()
        time = self.outputs.trace(query.order_by[0].expression)
        time_type = self.analyze([query.order_by[0].expression])[0][1]
        self.units = TimeUnits(time_type, is_fixed_zone(self.settings.time_zone))
        step, most_cost, most_shift = self.lengths()
        local, dependent, conditions = self.split(any_row=True)
        within = self.plan_times()
        condition_set, checks = self.compile_runs(dependent, conditions)
        key_column = dependent.column(self.fields.texts[time])
        typed = self.type_tests(local)
        tests = {**local, **typed}
        shifts, layout, why = self.choose_layout(tests, dependent.pairs)
        bits = {label: bit for bit, label in enumerate(sorted(tests))}
        base = self.run_spec(bits, condition_set, checks)
        run = replace(base, one_per_start=True, first_only=True, use_within=query.within is not None)
        self.refuse_beyond_kernel(run, conditions, dependent)
        key = self.fields.column_of(query.order_by[0].expression)
        bare = None if query.is_block else key
        differences = [difference(c, self.is_time, self.units, bare) for c in conditions]
        unrepaired, bounds, timed = self.repairable(run, local, conditions, differences, dependent)
        repair = None
        if not unrepaired:
            low, high = self.time_range()
            places = tuple(self.names.index(n) for n in sequence_of(query.pattern) or ())
            repair = Repair(places, key_column, bounds, timed, step, most_cost, most_shift, low, high)
        facts = self.facts(differences, conditions, key_column)
        spec = RepairSpec(
            run, bits, repair, self.type_bits(bits), needed(self.automaton), facts, self.settings.limit_repair,
            repairs_only=query.non_answers is not None and query.non_answers.repairs_only,
        )  # fmt: skip
        updates = self.mask_updates(tests, bits, shifts) if layout == "lists" else ()
        shape = self.operator_columns(keys, bits, dependent.columns, within, updates)
        wanted = query.wanted
        sql = NonAnswersSql(
            query, keys, spec, time, time_type, step, wanted is None or "warnings" in wanted,
        )  # fmt: skip
        engine = NonAnswersPlan(
            spec, dependent.described, conditions, unrepaired, sql.warns,
            lacking=self.lacking,
        )  # fmt: skip
        given = self.input_plan(keys, tests, bits, (layout, why), shape, self.kept_rows(), dependent.pairs)
        return self.improved(PatternPlan(input=given, engine=engine, output=sql), BLOCK_RULES)

    # -- the clause itself -----------------------------------------------------------------------------------------

    def refuse(self) -> None:
        """Refuse what has no meaning for partitions without a match.

        Raises:
            PatternAnalysisError: CEP_NON_ANSWERS.
        """
        query = self.query
        assert query.non_answers is not None
        wrong = [
            (bool(query.trends), "aggregates over trends: a trend has no events of its own", None),
            (query.collapsed, "COLLAPSED: there is no match to collapse", "leave COLLAPSED out"),
            (query.uncertainty is not None, "UNCERTAINTY: its worlds move events already", "leave UNCERTAINTY out"),
            (query.has_return, "RETURN: its rows are partitions, with columns of their own", "leave RETURN out"),
        ]
        for found, what, hint in wrong:
            if found:
                raise self.error("CEP_NON_ANSWERS", f"EXPLAIN NON ANSWERS cannot be combined with {what}.", -1, hint)

    def error(self, error_class: str, sentence: str, part: int, hint: str | None = None) -> PatternAnalysisError:
        """An error at k (0), uncertainty (1), step (2) or the clause (-1)."""
        clause = self.query.non_answers
        assert clause is not None
        position = clause.position if part < 0 or not clause.positions else clause.positions[part]
        return PatternAnalysisError(
            error_class, sentence, text=self.query.text or None, position=position or self.query.start, hint=hint
        )

    def lengths(self) -> tuple[int, int, int]:
        """The step in units of the ORDER BY key, the most cost and the most shift in steps."""
        clause, units = self.query.non_answers, self.units
        assert clause is not None
        kind = units.kind
        if kind.kind not in ("int", "decimal", "date", "timestamp", "timestamp_ntz") or (
            kind.kind == "decimal" and kind.size > 18
        ):
            raise self.error(
                "CEP_NON_ANSWERS_TYPE",
                f"EXPLAIN NON ANSWERS moves events along an ORDER BY key of a date, timestamp, integer or decimal type "
                f"(of at most 18 digits); this one is {units.type}.",
                -1,
                "cast the ORDER BY key: ORDER BY CAST(t AS DECIMAL(18, 6))",
            )
        step, uncertainty = self.length(clause.step, 2, "step"), self.length(clause.uncertainty, 1, "uncertainty")
        if step == 0:
            raise self.error("CEP_NON_ANSWERS", "The step must not be zero.", 2, "step => 1, or an interval")
        if uncertainty % step:
            raise self.error(
                "CEP_NON_ANSWERS",
                f"The uncertainty, {unescape(clause.uncertainty)}, is not a multiple of the step, "
                f"{unescape(clause.step)}.",
                1,
                "shifts are multiples of the step, up to the uncertainty",
            )
        cost = unescape(clause.cost).strip()
        if not units.is_number and re.fullmatch(r"-?\d+", cost):
            most = Fraction(int(cost))  # of a time a bare number counts steps
        else:
            most = Fraction(self.length(clause.cost, 0, "k"), step)
        if most < 0:
            raise self.negative("k", clause.cost, 0)
        return step, min(most.__floor__(), _LARGEST), uncertainty // step

    def length(self, text: str, part: int, name: str) -> int:
        """A length of time in units of the ORDER BY key, a bare number of a time in seconds.

        ``part``: which argument it is, from 0; ``name``: what messages call it.

        Raises:
            PatternAnalysisError: CEP_NON_ANSWERS: not a fixed length, or below zero.
        """
        found = self.units.count(text, physical=True)
        if found is None and not self.units.is_number:
            plain = re.fullmatch(r"\s*-?\d+(\.\d+)?\s*", text) is not None  # seconds, as elsewhere
            sign, body = ("-", text.strip()[1:]) if text.strip().startswith("-") else ("", text)
            if inner := re.fullmatch(r"\s*INTERVAL\s+(['\"]?)\s*-(.*)", body, re.IGNORECASE | re.DOTALL):
                sign, body = "-", inner[1] + inner[2]
            found = self.units.count(f"{sign}INTERVAL {body}{' SECOND' if plain else ''}", physical=True)
        if found is None:
            months = re.search(r"MONTH|YEAR", text, re.IGNORECASE)
            example = {"int": f"{name} => 4", "decimal": f"{name} => 0.5", "date": f"{name} => INTERVAL 1 DAY"}
            raise self.error(
                "CEP_NON_ANSWERS",
                f"{name} must be a fixed length of {self.units.type}; {unescape(text).strip()} is not.",
                part,
                "months and years differ in length: use days" if months
                else example.get(self.units.kind.kind, f"{name} => INTERVAL 1 MINUTE"),
            )  # fmt: skip
        if found < 0:
            raise self.negative(name, text, part)
        if found.denominator != 1 or found > _LARGEST:
            raise self.error(
                "CEP_NON_ANSWERS", f"{name} is not a whole number of units of {self.units.type}, or too large.", part
            )
        return int(found)

    def negative(self, name: str, text: str, part: int) -> PatternAnalysisError:
        """CEP_NON_ANSWERS, a length below zero; the caller raises it."""
        return self.error(
            "CEP_NON_ANSWERS", f"{name} must not be negative; it is {unescape(text).strip()}.", part,
            "lengths are taken both ways",
        )  # fmt: skip

    # -- what may be moved -----------------------------------------------------------------------------------------

    def is_time(self, text: str) -> bool:
        """Whether a row expression is the ORDER BY key."""
        key = self.query.order_by[0].expression
        column = self.fields.column_of(key)
        return text.strip() == key.strip() or (column is not None and self.fields.column_of(text) == column)

    def repairable(
        self, run: RunSpec, local: dict[int, list[RowCondition]], conditions: Sequence[Condition],
        differences: Sequence[Difference | None], dependent: MatchConditions,
    ) -> tuple[str, tuple[Bound, ...], frozenset[int]]:  # fmt: skip
        """Why nothing can be repaired (empty where it can), bounds by places, and conditions that they stand for."""
        query = self.query
        places = sequence_of(query.pattern)
        key = query.order_by[0]
        words = frozenset(w.casefold() for w in re.findall(r"\w+", unescape(key.expression)))
        if (column := self.fields.column_of(key.expression)) is not None:
            words |= {column.casefold()}
        why = ""
        if places is None:
            why = "the pattern is not a plain sequence"
        elif query.selection is Selection.STRICT:
            why = f"{query.selection.value} is about neighbours, not about times"
        elif not key.ascending:
            why = "ORDER BY is not ascending"
        elif (lacking := self.kernel_lacks(run, conditions, differences)) is not None:
            why = f"the kernel has no {lacking}"
        elif len(set(places)) < len(places) and conditions:
            why = "conditions name a variable that occurs in the pattern twice"
        elif query.between is not None:
            why = "BETWEEN clips events at the times that they have"
        elif any(c.shifts for cs in local.values() for c in cs) or any(
            isinstance(s, NavigationSlot) and s.physical for s in dependent.slots
        ):
            why = "PREV and NEXT are about neighbours, which shifts change"
        if why or places is None:
            return why, (), frozenset()
        for cs in local.values():
            for one in cs:
                if names_any(one.sql(), words):
                    return f"{one.describe()} is about the time of one event", (), frozenset()
        at = {name: n for n, name in enumerate(places)}
        bounds: list[Bound] = []
        timed: list[int] = []
        for k, (condition, d) in enumerate(zip(conditions, differences, strict=True)):
            if d is not None:
                timed.append(k)
                bounds.append(bound(at[d.first], at[d.second], d, condition.source))
                continue
            if names_any(read_by(condition), words | {POSITION}):
                return (
                    f"{condition.source or 'a condition'} does not bound the time between two events",
                    (),
                    frozenset(),
                )
        if query.within is not None and len(places) > 1:
            length = self.units.count(query.within)
            if length is None:
                return f"WITHIN {unescape(query.within)} differs from event to event", (), frozenset()
            bounds.append(
                Bound(0, len(places) - 1, None, length.__floor__(), source=f"WITHIN {unescape(query.within)}")
            )
        return "", tuple(bounds), frozenset(timed)

    def kernel_lacks(
        self, run: RunSpec, conditions: Sequence[Condition], differences: Sequence[Difference | None]
    ) -> str | None:
        """What the kernel lacks for the conditions that are no bounds, if it lacks anything."""
        tested = [k for k, d in enumerate(differences) if d is None]

        beyond = self.beyond_kernel(run.conditions, [conditions[k] for k in tested], tested)
        return None if beyond is None else beyond[1]

    def time_range(self) -> tuple[int, int]:
        """Least and most of a new time: what the key's type holds."""
        kind = self.units.kind
        if kind.kind == "int":
            half = 1 << (kind.size - 1)
            return max(-half, -2 * FARTHEST), min(half - 1, 2 * FARTHEST)
        if kind.kind == "decimal":
            return -(10**kind.size) + 1, 10**kind.size - 1
        if kind.kind == "date":
            return -719162, 2932896  # years 1 to 9999
        return -62135596800 * 10**6, 253402300799999999

    # -- masks, rows, facts ----------------------------------------------------------------------------------------

    def type_tests(self, local: dict[int, list[RowCondition]]) -> dict[int, list[RowCondition]]:
        """Tests of types alone, of components that must be more than of a type."""
        out: dict[int, list[RowCondition]] = {}
        for code, component in enumerate(self.query.components):
            test = type_test(component, self.query.event_type)
            if test and len(local.get(code, [])) > 1:
                out[type_test_of(code)] = [RowCondition((test,), component.position)]
        return out

    def type_bits(self, bits: dict[int, int]) -> tuple[int, ...]:
        """Per component the mask bit of its type alone; in MATCH_RECOGNIZE that is what DEFINE says of one event."""
        own = [
            bits.get(code, -1) if component.types or not self.query.is_block else -1
            for code, component in enumerate(self.query.components)
        ]
        return tuple(bits.get(type_test_of(code), bit) for code, bit in enumerate(own))

    def facts(self, differences: Sequence[Difference | None], conditions: Sequence[Condition], key: int) -> Facts:
        """What is asked of the log: pairs of components that follow each other, and bounds between two of them."""
        automaton = self.automaton
        pairs = dict.fromkeys(
            (automaton.components[s], e.component)
            for s in range(automaton.states)
            for e in automaton.edges[s]
            if e.target != ACCEPT and automaton.components[s] != e.component
        )
        bounds = tuple(
            bound(self.names.index(d.first), self.names.index(d.second), d, c.source)
            for d, c in zip(differences, conditions, strict=True)
            if d is not None
        )
        return Facts(tuple(pairs), bounds, key if any(not b.gap for b in bounds) else -1)


def read_by(condition: Condition) -> str:
    """All text of a condition, slots included."""
    parts = []
    for p in condition.scalar.pieces:
        if isinstance(p, str):
            parts.append(p)
        elif isinstance(p, Navigation):
            parts.append(p.argument.text)
        elif isinstance(p, Aggregate):
            parts += [a.text for a in p.arguments]
            parts.append(p.filter.text if p.filter is not None else "")
    return " ".join(parts)


def bound(first: int, second: int, d: Difference, source: str) -> Bound:
    """A difference between places; from the earlier to the later one."""
    if first < second:
        return Bound(first, second, d.least, d.most, d.gap, unescape(source))
    least, most = (None if v is None else -v for v in (d.most, d.least))
    return Bound(second, first, least, most, d.gap, unescape(source))


def sequence_of(pattern: Pattern) -> list[str] | None:
    """Component keys of a plain sequence in order, or None."""
    if isinstance(pattern, Variable):
        return [pattern.name]
    if not isinstance(pattern, Concatenation):
        return None
    out: list[str] = []
    for item in pattern.items:
        part = sequence_of(item)
        if part is None:
            return None
        out += part
    return out


def needed(automaton: Automaton) -> tuple[int, ...]:
    """Components that every match takes, in the order of the pattern: those without which the end cannot be reached."""
    out = []
    for code in dict.fromkeys(automaton.components):
        stack, seen = [automaton.states], {automaton.states}
        ends = False
        while stack and not ends:
            for e in automaton.edges[stack.pop()]:
                if e.target == ACCEPT:
                    ends = True
                elif e.component != code and e.target not in seen:
                    seen.add(e.target)
                    stack.append(e.target)
        if not ends:
            out.append(code)
    return tuple(sorted(out))


def plan_non_answers(
    query: PatternQuery, settings: Settings, analyze: Analyzer, sample: Sampler, column_types: Sequence[str]
) -> PatternPlan[NonAnswersPlan]:
    """Plan one block or clause with EXPLAIN NON ANSWERS; see :class:`NonAnswersPlanner`."""
    return NonAnswersPlanner(query, settings, analyze, sample, column_types).plan()
