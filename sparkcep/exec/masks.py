"""Masks: bits of conditions on one row, in columns of 63."""

from __future__ import annotations

#: Conditions in one int64 mask; the sign is left alone.
BITS_PER_WORD = 63


def words_of(bits: int) -> int:
    """Masks that so many conditions take, at least one."""
    return max(1, -(-bits // BITS_PER_WORD))
