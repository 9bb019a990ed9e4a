"""How rows come out of files: the same files are other rows by another format, schema, option or setting.

What is compared beside the files themselves, before an index is believed: the format, the options of the table or
reader, the columns in their order, where partitions of a table are, and settings of the session that this format's
reader obeys, above all the time zone of formats that hold times as text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, TimestampType

from sparkcep.index.tables import Source
from sparkcep.spark.plan import CHAR_METADATA, FileRelation, file_relation, session_settings

Reading = Mapping[str, Any]
TIME_ZONE = "spark.sql.session.timeZone"
#: The zone of the machine, which ORC's readers take.
JVM_ZONE = "the JVM's time zone"

#: Settings that every reader of files obeys, and their defaults.
_COMMON = {
    "spark.sql.caseSensitive": "false",
    "spark.sql.charAsVarchar": "false",
    "spark.sql.files.archive.reader.enabled": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.legacy.charVarcharAsString": "false",
    "spark.sql.readSideCharPadding": "true",
}
_TEXT = {
    "spark.sql.columnNameOfCorruptRecord": "_corrupt_record",
    "spark.sql.legacy.codingErrorAction": "false",
    "spark.sql.legacy.javaCharsets": "false",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
}
_PARQUET = {
    "spark.sql.legacy.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.legacy.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.legacy.parquet.nanosAsLong": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.fieldId.read.ignoreMissing": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.int96AsTimestamp": "true",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.parquet.reader.respectUnknownTypeAnnotation.enabled": "false",
}
#: The same by format. Of some keys two names are in use.
SETTINGS: dict[str, dict[str, str]] = {
    "csv": {
        **_TEXT,
        "spark.sql.csv.filterPushdown.enabled": "true",
        "spark.sql.csv.parser.columnPruning.enabled": "true",
        "spark.sql.legacy.csv.enableDateTimeParsingFallback": "",
    },
    "json": {
        **_TEXT,
        "spark.sql.json.enableExactStringParsing": "true",
        "spark.sql.json.enablePartialResults": "true",
        "spark.sql.json.filterPushdown.enabled": "true",
        "spark.sql.json.useUnsafeRow": "false",
        "spark.sql.legacy.json.allowEmptyString.enabled": "false",
        "spark.sql.legacy.json.enableDateTimeParsingFallback": "",
    },
    "xml": {**_TEXT, "spark.sql.legacy.useLegacyXMLParser": "false"},
    "text": {"spark.sql.legacy.javaCharsets": "false"},
    "parquet": _PARQUET,
    "delta": _PARQUET,
    "orc": {"orc.force.positional.evolution": "false", "spark.sql.orc.impl": "native"},
    "avro": {
        "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
        "spark.sql.legacy.avro.allowIncompatibleSchema": "false",
        "spark.sql.legacy.avro.datetimeRebaseModeInRead": "CORRECTED",
    },
}
#: Formats whose files tell names and types of their columns: the order and further columns mean nothing.
SELF_DESCRIBING = ("parquet", "delta", "orc", "avro")
#: Of these, an index of a release that did not keep how its source was read may be believed: without options and other
#: settings than Spark's own, there was one way to read them.
_BELIEVED = ("parquet", "delta")
#: Options that say which files are read, not how; files are compared by themselves.
_WHICH_FILES = (
    "path", "paths", "basepath", "pathglobfilter", "recursivefilelookup", "modifiedbefore", "modifiedafter",
    "serialization.format",
)  # fmt: skip
#: What of a column's metadata changes the values that are read.
_METADATA = ("EXISTS_DEFAULT", CHAR_METADATA, "parquet.field.id")


def reading_of(spark: SparkSession, source: Source | None, frame: DataFrame) -> Reading | None:
    """How a relation of files is read; None: nothing tells.

    Args:
        source: the relation's name, where it has one.
        frame: the relation.
    """
    relation = file_relation(frame) or _described(spark, source)
    if relation is None:
        return None
    options = {
        key.lower(): _shown(key, value)
        for key, value in relation.options.items()
        if key.lower() not in _WHICH_FILES and not key.startswith("fs.")
    }
    settings = _settings(spark, relation.format)
    columns = [[f.name, f.dataType.simpleString(), _metadata(f)] for f in frame.schema.fields]
    times = [f.name for f in frame.schema.fields if isinstance(f.dataType, TimestampType)]
    parsed = times if relation.format not in SELF_DESCRIBING else _partitions(relation, times, frame)
    if "timezone" not in options and (parsed or (relation.format == "parquet" and settings)):
        settings[TIME_ZONE] = str(spark.conf.get(TIME_ZONE))
    if relation.format == "orc" and times:
        settings[JVM_ZONE] = _jvm_zone(spark)
    return {
        "format": relation.format,
        "options": options,
        "columns": columns,
        "settings": settings,
        "partitions": {path: _digest(values) for path, values in relation.partitions.items()},
    }


def delta_reading(spark: SparkSession) -> Reading:
    """How a Delta table is read: its version says what is its own."""
    return {"format": "delta", "options": {}, "columns": [], "settings": _settings(spark, "delta"), "partitions": {}}


def _described(spark: SparkSession, source: Source | None) -> FileRelation | None:
    """The relation that a name means, by Spark's public statements."""
    if source is None or source.kind == "batches":
        return None
    if source.kind == "path":
        return FileRelation(source.format, {}, None, {})
    try:
        facts = json.loads(spark.sql(f"DESCRIBE TABLE EXTENDED {source.table_name} AS JSON").collect()[0][0])
    except (PySparkException, ValueError):  # not every catalog describes its tables so
        return None
    provider = str(facts.get("provider", "")).lower()
    if provider == "hive":
        provider = f"hive {facts.get('serde_library', '')}"
    return FileRelation(provider, facts.get("storage_properties", {}), facts.get("partition_columns", []), {})


def _settings(spark: SparkSession, format_: str) -> dict[str, str]:
    """Settings that a format's reader obeys and that are not Spark's own."""
    every = {key: value for own in SETTINGS.values() for key, value in own.items()}
    given = session_settings(spark)
    wanted = {**_COMMON, **SETTINGS.get(format_, every)}
    return {k: given[k] for k, default in wanted.items() if given.get(k, default).lower() != default.lower()}


def _jvm_zone(spark: SparkSession) -> str:
    try:
        return str(spark.sql("SELECT java_method('java.time.ZoneId', 'systemDefault')").collect()[0][0])
    except PySparkException:  # some runtimes forbid it
        return ""


def _shown(key: str, value: str) -> str:
    """An option's value; those of storages may be secrets, of which a digest is as good."""
    return _digest(value) if "." in key else value


def _digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()[:16]


def _metadata(field: StructField) -> dict[str, str]:
    return {key: str(field.metadata[key]) for key in _METADATA if key in (field.metadata or {})}


def _partitions(relation: FileRelation, names: Sequence[str], frame: DataFrame) -> list[str]:
    """Of some columns those that the paths of files tell."""
    if not names:
        return []
    if relation.partition_columns is not None:
        return [n for n in names if n in relation.partition_columns]
    path = unquote(next(iter(frame.inputFiles()), "")).lower()
    return [n for n in names if f"/{n.lower()}=" in path]


def depends_on_columns(reading: Reading) -> bool:
    """Whether a source has other rows for a query that reads other columns: no index can stand for all of them."""
    return str(reading["options"].get("mode", "")).upper() == "DROPMALFORMED"


def difference(before: Reading | None, now: Reading | None) -> str:
    """What differs between two ways to read the same files, as a sentence's end; empty: nothing."""
    if now is None:
        return "" if before is None else "how the source is read is unknown"
    if before is None:
        if now["format"] in _BELIEVED and not now["options"] and not now["settings"]:
            return ""
        return "the index does not say how its source was read"
    if before["format"] != now["format"]:
        return f"its format is {now['format']}, indexed as {before['format']}"
    return (
        _of_values("option ", before["options"], now["options"], "not set")
        or _of_columns(before, now)
        or _of_values("", before["settings"], now["settings"], "Spark's own")
        or _of_partitions(before["partitions"], now["partitions"])
    )


def _of_values(what: str, before: Mapping[str, str], now: Mapping[str, str], absent: str) -> str:
    for key in sorted(before.keys() | now.keys()):
        old, new = before.get(key, absent), now.get(key, absent)
        if old != new:
            return f"{what}{key} is {new}, indexed with {old}"
    return ""


def _of_partitions(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    moved = [path for path, values in now.items() if before.get(path, values) != values]
    return f"{moved[0]} is the place of another partition" if moved else ""


def _of_columns(before: Reading, now: Reading) -> str:
    old, new = ({name: rest for name, *rest in r["columns"]} for r in (before, now))
    for name, (type_, metadata) in new.items():
        if name in old and old[name] != [type_, metadata]:
            what = type_ if old[name][0] != type_ else f"{type_} with other properties"
            return f"column {name} is {what}, indexed as {old[name][0]}"
    if now["format"] not in SELF_DESCRIBING and list(old) != list(new):
        return f"its columns are {', '.join(new)}, indexed as {', '.join(old)}"
    return ""
