"""PatternPlan: what Spark computes before, the compiled program, what Spark computes after.

The plan's own text is what runs; EXPLAIN prints the same objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sparkcep.errors import LimitError, PatternAnalysisError
from sparkcep.exec.conditions.compiler import compile_conditions
from sparkcep.exec.conditions.expressions import BIGINT, NotCompilable, Type, parse_type
from sparkcep.exec.conditions.interpreter import Interpreter
from sparkcep.exec.engines.rows.program import Program, compile_pattern
from sparkcep.exec.engines.rows.spec import BITS_PER_WORD, ConditionSet, MatchSpec, words_of
from sparkcep.exec.shape import OperatorColumns, Within
from sparkcep.pattern import repeats
from sparkcep.planner.conditions.match_conditions import MatchConditions
from sparkcep.planner.conditions.row_conditions import RowCondition, lambda_text, row_condition
from sparkcep.planner.conditions.symbols import alphabet
from sparkcep.planner.fields import Fields, quote
from sparkcep.planner.measures import MeasureSql
from sparkcep.planner.outputs import Outputs
from sparkcep.planner.rules.fold import Fold, can_fold
from sparkcep.planner.rules.gap_elimination import GapElimination, gap_elimination
from sparkcep.planner.rules.join_prefilter import Prefilter, prefilter
from sparkcep.planner.rules.range_splitting import (
    RangeSplitting,
    fixed_distance,
    range_splitting,
    ranged_source,
    whole_within,
)
from sparkcep.planner.sampling import Sample, Sampler
from sparkcep.query import PREFIX, SOURCE, WHOLE, PatternQuery, SkipMode, unescape
from sparkcep.settings import GAP_ELIMINATION, JOIN_PREFILTER, RANGE_SPLITTING, Settings

#: Evaluates `SELECT list FROM input` without running it: expressions -> (name, Spark type as simpleString).
Analyzer = Callable[[Sequence[str]], list[tuple[str, str]]]

#: Partitions of this many rows are better sorted by a window than gathered into one list each.
LONG_PARTITION = 2000
#: The same where the matches of a partition may hold many times its rows.
MULTIPLIED = 100
PAIRS = "functions of two rows; Spark evaluates them for every pair of rows"
#: Spark cannot send these to Python.
YEAR_MONTH = ("interval year", "interval month", "interval year to month")
_UNORDERABLE = ("map<", "variant", "interval", "geometry", "geography", "object")


@dataclass(slots=True)
class PatternPlan:
    """A planned row pattern clause.

    ``keys``: (expression, output name) of PARTITION BY. ``local``: variable code -> match-independent conjuncts.
    ``layout`` is lists, rows or fold, ``layout_reason`` says why. ``shape`` and ``spec`` go to the operator.
    """

    query: PatternQuery
    settings: Settings
    program: Program
    fields: Fields
    keys: list[tuple[str, str]]
    local: dict[int, list[RowCondition]]
    dependent: MatchConditions
    layout: str
    layout_reason: str
    shape: OperatorColumns
    spec: MatchSpec
    interpreted_because: str
    measures: MeasureSql
    gaps: GapElimination
    prefilter: Prefilter
    splitting: RangeSplitting
    within_type: str
    column_types: Mapping[str, str]

    @property
    def bits(self) -> dict[int, int]:
        return self.spec.condition_bits

    # -- SQL before ------------------------------------------------------------------------------------------------

    def before(self) -> str:
        """The statement over ``{SOURCE}`` that gives the operator its input, or the fold its lists."""
        if self.layout == "rows":
            return self.before_rows()
        if column := self.fold_column:
            rows, behind = self.plain_fold(column)
            items = ", ".join([*self.key_items(), f"{rows} AS {PREFIX}rows"])
            return f"{self.query.with_prefix}SELECT {items} {behind}"
        return self.before_lists()

    def field_items(self) -> list[str]:
        return [f"({text}) AS {Fields.name(i)}" for i, text in enumerate(self.fields.texts)]

    def key_items(self) -> list[str]:
        return [f"({text}) AS {PREFIX}k{i}" for i, (text, _) in enumerate(self.keys)]

    def before_rows(self) -> str:
        # What is written to Python costs for each row and column: keys go with a partition's first row only, and that
        # row has the bits of its mask inverted, which makes the mask negative.
        first = f"row_number() OVER {PREFIX}w = 1"
        keys = [f"CASE WHEN {first} THEN ({text}) END AS {PREFIX}k{i}" for i, (text, _) in enumerate(self.keys)]
        suffix = mask_suffix(len(self.bits))
        words = self.mask_sql(True, suffix)
        words[0] = f"({words[0]} ^ CASE WHEN {first} THEN -1{suffix} ELSE 0{suffix} END)"
        items = [*keys, *self.field_items(), *(f"{sql} AS {PREFIX}m{w}" for w, sql in enumerate(words))]
        source = f"{{{SOURCE}}}"
        if self.query.partition_predicate:  # Spark pushes nothing through mapInArrow
            source = f"(SELECT * FROM {source} WHERE {self.query.partition_predicate})"
        if self.prefilter.joins:
            source = self.prefilter.join([text for text, _ in self.keys], source, self.where())
        if self.shape.ranges is not None:
            key = self.fields.texts[self.shape.within.key] if self.shape.within else ""
            source = ranged_source(source, key, self.within_type, self.shape.ranges, self.where())
            items.append(f"CASE WHEN {first} THEN {PREFIX}range END AS {PREFIX}range")
            return self.select(items, source) + f" WINDOW {PREFIX}w AS ({self.window([f'{PREFIX}range'])})"
        windows = f" WINDOW {PREFIX}w AS ({self.window()})"
        if self.dependent.pairs:
            windows += f", {WHOLE} AS ({self.window()} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
        return self.select(items, source) + self.where() + windows

    def plain_fold(self, column: str) -> tuple[str, str]:
        """For the fold where one column decides all symbols: a partition's sorted list, and the clauses behind SELECT.

        Rows are grouped where they are read, without a subquery for Spark to analyse.
        """
        symbol = f"{self.fold.symbol_sql('')} AS {PREFIX}m0"
        values = self.field_items()
        name = quote(column)
        if self.fold.orders_column and all(self.fields.texts[g.field] != name for g in self.shape.gathers):
            at = self.fields.texts.index(name) if name in self.fields.texts else len(values)
            values[at : at + 1] = [symbol]  # nobody asks for the column, and its place in the order is the symbol's
        else:
            values.append(symbol)
        by = ", ".join(text for text, _ in self.keys)
        behind = f"FROM {{{SOURCE}}}{self.where()} GROUP BY {by}"
        return f"sort_array(collect_list(struct({', '.join(values)})))", behind

    def before_lists(self) -> str:
        words = self.mask_sql(shifted=False)
        if self.layout == "fold":
            words = [self.fold.symbol_sql(words[0])]
        masks = [f"{sql} AS {PREFIX}m{w}" for w, sql in enumerate(words)]
        names = [Fields.name(i) for i in range(len(self.fields.texts))] + [f"{PREFIX}m{w}" for w in range(len(masks))]
        group = ", ".join(f"{PREFIX}k{i}" for i in range(len(self.keys)))
        items = ", ".join([*self.key_items(), *self.field_items(), *masks])
        prepared = f"SELECT {items} FROM {{{SOURCE}}}{self.where()}"
        having = f" HAVING {self.prefilter.having(self.bits)}" if self.prefilter.needed else ""
        # Sorted outside, so that nothing is sorted that HAVING drops.
        grouped = (
            f"SELECT {group}, collect_list(struct({', '.join(names)})) AS {PREFIX}rows FROM ({prepared}) "
            f"GROUP BY {group}{having}"
        )
        return f"{self.query.with_prefix}SELECT {group}, sort_array({PREFIX}rows) AS {PREFIX}rows FROM ({grouped})"

    @property
    def fold_column(self) -> str | None:
        """The column that alone decides all symbols of a fold, where keys and fields are plain columns too: they can
        stand beside and inside an aggregate."""
        texts = [*self.fields.texts, *(t for t, _ in self.keys)]
        if self.layout != "fold" or any(self.fields.column_of(t) is None for t in texts):
            return None
        return self.gaps.letters.column if self.gaps.letters is not None else None

    def folded(self) -> str:
        """Fold layout: the whole relation as a statement over ``{SOURCE}``."""
        fold, column = self.fold, self.fold_column
        nulls = [self.typed_null(g.field) for g in self.shape.gathers]
        if column is not None and self.measures.is_plain and None not in nulls:
            rows, behind = self.plain_fold(column)
            names, values = zip(*self.measures.plain_columns(), strict=True)
            keys = "".join(f"{text} AS {quote(name)}, " for text, name in self.measures.shown_keys)
            matches = f"inline({fold.matches(rows, values)}) AS ({', '.join(map(quote, names))})"
            return f"{self.query.with_prefix}SELECT {keys}{matches} {behind}"
        return self.measures.sql().replace(f"{{{SOURCE}}}", f"({fold.sql(len(self.keys), self.before())})")

    @property
    def fold(self) -> Fold:
        machine, letters = self.gaps.machine, self.gaps.letters
        assert machine is not None and letters is not None
        fields = [g.field for g in self.shape.gathers]
        nulls = [self.typed_null(f) or f"get({PREFIX}rows, -1).{Fields.name(f)}" for f in fields]
        return Fold(machine, letters, self.spec, self.shape.gathers, nulls, self.first_only)

    @property
    def first_only(self) -> bool:
        """Whether only the first match of each partition is wanted; only the fold can be asked so."""
        return False

    def typed_null(self, field: int) -> str | None:
        """A NULL of a field's type, where the name of the type can be written as it stands."""
        type_ = self.column_types.get(self.fields.column_of(self.fields.texts[field]) or "", "")
        plain = re.fullmatch(r"[a-z_]+|decimal\(\d+,\d+\)|interval [a-z ]+", type_)
        return f"CAST(NULL AS {type_})" if plain else None

    def where(self) -> str:
        return f" WHERE {self.gaps.keep}" if self.gaps.keep else ""

    def condition_texts(self) -> list[tuple[RowCondition, str]]:
        """Each match-independent conjunct with a query that evaluates it alone."""
        window = f" WINDOW {PREFIX}w AS ({self.window()})"
        return [(c, self.select([f"({c.sql()}) AS c"]) + window) for cs in self.local.values() for c in cs]

    def select(self, items: Sequence[str], source: str = f"{{{SOURCE}}}") -> str:
        return f"{self.query.with_prefix}SELECT {', '.join(items)} FROM {source}"

    def window(self, more_keys: Sequence[str] = ()) -> str:
        """Partitioning and total order of the input."""
        parts = []
        if keys := [*(f"({text})" for text, _ in self.keys), *more_keys]:
            parts.append("PARTITION BY " + ", ".join(keys))
        order = [k.text for k in self.query.order_by]
        order += [f"({t}) ASC NULLS FIRST" for t in self.fields.texts[: self.fields.sort_fields]]
        # Without any order the rows look the same to the query; row_number still wants one.
        parts.append("ORDER BY " + (", ".join(dict.fromkeys(order)) or "NULL"))
        return " ".join(parts)

    def mask_sql(self, shifted: bool, suffix: str = "L") -> list[str]:
        """One expression per mask word, of the suffix's type; bits of conditions with shifts only if ``shifted``."""
        words: list[list[str]] = [[] for _ in range(max(1, self.spec.mask_words))]
        for label, bit in self.bits.items():
            parts = [c.sql() for c in self.local[label] if shifted or not c.shifts]
            word, place = divmod(bit, BITS_PER_WORD)
            test = " AND ".join(f"({p})" for p in parts) or "true"
            words[word].append(f"CASE WHEN {test} THEN {1 << place}{suffix} ELSE 0{suffix} END")
        return ["(" + " | ".join(w) + ")" if w else f"0{suffix}" for w in words]


class Planner:
    """Plans one bound clause.

    Args:
        query: the clause.
        settings: the session's settings.
        analyze: types of expressions over the input.
        sample: asks the first rows of a large input.
        column_types: Spark types of the input's columns.

    Raises:
        PatternAnalysisError: CEP_UNSUPPORTED_CONDITION, CEP_WITHIN_TYPE.
        LimitError: CEP_PROGRAM_TOO_LARGE.
    """

    def __init__(
        self, query: PatternQuery, settings: Settings, analyze: Analyzer, sample: Sampler, column_types: Sequence[str]
    ) -> None:
        self.query = query
        self.settings = settings
        self.analyze = analyze
        self.sample = sample
        self.column_types = dict(zip(query.columns, column_types, strict=True))
        self.program = self.compile_pattern()
        self.names: tuple[str, ...] = self.program.names
        #: How many of the last keys are not put out.
        self.hidden_keys = 0
        self.fields = Fields(query.columns, settings.case_sensitive)
        self.outputs = Outputs(self.names, self.fields)
        self.within_type = ""
        self.within_text = ""

    def compile_pattern(self) -> Program:
        try:
            return compile_pattern(self.query.pattern, self.settings.limit_program)
        except LimitError as error:
            raise error.placed(self.query.text or None, self.query.start) from None

    def plan(self) -> PatternPlan:
        query = self.query
        keys = self.plan_keys()
        self.add_sort_fields()
        local, dependent = self.split_conditions()
        within = self.plan_within()
        shifts, layout, reason = self.choose_layout(local, dependent.pairs)
        measures = MeasureSql(query, keys, self.hidden_keys, self.outputs)
        measures.prepare()
        conditions, interpreted = self.compile_dependent(dependent)
        gaps = self.eliminate_gaps(local, dependent)
        bits = {label: bit for bit, label in enumerate(sorted(local))}
        words = words_of(len(bits))
        spec = MatchSpec(
            program=self.program,
            condition_bits=bits,
            mask_words=words,
            use_within=within is not None,
            rows_per_match=query.rows_per_match,
            skip=query.skip.mode,
            skip_labels=frozenset(self.program.names.index(v) for v in query.skip.variables),
            skip_target=query.skip.target or "",
            slots=tuple(self.outputs.slots),
            slot_registers=tuple(self.outputs.slot_registers),
            every_row=measures.has_aggregates,
            conditions=conditions,
            ansi=self.settings.ansi,
            limit_steps=self.settings.limit_steps,
            limit_rows=self.settings.limit_matches,
        )
        shape = OperatorColumns(
            keys=len(keys),
            limit_events=self.settings.limit_events,
            masks=spec.mask_words,
            columns=tuple(dependent.columns),
            within=within,
            gathers=tuple(self.outputs.gathers),
            labels=tuple(i for i, s in enumerate(self.outputs.slots) if s.label),
            mask_updates=self.mask_updates(local, bits, shifts) if layout == "lists" else (),
        )
        if layout == "lists" and self.settings.fold and self.settings.layout == "auto" and can_fold(gaps.machine, spec):
            layout, reason = "fold", "the pattern is a sequence with gaps, which Spark follows by itself"
        if layout != "rows" and (bad := self.unorderable_field()):
            layout, reason = "rows", f"column of type {bad} cannot be sorted inside a list"
        finding = self.plan_prefilter(local)
        may_change = layout == "lists" and self.settings.layout == "auto"
        key_texts = [k.expression for k in query.partition_by]
        sample = None
        if key_texts and (may_change or (layout == "rows" and finding.needed)):
            sample = self.sample(finding.tests, key_texts)
        if may_change and sample is not None:
            size = sample.partition_rows
            if size >= LONG_PARTITION and not any(t in YEAR_MONTH for t in self.field_types()):
                layout, reason = "rows", f"long partitions, {size:.0f} rows or more in a sample"
        overlap = query.skip.mode is not SkipMode.PAST_LAST_ROW and within is None and repeats(query.pattern)
        if layout == "lists" and overlap and measures.has_aggregates and self.may_multiply(sample):
            layout, reason = "rows", "aggregates over matches that overlap, of any length"
        if layout == "fold":
            finding = Prefilter((), "the fold itself is as cheap")
        elif layout == "rows":
            finding = finding.decided(key_texts, sample)
        splitting = RangeSplitting(None, f"{RANGE_SPLITTING.key} = false")
        if self.settings.range_splitting:
            distance = within.distance if within is not None else None
            splitting = range_splitting(query, self.program, local, conditions, self.outputs.slots, distance)
        if layout != "rows":
            splitting = RangeSplitting(None, f"the {layout} layout keeps partitions whole")
        shape = replace(shape, ranges=splitting.ranges, mask_updates=shape.mask_updates if layout == "lists" else ())
        return PatternPlan(
            query, self.settings, self.program, self.fields, keys, local, dependent, layout, reason, shape, spec,
            interpreted, measures, gaps, finding, splitting, self.within_type,
            self.column_types,
        )  # fmt: skip

    def may_multiply(self, sample: Sample | None) -> bool:
        """Whether matches that may hold many more rows than their partition are better not held in a list."""
        if self.settings.layout != "auto" or any(t in YEAR_MONTH for t in self.field_types()):
            return False
        return sample is None or sample.partition_rows >= MULTIPLIED

    def eliminate_gaps(self, local: dict[int, list[RowCondition]], dependent: MatchConditions) -> GapElimination:
        if not self.settings.gap_elimination:
            return GapElimination("", f"{GAP_ELIMINATION.key} = false")
        letters = None
        if not dependent.conditions and not any(c.shifts for cs in local.values() for c in cs):
            letters = alphabet(len(self.program.names), local, self.fields, self.column_types)
        slots = [(s, self.outputs.slot_registers[s.register]) for s in self.outputs.slots]
        return gap_elimination(self.query, self.program, local, dependent.conditions, letters, slots)

    def plan_prefilter(self, local: dict[int, list[RowCondition]]) -> Prefilter:
        if not self.settings.join_prefilter:
            return Prefilter((), f"{JOIN_PREFILTER.key} = false")
        return prefilter(self.query.pattern, self.program.names, local, self.query.nullable_match)

    # -- keys, order -----------------------------------------------------------------------------------------------

    def plan_keys(self) -> list[tuple[str, str]]:
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
        ties = [query.event_type] if query.event_type is not None else []
        named = [c for c in query.columns if c.casefold() in query.identifiers]
        rest = [c for c in query.columns if c not in named] if query.rows_per_match.is_all else []
        keys = {self.fields.column_of(k.expression) for k in query.partition_by}
        for column in (*named, *rest):
            if column not in keys and is_orderable(self.column_types[column]):
                ties.append(quote(column))
        for text in ties:
            self.fields.add(text)
        self.fields.sort_fields = len(self.fields.texts)

    def field_types(self) -> list[str]:
        texts = self.fields.texts
        types = [self.column_types[c] for t in texts if (c := self.fields.column_of(t)) is not None]
        return types + [t for _, t in self.analyze([t for t in texts if self.fields.column_of(t) is None])]

    def unorderable_field(self) -> str | None:
        return next((t for t in self.field_types() if not is_orderable(t)), None)

    def plan_within(self) -> Within | None:
        query = self.query
        if query.within is None:
            return None
        key = query.order_by[0].expression
        own = self.analyze([key])[0][1]
        if own in ("tinyint", "smallint", "int"):
            key = f"CAST(({key}) AS BIGINT)"  # room for the sum
        self.within_text = query.within
        bound = f"({key}) + ({query.within})"
        type_ = self.analyze([bound])[0][1]
        kind = parse_type(type_)
        if parse_type(own).kind == "int" and kind.kind == "decimal":
            whole = whole_within(query.within, self.analyze([query.within])[0][1])
            if whole is not None:
                self.within_text, type_, kind = whole, "bigint", BIGINT
                bound = f"({key}) + ({whole})"
        allowed = kind.kind in ("int", "date", "timestamp", "timestamp_ntz", "double", "float")
        if not allowed and not (kind.kind == "decimal" and kind.size <= 18):
            raise PatternAnalysisError(
                "CEP_WITHIN_TYPE",
                "WITHIN needs an ORDER BY key of a date, timestamp or numeric type (decimals of at most 18 digits); "
                f"key plus interval is {type_}.",
                text=query.text or None,
                position=query.within_position,
                hint="cast the ORDER BY key",
            )
        cast = f"CAST(({key}) AS {type_})"
        self.within_type = type_
        distance = fixed_distance(self.within_text, type_)
        bound_field = self.fields.add(f"CAST(({bound}) AS {type_})") if distance is None else None
        return Within(self.fields.add(cast), bound_field, distance)

    # -- conditions ------------------------------------------------------------------------------------------------

    def split_conditions(self) -> tuple[dict[int, list[RowCondition]], MatchConditions]:
        local: dict[int, list[RowCondition]] = {}
        dependent = MatchConditions(self.query, self.fields, self.column_types, self.settings.limit_pairs)
        for definition in self.query.definitions:
            label = self.names.index(definition.variable)
            for conjunct in definition.conjuncts:
                condition = row_condition(conjunct, definition.variable)
                if condition is None:
                    dependent.add(label, conjunct)
                elif condition.sql().strip().lower() != "true":
                    local.setdefault(label, []).append(condition)
        return local, dependent

    def compile_dependent(self, dependent: MatchConditions) -> tuple[ConditionSet, str]:
        """The condition set, and why it needs the interpreter (empty where it does not)."""
        if not dependent.conditions:
            return ConditionSet(), ""
        types: list[Type] = []
        if dependent.columns:
            found = self.analyze([self.fields.texts[i] for i in dependent.columns])
            types = [parse_type(t) for _, t in found]
        conditions = ConditionSet(
            dependent.conditions, tuple(dependent.slots), tuple(types), tuple(dependent.registers)
        )
        try:
            compile_conditions(conditions, self.settings.ansi)
            return conditions, ""
        except NotCompilable as error:
            reason = PAIRS if dependent.pairs else str(error)
        for label, condition in dependent.conditions.items():
            try:
                Interpreter(conditions.slots, conditions.column_types, self.settings.ansi).condition(condition)
            except NotCompilable as error:
                definition = next(d for d in self.query.definitions if d.variable == self.program.names[label])
                raise dependent.unsupported(definition.conjuncts[0], str(error)) from None
        interpreted = ConditionSet(
            conditions.conditions, conditions.slots, conditions.column_types, conditions.registers, interpreted=True
        )
        return interpreted, reason

    # -- layout ----------------------------------------------------------------------------------------------------

    def choose_layout(self, local: dict[int, list[RowCondition]], pairs: bool) -> tuple[dict[int, str], str, str]:
        """Texts of shifted conditions by variable for the lists layout, the layout, and why."""
        if self.settings.layout == "rows":
            return {}, "rows", "spark.sparkcep.exec.layout = rows"
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
            if any(t is None for t in texts):
                return {}, "rows", f"PREV or NEXT in the condition of {self.names[label]} needs a window"
            if texts:
                shifted[label] = " AND ".join(f"({t})" for t in texts)
        return shifted, "lists", "PARTITION BY, ascending order"

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


def mask_suffix(bits: int) -> str:
    """Literal suffix of the narrowest type that holds a mask of so many bits beside its sign: Y, S, none (INT) or L."""
    return next((suffix for width, suffix in ((7, "Y"), (15, "S"), (31, "")) if bits <= width), "L")


def is_orderable(type_: str) -> bool:
    """Whether Spark can sort by a type; year-month and day-time intervals can, calendar intervals cannot."""
    if type_.startswith("interval "):
        return True
    return not any(bad in type_ for bad in _UNORDERABLE)


def plan(
    query: PatternQuery, settings: Settings, analyze: Analyzer, sample: Sampler, column_types: Sequence[str]
) -> PatternPlan:
    """Plan one bound clause; see :class:`Planner`."""
    return Planner(query, settings, analyze, sample, column_types).plan()
