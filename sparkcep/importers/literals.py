"""SQL literals as a person would write them."""

from __future__ import annotations

from sparkcep.query import in_backticks
from sparkcep.query import plain_literal as escaped_literal


def string(text: str) -> str:
    r"""A string; with backslashes as r'...', where that can be.

    >>> print(string("it's"), string("C:\\a"), string("C:\\"))
    'it\'s' r'C:\a' 'C:\\'
    """
    if "\\" in text and not text.endswith("\\") and "\n" not in text:
        for quote in "'\"":
            if quote not in text:
                return f"r{quote}{text}{quote}"
    return escaped_literal(text)


def literal(value: str | float | bool | None) -> str:
    """Any value."""
    if isinstance(value, str):
        return string(value)
    return "NULL" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def name(text: str) -> str:
    """A name, in backticks where it is no plain one."""
    return text if text.isascii() and text.isidentifier() else in_backticks(text)
