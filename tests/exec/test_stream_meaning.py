"""What the state of a stream says of the query that it belongs to."""

from __future__ import annotations

import pyarrow as pa
import pytest

from sparkcep.errors import SparkCepError
from sparkcep.exec.streaming import state
from sparkcep.exec.streaming.blobs import to_bytes
from sparkcep.exec.streaming.meaning import StreamMeaning, digest
from sparkcep.exec.streaming.state import BucketState, read_state

ROWS = pa.table({"x": [1, 2]})
PARTS = {
    "the pattern's text": digest("PATTERN"),
    "column v": "int",
    "the session's time zone": "UTC",
    "ANSI mode": "on",
}
MEANING = StreamMeaning(PARTS, ("0123", "89ab"))


def refused(data: bytes, meaning: StreamMeaning) -> str:
    """What the error says."""
    with pytest.raises(SparkCepError) as caught:
        read_state(data, meaning)
    assert caught.value.error_class == "CEP_STREAMING_STATE_CHANGED"
    return str(caught.value)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"the pattern's text": digest("another")}, "the pattern's text is another."),
        ({"column v": "bigint"}, "column v is bigint and was int."),
        ({"ANSI mode": "off", "column v": "bigint"}, "column v is bigint and was int, ANSI mode is off and was on."),
        ({"the engine": "0.9.0"}, "the engine is 0.9.0 and was unknown."),
        (
            {name: digest(name) for name in PARTS},
            "the pattern's text is another, column v is another, the session's time zone is another, 1 more differ.",
        ),
    ],
)
def test_what_differs_is_named(changed: dict[str, str], said: str) -> None:
    data = BucketState(ROWS, ROWS, 7).to_bytes(MEANING)
    assert f"another query: {said}" in refused(data, StreamMeaning({**PARTS, **changed}))


def test_a_column_of_another_case() -> None:
    data = BucketState(ROWS, ROWS, 7).to_bytes(MEANING)
    rest = {name: value for name, value in PARTS.items() if name != "column v"}
    assert "another query: column V was column v." in refused(data, StreamMeaning({**rest, "column V": "int"}))


@pytest.mark.parametrize("columns", [{}, {"column v": "int", "column w": "string"}])
def test_columns_that_nothing_reads_may_come_and_go(columns: dict[str, str]) -> None:
    data = BucketState(ROWS, ROWS, 7).to_bytes(MEANING)
    rest = {name: value for name, value in PARTS.items() if name != "column v"}
    assert read_state(data, StreamMeaning({**rest, **columns})) == BucketState(ROWS, ROWS, 7)


def test_a_part_that_this_release_does_not_know() -> None:
    data = BucketState(ROWS, ROWS, 7).to_bytes(StreamMeaning({**PARTS, "the calendar": "lunar"}))
    assert "the calendar is unknown and was lunar." in refused(data, MEANING)


def test_format_1() -> None:
    """As 0.2.0 wrote it, with one digest."""
    metadata = {b"released": b"7", b"fingerprint": b"0123", b"format": b"1"}
    data = to_bytes(ROWS.replace_schema_metadata(metadata), ROWS)
    assert read_state(data, MEANING).released == 7
    assert "time zone, ANSI mode or the SQL" in refused(data, StreamMeaning(PARTS, ("4567",)))


def test_other_formats() -> None:
    later = to_bytes(ROWS.replace_schema_metadata({b"released": b"7", b"format": b"9"}), ROWS)
    assert f"in format 9, and this one reads formats up to {state.FORMAT}." in refused(later, MEANING)
    for data in (to_bytes(ROWS, ROWS), to_bytes(ROWS), b"nothing of the kind"):
        assert "no state of a pattern like this one." in refused(data, MEANING)
