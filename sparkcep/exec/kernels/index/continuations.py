"""Kernel of pattern continuations: how often a sequence of event types is followed by each type."""

from __future__ import annotations

from sparkcep.exec.kernels.caching import kernel
from sparkcep.exec.kernels.index.postings import SPLIT

#: Numbers of a type, WIDTH of them in a row in ``stats``; durations are summed above and below bit SPLIT.
COMPLETIONS, CASES, SUM_HIGH, SUM_LOW = range(4)
WIDTH = 4


@kernel
def count_continuations(offsets, codes, times, pattern, wanted, ends, due, seen, stats, holding):
    """Count, for each wanted type, the matches of the pattern with this type behind it that do not overlap.

    Greedy from left to right: the first event of each type in turn, the next match behind the last event of the one
    before (SKIP TILL NEXT MATCH, NON OVERLAPPING). All types are counted in one walk over a case: what a type waits for
    is the end of the first occurrence of the pattern since that type's last match.

    Args:
        offsets: (cases + 1,) where each case begins in codes and times.
        codes, times: (events,).
        pattern: (length,) codes.
        wanted: (types,) bytes, 1 for types to count.
        ends: (longest case + 1,) scratch. due: (types,), seen: (2 * types,) scratch; ``seen`` holds -1.
        stats: (types * WIDTH,) results, added to. holding: (1,) cases that hold the pattern, added to.
    """
    for case in range(len(offsets) - 1):
        base = offsets[case]
        n = offsets[case + 1] - base
        # ends[s]: position of the last event of the pattern's first occurrence in s, s + 1, ...; n where there is none.
        for s in range(n + 1):
            ends[s] = s - 1
        for k in range(len(pattern) - 1, -1, -1):
            behind = ends[n]
            ends[n] = n
            for s in range(n - 1, -1, -1):
                own = ends[s]
                ends[s] = behind if codes[base + s] == pattern[k] else ends[s + 1]
                behind = own
        if ends[0] == n:
            continue
        holding[0] += 1
        for p in range(n):
            code = codes[base + p]
            if not wanted[code]:
                continue
            if seen[code] != case:
                due[code] = ends[0]
            if due[code] < p:
                duration = times[base + p] - times[base + due[code]]
                at = code * WIDTH
                stats[at + COMPLETIONS] += 1
                stats[at + SUM_HIGH] += duration >> SPLIT
                stats[at + SUM_LOW] += duration & ((1 << SPLIT) - 1)
                due[code] = ends[p + 1]
                if seen[code + len(wanted)] != case:
                    stats[at + CASES] += 1
                    seen[code + len(wanted)] = case
            seen[code] = case
