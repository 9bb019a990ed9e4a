"""State of a bucket between micro-batches, as bytes."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from sparkcep.errors import SparkCepError
from sparkcep.exec.streaming.blobs import from_bytes, to_bytes

#: Of the bytes' form; another one is another state.
FORMAT = 1
#: The first release that wrote states as this one does. It is part of each query's fingerprint: a release whose engines
#: read what they have kept otherwise says its own version here, and goes on with no state of those before it.
STATE_SINCE = "0.2.0"
_RELEASED, _FINGERPRINT, _FORMAT, _NAMES = b"released", b"fingerprint", b"format", b"names"


@dataclass(frozen=True, slots=True)
class BucketState:
    """What a bucket keeps.

    ``rows``: prepared rows, sorted by partition and order: of each partition those before the watermark that may still
    matter, then those behind it. ``left``: a line for each partition that was begun: its keys, and where matching was
    left in it. ``released``: the watermark, in microseconds, up to which rows were matched. ``more``: of a rule set, a
    line for each rule and partition of which something is known; ``names``: what its numbers stand for, see
    rule_names.py.
    """

    rows: pa.Table
    left: pa.Table
    released: int
    more: pa.Table | None = None
    names: bytes = b""

    def to_bytes(self, fingerprint: str) -> bytes:
        """As bytes. ``fingerprint``: of the query, which reads no state of another one."""
        metadata = {
            _RELEASED: str(self.released).encode(), _FINGERPRINT: fingerprint.encode(), _FORMAT: str(FORMAT).encode()
        }  # fmt: skip
        tables = [self.left.replace_schema_metadata(None)]
        if self.more is not None:
            metadata[_NAMES] = self.names
            tables.append(self.more)
        return to_bytes(self.rows.replace_schema_metadata(metadata), *tables)


def read_state(data: bytes, fingerprint: str, tables: int = 2) -> BucketState:
    """State from its bytes. ``tables``: 3 of a rule set, of anything else 2.

    Raises:
        SparkCepError: CEP_STREAMING_STATE_CHANGED, of another query, another number of buckets or another release.
    """
    try:
        rows, left, *more = from_bytes(data, tables)
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
    return BucketState(rows, left, int(found[_RELEASED]), more[0] if more else None, found.get(_NAMES, b""))
