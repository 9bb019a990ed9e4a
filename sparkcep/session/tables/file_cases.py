"""Which cases lie in which files of a log, written down while the files are there.

A file that is deleted or written again takes rows along that nobody can read any more; their cases are to be matched
again. What a full run reads is written down file by file, what a refresh finds in new files for all of them together.
More cases than there were are no fault: these are matched again for nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import reduce

import pyarrow.fs as pafs
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkcep.index.files import SPARK_WRITES
from sparkcep.index.sources import MAX_NAMED_FILES
from sparkcep.index.storage import DataFile, Location, delete_directory, filesystem
from sparkcep.query import PREFIX
from sparkcep.session.tables.case_sets import CaseSet, CaseSets
from sparkcep.session.tables.reading import read_files

#: Delta leaves directories alone whose names begin so.
_DIRECTORY = "_cases"
#: The column of a case's file, where they are known file by file.
FILE = PREFIX + "case_file"
#: Of so many refreshes it is known which cases their files held.
_MOST_SETS = 1_000


def cases_of(spark: SparkSession, table: Location, sets: CaseSets, files: Collection[str]) -> DataFrame | None:
    """The cases that lay in some files, perhaps with others; None where that was not written down."""
    left = set(files)
    found = []
    try:
        for name, case_set in sets.items():
            if shared := left.intersection(case_set.files):
                left -= shared
                if len(shared) > MAX_NAMED_FILES:
                    return None
                rows = _read(spark, table, name)
                _ = rows.schema  # Connect analyses lazily; a missing directory belongs here
                found.append(rows.where(F.col(FILE).isin(*shared)).drop(FILE) if case_set.by_file else rows)
    except AnalysisException:  # the directory is gone, as from a copy of what Delta knows of
        return None
    return None if left else reduce(DataFrame.union, found)


def write_cases(table: Location, sets: CaseSets, batch: str, cases: DataFrame, files: Collection[str]) -> CaseSets:
    """Write down the cases of new files; gives all sets.

    Args:
        sets: those that there are, of other files.
    """
    _write(table, batch, cases.coalesce(1))
    return dict([*sets.items(), (batch, CaseSet(tuple(files)))][-_MOST_SETS:])


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
    return {batch: CaseSet(tuple(files), by_file=True)} if seen.issubset(files) else {}


def of_files(sets: CaseSets, files: Collection[str]) -> CaseSets:
    """Sets of those of their files alone that are among some."""
    left = {name: replace(own, files=tuple(f for f in own.files if f in files)) for name, own in sets.items()}
    return {name: own for name, own in left.items() if own.files}


def delete_others(table: Location, sets: Collection[str]) -> None:
    """Delete what belongs to no set, as what a refresh that was killed has written."""
    for entry in filesystem(table).get_file_info(pafs.FileSelector(_DIRECTORY, allow_not_found=True)):
        if entry.base_name not in sets:
            delete_directory(table, entry.path)


def _write(table: Location, name: str, rows: DataFrame) -> None:
    rows.write.options(**SPARK_WRITES).option("compression", "zstd").parquet(table.child(_DIRECTORY, name).spark)


def _read(spark: SparkSession, table: Location, name: str) -> DataFrame:
    return read_files(spark, table, [DataFile(f"{_DIRECTORY}/{name}", 0, 0)], None)
