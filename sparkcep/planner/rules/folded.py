"""A pattern that Spark folds by itself, as one statement over its input."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.planner.conditions.symbols import Alphabet
from sparkcep.planner.fields import Fields
from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.measures import MeasureSql
from sparkcep.planner.rules.fold import Fold
from sparkcep.planner.rules.machine import Machine
from sparkcep.query import PREFIX, SOURCE, quote


@dataclass(frozen=True, slots=True)
class FoldPlan:
    """``machine``: the pattern over the symbols of ``alphabet``. ``first_only``: the first match of each partition is
    wanted, not all."""

    input: InputPlan
    machine: Machine
    alphabet: Alphabet
    spec: MatchSpec
    measures: MeasureSql
    first_only: bool = False

    @property
    def fold(self) -> Fold:
        """The SQL of the machine, with a typed NULL for each gathered field."""
        fields = [g.field for g in self.input.shape.gathers]
        nulls = [self.typed_null(f) or f"get({PREFIX}rows, -1).{Fields.name(f)}" for f in fields]
        return Fold(self.machine, self.alphabet, self.spec, self.input.shape.gathers, nulls, self.first_only)

    def before(self) -> str:
        """The statement over ``{SOURCE}`` that gives the fold its lists."""
        if column := self.column:
            rows, behind = self.plain(column)
            items = ", ".join([*self.input.key_items(), f"{rows} AS {PREFIX}rows"])
            return f"{self.input.query.with_prefix}SELECT {items} {behind}"
        (word,) = self.input.mask_sql(shifted=False)
        return self.input.lists_sql([self.fold.symbol_sql(word)])

    def sql(self) -> str:
        """The whole relation as a statement over ``{SOURCE}``."""
        fold, column = self.fold, self.column
        nulls = [self.typed_null(g.field) for g in self.input.shape.gathers]
        if column is not None and self.measures.is_plain and None not in nulls:
            rows, behind = self.plain(column)
            names, values = zip(*self.measures.plain_columns(), strict=True)
            keys = "".join(f"{text} AS {quote(name)}, " for text, name in self.measures.shown_keys)
            matches = f"inline({fold.matches(rows, values)}) AS ({', '.join(map(quote, names))})"
            return f"{self.input.query.with_prefix}SELECT {keys}{matches} {behind}"
        return self.measures.sql().replace(f"{{{SOURCE}}}", f"({self.rows_of_matches()})")

    def rows_of_matches(self) -> str:
        """The statement over ``{SOURCE}`` that gives what the operator would."""
        return self.fold.sql(len(self.input.keys), self.before())

    @property
    def column(self) -> str | None:
        """The column that alone decides all symbols, where keys and fields are plain columns too: they can stand
        beside and inside an aggregate."""
        fields = self.input.fields
        texts = [*fields.texts, *(t for t, _ in self.input.keys)]
        return None if any(fields.column_of(t) is None for t in texts) else self.alphabet.column

    def plain(self, column: str) -> tuple[str, str]:
        """Where one column decides all symbols: a partition's sorted list, and the clauses behind SELECT.

        Rows are grouped where they are read, without a subquery for Spark to analyse.
        """
        shape, fields = self.input.shape, self.input.fields
        symbol = f"{self.fold.symbol_sql('')} AS {PREFIX}m0"
        values = self.input.field_items()
        name = quote(column)
        if self.fold.orders_column and all(fields.texts[g.field] != name for g in shape.gathers):
            at = fields.texts.index(name) if name in fields.texts else len(values)
            values[at : at + 1] = [symbol]  # nobody asks for the column, and its place in the order is the symbol's
        else:
            values.append(symbol)
        by = ", ".join(text for text, _ in self.input.keys)
        behind = f"FROM {{{SOURCE}}}{self.input.where()} GROUP BY {by}"
        return f"sort_array(collect_list(struct({', '.join(values)})))", behind

    def typed_null(self, field: int) -> str | None:
        """A NULL of a field's type, where the name of the type can be written as it stands."""
        fields = self.input.fields
        type_ = self.input.column_types.get(fields.column_of(fields.texts[field]) or "", "")
        plain = re.fullmatch(r"[a-z_]+|decimal\(\d+,\d+\)|interval [a-z ]+", type_)
        return f"CAST(NULL AS {type_})" if plain else None
