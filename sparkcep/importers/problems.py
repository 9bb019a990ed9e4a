"""What an importer cannot say, or not exactly."""

from __future__ import annotations


class NotImported(Exception):
    """A rule that has no counterpart; the message says why."""
