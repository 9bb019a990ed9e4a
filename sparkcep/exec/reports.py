"""Errors that are found while rows are matched, as data.

What a Python worker raises reaches the user with the worker's traceback in front. So the operator gives an error out
as a value, and Spark raises it behind the operator: USER_RAISED_EXCEPTION, whose text is the error's own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StringType, StructField, StructType

from sparkcep.errors import SparkCepError
from sparkcep.exec.memory import out_of_memory
from sparkcep.query import ERROR, PREFIX
from sparkcep.spark.shipping import shipped

ERROR_FIELD = StructField(ERROR, StringType())
#: The lists layout's column of type :func:`reported_type`.
REPORTED = PREFIX + "found"

#: SQL of what was found, or the error raised.
FOUND = f"CASE WHEN {REPORTED}.error IS NULL THEN {REPORTED}.found ELSE raise_error({REPORTED}.error) END"


def reported_type(type_: str) -> str:
    """What :class:`ListsReport` gives for each partition, as Spark writes types."""
    return f"struct<error:string,found:{type_}>"


@dataclass(frozen=True, slots=True)
class Matched:
    """What the operator gives. ``columns``: of the rows layout, those beside the error's; lists raise by themselves."""

    frame: DataFrame
    columns: tuple[str, ...] = ()

    def sql(self, name: str) -> str:
        """SQL of a relation of this name that raises the errors in it.

        All columns come out of a generator, so that Spark can move no condition of the statement around it before the
        check: the row of an error has nothing but NULLs, and would be dropped unseen. (A guard around each column does
        the same, but a score of them keeps Spark's optimizer busy for minutes.)
        """
        if not self.columns:
            return name
        row = f"array(struct({', '.join(self.columns)}))"
        return f"(SELECT inline(CASE WHEN {ERROR} IS NULL THEN {row} ELSE raise_error({ERROR}) END) FROM {name})"


def matched_rows(df: DataFrame, body: RowsReport, out: StructType, name: str = "sparkcep_rows") -> Matched:
    """The rows layout's output. ``out``: its columns, beside the error's; ``name``: what plans call the body."""
    return Matched(df.mapInArrow(shipped(body.run, name), StructType([*out.fields, ERROR_FIELD])), tuple(out.names))


class ListsReport:
    """Body of the lists layout's Arrow UDF that gives errors as values.

    Args:
        body: gives a value per partition.
    """

    def __init__(self, body: Callable[..., pa.Array]) -> None:
        self.body = body

    def run(self, *lists: pa.Array) -> pa.Array:
        """For each partition a struct of an error, all the same in a batch, and what was found."""
        rows = len(lists[0])
        try:
            found = self.body(*lists)
            error = pa.nulls(rows, pa.string())
        except (SparkCepError, MemoryError) as error_raised:
            raised = named(error_raised)
            nothing = self.body(*(values.slice(0, 0) for values in lists))
            found = pa.nulls(rows, nothing.type)
            error = pa.repeat(str(raised), rows)
        return pa.StructArray.from_arrays([error, found], names=["error", "found"])


class RowsReport:
    """Body of the rows layout's mapInArrow, with one more column: the error, on a row of its own.

    Args:
        body: gives output rows for input rows.
        empty: the output without rows, for the types of its columns, from such an input.
    """

    def __init__(
        self,
        body: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]],
        empty: Callable[[pa.Table], pa.RecordBatch],
    ) -> None:
        self.body = body
        self.empty = empty

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Output rows; the last one may be an error's."""
        seen: list[pa.Table] = []

        def noted() -> Iterator[pa.RecordBatch]:
            for batch in batches:
                if not seen:
                    seen.append(pa.Table.from_batches([batch.slice(0, 0)]))
                yield batch

        try:
            for found in self.body(noted()):
                yield found.append_column(ERROR, pa.nulls(found.num_rows, pa.string()))
        except (SparkCepError, MemoryError) as error_raised:
            raised = named(error_raised)
            types = self.empty(seen[0]).schema
            nulls = [pa.nulls(1, field.type) for field in types]
            yield pa.RecordBatch.from_arrays([*nulls, pa.array([str(raised)])], names=[*types.names, ERROR])


def named(error: SparkCepError | MemoryError) -> SparkCepError:
    """An error of ours as it is; where the system refuses memory, the limit that it stands for."""
    return error if isinstance(error, SparkCepError) else out_of_memory()


def hide_traceback() -> None:
    """Tell this Spark worker to report the exception about to leave it by its message alone.

    For table functions, whose rows are the user's own, so that errors cannot be among them. A worker ends with the
    exception that leaves it, so nothing else is hidden.
    """
    os.environ["SPARK_HIDE_TRACEBACK"] = "1"
