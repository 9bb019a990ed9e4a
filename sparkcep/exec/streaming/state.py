"""State of a bucket between micro-batches, as bytes."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from sparkcep.errors import SparkCepError
from sparkcep.exec.streaming.blobs import from_bytes, to_bytes

#: Of the bytes' form; another one is another state.
FORMAT = 1
_RELEASED, _FINGERPRINT, _FORMAT = b"released", b"fingerprint", b"format"


@dataclass(frozen=True, slots=True)
class BucketState:
    """What a bucket keeps.

    ``rows``: prepared rows, sorted by partition and order: of each partition those before the watermark that may still
    matter, then those behind it. ``left``: a line for each partition that was begun: its keys, and where matching was
    left in it. ``released``: the watermark, in microseconds, up to which rows were matched.
    """

    rows: pa.Table
    left: pa.Table
    released: int

    def to_bytes(self, fingerprint: str) -> bytes:
        """As bytes. ``fingerprint``: of the query, which reads no state of another one."""
        metadata = {
            _RELEASED: str(self.released).encode(), _FINGERPRINT: fingerprint.encode(), _FORMAT: str(FORMAT).encode()
        }  # fmt: skip
        return to_bytes(self.rows.replace_schema_metadata(metadata), self.left.replace_schema_metadata(None))


def read_state(data: bytes, fingerprint: str) -> BucketState:
    """State from its bytes.

    Raises:
        SparkCepError: CEP_STREAMING_STATE_CHANGED, of another query, another number of buckets or another release.
    """
    try:
        rows, left = from_bytes(data, 2)
        found = rows.schema.metadata or {}
    except pa.ArrowInvalid:
        found = {}
    if found.get(_FORMAT) != str(FORMAT).encode() or found.get(_FINGERPRINT) != fingerprint.encode():
        raise SparkCepError(
            "CEP_STREAMING_STATE_CHANGED",
            "The checkpoint holds the state of another query, another number of buckets or another release.",
            hint="start the changed query with a new checkpoint location, or go on with the query as it was; "
            "nothing in the checkpoint was changed",
        )
    return BucketState(rows, left, int(found[_RELEASED]))
