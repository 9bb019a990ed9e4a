"""Which cases lie in which files of a log, written down while the files are there.

A file that is deleted or written again takes rows along that nobody can read any more; their cases are to be matched
again. What a full run reads is written down file by file, what a refresh finds in new files for all of them together.
More cases than there were are no fault: these are matched again for nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import reduce

import pyarrow.fs as pafs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkcep.index.files import SPARK_WRITES
from sparkcep.index.sources import MAX_NAMED_FILES
from sparkcep.index.storage import DataFile, Location, delete_directory, filesystem
from sparkcep.query import PREFIX
from sparkcep.session.tables.reading import read_files

#: Delta leaves directories alone whose names begin so.
_DIRECTORY = "_cases"
#: The column of a case's file, where they are known file by file.
FILE = PREFIX + "case_file"
#: Of so many refreshes it is known which cases their files held.
_MOST_SETS = 1_000
#: By directory below :data:`_DIRECTORY`: files whose cases it holds; None: its rows say which file they are of.
CaseSets = Mapping[str, Sequence[str] | None]


def cases_of(spark: SparkSession, table: Location, sets: CaseSets, files: Collection[str]) -> DataFrame | None:
    """The cases that lay in some files, perhaps with others; None where that was not written down."""
    left = set(files)
    found = []
    for name, own in sets.items():
        if own is not None and left.intersection(own):
            found.append(_read(spark, table, name))
    left -= {file for own in sets.values() if own is not None for file in own}
    if left:
        by_file = [name for name, own in sets.items() if own is None]
        if not by_file or len(left) > MAX_NAMED_FILES:
            return None
        rows = _read(spark, table, by_file[0])
        found.append(rows.where(F.col(FILE).isin(*left)).drop(FILE))
    return reduce(DataFrame.union, found)


def write_cases(table: Location, sets: CaseSets, batch: str, cases: DataFrame, files: Collection[str]) -> CaseSets:
    """Write down the cases of new files; gives all sets.

    Args:
        sets: those that there are.
    """
    _write(table, batch, cases.coalesce(1))
    return dict([*sets.items(), (batch, tuple(files))][-_MOST_SETS:])


def write_cases_by_file(
    spark: SparkSession, table: Location, batch: str, cases: DataFrame, files: Collection[str]
) -> CaseSets:
    """Write down which cases lie in which files; gives the one set, none where Spark does not tell.

    Args:
        cases: rows of FILE, as ``input_file_name`` gives it, and of a case's keys. files: the log's.
    """
    file = F.regexp_replace(F.col(FILE), "^file:/+", "file:/")
    _write(table, batch, cases.withColumn(FILE, file))
    seen = {row[0] for row in _read(spark, table, batch).select(FILE).distinct().collect()}
    return {batch: None} if seen.issubset(files) else {}


def of_files(sets: CaseSets, files: Collection[str]) -> CaseSets:
    """Sets without the files that a log has no more."""
    there = set(files)
    left: dict[str, Sequence[str] | None] = {
        name: None if own is None else tuple(f for f in own if f in there) for name, own in sets.items()
    }
    return {name: own for name, own in left.items() if own is None or own}


def delete_others(table: Location, sets: Collection[str]) -> None:
    """Delete what belongs to no set, as what a refresh that was killed has written."""
    for entry in filesystem(table).get_file_info(pafs.FileSelector(_DIRECTORY, allow_not_found=True)):
        if entry.base_name not in sets:
            delete_directory(table, entry.path)


def _write(table: Location, name: str, rows: DataFrame) -> None:
    rows.write.options(**SPARK_WRITES).option("compression", "zstd").parquet(table.child(_DIRECTORY, name).spark)


def _read(spark: SparkSession, table: Location, name: str) -> DataFrame:
    return read_files(spark, table, [DataFile(f"{_DIRECTORY}/{name}", 0, 0)], None)
