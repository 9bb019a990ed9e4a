"""Steps that planning for every engine has: keys, order, WITHIN, layout, masks."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.conditions.compiler import compile_conditions
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.conditions.programs import CallsBack, Labels
from sparkcep.exec.masks import BITS_PER_WORD, words_of
from sparkcep.exec.shape import OperatorColumns, Within
from sparkcep.expr.types import BIGINT, parse_type
from sparkcep.planner.conditions.call_tokens import may_be_users
from sparkcep.planner.conditions.match_conditions import MatchConditions
from sparkcep.planner.conditions.row_conditions import RowCondition, lambda_text
from sparkcep.planner.fields import Fields
from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.lengths import fixed_distance, whole_within
from sparkcep.planner.outputs import Outputs
from sparkcep.planner.plan import Analyzer, PatternPlan
from sparkcep.planner.refusal import refusal
from sparkcep.planner.rules.rule import E, Rule, RuleContext, apply_rules
from sparkcep.planner.sampling import Sampler
from sparkcep.planner.ties import tie
from sparkcep.planner.within import check_length
from sparkcep.query import PREFIX, PatternQuery, unescape
from sparkcep.settings import Settings
from sparkcep.sql.lexicon import tokenize


class PlanSteps(ABC):
    """What planners share.

    Args:
        query: what was bound.
        settings: the session's settings.
        analyze: types of expressions over the input.
        sample: asks the first rows of a large input.
        column_types: Spark types of the input's columns.
    """

    #: Where conditions find the names of the variables that took rows.
    labels = Labels.NOWHERE

    def __init__(
        self,
        query: PatternQuery,
        settings: Settings,
        analyze: Analyzer,
        sample: Sampler,
        column_types: Sequence[str],
    ) -> None:
        self.settings = settings
        self.analyze = analyze
        self.sample = sample
        self.column_types = dict(zip(query.columns, column_types, strict=True))
        self.query = query
        #: Components, by code.
        self.names = self.compile()
        self.fields = Fields(query.columns, settings.case_sensitive)
        self.outputs = Outputs(self.names, self.fields)
        self.within_type = ""
        self.within_text = ""
        #: What the kernel lacks of conditions for which it calls the interpreter, by label.
        self.lacking: dict[int, str] = {}

    @property
    def looks_aside(self) -> bool:
        """Whether the matcher looks at PREV and NEXT of one row, and not Spark."""
        return self.query.streaming or self.query.own_neighbours

    def match_conditions(self, tests: Mapping[str, str], labels: tuple[str, ...] = ()) -> MatchConditions:
        """What collects the conditions over several rows. ``tests``, ``labels``: as there."""
        return MatchConditions(
            self.query, self.fields, self.column_types, self.settings.limit_pairs, self.settings.time_zone,
            labels=labels, tests=tests, analyze=self.analyze, ansi=self.settings.ansi,
            precision_loss=self.settings.precision_loss, escaped_literals=self.settings.escaped_literals,
        )  # fmt: skip

    def note_place(self, conditions: ConditionSet, number: int) -> None:
        """Note in ``lacking`` whether the kernel calls the interpreter for a condition.

        Raises:
            NotCompilable: the interpreter lacks it, too, with what that is.
        """
        one = replace(conditions, conditions={number: conditions.conditions[number]})
        for lacks in compile_conditions(one, self.settings.ansi, CallsBack.WHERE_NEEDED, self.labels).lacking[:1]:
            self.lacking[number] = lacks

    @abstractmethod
    def compile(self) -> tuple[str, ...]:
        """Compile ``query``'s pattern; gives components by code."""

    # -- keys, order -----------------------------------------------------------------------------------------------

    def plan_keys(self) -> list[tuple[str, str]]:
        """Expression and output name of each partition key."""
        out: list[tuple[str, str]] = []
        for key in self.query.partition_by:
            column = self.fields.column_of(key.expression)
            name = column if column is not None else self.analyze([key.expression])[0][0]
            out.append((key.expression, name))
        return out

    def add_sort_fields(self) -> None:
        """ORDER BY keys, then ties: event type, columns the clause names in table order, with ALL ROWS all others."""
        query = self.query
        for key in query.order_by:
            self.fields.add(key.expression)
        if query.window is not None:  # whose ORDER BY is each row's place
            self.fields.sort_fields = len(self.fields.texts)
            return
        if query.event_type is not None:
            known = self.fields.column_of(query.event_type)
            self.fields.add((known and tie(known, self.column_types[known])) or query.event_type)
        named = [c for c in query.columns if c.casefold() in query.identifiers]
        rest = [c for c in query.columns if c not in named] if query.rows_per_match.is_all else []
        keys = {self.fields.column_of(k.expression) for k in query.partition_by}
        for column in (*named, *rest):
            if column not in keys and (text := tie(column, self.column_types[column])):
                self.fields.add(text)
        self.fields.sort_fields = len(self.fields.texts)

    def field_types(self) -> list[str]:
        """Spark's types of the prepared fields; Spark is asked only about those that are not known."""
        texts, known = self.fields.texts, self.fields.types
        types = [self.column_types[c] for t in texts if (c := self.fields.column_of(t)) is not None]
        unknown = [i for i, t in enumerate(texts) if self.fields.column_of(t) is None and i not in known]
        return [*types, *known.values(), *(t for _, t in self.analyze([self.fields.typed(i) for i in unknown]))]

    def plan_within(self) -> Within | None:
        """The key and key plus interval, of one type, as fields; None without WITHIN.

        Raises:
            PatternAnalysisError: CEP_WITHIN_TYPE.
        """
        query = self.query
        if query.within is None:
            return None
        key = query.order_by[0].expression
        own = self.analyze([key])[0][1]
        check_length(query, "WITHIN", own, self.analyze)
        if own in ("tinyint", "smallint", "int"):
            key = f"CAST(({key}) AS BIGINT)"  # room for the sum
        self.within_text = query.within
        bound = f"({key}) + ({query.within})"
        type_ = _sum_type(own, query.within) or self.analyze([bound])[0][1]
        kind = parse_type(type_)
        if parse_type(own).kind == "int" and kind.kind == "decimal":
            whole = whole_within(query.within, self.analyze([query.within])[0][1])
            if whole is not None:
                self.within_text, type_, kind = whole, "bigint", BIGINT
                bound = f"({key}) + ({whole})"
        if kind.is_wide:
            raise PatternAnalysisError(
                "CEP_WITHIN_TYPE",
                f"WITHIN needs decimals of at most 18 digits; the ORDER BY key is {own}, key plus WITHIN is {type_}.",
                text=query.text or None,
                position=query.within_position,
                hint="cast the ORDER BY key",
            )
        cast = f"CAST(({key}) AS {type_})"
        self.within_type = type_
        distance = fixed_distance(self.within_text, type_)
        bound_field = self.fields.add(f"CAST(({bound}) AS {type_})", type_) if distance is None else None
        return Within(self.fields.add(cast, type_), bound_field, distance)

    # -- layout ----------------------------------------------------------------------------------------------------

    def choose_layout(self, local: dict[int, list[RowCondition]], pairs: bool) -> tuple[dict[int, str], str, str]:
        """Texts of shifted conditions by variable for the lists layout, the layout, and why."""
        if self.settings.layout == "rows":
            return {}, "rows", "spark.sparkcep.exec.layout = rows"
        if self.settings.no_lists:
            return {}, "rows", self.settings.no_lists
        if not self.query.partition_by:
            return {}, "rows", "there is no PARTITION BY"
        if pairs:
            return {}, "rows", "a condition has a function of two rows of the match"
        if any(not k.ascending or not k.nulls_first for k in self.query.order_by):
            return {}, "rows", "an ORDER BY key is not ascending with NULLs first"
        shifted: dict[int, str] = {}
        for label, conditions in local.items():
            texts = [
                lambda_text(c, self.fields, f"{PREFIX}rows", f"{PREFIX}r", f"{PREFIX}i") for c in conditions if c.shifts
            ]
            if not texts:
                continue
            shifted[label] = " AND ".join(f"({t})" for t in texts)
            why = "" if None in texts else self.refused_in_lists(shifted[label])
            if why or None in texts:
                why = why and f": Spark refuses it in a lambda function, {why}"
                return {}, "rows", f"PREV or NEXT in the condition of {self.names[label]} needs a window{why}"
        return shifted, "lists", "PARTITION BY, ascending order"

    def refused_in_lists(self, body: str) -> str:
        """Spark's error class for a lambda function over the rows of a list, which it is asked for where the body may
        call a function of the user's; empty where there is none."""
        if not may_be_users(tokenize(body)):
            return ""
        fields = (f"{self.fields.typed(i)} AS {Fields.name(i)}" for i in range(len(self.fields.texts)))
        rows, row, index = f"{PREFIX}rows", f"{PREFIX}r", f"{PREFIX}i"
        inner = f"transform({rows}, ({row}, {index}) -> {body})"
        return refusal(self.analyze, f"transform(array(array(struct({', '.join(fields)}))), {rows} -> {inner})")

    def improved(self, plan: PatternPlan[E], rules: Sequence[Rule[E]]) -> PatternPlan[E]:
        """The plan behind an engine's rules."""
        return apply_rules(plan, self.rule_context(), rules)

    def rule_context(self) -> RuleContext:
        """What rules may look at, once all fields are known."""
        return RuleContext(self.settings, self.sample, self.field_types)

    def operator_columns(
        self,
        keys: Sequence[tuple[str, str]],
        bits: Mapping[int, int],
        columns: Sequence[int],
        within: Within | None = None,
        mask_updates: tuple[str | None, ...] = (),
    ) -> OperatorColumns:
        """Which prepared columns go where, of outputs those that are known by now.

        Args:
            columns: fields that conditions over several rows load.
        """
        settings, outputs = self.settings, self.outputs
        return OperatorColumns(
            keys=len(keys), masks=words_of(1 + max(bits.values(), default=-1)), columns=tuple(columns), within=within,
            gathers=tuple(outputs.gathers), labels=tuple(i for i, s in enumerate(outputs.slots) if s.label),
            mask_updates=mask_updates, trace=None if outputs.traced is None else tuple(outputs.traced),
            limit_events=settings.limit_events, chunk_bytes=settings.chunk_bytes, task_memory=settings.task_memory,
        )  # fmt: skip

    def input_plan(
        self,
        keys: Sequence[tuple[str, str]],
        tests: Mapping[int, Sequence[RowCondition]],
        bits: Mapping[int, int],
        chosen: tuple[str, str],
        shape: OperatorColumns,
        filters: Sequence[str] = (),
        pairs: bool = False,
        replaced: Mapping[int, str] | None = None,
    ) -> InputPlan:
        """The operator's input. ``chosen``: the layout and why; the rest as of :class:`InputPlan`."""
        layout, reason = chosen
        return InputPlan(
            query=self.query, fields=self.fields, keys=keys, tests=tests, bits=bits, layout=layout,
            layout_reason=reason, shape=shape, filters=filters, column_types=self.column_types,
            within_type=self.within_type, pairs=pairs, replaced=replaced or {},
        )  # fmt: skip

    def mask_updates(
        self, local: dict[int, list[RowCondition]], bits: dict[int, int], shifts: dict[int, str]
    ) -> tuple[str | None, ...]:
        """Per mask word, the lambda body that clears bits whose PREV or NEXT part is not true; None: nothing to do."""
        out: list[str | None] = []
        for word in range(words_of(max(bits.values(), default=0) + 1)):
            own = {label: bits[label] % BITS_PER_WORD for label in shifts if bits[label] // BITS_PER_WORD == word}
            if not own:
                out.append(None)
                continue
            mask = f"{PREFIX}r.{PREFIX}m{word}"
            keep = ((1 << BITS_PER_WORD) - 1) & ~sum(1 << b for b in own.values())
            parts = [f"({mask} & {keep}L)"]
            for label, bit in own.items():
                value = 1 << bit
                parts.append(f"CASE WHEN ({mask} & {value}L) <> 0L AND ({shifts[label]}) THEN {value}L ELSE 0L END")
            out.append(unescape(" | ".join(parts)))  # goes to Spark as it is, not through formatting
        return tuple(out)


def _sum_type(key: str, length: str) -> str:
    """Spark's type of an ORDER BY key plus WITHIN; empty where Spark has to be asked. ``key``: its type."""
    if key in ("tinyint", "smallint", "int", "bigint"):
        return "bigint" if re.fullmatch(r"\s*\d{1,18}\s*", length) else ""
    return key if key in ("timestamp", "timestamp_ntz") and fixed_distance(length, key) is not None else ""
