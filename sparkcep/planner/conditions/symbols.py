"""The alphabet of a pattern: which sets of variables one row can satisfy, as far as the conditions' text tells.

Conditions are read as three-valued formulas over atoms: a column compared with constants, and everything else by its
text. Each assignment of values to the atoms gives a symbol, the set of variables whose condition is true. Some symbols
may never occur in data; none that occurs is missing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from sparkcep.planner.conditions.row_conditions import RowCondition, all_of
from sparkcep.planner.fields import Fields
from sparkcep.query import quote, string_literal, unescape
from sparkcep.sql.lexicon import parse_expression

#: Variable codes that a row satisfies.
Symbol: TypeAlias = frozenset[int]
Truth: TypeAlias = bool | None
Assignment: TypeAlias = Mapping[str, str | Truth]
Formula: TypeAlias = Callable[[Assignment], Truth]

#: Beyond these sizes conditions stay opaque: reasoning over them must not cost more than it saves.
MAX_ASSIGNMENTS, MAX_SYMBOLS = 4096, 128

#: Values of a column beside its constants.
OTHER, NULL = "\0other", "\0null"
_INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
#: Nodes whose text alone determines the value on a row: no function that could be random, no subquery.
_PURE = (
    exp.Column, exp.Identifier, exp.Literal, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.EQ, exp.GT,
    exp.LT, exp.GTE, exp.LTE, exp.NEQ, exp.Null, exp.Boolean, exp.Is, exp.Between,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Alphabet:
    """``symbols`` that rows may have. ``column``: the only column that conditions read, if they compare nothing else;
    then ``values`` gives each of its constants (SQL text), OTHER and NULL its symbol."""

    symbols: tuple[Symbol, ...]
    column: str | None = None
    values: Mapping[str, Symbol] = field(default_factory=dict)

    def keep(self, dropped: frozenset[Symbol], local: Mapping[int, Sequence[RowCondition]]) -> str:
        """SQL predicate of the rows whose symbol is not among ``dropped``."""
        if self.column is not None:
            return self._column_predicate(dropped)
        return " AND ".join(f"({_differs(symbol, local)})" for symbol in sorted(dropped, key=sorted))

    def _column_predicate(self, dropped: frozenset[Symbol]) -> str:
        assert self.column is not None
        name = quote(self.column)
        constants = [v for v in self.values if v not in (OTHER, NULL)]
        if self.values[OTHER] in dropped:
            kept = [v for v in constants if self.values[v] not in dropped]
            text = f"{name} IN ({', '.join(kept)})" if kept else "false"
            return text if self.values[NULL] in dropped else f"{text} OR {name} IS NULL"
        gone = [v for v in constants if self.values[v] in dropped]
        text = f"{name} NOT IN ({', '.join(gone)})" if gone else "true"
        return f"{name} IS NOT NULL AND {text}" if self.values[NULL] in dropped else f"{name} IS NULL OR {text}"


def _differs(symbol: Symbol, local: Mapping[int, Sequence[RowCondition]]) -> str:
    parts = []
    for code, conditions in sorted(local.items()):
        text = all_of([c.sql() for c in conditions])
        parts.append(f"NOT coalesce({text}, false)" if code in symbol else f"({text})")
    return " OR ".join(parts) or "false"


def alphabet(
    variables: int, local: Mapping[int, Sequence[RowCondition]], fields: Fields, column_types: Mapping[str, str]
) -> Alphabet | None:
    """The alphabet of match-independent conditions, or None where it is too large to reason over.

    Args:
        variables: number of pattern variables; those without conditions are always true.
        local: variable code -> conjuncts, without shifts.
    """
    reader = _Reader(fields, column_types)
    formulas = {code: _all([reader.condition(c) for c in conditions]) for code, conditions in local.items()}
    domains: dict[str, list[str] | list[Truth]] = {c: [*ls, OTHER, NULL] for c, ls in reader.constants.items()}
    domains |= {a: [True, False, None] for a in reader.atoms}
    size = 1
    for domain in domains.values():
        size *= len(domain)
        if size > MAX_ASSIGNMENTS:
            return None
    free = frozenset(range(variables)).difference(local)
    symbols: dict[Symbol, None] = {}
    values: dict[str, Symbol] = {}
    column = next(iter(reader.constants)) if len(domains) == 1 and reader.constants else None
    for combination in itertools.product(*domains.values()):
        assignment = dict(zip(domains, combination, strict=True))
        symbol = free | {code for code, formula in formulas.items() if formula(assignment) is True}
        symbols[symbol] = None
        if column is not None:
            values[str(combination[0])] = symbol
    if len(symbols) > MAX_SYMBOLS:
        return None
    return Alphabet(tuple(symbols), column, values)


def values_where(
    conditions: Sequence[RowCondition], column: str, fields: Fields, column_types: Mapping[str, str]
) -> frozenset[str] | None:
    """Values of a column with which conditions (without shifts) may all be true, as text; NULL apart.

    None: other values than those that the conditions name may do, or it cannot be told.
    """
    found = _true_with(conditions, column, fields, column_types)
    if found is None or OTHER in found:
        return None
    return frozenset(unescape(v[1:-1]) if v.startswith("'") else v for v in found - {NULL})


def never_null(
    conditions: Sequence[RowCondition], column: str, fields: Fields, column_types: Mapping[str, str]
) -> bool:
    """Whether conditions (without shifts) are never all true where a column is NULL, as far as can be told."""
    found = _true_with(conditions, column, fields, column_types)
    return found is not None and NULL not in found


def _true_with(
    conditions: Sequence[RowCondition], column: str, fields: Fields, column_types: Mapping[str, str]
) -> set[str] | None:
    """Literals of a column, OTHER and NULL, with which conditions may all be true; None: it cannot be told."""
    reader = _Reader(fields, column_types)
    formula = _all([reader.condition(c) for c in conditions])
    if column not in reader.constants:
        return None
    domains: dict[str, list[str] | list[Truth]] = {c: [*ls, OTHER, NULL] for c, ls in reader.constants.items()}
    domains |= {a: [True, False, None] for a in reader.atoms}
    if math.prod(map(len, domains.values())) > MAX_ASSIGNMENTS:
        return None
    found: set[str] = set()
    for combination in itertools.product(*domains.values()):
        assignment = dict(zip(domains, combination, strict=True))
        if formula(assignment) is True:
            found.add(str(assignment[column]))
    return found


def compared_strings(
    local: Mapping[int, Sequence[RowCondition]], fields: Fields, column_types: Mapping[str, str]
) -> dict[str, list[str]]:
    """Text constants that match-independent conditions compare string columns with, by column."""
    reader = _Reader(fields, column_types)
    for condition in (c for conditions in local.values() for c in conditions if not c.shifts):
        reader.condition(condition)
    texts = {
        column: [unescape(value[1:-1]) for value in values if value.startswith("'")]
        for column, values in reader.constants.items()
    }
    return {column: values for column, values in texts.items() if values}


def _all(formulas: list[Formula]) -> Formula:
    def conjunction(a: Assignment) -> Truth:
        results = [f(a) for f in formulas]
        return False if False in results else (None if None in results else True)

    return conjunction


def _negation(formula: Formula) -> Formula:
    def negated(a: Assignment) -> Truth:
        result = formula(a)
        return None if result is None else not result

    return negated


def _any(formulas: list[Formula]) -> Formula:
    return _negation(_all([_negation(f) for f in formulas]))


class _Reader:
    """Turns conditions into formulas and collects their atoms."""

    def __init__(self, fields: Fields, column_types: Mapping[str, str]) -> None:
        self.fields = fields
        self.column_types = column_types
        self.constants: dict[str, list[str]] = {}
        self.atoms: list[str] = []
        self.escapes = False

    def condition(self, condition: RowCondition) -> Formula:
        text = unescape(condition.sql())
        self.escapes = "\\" in text  # what a string means is then a matter of settings
        tree = parse_expression(text)
        return self.opaque(None) if tree is None else self.formula(tree)

    def formula(self, tree: exp.Expr) -> Formula:
        if isinstance(tree, exp.Paren):
            return self.formula(tree.this)
        if isinstance(tree, exp.Not):
            return _negation(self.formula(tree.this))
        if isinstance(tree, exp.And):
            return _all([self.formula(tree.this), self.formula(tree.expression)])
        if isinstance(tree, exp.Or):
            return _any([self.formula(tree.this), self.formula(tree.expression)])
        if isinstance(tree, exp.Boolean):
            value = bool(tree.this)
            return lambda _: value
        return self.comparison(tree) or self.opaque(tree)

    def comparison(self, tree: exp.Expr) -> Formula | None:
        """A column against constants, and comparisons that are the negation of another."""
        if isinstance(tree, exp.NEQ):
            return _negation(self.formula(exp.EQ(this=tree.this, expression=tree.expression)))
        if isinstance(tree, exp.LTE):
            return _negation(self.opaque(exp.GT(this=tree.this, expression=tree.expression)))
        if isinstance(tree, exp.GTE):
            return _negation(self.opaque(exp.LT(this=tree.this, expression=tree.expression)))
        if isinstance(tree, (exp.EQ, exp.NullSafeEQ)):
            column, constant = self.column(tree.this), tree.expression
            if column is None:
                column, constant = self.column(tree.expression), tree.this
            value = self.constant(column, constant)
            if column is None or value is None:
                return None
            return self.equals(column, [value], null=None if isinstance(tree, exp.EQ) else False)
        if isinstance(tree, exp.In) and tree.expressions and not tree.args.get("query"):
            column = self.column(tree.this)
            found = [self.constant(column, e) for e in tree.expressions]
            values = [v for v in found if v is not None]
            if column is None or len(values) < len(found):
                return None
            return self.equals(column, values, null=None)
        if isinstance(tree, exp.Is) and isinstance(tree.expression, exp.Null):
            column = self.column(tree.this)
            if column is not None and self.type_of(column) is not None:
                return self.is_null(column)
        return None

    def equals(self, column: str, values: list[str], null: Truth) -> Formula:
        known = self.constants.setdefault(column, [])
        known += [v for v in dict.fromkeys(values) if v not in known]
        wanted = frozenset(values)
        return lambda a: null if a[column] == NULL else a[column] in wanted

    def is_null(self, column: str) -> Formula:
        self.constants.setdefault(column, [])
        return lambda a: a[column] == NULL

    def column(self, tree: exp.Expr) -> str | None:
        if isinstance(tree, exp.Paren):
            return self.column(tree.this)
        if not isinstance(tree, exp.Column) or len(tree.parts) != 1:
            return None
        return self.fields.column_of(quote(tree.name))

    def type_of(self, column: str) -> str | None:
        """The kind of a column whose different constants never equal the same value."""
        type_ = self.column_types.get(column)
        return "integer" if type_ in _INTEGERS else ("string" if type_ == "string" else None)

    def constant(self, column: str | None, tree: exp.Expr) -> str | None:
        """SQL text of a constant that a column is compared with."""
        if column is None or not isinstance(tree, exp.Literal):
            return None
        text = tree.name
        kind = self.type_of(column)
        if kind == "string" and tree.is_string and not self.escapes and not set(text) & set("'\"\0"):
            return string_literal(text)
        if kind == "integer" and not tree.is_string and text.isdigit() and len(text) < 10:
            return str(int(text))
        return None

    def opaque(self, tree: exp.Expr | None) -> Formula:
        """An atom of its own; equal texts share one where the text decides the value."""
        if tree is not None and all(isinstance(n, _PURE) for n in tree.walk()):
            key = "\1" + tree.sql()
        else:
            key = f"\2{len(self.atoms)}"
        if key not in self.atoms:
            self.atoms.append(key)
        return lambda a: a[key]  # type: ignore[return-value]
