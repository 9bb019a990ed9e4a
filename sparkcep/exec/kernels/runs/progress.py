"""Slots of ``progress``, in which kernels that walk runs keep where they stand, and stages of a walk."""

from __future__ import annotations

#: The partition and the start row matching is at; matches of the partition; the number of the start row's end that
#: collapsing goes on with; steps; rows that count to the limit; how much of ``out`` and ``trace`` is used; whether the
#: partition is prepared; the depth of a search that waits for room; how a search stands; the last row known to be
#: within the interval.
AT_PARTITION, AT_ROW, MATCHES, AT_LAST, STEPS, EMITTED, USED, TRACED, PREPARED, DEPTH, SEARCHING, REACHED = range(12)
PROGRESS = 12

#: SEARCHING: nothing is searched; a start row is; a match was found for which there was no room.
IDLE, UNDER_WAY, FULL = range(3)

#: ``Frames.phase``: the edges that are preferred to acceptance, acceptance, the edges behind it, nothing is left.
BEFORE_ACCEPTANCE, ACCEPTANCE, BEHIND_ACCEPTANCE, DONE = range(4)
#: ``Frames.taken``, bits: some edge could take the candidate; one that stays inside a Kleene could.
TAKEN, STAYED = 1, 2
