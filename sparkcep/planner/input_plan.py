"""What Spark computes before matching, and its SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sparkcep.exec.masks import BITS_PER_WORD
from sparkcep.exec.shape import OperatorColumns
from sparkcep.planner.conditions.pair_calls import PLACE, met, windows_of_pairs
from sparkcep.planner.conditions.row_conditions import RowCondition, all_of
from sparkcep.planner.fields import Fields
from sparkcep.planner.rules.join_prefilter import Prefilter
from sparkcep.planner.rules.key_join import KeyJoin
from sparkcep.planner.rules.range_splitting import ranged_source
from sparkcep.query import PREFIX, SOURCE, PatternQuery


@dataclass(frozen=True, slots=True)
class InputPlan:
    """The operator's input.

    ``keys``: (expression, output name) of PARTITION BY. ``tests``: code -> conditions on one row, ``bits``: the mask
    bit of each code. ``layout`` is lists, rows or fold, ``layout_reason`` says why. ``shape``: which columns go where.
    ``filters``: what rows must satisfy to be looked at. ``column_types``: of the input's columns. ``within_type``: of
    the ORDER BY key plus WITHIN. ``pairs``: whether rows carry a value for each row of their partition.
    ``prefilter``: where partitions are dropped before they are matched. ``key_join``: what rows are joined to, which
    the last filter asks about. ``replaced``: SQL that takes a field's place, where its values only order rows.
    """

    query: PatternQuery
    fields: Fields
    keys: Sequence[tuple[str, str]]
    tests: Mapping[int, Sequence[RowCondition]]
    bits: Mapping[int, int]
    layout: str
    layout_reason: str
    shape: OperatorColumns
    filters: Sequence[str]
    column_types: Mapping[str, str]
    within_type: str = ""
    pairs: bool = False
    prefilter: Prefilter | None = None
    key_join: KeyJoin | None = None
    replaced: Mapping[int, str] = field(default_factory=dict)

    @property
    def partition_by(self) -> list[str]:
        """Expressions of the keys that were written."""
        return [key.expression for key in self.query.partition_by]

    def sql(self) -> str:
        """The statement over ``{SOURCE}`` that gives the operator its input."""
        return self.rows_sql() if self.layout == "rows" else self.lists_sql(self.mask_sql(shifted=False))

    def field_items(self) -> list[str]:
        """SELECT items of the prepared fields, in order of their numbers."""
        texts = (self.replaced.get(i, f"({text})") for i, text in enumerate(self.fields.texts))
        return [f"{text} AS {Fields.name(i)}" for i, text in enumerate(texts)]

    def key_items(self) -> list[str]:
        """SELECT items of the partition keys."""
        return [f"({text}) AS {PREFIX}k{i}" for i, (text, _) in enumerate(self.keys)]

    def rows_sql(self) -> str:
        """The statement over ``{SOURCE}`` that prepares rows for the rows layout, sorted within partitions."""
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
        if self.key_join is not None:
            source = self.key_join.joined(source)
        if self.prefilter is not None and self.prefilter.joins:
            source = self.prefilter.join([text for text, _ in self.keys], source, self.where())
        where, window = self.where(), self.window()
        if self.fields.pairs:
            source = met(source + where, [text for text, _ in self.keys], window, self.fields.pairs)
            where, window = "", self.window(order=(PLACE,))
        if self.shape.ranges is not None:
            key = self.fields.texts[self.shape.within.key] if self.shape.within else ""
            source = ranged_source(source, key, self.within_type, self.shape.ranges, self.where())
            items.append(f"CASE WHEN {first} THEN {PREFIX}range END AS {PREFIX}range")
            return self.select(items, source) + f" WINDOW {PREFIX}w AS ({self.window([f'{PREFIX}range'])})"
        windows = f" WINDOW {PREFIX}w AS ({window})"
        if self.pairs:
            windows += f", {windows_of_pairs(window)}"
        return self.select(items, source) + where + windows

    def lists_sql(self, words: Sequence[str]) -> str:
        """One row per partition. ``words``: SQL of the masks."""
        masks = [f"{sql} AS {PREFIX}m{w}" for w, sql in enumerate(words)]
        names = [Fields.name(i) for i in range(len(self.fields.texts))] + [f"{PREFIX}m{w}" for w in range(len(masks))]
        group = ", ".join(f"{PREFIX}k{i}" for i in range(len(self.keys)))
        items = ", ".join([*self.key_items(), *self.field_items(), *masks])
        source = f"{{{SOURCE}}}" if self.key_join is None else self.key_join.joined(f"{{{SOURCE}}}")
        prepared = f"SELECT {items} FROM {source}{self.where()}"
        having = f" HAVING {self.prefilter.having(self.bits)}" if self.prefilter is not None else ""
        # Sorted outside, so that nothing is sorted that HAVING drops.
        grouped = (
            f"SELECT {group}, collect_list(struct({', '.join(names)})) AS {PREFIX}rows FROM ({prepared}) "
            f"GROUP BY {group}{having}"
        )
        return f"{self.query.with_prefix}SELECT {group}, sort_array({PREFIX}rows) AS {PREFIX}rows FROM ({grouped})"

    def where(self) -> str:
        """The filters as a WHERE with a space in front; empty without any."""
        return f" WHERE {' AND '.join(f'({f})' for f in self.filters)}" if self.filters else ""

    def condition_texts(self) -> list[tuple[RowCondition, str]]:
        """Each match-independent conjunct with a query that evaluates it alone."""
        window = f" WINDOW {PREFIX}w AS ({self.window()})"
        return [(c, self.select([f"({c.sql()}) AS c"]) + window) for cs in self.tests.values() for c in cs]

    def select(self, items: Sequence[str], source: str = f"{{{SOURCE}}}") -> str:
        """A SELECT behind the statement's own WITH."""
        return f"{self.query.with_prefix}SELECT {', '.join(items)} FROM {source}"

    def window(self, more_keys: Sequence[str] = (), order: Sequence[str] = ()) -> str:
        """Partitioning and total order of the input; ``order``: another one."""
        parts = []
        if keys := [*(f"({text})" for text, _ in self.keys), *more_keys]:
            parts.append("PARTITION BY " + ", ".join(keys))
        ties = (f"({t}) ASC NULLS FIRST" for t in self.fields.texts[: self.fields.sort_fields])
        order = order or [*(k.text for k in self.query.order_by), *ties]
        # Without any order the rows look the same to the query; row_number still wants one.
        parts.append("ORDER BY " + (", ".join(dict.fromkeys(order)) or "NULL"))
        return " ".join(parts)

    def mask_sql(self, shifted: bool, suffix: str = "L") -> list[str]:
        """One expression per mask word, of the suffix's type; bits of conditions with shifts only if ``shifted``."""
        words: list[list[str]] = [[] for _ in range(max(1, self.shape.masks))]
        for label, bit in self.bits.items():
            parts = [c.sql() for c in self.tests[label] if shifted or not c.shifts]
            word, place = divmod(bit, BITS_PER_WORD)
            test = all_of(parts) or "true"
            words[word].append(f"CASE WHEN {test} THEN {1 << place}{suffix} ELSE 0{suffix} END")
        return ["(" + " | ".join(w) + ")" if w else f"0{suffix}" for w in words]


def mask_suffix(bits: int) -> str:
    """Literal suffix of the narrowest type that holds a mask of so many bits beside its sign: Y, S, none (INT) or L."""
    return next((suffix for width, suffix in ((7, "Y"), (15, "S"), (31, "")) if bits <= width), "L")
