"""The columns of a log, by which the fields of imported rules are found: `process.name` may be a field of a struct, an
entry of a map, or a column with a dot in its name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from sparkcep.errors import SparkCepError
from sparkcep.importers.literals import name, string
from sparkcep.importers.problems import NotImported

_KINDS = {
    "string": ("TEXT", "VARCHAR", "CHAR", "STRING"),
    "number": ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL"),
    "boolean": ("BOOLEAN",),
    "array": ("ARRAY", "LIST"),
    "struct": ("STRUCT",),
    "map": ("MAP",),
}
#: What a terminal shows in other colours.
_CODES = re.compile(r"\x1b\[\d*m")
_KIND = {name: kind for kind, names in _KINDS.items() for name in names}


@dataclass(frozen=True, slots=True)
class Column:
    """A column or a part of one. ``sql``: what stands behind a pattern variable and a dot. ``kind``: string, number,
    boolean, struct or other; of an array that of its elements, ``is_array``; empty where types are not known."""

    sql: str
    kind: str = ""
    is_array: bool = False


class EventSchema:
    """Names and types of a log's columns.

    Args:
        columns: as CREATE TABLE has them; None where nothing is known, so that each field is one of structs.

    Raises:
        SparkCepError: CEP_ARGUMENTS.
    """

    def __init__(self, columns: str | None) -> None:
        self.columns: dict[str, tuple[str, exp.DataType | None]] | None = None
        if columns is None:
            return
        try:
            table = parse_one(f"CREATE TABLE t ({columns})", dialect="spark")
        except SqlglotError as error:
            raise SparkCepError(
                "CEP_ARGUMENTS", f"The columns cannot be read: {_CODES.sub('', ' '.join(str(error).split()))[:200]}.",
                hint='"time TIMESTAMP, process STRUCT<name: STRING, args: ARRAY<STRING>>"',
            ) from None  # fmt: skip
        schema = table.find(exp.Schema)
        found = schema.expressions if schema is not None else []
        self.columns = {c.name.casefold(): (c.name, c.args.get("kind")) for c in found}

    def column(self, parts: tuple[str, ...]) -> Column | None:
        """The column of a field, None for none. Of several ways to read a name that with the longest column counts."""
        if self.columns is None:
            return Column(".".join(map(name, parts)))
        for length in range(len(parts), 0, -1):
            found = self.columns.get(".".join(parts[:length]).casefold())
            if found is not None:
                return _part(name(found[0]), found[1], parts[length:])
        return None

    def existing(self, parts: tuple[str, ...]) -> Column:
        """The column of a field.

        Raises:
            NotImported: there is none.
        """
        found = self.column(parts)
        if found is None:
            raise NotImported(f"the log has no column {'.'.join(parts)}")
        return found


def _part(sql: str, type_: exp.DataType | None, parts: tuple[str, ...]) -> Column | None:
    if type_ is None:
        return Column(".".join((sql, *map(name, parts))))
    kind = _KIND.get(type_.this.value, "other")
    if not parts:
        if kind != "array":
            return Column(sql, kind)
        of = type_.expressions[0] if type_.expressions else None
        return Column(sql, _KIND.get(of.this.value, "other") if isinstance(of, exp.DataType) else "other", True)
    if kind == "map":
        value = type_.expressions[-1]
        return _part(f"{sql}[{string('.'.join(parts))}]", value, ())
    for field in type_.expressions if kind == "struct" else ():
        if field.name.casefold() == parts[0].casefold():
            return _part(f"{sql}.{name(field.name)}", field.args["kind"], parts[1:])
    return None
