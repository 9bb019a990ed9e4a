"""Batch: rows of partitions as a matcher takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from sparkcep.exec.arrays import Ints


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of whole partitions, in order.

    ``offsets`` (partitions + 1,): row borders. ``masks``: int64 arrays of condition bits. ``columns``: kernel columns.
    ``within``: ORDER BY key and key plus interval, of one type.
    """

    offsets: Ints
    masks: Sequence[pa.Array]
    columns: Sequence[pa.Array] = ()
    within: tuple[pa.Array, pa.Array] | None = None
