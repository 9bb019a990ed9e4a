"""Columns that Spark computes for each row before matching, each once, by the text of its expression."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from sparkcep.planner.conditions.pair_calls import PairCall, over_one_row, pair_column
from sparkcep.query import PREFIX, quote, unescape

_IDENTIFIER = re.compile(r"[^\W\d]\w*")
#: A field within a column's structs.
_PATH = re.compile(r"(?:\((`[^`]+`|[^\W\d]\w*)\)|(`[^`]+`|[^\W\d]\w*))((?:\.(?:`[^`]+`|[^\W\d]\w*))+)")
_CONSTANTS = frozenset("TRUE FALSE NULL CURRENT_DATE CURRENT_TIMESTAMP CURRENT_USER".split())
_NAME = re.compile(r"`([^`]+)`|(\w+)")


@dataclass(slots=True)
class Fields:
    """Registry of row expressions: text -> number. A plain column of the input is one field whatever its spelling.

    The first ``sort_fields`` are the sort key: ORDER BY keys and tie-breaking columns. ``pairs``: calls over two rows
    whose columns texts name. ``types``: of fields that are no columns, as far as they are known.
    """

    columns: Sequence[str]
    case_sensitive: bool
    texts: list[str] = field(default_factory=list)
    sort_fields: int = 0
    pairs: list[PairCall] = field(default_factory=list)
    types: dict[int, str] = field(default_factory=dict)

    def column_of(self, text: str) -> str | None:
        """The input column that a text names, if it is one bare name."""
        name = text.strip()
        if name[:1] != "`" and (not _IDENTIFIER.fullmatch(name) or name.upper() in _CONSTANTS):
            return None
        if len(name) > 1 and name[0] == name[-1] == "`" and "`" not in name[1:-1].replace("``", ""):
            name = name[1:-1].replace("``", "`")
        name = unescape(name)
        for column in self.columns:
            if column == name or (not self.case_sensitive and column.casefold() == name.casefold()):
                return column
        return None

    def add(self, text: str, type_: str = "") -> int:
        """Number of the field that holds an expression. ``type_``: Spark's type of it, so that nobody has to ask."""
        column = self.column_of(text)
        text = quote(column) if column is not None else text
        if text not in self.texts:
            self.texts.append(text)
        number = self.texts.index(text)
        if type_:
            self.types[number] = type_
        return number

    def spelled(self, text: str) -> str:
        """A column, or a field within one, with all names in backticks; else the text as it is."""
        column, fields = self.column_of(text), ""
        if column is None and (path := _PATH.fullmatch(text)) is not None:
            column = self.column_of(path[1] or path[2])
            fields = "".join("." + quote(quoted or name) for quoted, name in _NAME.findall(path[3]))
        return text if column is None else quote(column) + fields

    def pair(self, call: PairCall) -> str:
        """The column with a call's value for each row of the partition."""
        if call not in self.pairs:
            self.pairs.append(call)
        return pair_column(self.pairs.index(call))

    def typed(self, number: int) -> str:
        """An expression over one row of the input that has the type of a field."""
        return over_one_row(self.texts[number], self.pairs)

    @staticmethod
    def name(number: int) -> str:
        """The column of a field in what Spark prepares for the operator."""
        return f"{PREFIX}f{number}"
