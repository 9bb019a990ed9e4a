"""Codes of the event selection strategies."""

from __future__ import annotations

STRICT, NEXT, ANY = range(3)
