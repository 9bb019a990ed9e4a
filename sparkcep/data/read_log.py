"""An event log in a file as a table whose columns have the types that they look like, with what they are taken for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from sparkcep.data.cleaning import in_one_spelling, without_duplicates
from sparkcep.data.content import by_content
from sparkcep.data.files import LogFile, file_of, in_utf8, read_file, reader_options, spooled
from sparkcep.data.nanoseconds import from_nanoseconds, nanosecond_columns
from sparkcep.data.opened import OpenLog, ReadColumn, block, called, described, rows_of
from sparkcep.data.readings import (
    MARKS,
    Found,
    Reading,
    Unclear,
    find_readings,
    misfit_of,
    odd_text,
    text_of,
    texts_by_column,
)
from sparkcep.data.roles import TEMPORAL, Guess, guess_roles, sampled, time_by_name, type_text
from sparkcep.data.row_order import ROW_IN_FILE, RowOrder, first_row, row_order
from sparkcep.data.times import time_reading
from sparkcep.errors import SparkCepError, near_hint
from sparkcep.progress import activity
from sparkcep.query import in_backticks, plain_literal
from sparkcep.session.machine.local import local_session
from sparkcep.spark.exceptions import sentence
from sparkcep.sql.log_columns import READ

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

#: What becomes of rows with a text that does not fit what its column is found as.
BAD_ROWS = ("error", "null", "drop", "keep-aside")
#: A time of day.
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2}([.]\d+)?)?")
#: Rows that readings are chosen by; all rows are then held against them.
_SAMPLE = 1000
#: What Java reads bytes as that are no text of the encoding.
_UNREADABLE = "\ufffd"
#: Where Spark puts a row whose fields are not those of the header; blanks behind a last separator are none.
_TORN = "__cep_row"
#: Where Spark's reader puts lines that are not JSON.
_NO_JSON = "_corrupt_record"
#: Fields of structs that are named where they are columns too.
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How a log is read, where that is not found out.

    ``reader``: options of Spark's reader. ``roles``: columns that are named. ``time_format``: how times are written.
    ``texts``: columns that stay text. ``decimal``: the decimal mark. ``bad_rows``: one of BAD_ROWS.
    ``drop_duplicates``: rows that are equal in all columns are one. ``fold_types``: event types that differ by
    capitals, blanks or accents alone are one.
    """

    reader: Mapping[str, str] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    time_format: str | None = None
    texts: Collection[str] = ()
    decimal: str | None = None
    bad_rows: str = "error"
    drop_duplicates: bool = False
    fold_types: bool = False


def read_log(
    spark: SparkSession | str | Path | None = None, path: str | Path | None = None, *, format: str | None = None,
    case: str | None = None, time: str | None = None, event: str | None = None, tiebreak: str | None = None,
    time_format: str | None = None, texts: Collection[str] = (), decimal: str | None = None, bad_rows: str = "error",
    drop_duplicates: bool = False, fold_types: bool = False, quiet: bool = False, **options: str,
) -> DataFrame:  # fmt: skip
    """Read an event log from a file, give its columns the types that they look like, and print what was found.

    sparkcep guesses encoding, separator, times, decimal marks and truth values from the first rows, and checks all
    rows. If two guesses fit but differ, it chooses neither. The log is also a temporary view, named after the file, and
    blocks over it need no PARTITION BY, ORDER BY or EVENT TYPE: its columns say what they were found to be.

    Args:
        spark: the session; without one, `read_log(path)` takes the active session or starts a local one.
        path: a file or folder of CSV, Parquet, JSON or Delta, or one XES file.
        format: csv, parquet, json, delta or xes, if the file's name does not show it.
        case: the column of the case, or several with commas. If it is not given, it is guessed, as are the next three.
        time: the column of the time.
        event: the column of the event type.
        tiebreak: the column that orders events with the same time.
        time_format: a Spark datetime pattern, with a language before names of months that are not English
            (`de:d. MMMM yyyy`), or `number` to leave numbers as they are.
        texts: columns that stay text.
        decimal: the decimal mark, `,` or `.`.
        bad_rows: what to do with rows that do not fit: `error`, `null` (make the value NULL), `drop`, or `keep-aside`
            (move them to the view NAME_bad_rows).
        drop_duplicates: keep one of several rows that are equal in all columns.
        fold_types: give event types that differ only in capitals, blanks or accents the most frequent spelling.
        quiet: print nothing.
        options: options of Spark's reader.

    Returns:
        The log. If it has no tiebreak column, or with drop_duplicates, it also has `row_in_file`, each row's place in
        its file (not for Delta and XES).

    Raises:
        SparkCepError: CEP_FILE, CEP_XES, CEP_ARGUMENTS, CEP_UNRESOLVED_COLUMN, CEP_TIME_TYPE; CEP_TIME_FORMAT or
            CEP_BAD_ROWS if rows do not fit, with the first one, or if a time is ambiguous.
    """
    named = {"case": case, "time": time, "event": event, "tiebreak": tiebreak}
    roles = {role: column for role, column in named.items() if column is not None}
    how = LogOptions(options, roles, time_format, texts, decimal, bad_rows, drop_duplicates, fold_types)
    if path is None and isinstance(spark, str | PurePath):
        spark, path = None, spark
    if path is None:
        raise SparkCepError("CEP_ARGUMENTS", "read_log needs the path of a file.", hint='read_log("log.csv")')
    session = cast("SparkSession | None", spark) or SparkSession.getActiveSession() or local_session()
    log = open_log(session, file_of(str(path), format), how)
    if not quiet:
        print("\n".join([*described(log), f"  write {block(log)}"]))
    return log.frame


def open_log(spark: SparkSession, file: LogFile, how: LogOptions, place: str = ROW_IN_FILE) -> OpenLog:
    """Make a view of a file whose columns are read as they look, and guess which are what.

    Args:
        place: what the column of rows' places is called.

    Raises:
        SparkCepError: as :func:`read_log`.
    """
    _check_options(how)
    with activity(f"Reading {called(file)}"), _said_of(file):
        source, reader, notes = in_utf8(spooled(file), how.reader)
        how = replace(how, reader=reader_options(source, reader))
        frame = read_file(spark, source, how.reader)
        for role, given in how.roles.items():
            for name in given.split(",") if role == "case" else [given]:
                _check(file, frame.columns, f"--{role}", name.strip().strip("`"))
        for name in how.texts:
            _check(file, frame.columns, "--text", name)
        opened = _Opened(spark, file, source, how, frame)
        opened.notes += notes
        return opened.log(place)


@contextmanager
def _said_of(file: LogFile) -> Iterator[None]:
    """Raises CEP_FILE for what Spark says of a file that it cannot read."""
    try:
        yield
    except SparkCepError:
        raise
    except Exception as error:
        if isinstance(error, PySparkException):
            why = sentence(error)
        elif type(error).__name__ == "Py4JJavaError":  # of a class that PySpark has none for
            why = str(error.java_exception.getMessage())  # type: ignore[attr-defined]
        else:
            raise
        why = why.partition("\n")[0].rstrip(". ")
        hint = "" if file.is_one else "the files of a folder must have the same columns in the same order"
        raise SparkCepError("CEP_FILE", f"{called(file)} cannot be read: {why}.", hint=hint or None) from error


def _check_options(how: LogOptions) -> None:
    if how.bad_rows not in BAD_ROWS:
        raise SparkCepError("CEP_ARGUMENTS", f"bad_rows {how.bad_rows!r}: it is one of {', '.join(BAD_ROWS)}.")
    if how.decimal not in (None, *MARKS):
        raise SparkCepError("CEP_ARGUMENTS", f"decimal {how.decimal!r}: a decimal mark is ',' or '.'.")


@dataclass(frozen=True, slots=True)
class _Counts:
    """Rows of a CSV: that do not fit each reading, that Spark would change in each column, and with other fields."""

    misfits: Sequence[int]
    odd: Sequence[int]
    torn: int


class _Opened:
    """A file that is being read."""

    def __init__(self, spark: SparkSession, file: LogFile, source: LogFile, how: LogOptions, frame: DataFrame) -> None:
        self.spark, self.file, self.source, self.how, self.frame = spark, file, source, how, frame
        self.order: RowOrder | None = None
        self.columns: list[ReadColumn] = []
        self.notes: list[str] = []
        #: What is put into the places of columns, and which rows do not fit, by column.
        self.values: dict[str, Column] = {}
        self.misfits: dict[str, str] = {}
        #: Texts of the first rows, by column.
        self.sample: Mapping[str, Sequence[str]] = {}

    def log(self, place: str) -> OpenLog:
        """The log; see :func:`open_log`."""
        file, how = self.file, self.how
        if file.format == "csv":
            self.read_columns()
        else:
            self.order = row_order(self.frame, file.format, is_one_file=self.source.is_one)
        if file.format == "json":
            self.check_json()
            self.flatten()
        if file.format == "parquet":
            self.read_nanoseconds()
        samples = sampled(self.frame.withColumns(self.values))
        roles = guess_roles(samples, {r: n.strip("`") for r, n in how.roles.items()})
        if how.time_format and roles["time"].column is None:
            roles["time"] = time_by_name(samples) or roles["time"]
        if roles["time"].column is not None:
            roles["time"] = self.read_time(roles["time"])
        elif how.time_format:
            raise SparkCepError(
                "CEP_ARGUMENTS", f"--time-format: {roles['time'].why} in {called(file)}.", hint="--time COLUMN"
            )
        roles = by_content(self.frame.withColumns(self.values), roles, samples)
        texts = {}
        for name in (c.name for c in samples if c.is_text_of_times and c.name not in self.values):
            if (why := self.read_other_time(name)) is not None:
                texts[name] = why
        own = None
        if self.order is not None:
            taken = {c.casefold() for c in self.frame.columns}
            own = next(n for i in count(1) if (n := place + f"_{i}" * (i > 1)).casefold() not in taken)
            if roles["tiebreak"].column is None:
                why = "the order of the rows in " + ("their files" if self.order.several else "the file")
                roles["tiebreak"] = Guess("tiebreak", own, why)
            elif not how.drop_duplicates:
                own = None
        frame, aside = self.fitting(own)
        if how.fold_types:
            if (event := roles["event"].column) is None:
                raise SparkCepError("CEP_ARGUMENTS", "--fold-types: the log has no event type.", hint="--event COLUMN")
            frame, replaced = in_one_spelling(frame, event)
            if replaced:
                self.notes.append(f"spellings of types that others replace: {replaced} (--fold-types)")
        if how.drop_duplicates:
            frame = without_duplicates(frame, own)
        frame = _with_roles(frame, roles)
        frame.createOrReplaceTempView(in_backticks(file.name))
        return OpenLog(file, frame, roles, self.columns, texts, self.notes, aside, own)

    # -- columns of a CSV ----------------------------------------------------------------------------------------------

    def read_columns(self) -> None:
        """Read numbers and truth values that Spark's reader has as text, and as text what it has changed; what was
        found in the first rows is held against all of them.

        Raises:
            SparkCepError: CEP_BAD_ROWS, CEP_FILE.
        """
        types = dict(self.frame.dtypes)
        kept = {name for name in types if name.casefold() in {given.casefold() for given in self.how.texts}}
        raw = self.read_as_text({**types, _TORN: "string"}, {*types, _TORN})
        rows = raw.select(*map(in_backticks, types)).limit(_SAMPLE).collect()
        self.sample = texts_by_column(rows, list(types))
        looked_at = {n: self.sample[n] for n, t in types.items() if t in ("string", "double")}
        doubles = {n for n, t in types.items() if t == "double"}
        found, unclear = find_readings(looked_at, doubles, self.how.decimal or "")
        found = [one for one in found if one.column not in kept]
        read_anew = {one.column for one in found}
        formats = {"timestampFormat", "timestampNTZFormat", "dateFormat"} & self.how.reader.keys()
        inferred = {n: t for n, t in types.items() if n not in kept | read_anew and not (formats and t in TEMPORAL)}
        believed = {n: odd for n, t in inferred.items() if (odd := odd_text(n, t))}
        counts = self.counts(raw, [r.misfit for one in found for r in one.readings], list(believed.values()))
        changed = {n: types[n] for n, number in zip(believed, counts.odd, strict=True) if number}
        texts = {n for n, t in types.items() if t != "string" and n in kept | read_anew | changed.keys()}
        if texts or counts.torn:
            self.frame = self.read_as_text(types | ({_TORN: "string"} if counts.torn else {}), {*texts, _TORN})
        self.order = row_order(self.frame, self.file.format, is_one_file=self.source.is_one)
        self.check_fields(counts.torn)
        for name, type_ in changed.items():
            text, _ = first_row(self.frame, believed[name], text_of(name), None)
            self.notes.append(f"{name} stays text: {text!r} would be another value as {type_.upper()}")
        said = (one for one in unclear if one.column not in kept | changed.keys())
        self.notes += [_unclear(one, types[one.column]) for one in said]
        self.take_numbers(found, counts.misfits, types)

    def read_as_text(self, types: Mapping[str, str], texts: Collection[str]) -> DataFrame:
        """The file with some columns as text, and as one more the row where its fields are not those of the header."""
        options = self.how.reader
        if _TORN in types:
            options = {**options, "columnNameOfCorruptRecord": _TORN, "columnPruning": "false"}
        ddl = ", ".join(f"{in_backticks(n)} {'STRING' if n in texts else t}" for n, t in types.items())
        return read_file(self.spark, self.source, options, ddl)

    def counts(self, raw: DataFrame, misfits: Sequence[str], odd: Sequence[str]) -> _Counts:
        """How many rows do not fit, in one pass over all of them as text.

        Raises:
            SparkCepError: CEP_FILE where a text is not of the encoding.
        """
        columns = [n for n in raw.columns if n != _TORN]
        unreadable = " OR ".join(f"contains({in_backticks(n)}, '{_UNREADABLE}')" for n in columns)
        items = [f"count_if({test})" for test in (*misfits, *odd, _torn(raw), unreadable)]
        *numbers, torn, broken = raw.selectExpr(*items).collect()[0]
        if broken:
            order = row_order(raw, self.file.format, is_one_file=self.source.is_one)
            value = f"concat_ws(' ', {', '.join(map(in_backticks, columns))})"
            text, where = first_row(raw, unreadable, value, order)
            raise SparkCepError(
                "CEP_FILE", f"{called(self.file)} is not UTF-8: {where} has {text!r}.",
                hint="--option encoding=windows-1252, or whatever else it is",
            )  # fmt: skip
        return _Counts(numbers[: len(misfits)], numbers[len(misfits) :], torn)

    def check_fields(self, torn: int) -> None:
        """Rows with more or fewer fields than the header.

        Raises:
            SparkCepError: CEP_BAD_ROWS.
        """
        if not torn:
            return
        condition = _torn(self.frame)
        text, where = first_row(self.frame, condition, _TORN, self.order)
        if self.how.bad_rows == "error":
            raise SparkCepError(
                "CEP_BAD_ROWS",
                f"{called(self.file)} has {torn:,} row{'s' * (torn != 1)} with more or fewer fields than its first "
                f"line: {where} is {text!r}.",
                hint="--bad-rows drop or keep-aside leaves such rows out, --bad-rows null reads what is there",
            )  # fmt: skip
        self.columns.append(ReadColumn("(fields)", "as many as in the first line", ""))
        self.misfit("(fields)", condition, torn)

    def take_numbers(self, numbers: Sequence[Found], counts: Sequence[int], types: Mapping[str, str]) -> None:
        """Of each column's readings, take the one that most rows fit."""
        misfits = iter(counts)
        for one in numbers:
            own = [next(misfits) for _ in one.readings]
            missed = min(own)
            reading = one.readings[own.index(missed)]
            if missed and one.only_whole:  # as Spark reads it
                self.values[one.column] = F.expr(f"CAST({in_backticks(one.column)} AS {types[one.column]})")
                continue
            if one.any_mark and (example := self.differs(one, own, missed)) is not None:
                self.notes.append(_unclear(Unclear(one.column, example), "string"))
                continue
            self.columns.append(ReadColumn(one.column, f"{reading.kind}, written {reading.form}", one.example))
            self.take(reading, missed)

    def differs(self, column: Found, misfits: Sequence[int], missed: int) -> str | None:
        """A text that is different numbers by readings which as many rows fit; None where there is none."""
        first, *others = (r for r, n in zip(column.readings, misfits, strict=True) if n == missed)
        if not others:
            return None
        tests = (f"CAST({first.sql} AS DOUBLE) <> CAST({other.sql} AS DOUBLE)" for other in others)
        rows = self.frame.where(" OR ".join(tests)).selectExpr(first.text).limit(1).collect()
        return str(rows[0][0]) if rows else None

    def take(self, reading: Reading, missed: int) -> None:
        """Read a column so, with what becomes of rows that do not fit.

        Raises:
            SparkCepError: CEP_BAD_ROWS.
        """
        if missed and self.how.bad_rows == "error":
            text, where = first_row(self.frame, reading.misfit, reading.text, self.order)
            raise SparkCepError(
                "CEP_BAD_ROWS",
                f"{reading.column} of {called(self.file)} is a {reading.kind}, written {reading.form}, but "
                f"{rows_of(missed)} not fit: {where} has {text!r}.",
                hint=f"--bad-rows null, drop or keep-aside; --option {shlex.quote(f'nullValue={text}')} if that text "
                f"means that there is no value; --text {shlex.quote(reading.column)} leaves the column as text",
            )  # fmt: skip
        self.values[reading.column] = F.expr(reading.sql)
        if missed:
            self.misfit(reading.column, reading.misfit, missed)

    def misfit(self, column: str, condition: str, missed: int) -> None:
        """Note that rows do not fit what a column is found as."""
        self.misfits[column] = condition
        outcome = {"null": "NULL there", "drop": "dropped", "keep-aside": f"kept in {self.aside}"}
        k = next(k for k, own in enumerate(self.columns) if own.name == column)
        self.columns[k] = replace(self.columns[k], misfits=missed, outcome=outcome[self.how.bad_rows])

    @property
    def aside(self) -> str:
        """The view of rows that do not fit."""
        return f"{self.file.name}_bad_rows"

    def check_json(self) -> None:
        """Lines that are no JSON.

        Raises:
            SparkCepError: CEP_BAD_ROWS.
        """
        others = [n for n in self.frame.columns if n != _NO_JSON]
        if len(others) == len(self.frame.columns) or not others:
            return
        condition = _beside(_NO_JSON, others[0])
        missed = self.frame.where(condition).count()
        if not missed:
            return
        text, where = first_row(self.frame, condition, _NO_JSON, self.order)
        if self.how.bad_rows == "error":
            raise SparkCepError(
                "CEP_BAD_ROWS", f"{where} of {called(self.file)} is not JSON: {str(text)[:80]!r}.",
                hint="--bad-rows drop or keep-aside leaves such rows out",
            )  # fmt: skip
        self.columns.append(ReadColumn(_NO_JSON, "lines that are not JSON", ""))
        self.misfit(_NO_JSON, condition, missed)

    def flatten(self) -> None:
        """Fields of structs as columns too, by their paths."""
        fields = dict(_leaves(self.frame.schema.fields, ()))
        taken = {name.casefold() for name in self.frame.columns}
        added = {n: path for path, n in fields.items() if len(path) > 1 and n.casefold() not in taken}
        if not added:
            return
        columns = {n: F.col(".".join(map(in_backticks, path))) for n, path in added.items()}
        self.frame = self.frame.select("*", *(column.alias(n) for n, column in columns.items()))
        listed = ", ".join(f"{'.'.join(path)} as {n}" for n, path in list(added.items())[:_SHOWN])
        self.notes.append(f"fields are columns too: {listed}{', ...' if len(added) > _SHOWN else ''}")

    # -- times ---------------------------------------------------------------------------------------------------------

    def read_nanoseconds(self) -> None:
        """Read as times what Spark has as numbers: times of a Parquet file in nanoseconds."""
        numbers = {name for name, type_ in self.frame.dtypes if type_ == "bigint"}
        found = {name: kind for name, kind in nanosecond_columns(self.source.path).items() if name in numbers}
        times = {name: F.expr(from_nanoseconds(name, kind)) for name, kind in found.items()}
        self.frame = self.frame.withColumns(times)
        self.columns += [ReadColumn(name, "time, in nanoseconds", "") for name in found]

    def read_time(self, guess: Guess) -> Guess:
        """The guess of a time with how it is read.

        Raises:
            SparkCepError: CEP_TIME_FORMAT, CEP_TIME_TYPE of a time that the user named.
        """
        name, type_ = next(f for f in self.frame.dtypes if f[0].casefold() == str(guess.column).casefold())
        time_format, file = self.how.time_format, self.file
        if time_format and file.format == "csv" and type_ != "string":
            # What is no number by its format is one by Spark's.
            self.frame = self.read_as_text(dict(self.frame.dtypes), [name])
            self.order = row_order(self.frame, file.format, is_one_file=self.source.is_one)
        some = self.how.bad_rows != "error"
        try:
            reading = time_reading(self.frame, name, time_format, called(file), self.order, some_misfit=some)
        except SparkCepError as error:
            if guess.named or time_format:
                raise
            return Guess("time", None, f"{error.sentence.rstrip('.')} ({error.hint})")
        why = guess.why + (f", {type_text(type_)}" if guess.named else "")
        sql, clock = self.with_clock(name, in_backticks(name) if reading is None else reading.sql)
        if reading is not None or clock:
            self.values[name] = F.expr(sql)
        if reading is None:
            return replace(guess, why=why + ("" if type_ in TEMPORAL else " without a unit") + clock)
        if reading.misfits:
            self.columns.append(ReadColumn(name, f"time, written {reading.format}", reading.example))
            self.misfit(name, misfit_of(name, reading.sql), reading.misfits)
        return replace(guess, why=f"{why}, read as {reading.format}{clock}")

    def with_clock(self, name: str, sql: str) -> tuple[str, str]:
        """SQL of a time with the clock of another column, where it is a day and one column is a clock; and what is to
        be said of that."""
        if self.frame.selectExpr(f"{sql} AS day").dtypes[0][1] != "date":
            return sql, ""
        clocks = [n for n, texts in self.sample.items() if n != name and texts and all(map(_CLOCK.fullmatch, texts))]
        if len(clocks) != 1:
            return sql, ""
        text = f"concat(date_format({sql}, 'yyyy-MM-dd'), ' ', coalesce({text_of(clocks[0])}, '0:00'))"
        both = f"try_to_timestamp({text}, 'yyyy-MM-dd H:mm[:ss[.SSSSSS]]')"
        unread = f"({sql}) IS NOT NULL AND ({both}) IS NULL"
        if not self.frame.where(unread).limit(1).count():
            return both, f" with the clock of {clocks[0]}"
        value, where = first_row(self.frame, unread, text_of(clocks[0]), self.order)
        self.notes.append(f"{name} is a day, without the clock of {clocks[0]}: {where} has {value!r}")
        return sql, ""

    def read_other_time(self, name: str) -> str | None:
        """Read a column of times that the log's time is not; why it is left as text, None where it is not."""
        if name.casefold() in {n.casefold() for n in self.how.texts}:
            return "--text"
        try:
            reading = time_reading(self.frame, name, None, called(self.file), self.order)
        except SparkCepError as error:
            return error.sentence.rstrip(".")
        if reading is not None:
            self.values[name] = F.expr(reading.sql)
            self.columns.append(ReadColumn(name, f"time, written {reading.format}", reading.example))
        return None

    # -- rows ----------------------------------------------------------------------------------------------------------

    def fitting(self, place: str | None) -> tuple[DataFrame, str | None]:
        """The rows as they are read, and the view of those that do not fit, where they are kept."""
        frame = self.frame
        if place is not None and self.order is not None:
            frame = frame.withColumn(place, self.order.place)
        aside = None
        if self.misfits and self.how.bad_rows != "null":
            bad = " OR ".join(self.misfits.values())
            if self.how.bad_rows == "keep-aside":
                aside = self.aside
                why = [f"CASE WHEN {c} THEN {plain_literal(n)} END" for n, c in self.misfits.items()]
                kept = frame.where(bad).withColumn("bad_columns", F.expr(f"concat_ws(', ', {', '.join(why)})"))
                kept.createOrReplaceTempView(in_backticks(aside))
            frame = frame.where(f"NOT ({bad})")
        frame = frame.withColumns(self.values) if self.values else frame
        return frame.drop(_TORN), aside


def _with_roles(frame: DataFrame, roles: Mapping[str, Guess]) -> DataFrame:
    """The log, whose columns say what they were taken for (:func:`sparkcep.sql.log_columns.roles_of`)."""
    said: dict[str, dict[str, Any]] = {}
    for role, guess in roles.items():
        for k, name in enumerate(guess.columns):
            said.setdefault(name.casefold(), {})[READ + role] = [k, len(guess.columns)]
    return frame.select(
        *(
            F.col(in_backticks(f.name)).alias(f.name, metadata={**f.metadata, **said[f.name.casefold()]})
            if f.name.casefold() in said
            else F.col(in_backticks(f.name))
            for f in frame.schema
        )
    )


def _unclear(one: Unclear, type_: str) -> str:
    read = "stays text" if type_ == "string" else f"is read as {type_.upper()}"
    return (
        f"{one.column} {read}: {one.example!r} is another number with another decimal mark; --decimal , or --decimal . "
        "says which"
    )


def _torn(frame: DataFrame) -> str:
    """SQL of whether a row has other fields than the header; blanks behind a last separator are none."""
    return f"({_beside(_TORN, frame.columns[0])} AND NOT {_TORN} RLIKE '[,;|\t]$')"


def _beside(corrupt: str, column: str) -> str:
    """SQL of whether Spark's reader has put a row aside. It wants another column to be asked for as well, and no test
    for NULL alone, which it would make itself, too early."""
    return f"length(coalesce({corrupt}, '')) > length(left(coalesce(CAST({in_backticks(column)} AS STRING), ''), 0))"


def _leaves(fields: Sequence[StructField], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Paths of the fields that are no structs, and a name for each."""
    for own in fields:
        below = (*path, own.name)
        if isinstance(own.dataType, StructType):
            yield from _leaves(own.dataType.fields, below)
        else:
            yield below, "_".join(below)


def _check(file: LogFile, columns: Sequence[str], option: str, name: str) -> None:
    if name.casefold() not in (c.casefold() for c in columns):
        raise SparkCepError(
            "CEP_UNRESOLVED_COLUMN", f"{option} names {name}, but {file.path} has no such column.",
            hint=near_hint(name, columns, f"its columns are {', '.join(columns)}"),
        )  # fmt: skip
