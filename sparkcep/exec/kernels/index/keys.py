"""Bits of the key of a posting list: first type, second type, interval.

index/events.py refuses more types (CEP_TYPE_LIMIT) and more intervals (CEP_INDEX_TIME) than the bits number, so that no
number grows into another's bits.
"""

from __future__ import annotations

TYPE_BITS = 20
INTERVAL_BITS = 23
