"""Detections of Sigma as SQL over one event of a pattern.

A value is compared without case, and one that is missing fits nothing, so that `not` is true of it (Sigma's
specification, "Detection"), where SQL has NULL: behind NOT stands what turns NULL into false.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sigma.conditions import (
    ConditionAND,
    ConditionFieldEqualsValueExpression,
    ConditionItem,
    ConditionNOT,
    ConditionOR,
)
from sigma.types import (
    CompareOperators,
    SigmaBool,
    SigmaCasedString,
    SigmaCIDRExpression,
    SigmaCompareExpression,
    SigmaExists,
    SigmaExpansion,
    SigmaFieldReference,
    SigmaNull,
    SigmaNumber,
    SigmaRegularExpression,
    SigmaString,
    SigmaTimestampPart,
    SpecialChars,
)

from sparkcep.importers.event_schema import Column, EventSchema
from sparkcep.importers.literals import literal, string
from sparkcep.importers.problems import NotImported
from sparkcep.importers.truths import Truth, joined, negated, one_of, whole_text

_ELEMENT = "x"
#: Wildcards, and what they are in a regular expression.
_SIGNS = {SpecialChars.WILDCARD_MULTI: ("*", ".*"), SpecialChars.WILDCARD_SINGLE: ("?", ".")}
_COMPARED = {CompareOperators.LT: "<", CompareOperators.LTE: "<=", CompareOperators.GT: ">", CompareOperators.GTE: ">="}


@dataclass(frozen=True, slots=True)
class Conditions:
    """Writes conditions on a pattern's variable.

    Args:
        schema: the log's columns. variable: of the pattern.
    """

    schema: EventSchema
    variable: str

    def conjuncts(self, node: Any) -> list[str]:
        """Conditions that hold together where a detection fits.

        Args:
            node: of pySigma's tree.

        Raises:
            NotImported: SQL has no counterpart, or the log no such column.
        """
        if isinstance(node, ConditionAND):
            return [text for operand in node.args for text in self.conjuncts(operand)]
        return [self.condition(node)[0]]

    def condition(self, node: Any) -> Truth:
        """SQL of a truth, and whether it may be NULL."""
        match node:
            case ConditionOR() | ConditionAND():
                return joined("OR" if isinstance(node, ConditionOR) else "AND", self.several(node))
            case ConditionNOT():
                return negated(*self.condition(node.args[0]))
            case ConditionFieldEqualsValueExpression():
                return self.fits(column_of(self.schema, node.field), [node.value])
        raise NotImported("keywords, which are looked for in all fields")

    def several(self, node: ConditionItem) -> list[Truth]:
        """The operands of AND or OR; values of one field that OR joins are one test."""
        of_field: dict[str, list[Any]] = {}
        parts: list[Truth] = []
        for operand in _operands(node):
            if isinstance(node, ConditionOR) and isinstance(operand, ConditionFieldEqualsValueExpression):
                of_field.setdefault(operand.field, []).append(operand.value)
            else:
                parts.append(self.condition(operand))
        return [*(self.fits(column_of(self.schema, name), values) for name, values in of_field.items()), *parts]

    # -- one field -------------------------------------------------------------------------------------------------

    def fits(self, column: Column, values: Sequence[Any]) -> Truth:
        """Whether a field, or one element of a list, is one of some values."""
        whole = f"{self.variable}.{column.sql}"
        field = _ELEMENT if column.is_array else whole
        flat = [value for one in values for value in (one.values if isinstance(one, SigmaExpansion) else [one])]
        nulls = [value for value in flat if isinstance(value, (SigmaNull, SigmaExists))]
        tests = [(f"{whole} IS {'NOT ' if isinstance(v, SigmaExists) and v.exists else ''}NULL", False) for v in nulls]
        inner = self.tests(field, column.kind, [value for value in flat if value not in nulls])
        if inner and column.is_array:
            inner = [f"exists({whole}, {_ELEMENT} -> {' OR '.join(inner)})"]
        return joined("OR", [*tests, *((text, True) for text in inner)])

    def tests(self, field: str, kind: str, values: Sequence[Any]) -> list[str]:
        """Tests of a field, one of which is to hold: plain texts, wildcards and ranges of addresses each together."""
        texts: list[str] = []
        wildcards: list[str] = []
        ranges: list[str] = []
        others: list[str] = []
        text = f"CAST({field} AS STRING)" if kind in ("number", "boolean") else field
        for value in values:
            match value:
                case SigmaCIDRExpression():
                    ranges.append(string(value.cidr))
                case SigmaCasedString():
                    others.append(_cased(text, value))
                case SigmaString():
                    plain = _plain(value)
                    if plain is not None:
                        texts.append(string(plain.lower()))
                    elif (pattern := _wildcard(value)) is not None:
                        wildcards.append(string(pattern))
                    else:
                        others.append(whole_text(text, [_regex(value)], ignores_case=True))
                case _:
                    others.append(self.test(field, kind, value))
        out = [f"lower({text}) {one_of(texts)}"] if texts else []
        out += [f"wildcard_match({text}, {', '.join(wildcards)})"] if wildcards else []
        out += [f"cidr_match({text}, {', '.join(ranges)})"] if ranges else []
        return [*out, *others]

    def test(self, field: str, kind: str, value: Any) -> str:
        """A test that is no text's.

        Raises:
            NotImported: SQL has no counterpart.
        """
        match value:
            case SigmaNumber() if not isinstance(value, SigmaTimestampPart):
                number = literal(value.number)
                return f"{field} = {string(number) if kind == 'string' else number}"
            case SigmaBool():
                return f"{field} = {string(str(value).lower()) if kind == 'string' else str(value).lower()}"
            case SigmaRegularExpression():
                flags = "".join(sorted(value.sigma_to_re_flag[flag] for flag in value.flags))
                pattern = value.regexp.original
                return f"regexp_like({field}, {string(f'(?{flags}){pattern}' if flags else pattern)})"
            case SigmaCompareExpression() if value.op in _COMPARED:
                return f"{field} {_COMPARED[value.op]} {literal(value.number.number)}"
            case SigmaCompareExpression():
                return f"{field} <> {literal(value.number.number)}"
            case SigmaFieldReference():
                other = f"{self.variable}.{column_of(self.schema, value.field).sql}"
                if value.starts_with or value.ends_with:
                    return f"{'startswith' if value.starts_with else 'endswith'}(lower({field}), lower({other}))"
                return f"{field} = {other}"
        raise NotImported(f"a value of the kind {type(value).__name__.removeprefix('Sigma')}")


def column_of(schema: EventSchema, name: str) -> Column:
    """The column of a field; see :meth:`EventSchema.existing`."""
    return schema.existing(tuple(name.split(".")))


def _operands(node: Any) -> Iterator[Any]:
    """Of AND or OR, also those of the same in it."""
    for operand in node.args:
        yield from _operands(operand) if type(operand) is type(node) else (operand,)


def _plain(value: SigmaString) -> str | None:
    """A text without wildcards."""
    return "".join(str(part) for part in value.s) if all(isinstance(part, str) for part in value.s) else None


def _wildcard(value: SigmaString) -> str | None:
    """A text with wildcards as `wildcard_match` takes it; None where its text has signs that are no wildcards there."""
    if any(isinstance(part, str) and ("*" in part or "?" in part) for part in value.s):
        return None
    return "".join(part if isinstance(part, str) else _SIGNS[_special(part)][0] for part in value.s)


def _regex(value: SigmaString) -> str:
    return "".join(re.escape(part) if isinstance(part, str) else _SIGNS[_special(part)][1] for part in value.s)


def _special(part: Any) -> SpecialChars:
    if not isinstance(part, SpecialChars):
        raise NotImported(f"the placeholder {part.name}")
    return part


def _cased(field: str, value: SigmaCasedString) -> str:
    plain = _plain(value)
    if plain is not None:
        return f"{field} = {string(plain)}"
    return whole_text(field, [_regex(value)], ignores_case=False)
