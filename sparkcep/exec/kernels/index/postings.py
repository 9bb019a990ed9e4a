"""Kernels of the pattern index: extract et-pairs, pack postings into bytes, read them again, intersect them.

Packing goes twice over the cases: once to learn how many bytes each list needs, once to write them, so that nothing but
the packed bytes is ever held. A list's integers are LEB128 varints: case ids and times as differences, in separate
streams, which Parquet's zstd then shortens further.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sparkcep.exec.kernels.caching import inlined, inner, kernel
from sparkcep.exec.kernels.conditions.codes import U
from sparkcep.exec.kernels.index.keys import INTERVAL_BITS, TYPE_BITS
from sparkcep.exec.kernels.tables import Ints

Codes = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]

#: Numbers of a list, WIDTH of them in a row in ``Lists.stats``.
COUNT, FRESH, SUM_HIGH, SUM_LOW, SHORTEST, LONGEST, FIRST, LAST_CASE, LAST_TIME, STREAMS = range(10)
#: Streams of a list: cases, first and second positions, first and second times.
STREAM_COUNT = 5
WIDTH = STREAMS + STREAM_COUNT
#: Durations are summed above and below this bit: a sum of microseconds alone would overflow.
SPLIT = 20


class Cases(NamedTuple):
    """Cases in order of their ids: case k has the events ``offsets[k]`` to ``offsets[k + 1]``.

    ``first_new`` (cases,): position of the first event that is not indexed yet; what is older only sets the scene.
    ``intervals``: of each event, from 0.
    """

    ids: Ints
    offsets: Ints
    first_new: Ints
    codes: Codes
    times: Ints
    intervals: Codes


class Lists(NamedTuple):
    """An open hash table of posting lists: ``keys`` (slots,), -1 where free, and ``stats``
    (slots * WIDTH,)."""

    keys: Ints
    stats: Ints


@inlined
def varint_size(value):
    """Bytes of a non-negative integer as varint."""
    size = 1
    while value >= 128:
        value >>= 7
        size += 1
    return size


@inlined
def put(out, at, value):
    """Write a varint; returns the place behind it."""
    while value >= 128:
        out[at] = (value & 127) | 128
        value >>= 7
        at += 1
    out[at] = value
    return at + 1


@inlined
def zigzag(value):
    """A signed integer as an unsigned one, small where it is near 0."""
    return (value << 1) ^ (value >> 63)


@inlined
def slot_of(keys, key):
    """The slot that a key has or may take."""
    mask = len(keys) - 1
    at = ((key * np.int64(-7046029254386353131)) >> 28) & mask  # 2**64 / golden ratio; low bits alone know intervals
    while keys[U(at)] != key and keys[U(at)] != -1:
        at = (at + 1) & mask
    return at


@inner
def positions_by_type(cases, case, place, count, types, positions):
    """Sort a case's positions by type; ``place`` and ``count`` are by type. Returns how many types there are."""
    low, high = cases.offsets[case], cases.offsets[case + 1]
    type_count = 0
    for i in range(low, high):
        code = cases.codes[i]
        if count[code] == 0:
            types[type_count] = code
            type_count += 1
        count[code] += 1
    at = 0
    for k in range(type_count):
        code = types[k]
        place[code] = at
        at += count[code]
        count[code] = 0
    for i in range(low, high):
        code = cases.codes[i]
        positions[place[code] + count[code]] = i - low
        count[code] += 1
    return type_count


@inlined
def add_bytes(stats, at, out, value, write):
    """Count the bytes of a value, or write them: ``stats[at]`` is then a place instead of a size."""
    if write:
        stats[at] = put(out, stats[at], value)
    else:
        stats[at] += varint_size(value)


@inlined
def add_pair(stats, out, row, case, first, second, time_first, time_second, with_times, fresh, write):
    """Add one pair to the list whose numbers begin at ``row``."""
    if stats[U(row + COUNT)] == 0:
        stats[U(row + FIRST)] = case
        stats[U(row + LAST_CASE)] = case
        stats[U(row + LAST_TIME)] = 0
        stats[U(row + SHORTEST)] = time_second - time_first
        stats[U(row + LONGEST)] = time_second - time_first
        stats[U(row + FRESH)] = 0
        stats[U(row + SUM_HIGH)] = 0
        stats[U(row + SUM_LOW)] = 0
    stats[U(row + COUNT)] += 1
    add_bytes(stats, U(row + STREAMS), out, case - stats[U(row + LAST_CASE)], write)
    add_bytes(stats, U(row + STREAMS + 1), out, first, write)
    add_bytes(stats, U(row + STREAMS + 2), out, second - first, write)
    stats[U(row + LAST_CASE)] = case
    if with_times:
        add_bytes(stats, U(row + STREAMS + 3), out, zigzag(time_first - stats[U(row + LAST_TIME)]), write)
        add_bytes(stats, U(row + STREAMS + 4), out, time_second - time_first, write)
        stats[U(row + LAST_TIME)] = time_first
    if write:
        return
    duration = time_second - time_first
    stats[U(row + FRESH)] += fresh
    stats[U(row + SUM_HIGH)] += duration >> SPLIT
    stats[U(row + SUM_LOW)] += duration & ((1 << SPLIT) - 1)
    stats[U(row + SHORTEST)] = min(stats[U(row + SHORTEST)], duration)
    stats[U(row + LONGEST)] = max(stats[U(row + LONGEST)], duration)


@inner
def most_lists(cases, begin, length, type_count):
    """A bound on the lists that a case can open: one per pair of types and interval, one per event and type."""
    if length == 0:
        return 0
    intervals = cases.intervals[begin + length - 1] - cases.intervals[begin] + 1
    return min(type_count * length, type_count * type_count * intervals)


@kernel
def pack_pairs(cases, low, lists, opened, room, scratch, lookback, with_times, out, write):
    """Greedy pairs (Def. 3.4) of all ordered type pairs of the cases from ``low`` on.

    For each pair of types: first a, then the first later b, then the first a behind that b; where a is b, the second
    event starts the next pair. A b farther than ``lookback`` (negative: none) behind an a is not consumed: the a is
    given up, since every later b is farther still. A pair is added if its second event is new.

    Args:
        opened: lists that are open already.
        room: most lists that may be open; beyond, the caller must enlarge the table.
        scratch: place and count by type (count all 0), types and positions of a case.

    Returns:
        The first case that is not done (the number of cases if all are), and how many lists are open.
    """
    place, count, types, positions = scratch
    times, keys, stats = cases.times, lists.keys, lists.stats
    case = low
    while case < len(cases.ids):
        begin = cases.offsets[case]
        length = cases.offsets[case + 1] - begin
        type_count = positions_by_type(cases, case, place, count, types, positions)
        if not write and opened + most_lists(cases, begin, length, type_count) > room:
            for k in range(type_count):
                count[types[k]] = 0
            return case, opened
        first_new = cases.first_new[case]
        own = cases.ids[case]
        for x in range(type_count):
            a = types[U(x)]
            a_low = place[U(a)]
            a_high = a_low + count[U(a)]
            for y in range(type_count):
                b = types[U(y)]
                j = place[U(b)]
                b_high = j + count[U(b)]
                if positions[U(b_high - 1)] < first_new:
                    continue
                i = a_low
                fresh = 1
                while i < a_high:
                    first = positions[U(i)]
                    while j < b_high and positions[U(j)] <= first:
                        j += 1
                    if j == b_high:
                        break
                    second = positions[U(j)]
                    t1 = times[U(begin + first)]
                    t2 = times[U(begin + second)]
                    i += 1
                    if 0 <= lookback < t2 - t1:
                        continue
                    if second >= first_new:
                        key = (
                            (a << (TYPE_BITS + INTERVAL_BITS))
                            | (b << INTERVAL_BITS)
                            | cases.intervals[U(begin + second)]
                        )
                        at = slot_of(keys, key)
                        if keys[U(at)] == -1:
                            keys[U(at)] = key
                            opened += 1
                        add_pair(stats, out, at * WIDTH, own, first, second, t1, t2, with_times, fresh, write)
                    fresh = 0
                    if x != y:
                        while i < a_high and positions[U(i)] <= second:
                            i += 1
        for k in range(type_count):
            count[types[k]] = 0
        case += 1
    return case, opened


@kernel
def move(lists, used, grown):
    """Put the lists of some slots into a larger table."""
    for k in range(len(used)):
        at = slot_of(grown.keys, lists.keys[used[k]])
        grown.keys[at] = lists.keys[used[k]]
        for c in range(WIDTH):
            grown.stats[at * WIDTH + c] = lists.stats[used[k] * WIDTH + c]
    return len(used)


@kernel
def pack_activities(cases, stats, out, write):
    """Postings (case, position, time) of every new event, by type; ``stats`` (types * WIDTH,) as in ``Lists``."""
    for case in range(len(cases.ids)):
        begin = cases.offsets[case]
        own = cases.ids[case]
        for i in range(begin + cases.first_new[case], cases.offsets[case + 1]):
            row = np.int64(cases.codes[i]) * WIDTH
            time = cases.times[i]
            if stats[row + COUNT] == 0:
                stats[row + FIRST] = own
                stats[row + LAST_CASE] = own
                stats[row + LAST_TIME] = 0
                stats[row + FRESH] = 1
            elif stats[row + LAST_CASE] != own:
                stats[row + FRESH] += 1
            stats[row + COUNT] += 1
            add_bytes(stats, U(row + STREAMS), out, own - stats[row + LAST_CASE], write)
            add_bytes(stats, U(row + STREAMS + 1), out, i - begin, write)
            add_bytes(stats, U(row + STREAMS + 3), out, zigzag(time - stats[row + LAST_TIME]), write)
            stats[row + LAST_CASE] = own
            stats[row + LAST_TIME] = time
    return len(cases.ids)


@kernel
def unpack(data, starts, counts, bases, kind, out):
    """Integers of packed lists, one list behind the other in ``out``.

    Args:
        data, starts: bytes, and where each list begins in them.
        counts: integers in each list.
        bases: what the first integer of each list adds to.
        kind: 0 plain, 1 differences, 2 zigzag differences.
    """
    at = 0
    for row in range(len(counts)):
        place = starts[row]
        last = bases[row]
        for _ in range(counts[row]):
            value, place = _varint(data, place)
            if kind == 2:
                value = _unzigzag(value)
            if kind != 0:
                value += last
                last = value
            out[at] = value
            at += 1
    return at


@inlined
def _varint(data, place):
    """The integer at a byte, and the byte behind it."""
    value = np.int64(data[U(place)] & 127)
    shift = 7
    while data[U(place)] >= 128:
        place += 1
        value |= np.int64(data[U(place)] & 127) << shift
        shift += 7
    return value, place + 1


@inlined
def _unzigzag(value):
    return ((value >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(value & 1)


@kernel
def unpack_within(
    cases, case_starts, times, time_starts, positions, position_starts, counts, bases, ids, out_ranks, out_times,
    out_positions,
):  # fmt: skip
    """The events of packed lists whose case is one of some ids.

    Args:
        cases, case_starts, times, time_starts, positions, position_starts: bytes of the streams, and where each list
            begins in them. Without ``position_starts`` positions are not read.
        counts: events in each list. bases: what the first case of each list adds to. ids: ascending.
        out_ranks: of events' cases among ``ids``; room, as in ``out_times`` and ``out_positions``, for all events.

    Returns:
        How many there are.
    """
    found = 0
    placed = len(position_starts) > 0
    position, position_place = np.int64(0), np.int64(0)
    for row in range(len(counts)):
        place, time_place = case_starts[row], time_starts[row]
        if placed:
            position_place = position_starts[row]
        case, time = bases[row], np.int64(0)
        at = np.searchsorted(ids, case)
        for _ in range(counts[row]):
            step, place = _varint(cases, place)
            case += step
            step, time_place = _varint(times, time_place)
            time += _unzigzag(step)
            if placed:
                position, position_place = _varint(positions, position_place)
            while at < len(ids) and ids[U(at)] < case:
                at += 1
            if at == len(ids):
                break
            if ids[U(at)] == case:
                out_ranks[U(found)] = at
                out_times[U(found)] = time
                if placed:
                    out_positions[U(found)] = position
                found += 1
    return found


@kernel
def intersect(left, right, out):
    """Values that two ascending arrays share, each once; the shorter one leaps through the longer. Returns how many."""
    if len(left) > len(right):
        left, right = right, left
    found = 0
    low = 0
    for i in range(len(left)):
        value = left[i]
        if i > 0 and left[i - 1] == value:
            continue
        step = 1
        while low + step < len(right) and right[low + step] < value:
            step <<= 1
        high = min(low + step, len(right))
        low += step >> 1
        while low < high:
            middle = (low + high) >> 1
            if right[middle] < value:
                low = middle + 1
            else:
                high = middle
        if low == len(right):
            break
        if right[low] == value:
            out[found] = value
            found += 1
    return found


@kernel
def set_bit(bits, begin, first, second, width):
    """Set the bit of a type (``second`` -1) or of an ordered pair in the signature that begins at ``begin``."""
    half = width * 4
    mixed = (np.int64(first) * 1_000_003 + second + 1) * np.int64(-7046029254386353131)
    at = ((mixed >> 33) & 0x7FFFFFFF) % half
    if second >= 0:
        at += half
    bits[begin + (at >> 3)] |= np.uint8(1 << (at & 7))
    return at


@kernel
def sign(cases, seen, order, bits, width):
    """Signatures of cases: their types, and their ordered pairs (a before b).

    Args:
        seen: by type, 0.
        order: room for the types of a case.
    """
    for case in range(len(cases.ids)):
        found = 0
        for i in range(cases.offsets[case], cases.offsets[case + 1]):
            code = np.int64(cases.codes[i])
            # Pairs with this event as the second are known from the first event of its type, but for types that
            # have come since.
            for k in range(max(seen[code] - 1, 0), found):
                set_bit(bits, case * width, order[k], code, width)
            if seen[code] == 0:
                set_bit(bits, case * width, code, np.int64(-1), width)
                order[found] = code
                # One less than what follows: the pair of the type with itself is still to come.
                seen[code] = found + 1
                found += 1
            else:
                seen[code] = found + 1
        for k in range(found):
            seen[order[k]] = 0
    return len(cases.ids)
