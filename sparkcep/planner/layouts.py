"""When the rows of partitions are sorted by a window, instead of being gathered into a list each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparkcep.planner.sampling import Sample, Sampler, sample_kept
from sparkcep.planner.ties import YEAR_MONTH, is_orderable
from sparkcep.settings import LIST_BYTES, Settings

#: Partitions of this many rows are better sorted by a window than gathered into one list each.
LONG_PARTITION = 2000
#: The same where the matches of a partition may hold many times its rows.
MULTIPLIED = 100


def unsortable(types: Iterable[str]) -> str:
    """Why a list of rows with fields of these types cannot be sorted; empty where it can."""
    bad = next((t for t in types if not is_orderable(t)), None)
    return "" if bad is None else f"column of type {bad} cannot be sorted inside a list"


def fits_python(types: Iterable[str]) -> bool:
    """Whether the rows layout can send fields of these types to Python."""
    return not any(t in YEAR_MONTH for t in types)


def too_long(sample: Sample | None, fields: int, settings: Settings) -> str:
    """Why no partition is to be held in one list; empty where all may be.

    Args:
        fields: how many of a row are held.
    """
    if sample is None or sample.largest_list(fields) <= settings.list_bytes:
        return ""
    return f"{sample.largest:.0%} of a sample's rows are of one partition, too many for a list of {LIST_BYTES.key}"


def kept_too_long(
    sampler: Sampler, keys: Sequence[str], filters: Sequence[str], fields: int, settings: Settings
) -> str:
    """As :func:`too_long`, of the rows that satisfy filters."""
    sample = sample_kept(sampler, keys, filters, lambda kept: bool(too_long(kept, fields, settings)))
    return too_long(sample, fields, settings)


def is_long(sample: Sample) -> bool:
    """Whether rows are better not gathered into a list for each partition."""
    return sample.partition_rows >= LONG_PARTITION


def may_be_long(sample: Sample) -> bool:
    """Whether that may be said of some of the rows, if only these are looked at."""
    return sample.most >= LONG_PARTITION


def kept_multiply(sampler: Sampler, keys: Sequence[str], filters: Sequence[str]) -> bool:
    """Whether matches that hold many times the rows of their partition may be too many for a list, of the rows that
    satisfy filters."""
    sample = sample_kept(sampler, keys, filters, lambda kept: kept.most >= MULTIPLIED)
    return sample is None or sample.partition_rows >= MULTIPLIED
