"""Event logs in files of the user's: CSV, Parquet, JSON, Delta, a folder of them, XES, or standard input."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from sparkcep.errors import SparkCepError
from sparkcep.query import in_backticks
from sparkcep.releases import frame_of
from sparkcep.spark_plan import is_remote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STDIN = "-"
#: By the ending of a file's name, without that of its compression.
ENDINGS = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet", ".pq": "parquet", ".json": "json",
    ".jsonl": "json", ".ndjson": "json", ".xes": "xes",
}  # fmt: skip
_COMPRESSED = (".gz", ".bz2", ".zst", ".snappy", ".lz4")
_SEPARATORS = ",;\t|"
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
            "CEP_ARGUMENTS", f"The name {file.path} tells no format.", hint="--format csv, parquet, json, delta or xes"
        )
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
    path = Path(tempfile.mkdtemp(prefix="sparkcep-stdin-"), f"{file.name}.{file.format}")
    with path.open("wb") as out:
        shutil.copyfileobj(sys.stdin.buffer if hasattr(sys.stdin, "buffer") else _encoded(), out)
    return replace(file, path=str(path))


def read_file(spark: SparkSession, file: LogFile, options: Mapping[str, str], texts: Collection[str] = ()) -> DataFrame:
    """The file as a DataFrame.

    Types of CSV are inferred by Spark, its separator from the first line, which has the columns' names. XES is made
    a table first (:func:`sparkcep.read_xes`).

    Args:
        file: not standard input. options: of Spark's reader, which come before what is found out. texts: columns of a
            CSV that are text, whatever they look like.

    Raises:
        SparkCepError: CEP_FILE where the file is empty or cannot be read, CEP_XES where it is no XES log.
    """
    if file.format == "xes":
        return _xes(spark, file, options)
    if file.is_here and not is_remote(spark):  # the JVM's folder may be another
        file = replace(file, path=str(Path(file.path).absolute()))
    if file.format == "parquet":
        return spark.read.options(**options).parquet(file.path)
    if file.format == "delta":
        return _delta(spark, file, options)
    first = _beginning(file)
    if first is not None and not first.strip():
        raise SparkCepError("CEP_FILE", f"{file.path} is empty.")
    if file.format == "json":
        many = {"multiLine": "true"} if first is not None and _is_array(first) else {}
        return spark.read.options(**{**many, **options}).json(file.path)
    told = {"header": "true", "inferSchema": "true"}
    if first:
        told["sep"] = separator_of(first)
    if '\\"' not in (first or ""):  # quotes in quotes are doubled, unless Spark wrote the file
        told["escape"] = '"'
    reader = spark.read.options(**{**told, **options})
    frame = reader.csv(file.path)
    if not texts:
        return frame
    items = [f"{in_backticks(n)} {'STRING' if n in texts else type_}" for n, type_ in frame.dtypes]
    return reader.schema(", ".join(items)).csv(file.path)


def separator_of(beginning: str) -> str:
    """What stands between the columns of a CSV: of ``, ; tab |`` that which the first line has most often.

    >>> separator_of('case;time;"a,b,c"')
    ';'
    """
    line = re.sub(r'"[^"]*"', "", beginning.lstrip("\ufeff\n\r").partition("\n")[0])
    return max(_SEPARATORS, key=line.count)


def _is_array(beginning: str) -> bool:
    text = beginning.lstrip("\ufeff \n\r\t")
    if text.startswith("["):
        return True
    line = text.partition("\n")[0]
    try:
        json.loads(line)
    except ValueError:
        return text.startswith("{") and "\n" in text  # one object over several lines
    return False


def _beginning(file: LogFile) -> str | None:
    """The first characters of a file of this machine, None where they cannot be had."""
    if not file.is_here:
        return None
    path = Path(file.path)
    if path.is_dir():
        parts = [p for p in sorted(path.rglob("*")) if p.is_file() and not p.name.startswith((".", "_"))]
        if not parts:
            raise SparkCepError("CEP_FILE", f"The folder {file.path} holds no file.")
        path = parts[0]
    if not path.is_file():
        return None
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as packed:
                return _text(packed)
        if path.suffix in _COMPRESSED:
            return None
        with path.open("rb") as plain:
            return _text(plain)
    except OSError as error:
        raise SparkCepError("CEP_FILE", f"{path} cannot be read: {error.strerror or error}.") from None


def _text(file: BinaryIO | gzip.GzipFile) -> str:
    return file.read(65536).decode("utf-8", "replace")


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
