"""Files of the command line as views, and what their columns are taken for, said on standard error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from sparkcep.data.files import LogFile
from sparkcep.data.opened import OpenLog, block, described
from sparkcep.data.read_log import LogOptions, open_log
from sparkcep.data.row_order import ROW_IN_FILE
from sparkcep.errors import SparkCepError
from sparkcep.query import in_backticks
from sparkcep.sql.log_columns import KEYS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def open_logs(
    spark: SparkSession, files: Sequence[LogFile], how: LogOptions, *, alone: bool, quiet: bool
) -> list[OpenLog]:
    """Make views of files. The columns of the only one become the session's spark.sparkcep.log.* settings.

    Args:
        how: they are read. alone: no other log is loaded.

    Raises:
        SparkCepError: as :func:`read_log`.
    """
    named = how.roles
    of_one = [*named, *(["time-format"] if how.time_format else []), *(["text"] if how.texts else [])]
    if len(files) > 1 and of_one:
        raise SparkCepError(
            "CEP_ARGUMENTS", f"--{of_one[0]} is of one file, but there are {len(files)}.",
            hint="blocks name their columns: PARTITION BY case ORDER BY time EVENT TYPE type",
        )  # fmt: skip
    before = {role: value for role, key in KEYS.items() if (value := spark.conf.get(key, None))}
    # Of several files, whose rows may be joined, the columns of rows' places have different names.
    places = [ROW_IN_FILE if len(files) == 1 else f"row_in_{file.name}" for file in files]
    out = [
        open_log(spark, file, replace(how, roles={**before, **named}), place)
        for file, place in zip(files, places, strict=True)
    ]
    single = alone and len(out) == 1
    if single:
        for role, guess in out[0].roles.items():
            if role in named:
                spark.conf.set(KEYS[role], named[role])
            elif guess.column is not None and role not in before:
                spark.conf.set(KEYS[role], in_backticks(guess.column))
    for log in out if not quiet else ():
        click.echo("\n".join(guesses(log, single)), err=True)
    return out


def guesses(log: OpenLog, single: bool) -> list[str]:
    """What was guessed, as lines, with what to write where it is wrong or missing."""
    lines = list(described(log))
    if log.column("tiebreak") is None:
        lines.append("  no tiebreak: a Delta table's rows have no order, so events of one time are ordered by "
                     "the names of their types; --tiebreak COLUMN names it")  # fmt: skip
    lines.append(f"  write {block(log)}" + "; --case, --time, --event and --tiebreak name other columns" * single)
    return lines
