"""What the log says of a query, whatever matches: words of bits ``__cep_w*`` of its partitions.

They are read by a subquery, and what Spark raises in one comes with its stack: so errors come in a column of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from sparkcep.exec.engines.non_answers.matcher import FactTeller
from sparkcep.exec.engines.non_answers.spec import RepairSpec
from sparkcep.exec.layouts.lists import list_batch, list_function, list_inputs
from sparkcep.exec.layouts.output import record_batch
from sparkcep.exec.layouts.rows import chunk_of, needed_columns, starts_partition, whole_partitions
from sparkcep.exec.reports import RowsReport, matched_rows
from sparkcep.exec.shape import OperatorColumns
from sparkcep.query import ERROR, PREFIX


def partition_facts(df: DataFrame, layout: str, shape: OperatorColumns, spec: RepairSpec) -> DataFrame:
    """Words and ``__cep_error``: a row per partition in the lists layout, or for several in the rows layout."""
    words = [f"w{w}" for w in range(spec.fact_words)]
    body = FactsBody(shape, spec)
    if layout != "lists":
        out = StructType([StructField(PREFIX + w, LongType()) for w in words])
        return matched_rows(df.select(*needed_columns(shape)), RowsReport(body.of_rows, body.of_table), out).frame
    facts = list_function(body.of_lists, f"struct<{','.join(f'{w}:bigint' for w in words)}>")
    found = df.select(facts(*map(F.expr, list_inputs(shape))).alias("m"))
    return found.selectExpr(*(f"m.found.{w} AS {PREFIX}{w}" for w in words), f"m.error AS {ERROR}")


class FactsBody:
    """The functions of both layouts. What the spec compiles to is made on the executor, once."""

    def __init__(self, shape: OperatorColumns, spec: RepairSpec) -> None:
        self.shape = shape
        self.spec = spec

    @cached_property
    def teller(self) -> FactTeller:
        """Made on the executor, at the first use."""
        return FactTeller(self.spec)

    def of_lists(self, *lists: pa.Array) -> pa.Array:
        """One struct per partition."""
        table = self.teller.tell(list_batch(lists, self.shape))
        columns = {f"w{w}": pa.array(np.ascontiguousarray(table[:, w])) for w in range(table.shape[1])}
        return pa.StructArray.from_arrays(list(columns.values()), names=list(columns))

    def of_rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Body of mapInArrow over rows sorted by partition: one row for each chunk of whole partitions."""
        for table in whole_partitions(batches, starts_partition, self.shape, self.shape.limit_events):
            yield self.of_table(table)

    def of_table(self, table: pa.Table) -> pa.RecordBatch:
        """What whole partitions tell together."""
        words = np.bitwise_or.reduce(self.teller.tell(chunk_of(table, self.shape).batch), axis=0)
        return record_batch({f"{PREFIX}w{w}": pa.array([int(word)]) for w, word in enumerate(words)})
