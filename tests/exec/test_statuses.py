"""Every kernel status has one number, and one error behind it."""

from __future__ import annotations

import pytest

from sparkcep.errors import SparkCepError
from sparkcep.exec.conditions.external import External
from sparkcep.exec.kernels import statuses
from sparkcep.exec.kernels.statuses import (
    CONDITION_FAILED,
    ERRORS,
    OK,
    OVERFLOW,
    REQUESTS,
    SKIP_TARGET_ABSENT,
    SKIP_TO_FIRST_ROW,
    TOO_MANY_ROWS,
    TOO_MANY_SHARED,
    TOO_MANY_STEPS,
    UNDECIDED,
    ZERO_DIVISION,
)
from sparkcep.exec.statuses import raise_status
from sparkcep.pattern import Variable

from .helpers import make_spec

CLASSES = {
    TOO_MANY_STEPS: ("CEP_STEP_LIMIT", "7 steps"),
    TOO_MANY_ROWS: ("CEP_MATCH_LIMIT", "5 matches"),
    SKIP_TO_FIRST_ROW: ("CEP_SKIP_TO_FIRST_ROW", "SKIP TO x would"),
    SKIP_TARGET_ABSENT: ("CEP_SKIP_TARGET_ABSENT", "SKIP TO x:"),
    OVERFLOW: ("ARITHMETIC_OVERFLOW", "overflowed"),
    ZERO_DIVISION: ("DIVIDE_BY_ZERO", "zero"),
}
SPEC = make_spec(Variable("A"), {}, limit_steps=7, limit_rows=5, skip_target="x")


def test_numbers_differ() -> None:
    numbers = [value for value in vars(statuses).values() if isinstance(value, int)]
    assert sorted(numbers) == list(range(len(numbers)))
    assert set(REQUESTS).isdisjoint(ERRORS)


@pytest.mark.parametrize("status", ERRORS)
def test_errors(status: int) -> None:
    if status in (TOO_MANY_SHARED, CONDITION_FAILED):  # a limit of one engine's spec only; what was raised is kept
        return
    expected, text = CLASSES[status]
    with pytest.raises(SparkCepError, match=text) as raised:
        raise_status(status, SPEC)
    assert raised.value.error_class == expected


def test_what_a_condition_raised() -> None:
    external = External(())
    external.failure = ValueError("not a number")
    with pytest.raises(SparkCepError, match="not a number") as raised:
        external.raise_failure(CONDITION_FAILED)
    assert raised.value.error_class == "CEP_CONDITION_FAILED"
    external.failure = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        external.raise_failure(CONDITION_FAILED)


@pytest.mark.parametrize("status", [*REQUESTS, UNDECIDED])
def test_requests_are_no_errors(status: int) -> None:
    with pytest.raises(AssertionError):
        raise_status(status, SPEC)


def test_ok() -> None:
    raise_status(OK, SPEC)
