"""Rows that come too late, or without a time, as files beside the stream."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from sparkcep.errors import SparkCepError
from sparkcep.exec.streaming.blobs import ROW, to_bytes
from sparkcep.settings import STREAM_LATE_ROWS


def late_rows(tables: Sequence[pa.Table], dropped: npt.NDArray[np.bool_]) -> pa.Table:
    """The input's rows of those prepared rows that are dropped, one at least.

    Args:
        tables: prepared rows with the input's row in one column. dropped: (rows of all tables,).
    """
    rows = pa.concat_tables([t.select([ROW]) for t in tables]).filter(pa.array(dropped)).combine_chunks()
    return pa.Table.from_struct_array(rows.column(ROW).chunk(0))


def write_late_rows(path: str, rows: pa.Table, state: bytes | None) -> None:
    """Write rows as one Parquet file of a folder.

    Its name is made of the rows and of the state that met them: a micro-batch that runs again writes the same file.

    Raises:
        SparkCepError: CEP_INVALID_SETTING, the folder cannot be written to.
    """
    name = hashlib.sha256((state or b"") + to_bytes(rows)).hexdigest()[:32]
    try:
        store, folder = fs.FileSystem.from_uri(path.replace("s3a://", "s3://", 1))
        store.create_dir(folder, recursive=True)
        # Files under a name with an underscore are not read.
        pq.write_table(rows, f"{folder}/_{name}.parquet", filesystem=store)
        store.move(f"{folder}/_{name}.parquet", f"{folder}/{name}.parquet")
    except (OSError, pa.ArrowInvalid) as error:
        raise SparkCepError(
            "CEP_INVALID_SETTING",
            f"Late rows cannot be written to {path!r} ({STREAM_LATE_ROWS.key}): {error}",
            hint="name a folder that all executors can write to, by an absolute path or a URI",
        ) from None
