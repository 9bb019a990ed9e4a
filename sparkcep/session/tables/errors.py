"""Errors of pattern tables; the caller raises them."""

from __future__ import annotations

from sparkcep.errors import PatternIndexError


def busy(reason: str) -> PatternIndexError:
    """CEP_PATTERN_TABLE_BUSY."""
    return PatternIndexError(
        "CEP_PATTERN_TABLE_BUSY", f"Another refresh of this pattern table is running ({reason.rstrip('.')}).",
        blame="name", hint="wait until it has ended and run this again; nothing was changed",
    )  # fmt: skip


def changed_by_others(operation: str) -> PatternIndexError:
    """CEP_PATTERN_TABLE_CHANGED, where another program has written rows."""
    return changed(f"another program has changed its rows ({operation})")


def changed(what: str, hint: str = "REFRESH PATTERN TABLE ... FULL makes it anew") -> PatternIndexError:
    """CEP_PATTERN_TABLE_CHANGED. ``what``: differs, as a clause."""
    return PatternIndexError(
        "CEP_PATTERN_TABLE_CHANGED", f"The pattern table cannot be brought up to date: {what}.", blame="name",
        hint=hint,
    )  # fmt: skip
