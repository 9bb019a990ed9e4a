"""Texts that are times: the format that reads all of a column, found among the usual ones or given.

A text sorts by its letters: 01.12.2006 comes before 02.01.2005. So no text is taken for a time as it stands.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparkcep.data.roles import INTEGRAL, TEMPORAL
from sparkcep.errors import SparkCepError
from sparkcep.query import in_backticks, string_literal, unescape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sparkcep.data.row_order import RowOrder

#: Days, and whatever else Spark's CAST reads that begins with one: any precision, with or without an offset.
_ISO_DAY, _ISO = "yyyy-M-d", "ISO 8601"
_DAYS = ("d.M.yyyy", "d/M/yyyy", "M/d/yyyy", "d-M-yyyy", "M-d-yyyy", "yyyy/M/d", "yyyy.M.d", "d-MMM-yyyy", "d MMM yyyy")
_CLOCKS = ("", " H:mm", " H:mm:ss", " h:mm a", " h:mm:ss a", ", H:mm", ", H:mm:ss",
           "[[,] H:mm[:ss[.SSSSSS]]]", "[[,] h:mm[:ss][ ]a]")  # fmt: skip
#: Of formats that read a column alike, the first is taken.
_OF_TEXTS = (
    _ISO_DAY, _ISO, "yyyy-M-d['T'][ ]H:mm[:ss[.SSSSSS]][ ]XX", *(day + clock for day in _DAYS for clock in _CLOCKS),
    "yyyyMMdd", "yyyyMMdd H:mm", "yyyyMMdd H:mm:ss", "yyyyMMdd'T'HHmmss",
)  # fmt: skip
_OF_NUMBERS = ("yyyyMMdd", "yyyyMMddHHmm", "yyyyMMddHHmmss")
#: So many rows choose the formats that all rows are then held against.
_SAMPLE = 1000
_TEXT, _FILE, _PLACE = "__cep_text", "__cep_file", "__cep_place"


@dataclass(frozen=True, slots=True)
class TimeReading:
    """``sql``: the column as a time. ``format``: what its texts are written in."""

    sql: str
    format: str


def time_reading(
    frame: DataFrame, column: str, given: str | None = None, name: str = "the log", order: RowOrder | None = None
) -> TimeReading | None:
    """How a column is read as a time; None where times or numbers are left as they are.

    Args:
        given: a datetime pattern of Spark's; None: the one of the usual formats that reads all rows.
        name: of the log in errors. order: of its rows, by which errors tell a row.

    Raises:
        SparkCepError: CEP_TIME_FORMAT where no format reads all rows, or several do and differ; CEP_TIME_TYPE where the
            column is neither time nor number nor text.
    """
    type_ = next(type_ for field, type_ in frame.dtypes if field.casefold() == column.casefold())
    is_number = type_ in ("double", "float") or type_.startswith("decimal")
    if given is None and (type_ in TEMPORAL or is_number):
        return None
    if type_ not in ("string", *INTEGRAL):
        hint = "name a column of times, of numbers or of text" if given is None else "leave out --time-format"
        raise SparkCepError(
            "CEP_TIME_TYPE", f"{column} of {name} is {type_.upper()}, which is not read as a time.", hint=hint
        )
    formats = (given,) if given is not None else _OF_TEXTS if type_ == "string" else _OF_NUMBERS
    reader = _TimeReader(frame, column, name, order)
    if (found := reader.format(formats)) is not None:
        return TimeReading(_reading(found, reader.text), found)
    if type_ != "string" and given is None:
        return None
    raise reader.misfit(formats)


def _day(pattern: str) -> str:
    """What tells how a pattern reads days."""
    return _ISO_DAY if pattern == _ISO else re.split(r"[\[ ,']", pattern, maxsplit=1)[0]


def _reading(pattern: str, text: str) -> str:
    """SQL that reads a text and is NULL where it does not fit: a DATE by a pattern of days alone, else a TIMESTAMP."""
    if pattern in (_ISO, _ISO_DAY):
        behind, type_ = ("([T ].*)?", "TIMESTAMP") if pattern == _ISO else ("", "DATE")
        return f"CASE WHEN {text} RLIKE '^[0-9]{{4}}(-[0-9]{{1,2}}){{2}}{behind}$' THEN TRY_CAST({text} AS {type_}) END"
    read = f"try_to_timestamp({text}, {unescape(string_literal(pattern))})"
    has_clock = re.search("[HhKkmsSaAnN]", re.sub("'[^']*'", "", pattern))
    return read if has_clock else f"CAST({read} AS DATE)"


class _TimeReader:
    """Holds formats against a column."""

    def __init__(self, frame: DataFrame, column: str, name: str, order: RowOrder | None) -> None:
        self.frame, self.column, self.name, self.order = frame, column, name, order
        #: The column's text, NULL for blanks.
        self.text = f"nullif(trim(CAST({in_backticks(column)} AS STRING)), '')"
        self.texts = frame.selectExpr(f"{self.text} AS {_TEXT}").where(f"{_TEXT} IS NOT NULL")

    def read(self, formats: Sequence[str], rows: DataFrame) -> list[str]:
        """Those formats that read all of some texts."""
        total, *read = rows.selectExpr("count(*)", *(f"count({_reading(f, _TEXT)})" for f in formats)).collect()[0]
        return [f for f, n in zip(formats, read, strict=True) if n == total]

    def format(self, formats: Sequence[str]) -> str | None:
        """The first format that reads all texts.

        Raises:
            SparkCepError: CEP_TIME_FORMAT where another one reads all of them too, but some as other times.
        """
        left = self.read(formats, self.texts.limit(_SAMPLE)) or list(formats[:1])
        fit: list[str] = []
        while left and not fit:  # formats of one kind of days differ in what they read, but not in how
            firsts = list({_day(f): f for f in reversed(left)}.values())
            fit = self.read(firsts, self.texts)
            left = [f for f in left if f not in firsts]
        fit.sort(key=formats.index)
        for other in fit[1:]:
            a, b = (f"CAST({_reading(f, _TEXT)} AS TIMESTAMP)" for f in (fit[0], other))
            if differing := self.texts.where(f"{a} <> {b}").limit(1).collect():
                raise SparkCepError(
                    "CEP_TIME_FORMAT",
                    f"{self.column} of {self.name} may be {fit[0]} or {other}: both read all its rows, but "
                    f"{differing[0][0]} as different times.", hint=f'--time-format "{fit[0]}", or "{other}"',
                )  # fmt: skip
        return fit[0] if fit else None

    def misfit(self, formats: Sequence[str]) -> SparkCepError:
        """What to say of the first row that no format reads, of those which read the most; the caller raises it."""
        counts = self.texts.limit(_SAMPLE).selectExpr(*(f"count({_reading(f, _TEXT)})" for f in formats)).collect()[0]
        most, place = max((n, -i) for i, n in enumerate(counts))
        wanted = formats[-place] if most or len(formats) == 1 else None
        frame = self.frame
        if self.order is not None:
            frame = frame.select("*", self.order.file.alias(_FILE), self.order.place.alias(_PLACE))
        unread = frame.where(f"{self.text} IS NOT NULL")
        if wanted is not None:
            unread = unread.where(f"{_reading(wanted, self.text)} IS NULL")
        where = "some row"
        if self.order is not None:
            first = unread.orderBy(_PLACE).selectExpr(self.text, _FILE, _PLACE).limit(1).collect()[0]
            before = frame.where((frame[_FILE] == first[1]) & (frame[_PLACE] < first[2])).count()
            where = f"row {before + 1:,}" + (f" of {first[1]}" if self.order.several else "")
        else:
            first = unread.selectExpr(self.text).limit(1).collect()[0]
        why = f"is not {wanted}" if wanted else "no known format of times reads"
        return SparkCepError(
            "CEP_TIME_FORMAT", f"{self.column} of {self.name} has {first[0]!r} in {where}, which {why}.",
            hint=f'--time-format "{wanted or "dd.MM.yyyy HH:mm"}" if the texts are written so, or '
            f"--option {shlex.quote(f'nullValue={first[0]}')} if that text means that there is no time",
        )  # fmt: skip
