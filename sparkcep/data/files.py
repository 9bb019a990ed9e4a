"""Event logs in files of the user's: CSV, Parquet, JSON, Delta, a folder of them, XES, or standard input."""

from __future__ import annotations

import codecs
import gzip
import json
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from sparkcep.data.nanoseconds import files_in, read_parquet
from sparkcep.data.preamble import SEPARATORS, lines_before_header
from sparkcep.errors import SparkCepError
from sparkcep.session.machine.temporary import temporary_folder
from sparkcep.spark.plan import is_remote
from sparkcep.spark.releases import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STDIN = "-"
#: By the ending of a file's name, without that of its compression.
ENDINGS = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet", ".json": "json",
    ".jsonl": "json", ".ndjson": "json", ".xes": "xes",
}  # fmt: skip
#: What spreadsheets keep their sheets in.
_WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".ods")
_COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4")
#: What spreadsheets write before the header to say what stands between columns.
_SEP_LINE = re.compile(r'\ufeff?"?sep=(.)"?\r?\n')
#: Lines by which a separator is told.
_LINES = 20
#: Bytes of a file by which its encoding is told.
_BEGINNING = 1 << 22
_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class LogFile:
    """``format``: csv, parquet, json, delta, xes. ``path``: a file, folder, URI, or ``-``. ``name``: of its view."""

    format: str
    path: str
    name: str

    @property
    def is_here(self) -> bool:
        """Whether it is a path of this machine, not a URI and not standard input."""
        return self.path != STDIN and "://" not in self.path

    @property
    def is_one(self) -> bool:
        """Whether it is known to be one file: not a folder, nor several with an asterisk, nor where nobody can look."""
        return self.is_here and Path(self.path).is_file()


def log_files(given: Sequence[tuple[str, str]], name: str | None) -> list[LogFile]:
    """Files as options name them.

    Args:
        given: format and ``PATH`` or ``NAME=PATH`` of each. name: of the one file without one.

    Raises:
        SparkCepError: CEP_ARGUMENTS where names are wrong, or given twice.
    """
    out = [_named(kind, text) for kind, text in given]
    if name is not None:
        if len(out) != 1:
            raise SparkCepError(
                "CEP_ARGUMENTS", f"--as {name} names one file, but there are {len(out)}.",
                hint="--csv NAME=PATH names each of several",
            )  # fmt: skip
        if not _NAME.fullmatch(name):
            raise SparkCepError("CEP_ARGUMENTS", f"--as {name}: a name has letters, digits and underscores.")
        out = [replace(out[0], name=name)]
    names = [f.name.casefold() for f in out]
    for file, folded in zip(out, names, strict=True):
        if names.count(folded) > 1:
            raise SparkCepError(
                "CEP_ARGUMENTS", f"Two files would be the view {file.name}.", hint="--csv NAME=PATH names each"
            )
    if sum(f.path == STDIN for f in out) > 1:
        raise SparkCepError("CEP_ARGUMENTS", "Standard input is one file only.")
    return out


def file_of(path: str, kind: str | None = None) -> LogFile:
    """A file whose format is that of its name's ending, of a folder that of its files.

    Raises:
        SparkCepError: CEP_ARGUMENTS where the name tells no format.
    """
    file = _named("", path)
    found = kind or _format(file.path)
    if found is None:
        raise SparkCepError(
            "CEP_ARGUMENTS",
            f"The name {file.path} does not say which format the file has.",
            hint="save the sheet as CSV: workbooks are not read" if Path(path).suffix.lower() in _WORKBOOKS else
            "--format csv, parquet, json, delta or xes",
        )  # fmt: skip
    return replace(file, format=found)


def _named(kind: str, text: str) -> LogFile:
    name, equals, path = text.partition("=")
    if equals and _NAME.fullmatch(name) and not Path(text).exists():
        return LogFile(kind, path, name)
    stem = "log" if text == STDIN else re.sub(r"\W+", "_", _plain(text).stem).strip("_")
    return LogFile(kind, text, stem if _NAME.fullmatch(stem) else "log")


def _plain(path: str) -> Path:
    """A path without the ending of its compression."""
    found = Path(path.rstrip("/"))
    return found.with_suffix("") if found.suffix in _COMPRESSED else found


def _format(path: str) -> str | None:
    if Path(path).is_dir():
        if Path(path, "_delta_log").is_dir():
            return "delta"
        inner = (ENDINGS.get(_plain(f.name).suffix.lower()) for f in sorted(Path(path).rglob("*")) if f.is_file())
        return next((kind for kind in inner if kind is not None), None)
    return ENDINGS.get(_plain(path).suffix.lower())


def check_files(files: Sequence[LogFile]) -> None:
    """Say that a file is missing before Spark is started.

    Raises:
        SparkCepError: CEP_FILE.
    """
    for file in files:
        if file.is_here and not any(c in file.path for c in "*?[{") and not Path(file.path).exists():
            raise SparkCepError("CEP_FILE", f"{file.path} cannot be read: there is no such file or folder.")


def spooled(file: LogFile) -> LogFile:
    """Standard input as a file, since Spark reads files; others as they are."""
    if file.path != STDIN:
        return file
    if file.format == "delta":
        raise SparkCepError("CEP_ARGUMENTS", "A Delta table is a folder, which standard input cannot be.")
    path = temporary_folder() / f"{file.name}.{file.format}"
    with path.open("wb") as out:
        shutil.copyfileobj(sys.stdin.buffer if hasattr(sys.stdin, "buffer") else _encoded(), out)
    return replace(file, path=str(path))


def in_utf8(file: LogFile, options: Mapping[str, str]) -> tuple[LogFile, Mapping[str, str], list[str]]:
    """A text file in UTF-8 that begins with its header, as Spark reads it, and options for that.

    It is a copy where the file is of another encoding, or where `sep=;` or other lines stand before the header. Folders
    and URIs are left to Spark.

    Args:
        file: not standard input. options: of Spark's reader, which may say the encoding.

    Raises:
        SparkCepError: CEP_FILE where the file is not of the encoding.

    Returns:
        The file, the options, and sentences about what was changed.
    """
    given = options.get("encoding") or options.get("charset")
    packed = Path(file.path).suffix
    if file.format not in ("csv", "json") or not file.is_one or packed in set(_COMPRESSED) - {".gz"}:
        return file, options, []
    beginning = _beginning(file) or b""
    encoding = given or encoding_of(beginning)
    try:
        is_utf8 = codecs.lookup(encoding).name == "utf-8"
    except LookupError:
        raise SparkCepError("CEP_ARGUMENTS", f"There is no encoding {encoding}.") from None
    text = beginning.decode(encoding, "replace") if file.format == "csv" else ""
    sep_line = _SEP_LINE.match(text)
    first = 0 if sep_line is None else 1
    above = first + (0 if "header" in options else lines_before_header(text[sep_line.end() if sep_line else 0 :]))
    if is_utf8 and not above:
        return file, options, []
    path = temporary_folder() / _plain(file.path).with_suffix(f".{file.format}").name
    unpack = gzip.open if packed == ".gz" else open
    try:
        with (
            unpack(file.path, "rt", encoding=encoding, newline="") as read,
            path.open("w", -1, "utf-8", newline="") as out,
        ):
            left_out = [read.readline() for _ in range(above)][first:]
            shutil.copyfileobj(read, out)
    except UnicodeError:
        why = f"is not {given}" if given else "is of an encoding that its bytes do not tell"
        raise SparkCepError(
            "CEP_FILE", f"{file.path} {why}.", hint="--option encoding=NAME, as Python calls it"
        ) from None
    others = {key: value for key, value in options.items() if key not in ("encoding", "charset")}
    separator = {} if sep_line is None else {"sep": sep_line[1]}
    notes = [] if is_utf8 else [f"its encoding is {encoding}"]
    if left_out:
        title = next(filter(None, (line.strip("\ufeff \r\n") for line in left_out)), "")
        many = f"{len(left_out)} line{'s' * (len(left_out) > 1)}"
        notes.append(f"left out: {many} before the header, the first one is {title[:60]!r}")
    return replace(file, path=str(path)), {**separator, **others}, notes


def read_file(spark: SparkSession, file: LogFile, options: Mapping[str, str], schema: str | None = None) -> DataFrame:
    """The file as a DataFrame. XES is made a table first (:func:`sparkcep.read_xes`).

    Args:
        file: not standard input. options: of Spark's reader, see :func:`reader_options`. schema: of a CSV, whose types
            Spark infers where it is not known.

    Raises:
        SparkCepError: CEP_FILE where the file cannot be read, CEP_XES where it is no XES log.
    """
    if file.format == "xes":
        return _xes(spark, file, options)
    if file.is_here and not is_remote(spark):  # the JVM's folder may be another
        file = replace(file, path=str(Path(file.path).absolute()))
    if file.format == "parquet":
        return read_parquet(spark, file.path, options)
    if file.format == "delta":
        return _delta(spark, file, options)
    if file.format == "json":
        return spark.read.options(**options).json(file.path)
    if schema is None:
        return spark.read.options(**{"inferSchema": "true", **options}).csv(file.path)
    return spark.read.options(**options).schema(schema).csv(file.path)


def reader_options(file: LogFile, options: Mapping[str, str]) -> Mapping[str, str]:
    """Options of Spark's reader: those given, and before them what the beginning of a CSV or JSON says. The first line
    of a CSV has its columns' names.

    Raises:
        SparkCepError: CEP_FILE where the file is empty or cannot be read.
    """
    if file.format not in ("csv", "json"):
        return options
    beginning = _beginning(file)
    first = None if beginning is None else beginning.decode("utf-8", "replace")
    if first is not None and not first.strip("\ufeff \n\r\t"):
        raise SparkCepError("CEP_FILE", f"{file.path} is empty.")
    if file.format == "json":
        return {**({"multiLine": "true"} if first is not None and _is_array(first) else {}), **options}
    guessed = {"header": "true"}
    if first:
        guessed["sep"] = separator_of(first)
        if _quotes_lines(first):
            guessed["multiLine"] = "true"
    if not _escapes_quotes(first or ""):  # quotes in quotes are doubled, unless Spark wrote the file
        guessed["escape"] = '"'
    if not file.is_one:  # whose files must have the same columns
        guessed["enforceSchema"] = "false"
    return {**guessed, **options}


def encoding_of(beginning: bytes) -> str:
    """The encoding of a text by its first bytes, as Python calls it.

    >>> encoding_of("Müller;3".encode()), encoding_of("Müller;3".encode("latin-1"))
    ('UTF-8', 'windows-1252')
    """
    if beginning.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    if b"\x00" in beginning[:200]:  # of a letter that takes one byte the other one is 0
        return "UTF-16LE" if beginning[1:2] == b"\x00" else "UTF-16BE"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning)  # its last character may be cut
    except UnicodeDecodeError:
        return "windows-1252"
    return "UTF-8"


def _escapes_quotes(beginning: str) -> bool:
    """Whether a backslash stands before quotes in quotes: not one that ends a path, nor where quotes are doubled."""
    return re.search(r'\\"(?![,;|\t\r\n]|$)', beginning) is not None and re.search(r'\w""', beginning) is None


def _quotes_lines(beginning: str) -> bool:
    """Whether a quote that one line opens is closed on another one."""
    lines = beginning.split("\n")
    return any(line.count('"') % 2 for line in lines[:-1])


def separator_of(beginning: str) -> str:
    """What stands between the columns of a CSV: of ``, ; tab |`` that which all first lines have as often as the
    header, and which that has most often.

    >>> separator_of('case;time;"a,b,c"')
    ';'
    """
    text = re.sub(r'"[^"]*"', "", beginning.lstrip("\ufeff\n\r"))
    first, *others = (line for line in text.split("\n")[:_LINES] if line.strip())
    rows = others[:-1] if len(others) > 2 else others  # the last one may be cut

    def alike(mark: str) -> tuple[bool, int]:
        """Whether rows have as many as the header, and how many it has."""
        return all(row.count(mark) == first.count(mark) for row in rows), first.count(mark)

    found = max((mark for mark in SEPARATORS if mark in first), key=alike, default="")
    # One column: any that its rows do not have.
    return found or next((mark for mark in "\t|;" if mark not in text), "\t")


def _is_array(beginning: str) -> bool:
    text = beginning.lstrip("\ufeff \n\r\t")
    if text.startswith("["):
        return True
    if text.startswith("{"):
        with suppress(ValueError):
            _, end = json.JSONDecoder().raw_decode(text)
            if "\n" in text[:end] and text[end:].strip():
                raise SparkCepError(
                    "CEP_FILE", "The file holds several JSON objects, each over several lines.",
                    hint="one object a line, or an array of them",
                )  # fmt: skip
    line = text.partition("\n")[0]
    try:
        json.loads(line)
    except ValueError:
        return text.startswith("{") and "\n" in text  # one object over several lines
    return False


def _beginning(file: LogFile) -> bytes | None:
    """The first bytes of a file of this machine, None where they cannot be had."""
    if not file.is_here:
        return None
    path = Path(file.path)
    if path.is_dir():
        parts = files_in(path)
        if not parts:
            raise SparkCepError("CEP_FILE", f"The folder {file.path} holds no file.")
        path = parts[0]
    if not path.is_file():
        return None
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as packed:
                return packed.read(_BEGINNING)
        if path.suffix in _COMPRESSED:
            return None
        with path.open("rb") as plain:
            return plain.read(_BEGINNING)
    except (OSError, EOFError) as error:
        why = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise SparkCepError("CEP_FILE", f"{path} cannot be read: {why}.") from None


def _encoded() -> BinaryIO:
    from io import BytesIO

    return BytesIO(sys.stdin.read().encode())


def _xes(spark: SparkSession, file: LogFile, options: Mapping[str, str]) -> DataFrame:
    from sparkcep.data.xes_table import read_xes

    if options:
        raise SparkCepError("CEP_ARGUMENTS", f"--option {next(iter(options))}: XES is not read by Spark's reader.")
    if not file.is_here or Path(file.path).is_dir():
        raise SparkCepError("CEP_ARGUMENTS", f"{file.path}: XES is read from one file of this machine.")
    return read_xes(spark, file.path)


def _delta(spark: SparkSession, file: LogFile, options: Mapping[str, str]) -> DataFrame:
    """By Spark where it knows Delta, else by package deltalake: its Parquet files, where these are all there is."""
    try:
        return spark.read.format("delta").options(**options).load(file.path)
    except Exception as error:  # of a class that PySpark has none for
        if "DATA_SOURCE_NOT_FOUND" not in str(error):
            raise
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        table = DeltaTable(file.path, version=int(options["versionAsOf"]) if "versionAsOf" in options else None)
        if not table.metadata().partition_columns and table.protocol().min_reader_version < 2:
            return spark.read.parquet(*table.file_uris())
        return frame_of(spark, table.to_pyarrow_table())
    except DeltaError as error:
        raise SparkCepError("CEP_FILE", f"{file.path} cannot be read: {error}") from None
