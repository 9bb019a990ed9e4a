"""The event graph of a partition, as far as match-independent conditions tell.

Its nodes are (state, row); an edge leads to a later row that the next component can take, with no negation's match in
between. It is never built: what is kept is, per component, the next row it can take, per negation, how far a row sees,
and, per node, the earliest row at which a match can be complete. One backward pass, O(rows x edges) where negations
are of single events.
"""

from __future__ import annotations

import numpy as np

from sparkcep.exec.kernels.caching import inlined, inner, spliced
from sparkcep.exec.kernels.conditions.codes import U

ACCEPT = -1


@spliced
def prepare(base, n, masks, machine, strict, within, use_within, work):
    """Fill ``work`` for a partition of ``n`` rows whose first row in the batch is ``base``."""
    if use_within:
        _rows_before(base, n, within, work)
    prepare_negations(base, n, masks, machine, strict, within, work)
    _earliest_ends(0, n, machine, work)


@inner
def prepare_negations(base, n, masks, machine, strict, within, work):
    """Fill ``work`` but for what tells how matches of the pattern itself end."""
    _equal_times(base, n, strict, within, work)
    next_rows(base, n, masks, machine, work)
    negations = machine.automata.shape[0] // 3 - 1
    for x in range(negations):
        if (machine.dependent >> x) & 1:
            for j in range(n + 1):
                work.until[x, j] = n
        else:
            _earliest_ends(x + 1, n, machine, work)
            _until(x, n, machine, work)


@spliced
def next_rows(base, n, masks, machine, work):
    """Fill ``work.next_row``: from each row on the first that a component's own tests let it take, ``n`` for none."""
    components = machine.test_bit.shape[0]
    for c in range(components):
        bit, word = machine.test_bit[c], machine.test_word[c]
        following = np.int32(n)
        work.next_row[c, n + 1] = n
        work.next_row[c, n] = n
        for j in range(n - 1, -1, -1):
            if bit < 0 or (masks[word, base + j] >> np.uint64(max(bit, 0))) & np.uint64(1):
                following = np.int32(j)
            work.next_row[c, j] = following


@inlined
def next_taken(row, rows, low, high, machine, work):
    """The first row from here on that one of the edges from ``low`` to ``high`` may take."""
    best = np.int64(rows)
    for e in range(low, high):
        if machine.target[U(e)] != ACCEPT:
            best = min(best, np.int64(work.next_row[machine.component[U(e)], row]))
    return best


@spliced
def _equal_times(base, n, strict, within, work):
    for j in range(n - 1, -1, -1):
        same = (
            strict
            and j + 1 < n
            and within.key[base + j] == within.key[base + j + 1]
            and within.null[0, base + j] == within.null[0, base + j + 1]
        )
        work.last_equal[j] = work.last_equal[j + 1] if same else j
    work.last_equal[n] = n


@spliced
def _rows_before(base, n, within, work):
    """The first row whose key is not below this row's key less the interval; keys ascend."""
    for j in range(n):
        if within.null[0, base + j] or within.null[2, base + j]:
            work.from_row[j] = j
            continue
        low, high = np.int64(0), np.int64(j)
        bound = within.lower[base + j]
        while low < high:
            middle = (low + high) >> 1
            if within.null[0, base + middle] or within.key[base + middle] < bound:
                low = middle + 1
            else:
                high = middle
        work.from_row[j] = low


@inner
def _earliest_ends(m, n, machine, work):
    """Fill ``end`` and ``earliest`` for the states of automaton ``m``."""
    first, start = machine.automata[3 * m], machine.automata[3 * m + 1]
    low, high = machine.edge_start[first], machine.edge_start[start + 1]
    for e in range(low, high):
        work.best[e] = n
    for s in range(first, start):
        work.earliest[s, n] = n
        work.earliest[s, n + 1] = n
        work.end[s, n] = n
    counted = n  # rows from here on are in ``best``
    for j in range(n - 1, -1, -1):
        while counted > work.last_equal[j] + 1:
            group = counted - 1
            while group > work.last_equal[j] + 1 and work.last_equal[group - 1] == work.last_equal[group]:
                group -= 1
            for e in range(low, high):
                target = machine.target[U(e)]
                if target == ACCEPT:
                    continue
                c = machine.component[U(e)]
                if _steps_over_single(machine.absent[U(e)], group, counted, machine, work):
                    work.best[e] = n
                k = np.int64(work.next_row[c, group])
                while k < counted:
                    work.best[e] = min(work.best[e], work.end[target, k])
                    k = np.int64(work.next_row[c, k + 1])
            counted = group
        for s in range(first, start):
            end = np.int32(n)
            if work.next_row[machine.state_component[U(s)], j] == j:
                if machine.accept_edge[U(s)] >= 0:
                    end = np.int32(j)
                for e in range(machine.edge_start[U(s)], machine.edge_start[U(s + 1)]):
                    if machine.target[U(e)] != ACCEPT:
                        end = min(end, _reached(e, j, n, machine, work))
            work.end[s, j] = end
            work.earliest[s, j] = min(end, work.earliest[s, j + 1])


@inlined
def _steps_over_single(absent, low, high, machine, work):
    """Whether a negation of one event lies in rows ``low`` to ``high`` (exclusive)."""
    x = 0
    while absent:
        if absent & np.uint64(1) and not (machine.dependent >> x) & 1:
            c = machine.automata[3 * (x + 1) + 2]
            if c >= 0 and work.next_row[c, low] < high:
                return True
        absent >>= np.uint64(1)
        x += 1
    return False


@inlined
def _reached(e, j, n, machine, work):
    """The earliest end over an edge from row ``j``."""
    until = np.int64(n)
    absent = machine.absent[U(e)]
    x = 0
    while absent:
        if absent & np.uint64(1) and machine.automata[3 * (x + 1) + 2] < 0:
            until = min(until, np.int64(work.until[x, j + 1]))
        absent >>= np.uint64(1)
        x += 1
    if until >= n:
        return work.best[e]
    # A negated sequence that begins after this row cuts off what comes after its end.
    end = np.int32(n)
    c, target = machine.component[U(e)], machine.target[U(e)]
    k = np.int64(work.next_row[c, work.last_equal[j] + 1])
    while k < n and k <= until:
        if end > work.end[target, k] and not _single_between(machine.absent[U(e)], j, k, machine, work):
            end = work.end[target, k]
        k = np.int64(work.next_row[c, k + 1])
    return end


@inlined
def _single_between(absent, i, k, machine, work):
    x = 0
    while absent:
        is_single = machine.automata[3 * (x + 1) + 2] >= 0 and not (machine.dependent >> x) & 1
        if absent & np.uint64(1) and is_single and k > work.until[x, i + 1]:
            return True
        absent >>= np.uint64(1)
        x += 1
    return False


@inlined
def sees(absent, present, i, j, work):
    """Whether row ``j`` may follow row ``i`` for what lies between: none of the negations of ``absent``, one each of
    those of ``present``, as far as the graph tells."""
    x = 0
    while absent or present:
        if absent & np.uint64(1) and j > work.until[x, i + 1]:
            return False
        if present & np.uint64(1) and j <= work.until[x, i + 1]:
            return False
        absent >>= np.uint64(1)
        present >>= np.uint64(1)
        x += 1
    return True


@spliced
def _until(x, n, machine, work):
    """Fill ``until`` of negation ``x`` from the earliest ends of its automaton."""
    start = machine.automata[3 * (x + 1) + 1]
    end = np.int64(n)
    counted = n
    for i in range(n - 1, -2, -1):
        first = 0 if i < 0 else work.last_equal[i] + 1
        while counted > first:
            counted -= 1
            for e in range(machine.edge_start[U(start)], machine.edge_start[U(start + 1)]):
                if work.next_row[machine.component[U(e)], counted] == counted:
                    end = min(end, np.int64(work.end[machine.target[U(e)], counted]))
        work.until[x, i + 1] = work.last_equal[end] if end < n else n
