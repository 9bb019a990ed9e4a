"""Comparisons of two adjacent events' values that the kernel decides by integers of one order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sparkcep.exec.engines.trends.spec import Key, KeyPair
from sparkcep.expr.coercion import TIMES_BY_WIDTH, as_decimal, compared_as, wider_decimal, wider_time
from sparkcep.expr.types import Type, parse_type
from sparkcep.planner.conditions.match_conditions import MatchConditions
from sparkcep.planner.conditions.row_conditions import may_fail
from sparkcep.planner.engines.trends.edges import AFTER, BEFORE, Comparison, comparisons
from sparkcep.planner.engines.trends.linear import linear_sides
from sparkcep.planner.fields import Fields
from sparkcep.planner.plan import Analyzer
from sparkcep.query import Scalar, quote


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Reads conditions as such comparisons.

    ``analyze``: Spark's types of expressions over the input, in the session's ``ansi`` mode. ``column_types``: of the
    input's columns, by name.
    """

    analyze: Analyzer
    ansi: bool
    fields: Fields
    column_types: Mapping[str, str]

    def of(self, scalar: Scalar) -> tuple[Comparison, ...]:
        """The comparisons of a test of two events, where the kernel's integers decide all of them."""
        found = [self.one(one) for one in comparisons(scalar)]
        known = tuple(one for one in found if one is not None)
        return known if len(known) == len(found) else ()

    def one(self, c: Comparison) -> Comparison | None:
        """A comparison whose sides have one type, as Spark would cast them, and integers of one order; else None."""
        a, b = (parse_type(t) for _, t in self.analyze([c.before, c.after]))
        kinds = {a.kind, b.kind}
        # The casts below do not fail, but for a text's.
        may = may_fail(c.before) or may_fail(c.after) or (len(kinds) > 1 and "string" in kinds)
        c = replace(c, may_fail=may)
        if (common := compared_as([a, b], self.ansi)) is not None:
            return _cast(c, common.sql)
        if kinds <= {"double", "float"}:
            return c
        if kinds <= {"double", "float", "int", "decimal"} and kinds & {"double", "float"}:
            return _cast(c, "DOUBLE")
        if kinds <= {"int", "decimal"} and "decimal" in kinds:
            if (linear := linear_sides((c.before, c.after), (a, b), self.column)) is not None:
                return replace(c, linear=linear, may_fail=False)
            if a == b:
                return c
            return _cast(c, wider_decimal(as_decimal(a), as_decimal(b)).sql)
        if len(kinds) > 1 and kinds <= set(TIMES_BY_WIDTH):
            return _cast(c, wider_time(kinds))
        return c if a.kind == b.kind and (a.is_integer_like or a.kind == "string") else None

    def column(self, text: str) -> tuple[str, Type] | None:
        """The input column that a text names, quoted, and its type."""
        name = self.fields.column_of(text)
        return None if name is None else (quote(name), parse_type(self.column_types[name]))


def _cast(c: Comparison, to: str) -> Comparison:
    return replace(c, before=f"CAST(({c.before}) AS {to})", after=f"CAST(({c.after}) AS {to})")


def key_pair(c: Comparison, dependent: MatchConditions) -> KeyPair:
    """What the kernel compares: columns of both sides."""
    if c.linear is not None:
        one, other = (Key(dependent.column(side.column), side.factor, side.summand) for side in c.linear)
        return KeyPair(one, other)
    before, after = (
        dependent.guarded(text, (side,)) if c.may_fail else text
        for text, side in ((c.before, BEFORE), (c.after, AFTER))
    )
    return KeyPair(Key(dependent.column(before)), Key(dependent.column(after)))
