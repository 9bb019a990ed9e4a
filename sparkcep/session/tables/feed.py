"""The change feed of a pattern table: rows inserted and withdrawn, version by version."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkcep.errors import PatternIndexError
from sparkcep.index.storage import DataFile, call
from sparkcep.session.functions.call_arguments import CallArguments
from sparkcep.session.tables import names
from sparkcep.session.tables.reading import read_files
from sparkcep.session.tables.storage import CASE, CHANGE, FOUND_AT, FOUND_VERSION, RULE, missing, read_versions

#: What a row of the feed says beside the row: with which version it came or went, and when.
VERSION, AT = "version", "changed_at"


def changes(spark: SparkSession, name: str, first: int | None, last: int | None) -> DataFrame:
    """Rows that versions have inserted and withdrawn.

    Args:
        first: the first version that is asked for; None: that which the table began with. last: the last; None: the
            newest.

    Raises:
        PatternIndexError: CEP_PATTERN_TABLE_NOT_FOUND; CEP_PATTERN_TABLE_VERSION, there is no such version, or VACUUM
            has deleted what it changed.
    """
    table, newest = names.newest(spark, name)
    kept, oldest = call(spark, read_versions, table)
    if first is None:  # all that is known
        first = max(newest.begins, oldest)
        gone = set(call(spark, missing, table, [p for v in kept for p in (*v.insertions, *v.withdrawals)]))
        first = max([first, *(v.number + 1 for v in kept if not gone.isdisjoint((*v.insertions, *v.withdrawals)))])
    last = newest.number if last is None else last
    if not newest.begins <= first <= last <= newest.number:
        raise PatternIndexError(
            "CEP_PATTERN_TABLE_VERSION",
            f"Changes are asked for of versions {first} to {last}; there are {newest.begins} to {newest.number}.",
            blame="from",
        )
    versions = [v for v in kept if first <= v.number <= last]
    schema = newest.definition.schema()
    paths = {
        "insert": [path for v in versions for path in v.insertions],
        "withdraw": [path for v in versions for path in v.withdrawals],
    }
    frames = []
    for change, own in paths.items():
        if first < oldest or call(spark, missing, table, own):
            raise PatternIndexError(
                "CEP_PATTERN_TABLE_VERSION",
                f"What versions {first} to {last} have changed is no longer kept.", blame="from",
                hint="ask for later versions; VACUUM PATTERN TABLE ... RETAIN n HOURS says how long changes are kept",
            )  # fmt: skip
        rows = read_files(spark, table, [DataFile(path, 0, 0) for path in own], schema)
        frames.append(rows.drop(CASE, RULE).withColumn(CHANGE, F.lit(change)))
    return frames[0].unionByName(frames[1]).withColumnsRenamed({FOUND_VERSION: VERSION, FOUND_AT: AT})


def run_table_function(arguments: CallArguments) -> tuple[DataFrame, str]:
    """The rows of a call of pattern_table_changes, and how they were found.

    Raises:
        SparkCepError: with the place of what is at fault.
    """
    parts = arguments.name("name")
    name = parts[-1] if parts is not None else arguments.value("name")
    if not isinstance(name, str):
        raise arguments.bad("name", f"The pattern table is {name!r}; it must be a name.", "'alerts'")
    versions: list[int | None] = []
    for parameter in ("from", "to"):
        value = arguments.value(parameter) if parameter in arguments.call.arguments else None
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise arguments.bad(
                parameter, f"The version is {value!r}; it must be a whole number.", "DESCRIBE PATTERN TABLE"
            )
        versions.append(value)
    try:
        return changes(arguments.spark, name, *versions), f"changes of the pattern table {name}"
    except PatternIndexError as error:
        raise error.located(arguments.s.text, arguments.place(error.blame)) from None
