"""What orders rows of equal ORDER BY keys, the same in Spark and in Python."""

from __future__ import annotations

import re

from sparkcep.query import quote

#: Spark cannot send these to Python.
YEAR_MONTH = ("interval year", "interval month", "interval year to month")
#: Types without an order, wherever they stand in a type's notation; fields of structs may have such names.
_UNORDERABLE = re.compile(
    r"(?<![\w`])(map|variant|object|geometry|geography|interval(?! (?:year|month|day|hour|minute|second)))(?=[<>(),]|$)"
)
#: What Python cannot sort as Spark does, or Spark cannot send to it.
_SPARK_ALONE = re.compile(r"\bcollate\b|\binterval (?:year|month)\b")


def is_orderable(type_: str) -> bool:
    """Whether Spark can sort by a type; year-month and day-time intervals can, calendar intervals cannot."""
    return _UNORDERABLE.search(type_) is None


def is_orderable_here(type_: str) -> bool:
    """Whether Python can sort by a type as Spark does."""
    return is_orderable(type_) and _SPARK_ALONE.search(type_) is None


def tie(column: str, type_: str) -> str:
    """SQL of a column by whose values rows are put in order; empty for a type that has none.

    >>> tie("x", "decimal(3,2)"), tie("m", "interval year"), tie("m", "variant")
    ('`x`', 'CAST(CAST(`m` AS INTERVAL MONTH) AS INT)', '')
    """
    name = quote(column)
    if type_ in YEAR_MONTH:
        return f"CAST(CAST({name} AS INTERVAL MONTH) AS INT)"
    if " collate " in type_ and "<" not in type_:
        return f"({name} COLLATE UTF8_BINARY)"  # a collation leaves different texts without an order
    return name if is_orderable_here(type_) else ""
