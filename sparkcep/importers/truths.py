"""Conditions as SQL, each with whether it may be NULL: rules of other systems know true and false alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparkcep.importers.literals import string
from sparkcep.sql.text_tests import END

#: SQL, and whether it may be NULL.
Truth = tuple[str, bool]
#: Conditions that hold for all events, and for none.
ALWAYS, NEVER = "true", "false"


def joined(operator: str, parts: Sequence[Truth]) -> Truth:
    """Conditions with AND or OR between them, in parentheses."""
    neutral, decisive = (ALWAYS, NEVER) if operator == "AND" else (NEVER, ALWAYS)
    if any(text == decisive for text, _ in parts):
        return decisive, False
    kept = [part for part in parts if part[0] != neutral]
    if len(kept) < 2:
        return kept[0] if kept else (neutral, False)
    return f"({f' {operator} '.join(text for text, _ in kept)})", any(nullable for _, nullable in kept)


def negated(text: str, nullable: bool) -> Truth:
    """NOT, of which NULL is as false."""
    if text in (ALWAYS, NEVER):
        return (NEVER if text == ALWAYS else ALWAYS), False
    if nullable:
        return f"NOT coalesce({text}, false)", False
    return (f"{text.removesuffix(' IS NULL')} IS NOT NULL" if text.endswith(" IS NULL") else f"NOT {text}"), False


def one_of(items: Sequence[str]) -> str:
    """What stands behind a value that is to be one of some others."""
    return f"= {items[0]}" if len(items) == 1 else f"IN ({', '.join(items)})"


def whole_text(text: str, patterns: Iterable[str], *, ignores_case: bool) -> str:
    """A text that one of some regular expressions matches from its beginning to its end."""
    pattern = f"(?{'iu' if ignores_case else ''}s)^(?:{'|'.join(patterns)}){END}"
    return f"regexp_like({text}, {string(pattern)})"
