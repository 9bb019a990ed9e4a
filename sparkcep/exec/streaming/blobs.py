"""Tables as bytes, and the two bodies of mapInArrow around the stateful operator, which sees nothing but bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from sparkcep.query import ERROR, PREFIX

#: Columns of prepared rows: the bucket of the row's partition, and its time.
BUCKET, TIME = PREFIX + "bucket", PREFIX + "t"
#: Whether a prepared row is looked at at all.
WANTED = PREFIX + "wanted"
#: The input's row as it came, where late ones are wanted.
ROW = PREFIX + "row"
#: Columns of what the operator is given (``rows``: prepared rows of one bucket) and gives (``rows``: output rows).
ROWS = PREFIX + "rows"
#: A column of what the operator is given that has the watermark and no time: Spark drops rows whose time the watermark
#: has passed, and what is late among a blob's rows, a step says.
NEVER = PREFIX + "never"
#: Bytes of a table; below, its columns are too short for it.
_WORTH_COMPRESSING = 1 << 16


def to_bytes(*tables: pa.Table, compressed: bool = False) -> bytes:
    """Tables one after the other, each as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    for table in tables:
        dense = compressed and table.nbytes > _WORTH_COMPRESSING
        options = pa.ipc.IpcWriteOptions(compression="zstd" if dense else None)
        with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
            writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def from_bytes(data: bytes) -> list[pa.Table]:
    """What :func:`to_bytes` made bytes of."""
    source = pa.BufferReader(pa.py_buffer(data))
    out: list[pa.Table] = []
    while not out or source.tell() < len(data):
        with pa.ipc.open_stream(source) as reader:
            out.append(reader.read_all())
    return out


def pack(relation: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Prepared rows that are wanted as one row for each bucket of a batch: (bucket, its rows, never).

    ``relation``: a name, for which each pattern of a query has a function of its own. Of two equal ones Spark shuffles
    the rows once, and then the second one's operator is told of no watermark.
    """
    for rows in batches:
        batch = rows.filter(rows.column(rows.schema.names.index(WANTED)))
        if batch.num_rows == 0:
            continue
        buckets = batch.column(batch.schema.names.index(BUCKET)).to_numpy()
        order = np.argsort(buckets, kind="stable")
        table = pa.Table.from_batches([batch]).take(pa.array(order)).drop_columns([BUCKET, WANTED])
        ordered = buckets[order]
        starts = np.flatnonzero(np.diff(ordered, prepend=ordered[0] - 1))
        ends = np.append(starts[1:], len(ordered))
        packed = [to_bytes(table.slice(a, b - a).combine_chunks()) for a, b in zip(starts, ends, strict=True)]
        never = pa.nulls(len(packed), pa.timestamp("us", "UTC"))
        yield pa.RecordBatch.from_arrays(
            [pa.array(ordered[starts], pa.int32()), pa.array(packed, pa.binary()), never], names=[BUCKET, ROWS, NEVER]
        )


class Unpack:
    """Body of mapInArrow behind the operator: its bytes as rows, an error as a row of its own.

    Args:
        schema: of the output, the error last.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Output rows, as their tables have them. A batch's columns: the bytes and the error."""
        for batch in batches:
            for value, error in zip(*batch.columns, strict=True):
                if error.is_valid:
                    nulls = [pa.nulls(1, field.type) for field in self.schema]
                    yield pa.RecordBatch.from_arrays([*nulls[:-1], pa.array([error.as_py()])], schema=self.schema)
                elif value.is_valid:
                    for found in from_bytes(value.as_py())[0].to_batches():
                        yield found.append_column(ERROR, pa.nulls(found.num_rows, pa.string()))


def concatenated(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables of the same columns as one, of one chunk."""
    schema = tables[0].schema
    return pa.concat_tables([t.select(schema.names).cast(schema) for t in tables]).combine_chunks()
