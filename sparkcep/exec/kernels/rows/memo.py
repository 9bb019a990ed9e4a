"""Failed states of a backtracking search, so that none is tried twice.

Two attempts that have just taken the same row at the same position, and for which everything that conditions reachable
from there can look back at is equal, have the same future (the thread equivalence of Trino's matcher). Once one has
failed, the other is given up. A state is compared word by word; its hash only says where to look. The table has a
fixed size: a state that finds no free slot takes another's, which costs time but is never wrong.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inner
from sparkcep.exec.kernels.conditions.codes import U

#: Words of an entry: partition, WITHIN's last row, position, row, match number, then the look-backs.
PARTITION, LIMIT, POSITION, ROW, NUMBER, LOOKBACKS = range(6)
#: Kinds of look-backs; a: register or aggregate, b: how many rows from its last or first.
LAST_ROW, FIRST_ROW, AGGREGATE_COUNT, AGGREGATE_VALUE = range(4)

#: Places tried for an entry.
WAYS = 8


@inner
def fill_key(partition, position, row, number, search, memo):
    """Write the state after taking a row at a position to ``memo.key``; returns the slot of its first entry."""
    key = memo.key
    key[PARTITION] = partition
    key[LIMIT] = 0
    key[POSITION] = position
    key[ROW] = row
    key[NUMBER] = number
    n = LOOKBACKS
    for j in range(memo.low[U(position)], memo.high[U(position)]):
        kind, a, b = memo.lookbacks[U(3 * j)], memo.lookbacks[U(3 * j + 1)], memo.lookbacks[U(3 * j + 2)]
        if kind >= AGGREGATE_COUNT:
            seen = U(a * search.rows + search.counts[U(b)])
            word = search.agg_n[seen] if kind == AGGREGATE_COUNT else search.agg_v[seen]
        else:
            count = search.counts[U(a)]
            if count > b:
                word = search.occurrences[U(a * search.rows + (count - 1 - b if kind == LAST_ROW else b))]
            else:
                # There is no such last row; the first ones are still to come, so how many there are counts.
                word = np.int64(-1) if kind == LAST_ROW else -1 - count
        key[U(n)] = word
        n += 1
    mixed = np.int64(0)
    for k in range(n):
        mixed = (mixed ^ key[U(k)]) * np.int64(-7046029254386353131)  # 2**64 / golden ratio
        mixed ^= mixed >> 29
    return mixed & (memo.capacity - 1)


@inner
def _equal(at, memo, n):
    for k in range(POSITION, n):  # noqa: SIM110
        if memo.entries[U(at + k)] != memo.key[U(k)]:
            return False
    return True


@inner
def has_failed(slot, limit, memo):
    """Whether the state in ``memo.key`` is known to fail when matches may reach to row ``limit``."""
    n = LOOKBACKS + memo.high[U(memo.key[POSITION])] - memo.low[U(memo.key[POSITION])]
    for way in range(WAYS):
        at = ((slot + way) & (memo.capacity - 1)) * memo.width
        if memo.entries[U(at)] != memo.key[PARTITION]:
            return False
        if memo.entries[U(at + LIMIT)] >= limit and _equal(at, memo, n):
            return True
    return False


@inner
def record_failure(slot, limit, memo):
    """Note that the state in ``memo.key`` fails when matches may reach to row ``limit``, so also when less far."""
    n = LOOKBACKS + memo.high[U(memo.key[POSITION])] - memo.low[U(memo.key[POSITION])]
    chosen = (memo.key[ROW] + memo.key[POSITION]) % WAYS
    for way in range(WAYS):
        at = ((slot + way) & (memo.capacity - 1)) * memo.width
        if memo.entries[U(at)] != memo.key[PARTITION] or _equal(at, memo, n):
            chosen = way
            break
    at = ((slot + chosen) & (memo.capacity - 1)) * memo.width
    for k in range(n):
        memo.entries[U(at + k)] = memo.key[U(k)]
    memo.entries[U(at + LIMIT)] = limit
