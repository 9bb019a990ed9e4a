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
from sparkcep.data.row_order import first_row
from sparkcep.errors import SparkCepError
from sparkcep.query import in_backticks, plain_literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sparkcep.data.row_order import RowOrder

#: Days, and whatever else Spark's CAST reads that begins with one: any precision, with or without an offset.
_ISO_DAY, _ISO = "yyyy-M-d", "ISO 8601"
_DAYS = ("d.M.yyyy", "d/M/yyyy", "M/d/yyyy", "d-M-yyyy", "M-d-yyyy", "yyyy/M/d", "yyyy.M.d", "d-MMM-yyyy", "d MMM yyyy")
_CLOCKS = ("", " H:mm", " H:mm:ss", " h:mm a", " h:mm:ss a", ", H:mm", ", H:mm:ss",
           "[[,] H:mm[:ss[.SSSSSS]]]", " H:mm:ss,SSSSSS", "[[,] h:mm[:ss][ ]a]")  # fmt: skip
#: Of formats that read a column alike, the first is taken.
_OF_TEXTS = (
    _ISO_DAY, _ISO, "yyyy-M-d['T'][ ]H:mm[:ss[.SSSSSS]][ ]XX", "yyyy-M-d['T'][ ]H:mm:ss,SSSSSS",
    *(day + clock for day in _DAYS for clock in _CLOCKS),
    *("d.M.yy" + clock for clock in (" H:mm", " H:mm:ss", ", H:mm", ", H:mm:ss")),  # 1.2.25 alone may be a release
    "yyyyMMdd", "yyyyMMdd H:mm", "yyyyMMdd H:mm:ss", "yyyyMMdd'T'HHmmss",
)  # fmt: skip
#: With names of months: in English, or in the language that stands before a pattern; the JVM knows the names.
_MONTHS = {
    "de": ("d[.] MMMM[.] yyyy", "[[,][' um'] H:mm[:ss]][' Uhr'][ z]"),
    "fr": ("d MMMM[.] yyyy", "[[,][' \u00e0'] H:mm[:ss]]"),
    "es": ("d[ 'de'] MMMM[.][ 'de'] yyyy", "[[,] H:mm[:ss]]"),
    "pt": ("d[ 'de'] MMMM[.][ 'de'] yyyy", "[[,] H:mm[:ss]]"),
    "it": ("d MMMM[.] yyyy", "[[,] H:mm[:ss]]"), "nl": ("d MMMM[.] yyyy", "[[,] H:mm[:ss]]"),
}  # fmt: skip
#: What MMMM and MMM are in other languages: names that are whole, cut as in a date, or cut as alone.
_MONTH = "[MMMM][MMM][LLL]"
_NAMED = (
    *(day + clock for day in ("MMM d, yyyy", "MMMM d, yyyy", "d MMMM yyyy") for clock in
      ("", "[[,] H:mm[:ss]]", "[[,] h:mm[:ss][ ]a]")),
    *(f"{language}:{day}{clock}" for language, (day, behind) in _MONTHS.items() for clock in ("", behind)),
    "de:d.M.yyyy H:mm[:ss] z",
)  # fmt: skip
#: A language before a pattern; two equal letters are a pattern's own, as in `hh:mm`.
_IN_LANGUAGE = re.compile(r"(?!(.)\1)(?P<language>[a-z]{2}):(?P<pattern>.*)")
_OF_NUMBERS = ("yyyyMMdd", "yyyyMMddHHmm", "yyyyMMddHHmmss")
#: What counts from 1970 on: its name, how many there are in a second, and SQL of the time.
_EPOCHS = (
    ("seconds since 1970", 1, "timestamp_seconds({})"),
    ("milliseconds since 1970", 1000, "timestamp_millis(CAST({} AS BIGINT))"),
    ("microseconds since 1970", 1_000_000, "timestamp_micros(CAST({} AS BIGINT))"),
    ("nanoseconds since 1970", 1_000_000_000, "timestamp_micros(CAST({} AS BIGINT) DIV 1000)"),
)
#: The seconds of 1990 and of 2100, between which all times must be for that.
_EARLIEST, _LATEST = 631_152_000, 4_102_444_800
#: Three letters in a row: no T, AM or UTC+1.
_WORD = "[A-Za-z\u00c0-\u024f]{3}"
#: As a format: numbers are left as they are.
NUMBER = "number"
#: So many rows choose the formats that all rows are then held against.
_SAMPLE = 1000
_TEXT = "__cep_text"


@dataclass(frozen=True, slots=True)
class TimeReading:
    """``sql``: the column as a time, NULL for what does not fit. ``format``: what its texts are written in.
    ``example``: one of them. ``misfits``: how many do not fit."""

    sql: str
    format: str
    example: str = ""
    misfits: int = 0


def time_reading(
    frame: DataFrame, column: str, given: str | None = None, name: str = "the log", order: RowOrder | None = None,
    some_misfit: bool = False,
) -> TimeReading | None:  # fmt: skip
    """How a column is read as a time; None where times or numbers are left as they are.

    Args:
        given: a datetime pattern of Spark's, maybe with a language (`de:d. MMMM yyyy`), or `number`; None: the one of
            the usual formats that reads all rows, or of a number what it counts since 1970.
        name: of the log in errors. order: of its rows, by which errors tell a row. some_misfit: whether a tenth of the
            texts may be in no format.

    Raises:
        SparkCepError: CEP_TIME_FORMAT where no format reads all rows, or several do and differ; CEP_TIME_TYPE where the
            column is neither time nor number nor text.
    """
    type_ = next(type_ for field, type_ in frame.dtypes if field.casefold() == column.casefold())
    is_number = type_ in ("double", "float") or type_.startswith("decimal")
    if given is None and is_number:
        return _epoch(frame, column)
    if given == NUMBER or (given is None and type_ in TEMPORAL):
        return None
    if type_ not in ("string", *INTEGRAL):
        hint = "name a column of times, of numbers or of text" if given is None else "leave out --time-format"
        raise SparkCepError(
            "CEP_TIME_TYPE", f"{column} of {name} is {type_.upper()}, which is not read as a time.", hint=hint
        )
    formats = (given,) if given is not None else _OF_TEXTS if type_ == "string" else _OF_NUMBERS
    reader = _TimeReader(frame, column, name, order)
    if (found := reader.format(formats)) is not None:
        return TimeReading(_reading(found, reader.text), found, reader.example)
    if type_ == "string" and given is None and reader.has_words:
        if (found := reader.format(_NAMED)) is not None:
            return TimeReading(_reading(found, reader.text), found, reader.example)
        formats = (*formats, *_NAMED)
    if some_misfit and (closest := reader.closest(formats)) is not None:
        found, missed = closest
        return TimeReading(_reading(found, reader.text), found, reader.example, missed)
    if type_ != "string" and given is None:
        return _epoch(frame, column)
    raise reader.misfit(formats, given)


def _epoch(frame: DataFrame, column: str) -> TimeReading | None:
    """A column of numbers as times, where all of them count one unit since 1970; None where they do not."""
    name = in_backticks(column)
    least, most = frame.selectExpr(f"min({name})", f"max({name})").collect()[0]
    for form, units, sql in _EPOCHS:
        if least is not None and _EARLIEST * units <= least and most < _LATEST * units:
            return TimeReading(sql.format(name), form)
    return None


def _day(pattern: str) -> str:
    """What tells how a pattern reads days."""
    return _ISO_DAY if pattern == _ISO else re.split(r"[\[ ,']", pattern, maxsplit=1)[0]


def _reading(pattern: str, text: str) -> str:
    """SQL that reads a text and is NULL where it does not fit: a DATE by a pattern of days alone, else a TIMESTAMP."""
    if pattern in (_ISO, _ISO_DAY):
        behind, type_ = ("([T ].*)?", "TIMESTAMP") if pattern == _ISO else ("", "DATE")
        return f"CASE WHEN {text} RLIKE '^[0-9]{{4}}(-[0-9]{{1,2}}){{2}}{behind}$' THEN TRY_CAST({text} AS {type_}) END"
    if in_language := _IN_LANGUAGE.fullmatch(pattern):
        pattern = re.sub("(?<!M)M{3,4}(?!M)", _MONTH, in_language["pattern"])
        named = {"sep": "\u0001", "locale": in_language["language"], "timestampFormat": pattern}
        options = ", ".join(plain_literal(part) for item in named.items() for part in item)
        read = f"from_csv({text}, 'read TIMESTAMP_LTZ', map({options})).read"
    else:
        read = f"try_to_timestamp({text}, {plain_literal(pattern)})"
    has_clock = re.search("[HhKkmsSaAnN]", re.sub("'[^']*'", "", pattern))
    return read if has_clock else f"CAST({read} AS DATE)"


class _TimeReader:
    """Holds formats against a column."""

    def __init__(self, frame: DataFrame, column: str, name: str, order: RowOrder | None) -> None:
        self.frame, self.column, self.name, self.order = frame, column, name, order
        #: The column's text, NULL for blanks.
        self.text = f"nullif(trim(CAST({in_backticks(column)} AS STRING)), '')"
        self.texts = frame.selectExpr(f"{self.text} AS {_TEXT}").where(f"{_TEXT} IS NOT NULL")
        #: One of the texts that were read.
        self.example = ""
        #: Whether some text has a word, as names of months are.
        self.has_words = False

    def read(self, formats: Sequence[str], rows: DataFrame) -> list[str]:
        """Those formats that read all of some texts."""
        counts = (f"count({_reading(f, _TEXT)})" for f in formats)
        total, example, words, *read = rows.selectExpr(
            "count(*)", f"first({_TEXT})", f"count_if({_TEXT} RLIKE '{_WORD}')", *counts
        ).collect()[0]
        self.has_words = self.has_words or bool(words)
        self.example = self.example or str(example or "")
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
        self.check_alike(fit)
        return fit[0] if fit else None

    def check_alike(self, fit: Sequence[str]) -> None:
        """Raises CEP_TIME_FORMAT where the first one reads some text as another time than the others do."""
        for other in fit[1:]:
            a, b = (f"CAST({_reading(f, _TEXT)} AS TIMESTAMP)" for f in (fit[0], other))
            if differing := self.texts.where(f"{a} <> {b}").limit(1).collect():
                raise SparkCepError(
                    "CEP_TIME_FORMAT",
                    f"{self.column} of {self.name} may be {fit[0]} or {other}: both read all its rows, but "
                    f"{differing[0][0]} as different times.", hint=f'--time-format "{fit[0]}", or "{other}"',
                )  # fmt: skip

    def closest(self, formats: Sequence[str]) -> tuple[str, int] | None:
        """The format that reads the most texts, nine of ten at least, and how many it does not read; None where no one
        does.

        Raises:
            SparkCepError: CEP_TIME_FORMAT as :meth:`format`.
        """
        counts = [f"count({_reading(f, _TEXT)})" for f in formats]
        total, *read = self.texts.selectExpr("count(*)", *counts).collect()[0]
        most = max(read)
        if most * 10 < total * 9 or not total:
            return None
        fit = [f for f, n in zip(formats, read, strict=True) if n == most]
        self.check_alike(list({_day(f): f for f in reversed(fit)}.values())[::-1])
        return fit[0], total - most

    def misfit(self, formats: Sequence[str], given: str | None) -> SparkCepError:
        """What to say of the first row that no format reads, of those which read the most; the caller raises it."""
        counts = self.texts.limit(_SAMPLE).selectExpr(*(f"count({_reading(f, _TEXT)})" for f in formats)).collect()[0]
        most, place = max((n, -i) for i, n in enumerate(counts))
        wanted = formats[-place] if most or len(formats) == 1 else None
        unread = f"{self.text} IS NOT NULL" + (f" AND {_reading(wanted, self.text)} IS NULL" if wanted else "")
        text, where = first_row(self.frame, unread, self.text, self.order)
        why = f"is not {wanted}" if wanted else "no known format of times reads"
        sentence = f"{self.column} of {self.name} has {text!r} in {where}, which {why}."
        null = f"--option {shlex.quote(f'nullValue={text}')} if that text means that there is no time"
        if given is None:
            so = f'--time-format "{wanted or "dd.MM.yyyy HH:mm"}" if the texts are written so'
            return SparkCepError("CEP_TIME_FORMAT", sentence, hint=f"{so}, or {null}")
        so = (
            f'--time-format "de:{given}" if names of months are German, or '
            if "MMM" in given and not _IN_LANGUAGE.match(given)
            else ""
        )
        return SparkCepError("CEP_TIME_FORMAT", sentence, hint=so + null)
