"""Kernel codes of a query's modes, and the errors behind a kernel's statuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sparkcep.errors import LimitError, SparkCepError
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.kernels.rows import rows as kernel
from sparkcep.exec.kernels.rows.output import LAST_ROW, MAPPED_ROWS, SHOWN_ROWS
from sparkcep.exec.kernels.runs.selections import ANY, BY_STEP, NEXT, STRICT
from sparkcep.exec.kernels.statuses import (
    OK,
    OVERFLOW,
    SKIP_TARGET_ABSENT,
    SKIP_TO_FIRST_ROW,
    TOO_MANY_ROWS,
    TOO_MANY_STEPS,
    ZERO_DIVISION,
)
from sparkcep.expr.numbers import DivisionByZero, Overflow
from sparkcep.query import RowsPerMatch, Selection, SkipMode
from sparkcep.settings import LIMIT_EVENTS, LIMIT_MATCHES, LIMIT_REPAIR, LIMIT_SHARED, LIMIT_STEPS, RANGE_SPLITTING

#: What makes fewer matches of a clause.
CLAUSE_HINT = "use AFTER MATCH SKIP PAST LAST ROW, WITHIN or ONE ROW PER MATCH, or raise the limit"

SELECTIONS = {Selection.STRICT: STRICT, Selection.NEXT: NEXT, Selection.ANY: ANY, Selection.BY_STEP: BY_STEP}
SKIPS = {
    SkipMode.PAST_LAST_ROW: kernel.PAST_LAST_ROW,
    SkipMode.TO_NEXT_ROW: kernel.TO_NEXT_ROW,
    SkipMode.TO_FIRST: kernel.TO_FIRST,
    SkipMode.TO_LAST: kernel.TO_LAST,
}
MODES = {
    RowsPerMatch.ONE: kernel.ONE_ROW,
    RowsPerMatch.ALL_SHOW_EMPTY: kernel.SHOW_EMPTY,
    RowsPerMatch.ALL_OMIT_EMPTY: kernel.OMIT_EMPTY,
    RowsPerMatch.ALL_WITH_UNMATCHED: kernel.WITH_UNMATCHED,
    RowsPerMatch.EACH_ROW: kernel.EACH_ROW,
}


def fewer_matches(spec: RunSpec) -> str:
    """A hint how a pattern under a strategy has fewer matches."""
    if spec.one_per_start:
        return CLAUSE_HINT
    within = "a shorter WITHIN" if spec.use_within else "WITHIN"
    if spec.collapsed:
        return f"use {within} or more conditions, or raise the limit"
    if spec.selection is Selection.ANY:
        return f"use MATCHES NON OVERLAPPING, {within} or COLLAPSED (a row for each start and end), or raise the limit"
    return f"use MATCHES NON OVERLAPPING or {within}, or raise the limit; COLLAPSED works under SKIP TILL ANY MATCH"


def emitted_rows(spec: MatchSpec | RunSpec) -> int:
    """Which rows of a match the kernel emits."""
    if spec.rows_per_match.is_all:
        return SHOWN_ROWS
    return MAPPED_ROWS if spec.every_row else LAST_ROW


#: What conditions raise on values that they cannot handle.
CONDITION_FAILURES = (TypeError, ValueError, OverflowError)


def raise_status(status: int, spec: MatchSpec | RunSpec, hint: str = CLAUSE_HINT) -> None:
    """Raise the error behind one of kernels.statuses.ERRORS; nothing is raised for OK.

    Args:
        spec: whose limits and skip target the message names. hint: what makes fewer matches.

    Raises:
        LimitError: CEP_STEP_LIMIT, CEP_MATCH_LIMIT.
        SparkCepError: CEP_SKIP_TO_FIRST_ROW, CEP_SKIP_TARGET_ABSENT, ARITHMETIC_OVERFLOW, DIVIDE_BY_ZERO.
    """
    if status == OK:
        return
    if status == TOO_MANY_STEPS:
        raise LimitError(
            "CEP_STEP_LIMIT",
            f"Matching one partition took more than {spec.limit_steps} steps ({LIMIT_STEPS.key}).",
            hint="make the conditions more selective, bound the quantifiers, add WITHIN, or raise the limit",
        )
    if status == TOO_MANY_ROWS:
        raise LimitError(
            "CEP_MATCH_LIMIT",
            f"One partition has more than {spec.limit_rows} matches or output rows ({LIMIT_MATCHES.key}).",
            hint=hint,
        )
    if status == SKIP_TO_FIRST_ROW:
        raise SparkCepError(
            "CEP_SKIP_TO_FIRST_ROW",
            f"SKIP TO {spec.skip_target} would resume at the first row of the match itself.",
            hint="skip to the next row, or to a variable that comes later",
        )
    if status == SKIP_TARGET_ABSENT:
        raise SparkCepError(
            "CEP_SKIP_TARGET_ABSENT",
            f"SKIP TO {spec.skip_target}: a match has no row of it.",
            hint="skip to a variable that every match holds; in a block, or with OR PAST LAST EVENT",
        )
    if status == OVERFLOW:
        raise _overflow()
    if status == ZERO_DIVISION:
        raise _zero_division()
    raise AssertionError(f"no error stands behind the kernel's status {status}")


def too_many_shared(limit: int) -> LimitError:
    """The error of TOO_MANY_SHARED, which only a matcher of imprecise times has."""
    return LimitError(
        "CEP_SHARED_LIMIT",
        f"More than {limit} events may each end one match in several places, which the confidence must tell apart "
        f"({LIMIT_SHARED.key}).",
        hint="narrow the intervals, use SKIP TILL ANY MATCH, add conditions, or raise the limit",
    )


def too_many_nodes(components: int, nodes: int, limit: int) -> LimitError:
    """The error of a repair that asks for room (NODES_FULL) beyond its limit."""
    return LimitError(
        "CEP_REPAIR_LIMIT",
        f"A repair of one partition would look at {nodes * components:,} places of events "
        f"({components} components, {nodes:,} events and ticks); {LIMIT_REPAIR.key} is {limit:,}.",
        hint="take a larger step, a smaller uncertainty or k, or raise the limit",
    )


def too_many_matches(count: int | None, limit: int, hint: str) -> LimitError:
    """The error of a partition whose matches were counted; None: more than 38 digits."""
    found = str(count) if count is not None else "more than 10^38"
    return LimitError(
        "CEP_MATCH_LIMIT",
        f"One partition has {found} matches; at most {limit} are enumerated ({LIMIT_MATCHES.key}).",
        hint=hint,
    )


def too_much_output() -> LimitError:
    """The error of the lists layout, which returns all that one batch of partitions gives at once."""
    return LimitError(
        "CEP_MATCH_LIMIT",
        "The matches of one batch of partitions are too large for the lists layout, which holds them all at once.",
        hint="SET spark.sparkcep.exec.layout = rows",
    )


def too_large_matches(count: int, most_bytes: int, hint: str) -> LimitError:
    """The error of a partition whose matches are few enough, but hold too many events."""
    return LimitError(
        "CEP_MATCH_LIMIT",
        f"The first {count} matches of one partition hold so many events that they take more than "
        f"{most_bytes >> 30} GiB.",
        hint=hint,
    )


def too_many_events(limit: int) -> LimitError:
    """CEP_EVENT_LIMIT, with the ``limit`` that a partition passes; the caller raises it."""
    return LimitError(
        "CEP_EVENT_LIMIT",
        f"One partition has more than {limit} events, and is matched whole ({LIMIT_EVENTS.key}).",
        hint="add keys to PARTITION BY, filter the input, or raise the limit where the executors' memory allows",
    )


def too_large_range(limit: int) -> LimitError:
    """The error of a range of ORDER BY keys whose rows cannot be numbered."""
    return LimitError(
        "CEP_EVENT_LIMIT",
        f"One range of a partition has more than {limit} events.",
        hint=f"add keys to PARTITION BY, filter the input, or SET {RANGE_SPLITTING.key} = false",
    )


def _overflow() -> SparkCepError:
    return SparkCepError(
        "ARITHMETIC_OVERFLOW", "A number overflowed in a condition.", hint="cast an operand to a wider type"
    )


def _zero_division() -> SparkCepError:
    return SparkCepError("DIVIDE_BY_ZERO", "Division by zero in a condition.", hint="use nullif(divisor, 0)")


@contextmanager
def interpreted() -> Iterator[None]:
    """Where the interpreter runs conditions: its failures become the errors that the kernel's statuses stand for.

    Raises:
        SparkCepError: ARITHMETIC_OVERFLOW, DIVIDE_BY_ZERO, CEP_CONDITION_FAILED.
    """
    try:
        yield
    except Overflow:
        raise _overflow() from None
    except DivisionByZero:
        raise _zero_division() from None
    except CONDITION_FAILURES as error:
        raise SparkCepError(
            "CEP_CONDITION_FAILED",
            f"A condition that depends on the match failed on a value: {error}.",
            hint="compute it as a column of the input",
        ) from None
