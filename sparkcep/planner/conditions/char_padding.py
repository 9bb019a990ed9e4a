"""Comparisons of CHAR(n) columns: Spark fills the shorter side up with blanks.

As its rule `ApplyCharTypePadding`: a comparison or IN of a CHAR column with another one, or with constants, is one of
values that are all as long as the longest. Beside any other expression, and in BETWEEN and NULLIF, none is filled up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from sparkcep.expr.nodes import Constant, Expression, RowValue
from sparkcep.expr.types import NULL, STRING
from sparkcep.planner.conditions.collector import Collector, at_same_row, navigation_of
from sparkcep.query import quote
from sparkcep.sql.lexicon import tokenize

_CHAR = re.compile(r"char\((\d+)\)")


def padded(x: Expression, y: Expression, owner: Collector) -> tuple[Expression, Expression]:
    """Operands of a comparison, filled up with blanks where Spark does so."""
    lengths = char_length(x, owner), char_length(y, owner)
    if all(lengths):
        return _filled(x, lengths[0], lengths[1], owner), _filled(y, lengths[1], lengths[0], owner)
    if lengths[1] and _is_constant(x, owner):
        return _with_constant(y, lengths[1], x, owner)[::-1]
    if lengths[0] and _is_constant(y, owner):
        return _with_constant(x, lengths[0], y, owner)
    return x, y


def padded_alternatives(values: Sequence[Expression], owner: Collector) -> bool:
    """Whether an IN fills values up: of a CHAR column with texts, not NULL, and with a single column, which is `=`."""
    value, *alternatives = values
    if len(alternatives) == 1:
        return True
    if any(isinstance(alternative, Constant) and alternative.value is None for alternative in alternatives):
        return False
    return char_length(value, owner) > 0 and all(_is_constant(alternative, owner) for alternative in alternatives)


def char_length(value: Expression, owner: Collector) -> int:
    """The n of a CHAR(n) column; 0 for any other value."""
    text = _text(value, owner)
    return 0 if text is None else declared_length(text, owner)


def declared_length(text: str, owner: Collector) -> int:
    """The n of the CHAR(n) column that a text names; 0 for any other text."""
    found = _CHAR.fullmatch(owner.column_types.get(owner.fields.column_of(text) or "", ""))
    return int(found[1]) if found else 0


def _with_constant(
    column: Expression, length: int, constant: Expression, owner: Collector
) -> tuple[Expression, Expression]:
    """A CHAR(length) column and a constant, filled up."""
    if isinstance(constant, Constant):
        if constant.value is None:
            return column, constant
        filled = replace(constant, value=constant.value.ljust(length))
        return _filled(column, length, len(constant.value), owner), filled
    text = _text(constant, owner)  # which Spark computes: so it must its length
    form = f"rpad({{}}, greatest({length}, length({text})), ' ')"
    return _with_text(column, form, owner), _with_text(constant, form, owner)


def _filled(value: Expression, length: int, to: int, owner: Collector) -> Expression:
    """A CHAR(length) column with blanks up to some length."""
    return value if length >= to else _with_text(value, f"rpad({{}}, {to}, ' ')", owner)


def _is_constant(value: Expression, owner: Collector) -> bool:
    """Whether a value is a text, or NULL, that no row changes."""
    if isinstance(value, Constant):
        return value.type in (STRING, NULL)
    text = _text(value, owner)
    if text is None:
        return False
    names = (t.text if t.kind == "quoted" else quote(t.text) for t in tokenize(text) if t.kind in ("word", "quoted"))
    if any(owner.fields.column_of(name) is not None for name in names):
        return False
    return owner.types()[_number(value, owner)] == "string"


def _number(value: Expression, owner: Collector) -> int:
    """The number of the column that a value is of; negative: it is no column's."""
    if isinstance(value, RowValue):
        return value.column
    slot = navigation_of(value, owner)
    return -1 if slot is None else slot.column


def _text(value: Expression, owner: Collector) -> str | None:
    """What Spark computes for a value's column; None: it is no column's."""
    number = _number(value, owner)
    return None if number < 0 else owner.fields.texts[owner.columns[number]]


def _with_text(value: Expression, form: str, owner: Collector) -> Expression:
    """Another column in place of a value's. ``form``: of the text, with the column as `{}`."""
    text = form.replace("{}", _text(value, owner) or "")
    if isinstance(value, RowValue):
        return RowValue(owner.column(text))
    slot = navigation_of(value, owner)
    assert slot is not None
    return at_same_row(slot, text, owner)
