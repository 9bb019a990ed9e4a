"""Results of conditions and statuses of kernels: every number has one meaning, in every kernel.

A test of a condition gives FALSE, TRUE or the status of its error, so what a test cannot decide is passed on as it is.
A kernel gives OK, one of REQUESTS, or one of ERRORS; exec/statuses.py makes the errors of the latter.
"""

from __future__ import annotations

(
    FALSE,  # of a condition; also for NULL
    TRUE,
    OK,
    OUTPUT_FULL,  # no room for output rows, or for events of matches
    STACK_FULL,  # a run is longer than there are frames
    POOL_FULL,  # no room for lists of events
    NODES_FULL,  # no room for the nodes of a repair
    UNDECIDED,  # a match takes rows that are still to come; within the rows kernel only
    TOO_MANY_STEPS,
    TOO_MANY_ROWS,
    TOO_MANY_SHARED,  # more events than there are bits for must stay out of several gaps
    SKIP_TO_FIRST_ROW,
    SKIP_TARGET_ABSENT,
    OVERFLOW,
    ZERO_DIVISION,
    CONDITION_FAILED,  # of one that the kernel calls back for; what it raised is kept there
) = range(16)

#: The kernel is to be called again, with more room.
REQUESTS = (OUTPUT_FULL, STACK_FULL, POOL_FULL, NODES_FULL)
#: Nothing that the kernel has emitted since it was called counts.
ERRORS = (
    TOO_MANY_STEPS, TOO_MANY_ROWS, TOO_MANY_SHARED, SKIP_TO_FIRST_ROW, SKIP_TARGET_ABSENT, OVERFLOW, ZERO_DIVISION,
    CONDITION_FAILED,
)  # fmt: skip
