"""Codes of the event selection strategies."""

from __future__ import annotations

STRICT, NEXT, ANY, BY_STEP = range(4)
