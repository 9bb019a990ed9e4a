"""State of a bucket between micro-batches, as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from sparkcep.errors import SparkCepError
from sparkcep.exec.streaming.blobs import from_bytes, to_bytes
from sparkcep.exec.streaming.meaning import StreamMeaning

#: Of the bytes' form. Format 1, of 0.2.0, knows its query by one digest, format 2 by the parts of its meaning.
FORMAT = 2
#: The first release that wrote states as this one does. It is part of each query's meaning: a release whose engines
#: read what they have kept otherwise says its own version here, and goes on with no state of those before it.
STATE_SINCE = "0.2.0"
#: Of ``more``, what stands for a partition where a line is of a rule alone.
OF_RULE = -1
_RELEASED, _FINGERPRINT, _FORMAT, _NAMES, _MEANING = b"released", b"fingerprint", b"format", b"names", b"meaning"


@dataclass(frozen=True, slots=True)
class BucketState:
    """What a bucket keeps.

    ``rows``: prepared rows, sorted by partition and order: of each partition those before the watermark that may still
    matter, then those behind it. ``left``: a line for each partition that was begun: its keys, and where matching was
    left in it. ``released``: the watermark, in microseconds, up to which rows were matched. ``more``: of a rule set, a
    line for each rule and partition of which something is known, and one for each rule with what it has cost (its
    ``line`` is OF_RULE); ``names``: what its numbers stand for, see rule_names.py.
    """

    rows: pa.Table
    left: pa.Table
    released: int
    more: pa.Table | None = None
    names: bytes = b""

    def to_bytes(self, meaning: StreamMeaning) -> bytes:
        """As bytes. ``meaning``: of the query, which reads no state of another one."""
        metadata = {
            _RELEASED: str(self.released).encode(), _MEANING: meaning.to_bytes(), _FORMAT: str(FORMAT).encode()
        }  # fmt: skip
        tables = [self.left.replace_schema_metadata(None)]
        if self.more is not None:
            metadata[_NAMES] = self.names
            tables.append(self.more)
        # They go through Spark's state store and the checkpoint, which cost by the byte.
        return to_bytes(self.rows.replace_schema_metadata(metadata), *tables, compressed=True)


def read_state(data: bytes, meaning: StreamMeaning) -> BucketState:
    """State from its bytes.

    Raises:
        SparkCepError: CEP_STREAMING_STATE_CHANGED, of another query, and of a later release; it says what differs.
    """
    state, metadata = _opened(data)
    if why := _foreign(metadata, meaning):
        raise _changed(why)
    return state


def any_state(data: bytes) -> BucketState:
    """State of whichever query.

    Raises:
        SparkCepError: CEP_STREAMING_STATE_CHANGED, of a later release.
    """
    return _opened(data)[0]


def _opened(data: bytes) -> tuple[BucketState, Mapping[bytes, bytes]]:
    """A state of this format or of one before it, and what is said of it; raises as :func:`any_state`."""
    try:
        opened = from_bytes(data)
        metadata = opened[0].schema.metadata or {}
    except pa.ArrowInvalid:
        opened, metadata = [], {}
    written = metadata.get(_FORMAT, b"").decode()
    if not written.isdigit():
        raise _changed("what it has is no state of a pattern like this one")
    if int(written) > FORMAT:
        raise _changed(f"a later release wrote it, in format {written}, and this one reads formats up to {FORMAT}")
    rows, left, *more = opened
    return BucketState(
        rows, left, int(metadata[_RELEASED]), more[0] if more else None, metadata.get(_NAMES, b"")
    ), metadata


def _foreign(metadata: Mapping[bytes, bytes], meaning: StreamMeaning) -> str:
    """Why a state is not this query's, empty where it is."""
    if _MEANING in metadata:
        return ", ".join(meaning.differences(metadata[_MEANING]))
    known = metadata.get(_FINGERPRINT, b"").decode() in meaning.first_format
    return "" if known else "its text, input columns, buckets, time zone, ANSI mode or the SQL that prepares rows"


def _changed(why: str) -> SparkCepError:
    """The error of a state that is not read; the caller raises it."""
    return SparkCepError(
        "CEP_STREAMING_STATE_CHANGED",
        f"The checkpoint holds the state of another query: {why}.",
        hint="start the changed query with a new checkpoint location, or go on with the query as it was",
    )
