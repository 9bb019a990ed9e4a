"""Compile the index's kernels ahead of its first build and query."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sparkcep.exec.kernels.index import continuations, postings
from sparkcep.index.continuations import count_continuations
from sparkcep.index.pairs import (
    PairOptions,
    cases_of,
    enlarged,
    intersect,
    pack_activities,
    pack_pairs,
    unpack,
    unpack_within,
)
from sparkcep.index.signature_bits import sign_cases, wanted_bits

#: What Python calls.
ENTRIES: tuple[Any, ...] = (
    postings.pack_pairs,
    postings.move,
    postings.pack_activities,
    postings.unpack,
    postings.unpack_within,
    postings.intersect,
    postings.set_bit,
    postings.sign,
    continuations.count_continuations,
)


def warm_index() -> None:
    """One case of two events through building and reading."""
    columns = {
        "id": pa.array([0], pa.int64()),
        "first_new": pa.array([0], pa.int64()),
        "codes": pa.array([[0, 1]], pa.list_(pa.int32())),
        "times": pa.array([[1, 2]], pa.list_(pa.int64())),
    }
    batch = pa.record_batch(columns)
    cases = cases_of([batch])
    pairs = pack_pairs(cases, PairOptions(None, 10, True))
    enlarged(postings.Lists(np.full(2, -1, np.int64), np.zeros(2 * postings.WIDTH, np.int64)))
    activities = pack_activities(cases)
    ids = unpack(pairs.column("cases"), pairs.column("count").to_numpy(), pairs.column("first_case").to_numpy(), 1)
    unpack_within(activities, ids)
    intersect(ids, ids)
    sign_cases(cases)
    wanted_bits([0, 1], True)
    count_continuations([batch], np.array([0], np.int32), np.array([1, 1], np.uint8), ["A", "B"])
