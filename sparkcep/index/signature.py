"""Signatures (Nanopoulos et al. 2002): a bitmap per case of its types and ordered pairs, searched by superset tests.

Bits are hashed, so that a signature has the same width whatever the log: two cases may share bits, which lets too many
cases pass and never too few. A continued case adds a row; its signature is the union of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from sparkcep.index import files
from sparkcep.index.pairs import Longs, packs
from sparkcep.index.signature_bits import WIDTH, sign_cases, wanted_bits
from sparkcep.index.snapshots import TableState
from sparkcep.index.storage import Location
from sparkcep.index.tables import SIGNATURE_SCHEMA
from sparkcep.spark.shipping import shipped


def signatures(whole: DataFrame) -> DataFrame:
    """A row per case of a batch."""

    def sign(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for cases in packs(batches):
            bits = sign_cases(cases)
            rows = pa.FixedSizeBinaryArray.from_buffers(pa.binary(WIDTH), len(bits), [None, pa.py_buffer(bits)])
            batch = pa.record_batch({"id": pa.array(cases.ids), "bits": rows.cast(pa.binary())})
            for low in range(0, batch.num_rows, 10_000):
                yield batch.slice(low, 10_000)

    return whole.select("id", "first_new", "codes", "times").mapInArrow(
        shipped(sign, "sparkcep_signatures"), SIGNATURE_SCHEMA
    )


def superset(table: Location, state: TableState, branch: Sequence[int], by_pairs: bool) -> tuple[Longs, int]:
    """Cases whose signature holds all bits of a branch, and bytes read."""
    wanted = wanted_bits(branch, by_pairs)
    columns = np.flatnonzero(wanted)
    ids, kept = [], []
    for file in state.files:
        rows = files.read(table, file)
        array = rows["bits"].combine_chunks()
        bits = np.frombuffer(array.buffers()[2], np.uint8)[: len(array) * WIDTH].reshape(-1, WIDTH)
        ids.append(rows["id"].to_numpy())
        kept.append(bits[:, columns])
    if not ids:
        return np.empty(0, np.int64), 0
    found, cases = np.concatenate(kept), np.concatenate(ids)
    order = np.argsort(cases, kind="stable")
    cases, starts = np.unique(cases[order], return_index=True)
    united = np.bitwise_or.reduceat(found[order], starts, axis=0)
    mask = (united & wanted[columns] == wanted[columns]).all(axis=1)
    return cases[mask], state.size
