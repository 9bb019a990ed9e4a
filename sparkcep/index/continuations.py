"""Continuations of a pattern, counted over batches of cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkcep.exec.kernels.index import continuations as kernel
from sparkcep.exec.kernels.index.postings import SPLIT


def count_continuations(
    batches: Iterable[pa.RecordBatch], pattern: npt.NDArray[np.int32], wanted: npt.NDArray[np.uint8],
    names: Sequence[str],
) -> pa.RecordBatch:  # fmt: skip
    """One row for each wanted type that follows the pattern, and one without a type for the pattern itself.

    Args:
        batches: cases, as columns codes and times (lists).
        pattern: (length,) codes. wanted: (types,) 1 for the codes of candidates. names: types by their codes.

    Returns:
        Columns next_event, completions, cases, counted (completions again) and total, the sum of durations from the
        pattern's last event to the next one, in units of the times. In the row without a type, cases is how many hold
        the pattern; its other numbers are 0.
    """
    stats = np.zeros(len(names) * kernel.WIDTH, np.int64)
    due, holding = np.zeros(len(names), np.int64), np.zeros(1, np.int64)
    for batch in batches:
        codes, times = (batch.column(batch.schema.get_field_index(n)) for n in ("codes", "times"))
        offsets = codes.offsets.to_numpy().astype(np.int64)
        longest = int(np.diff(offsets).max(initial=0))
        kernel.count_continuations(
            offsets - offsets[0],
            codes.flatten().to_numpy(zero_copy_only=False).astype(np.int32, copy=False),
            times.flatten().to_numpy(zero_copy_only=False).astype(np.int64, copy=False),
            pattern, wanted, np.zeros(longest + 1, np.int64), due, np.full(2 * len(names), -1, np.int64), stats,
            holding,
        )  # fmt: skip
    table = stats.reshape(-1, kernel.WIDTH)
    used = np.flatnonzero(table[:, kernel.COMPLETIONS])
    found = table[used]
    high, low = found[:, kernel.SUM_HIGH].tolist(), found[:, kernel.SUM_LOW].tolist()
    total = [Decimal(0), *(Decimal((h << SPLIT) + w) for h, w in zip(high, low, strict=True))]
    completions = pa.array(np.append(0, found[:, kernel.COMPLETIONS]))
    return pa.record_batch(
        {
            "next_event": pa.array([None, *(names[c] for c in used.tolist())], pa.string()),
            "completions": completions,
            "cases": pa.array(np.append(holding, found[:, kernel.CASES])),
            "counted": completions,
            "total": pa.array(total, pa.decimal128(38, 0)),
        }
    )
