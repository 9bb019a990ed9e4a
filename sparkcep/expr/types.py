"""Spark's types, as far as conditions care."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

#: Digits of the decimals that one word of 64 bits holds.
WORD_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Type:
    """A Spark type as far as conditions care. ``kind``: int (``size`` bits), double, float, boolean, string, date,
    timestamp, timestamp_ntz, interval (day-time), decimal (``size`` precision, ``scale``), array (of
    ``element``), map (of ``key`` to ``element``), struct (of ``fields``), null, or other, of which Spark's ``name`` is
    kept for errors."""

    kind: str
    size: int = 0
    scale: int = 0
    element: Type | None = None
    key: Type | None = None
    fields: tuple[tuple[str, Type], ...] = ()
    name: str = ""

    @property
    def shown(self) -> str:
        """As errors say it."""
        if self.kind == "int":
            return {8: "tinyint", 16: "smallint", 64: "bigint"}.get(self.size, "int")
        return self.name or self.kind

    @property
    def sql(self) -> str:
        """As SQL writes it, of a type that is one value."""
        if self.kind == "decimal":
            return f"DECIMAL({self.size},{self.scale})"
        return self.shown.upper()

    @property
    def is_integer_like(self) -> bool:
        """Whether the kernel holds it as int64 as it stands."""
        return self.kind in ("int", "boolean", "date", "timestamp", "timestamp_ntz", "interval")

    @property
    def is_wide(self) -> bool:
        """Whether it is a decimal whose values take two words."""
        return self.kind == "decimal" and self.size > WORD_DIGITS

    @property
    def is_single(self) -> bool:
        """Whether it is one value: neither of several ones, nor of a type that conditions do not know."""
        return self.kind not in ("array", "map", "struct", "other")

    @property
    def is_floating(self) -> bool:
        """Whether it is a number of double or single precision."""
        return self.kind in ("double", "float")

    @property
    def is_numeric(self) -> bool:
        """Whether it is a number; intervals, dates and times are not."""
        return self.kind in ("int", "double", "float", "decimal")


INT, BIGINT = Type("int", 32), Type("int", 64)
#: A day-time interval of whole days; a date plus one is a date.
DAYS = Type("interval", scale=1)
DOUBLE, FLOAT = Type("double"), Type("float")
BOOLEAN, STRING, NULL = Type("boolean"), Type("string"), Type("null")
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
#: Kinds of points in time.
TIMES = ("date", "timestamp", "timestamp_ntz")


def parse_type(text: str) -> Type:
    """A type from Spark's ``simpleString``."""
    if text in _BITS:
        return Type("int", _BITS[text])
    if text.startswith("decimal("):
        precision, scale = text[8:-1].split(",")
        return Type("decimal", int(precision), int(scale))
    if text in ("double", "float", "boolean", "string", "date", "timestamp", "timestamp_ntz"):
        return Type(text)
    if text.startswith(("varchar(", "char(")):
        return STRING
    if text == "interval day":
        return DAYS
    if text.startswith("interval ") and "month" not in text and "year" not in text:
        return Type("interval")
    if text.startswith("array<"):
        return Type("array", element=parse_type(text[6:-1]))
    if text.startswith("map<"):
        sides = _split(text[4:-1])
        if len(sides) == 2:
            return Type("map", key=parse_type(sides[0]), element=parse_type(sides[1]))
    if text.startswith("struct<"):
        found = [_FIELD.fullmatch(part) for part in _split(text[7:-1])]
        if any(f is None for f in found):
            return Type("other", name=text)
        return Type("struct", fields=tuple((f[1], parse_type(f[2])) for f in found if f is not None))
    if text in ("void", "null"):
        return NULL
    return Type("other", name=text)


def field_type(text: str, path: Sequence[str], case_sensitive: bool = False) -> str | None:
    """The type of a field within structs, in Spark's notation; None where there is not exactly one of that name.

    >>> field_type("struct<pid:int,parent:struct<pid:bigint>>", ["parent", "PID"])
    'bigint'
    """
    for name in path:
        parts = [_FIELD.fullmatch(part) for part in _split(text[7:-1])] if text.startswith("struct<") else []
        alike = (f for f in parts if f is not None and (f[1] == name or not case_sensitive))
        found = [f[2] for f in alike if f[1].casefold() == name.casefold()]
        if len(found) != 1:
            return None
        text = found[0]
    return text


#: A struct's field; a name with a sign of the notation is none that can be told apart.
_FIELD = re.compile(r"([^<>(),:]+):(.+)", re.DOTALL)


def _split(text: str) -> list[str]:
    """Parts of a type's notation between the commas outside of its brackets."""
    out, depth = [""], 0
    for c in text:
        depth += (c in "<(") - (c in ">)")
        if c == "," and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return out


class NotCompilable(Exception):
    """Conditions, or their instruction programs, cannot express it; the message says what."""
