"""Names that generated SQL uses, and text on its way to Spark."""

from __future__ import annotations

# Names that sparkcep gives to columns of its own; a user's column may not start with it.
PREFIX = "__cep_"
LABEL = PREFIX + "label"
# How generated SQL names the relation it reads.
SOURCE = PREFIX + "source"
MATCH_NUMBER = PREFIX + "match_number"
# An event's position in its partition, from 0; row expressions of the skip strategies may name it.
POSITION = PREFIX + "position"
# What went wrong while a row's partition was matched, as text; NULL for nothing.
ERROR = PREFIX + "error"
# The window over a whole partition in order, for columns that hold a value for each of its rows.
WHOLE = PREFIX + "whole"
# The window over a partition's rows up to a row.
UP_TO = PREFIX + "up_to"
# What RETURN and HAVING of a block may read where it aggregates over trends: aggregate n, group key n, the window.
TREND_VALUE, GROUP_KEY, WINDOW_OF_GROUP = PREFIX + "t", PREFIX + "q", PREFIX + "window"
# The output column of the window.
WINDOW_COLUMN = "window"


def in_backticks(name: str) -> str:
    """A name as SQL has any name; not for text that Spark formats."""
    return "`" + name.replace("`", "``") + "`"


def quote(name: str) -> str:
    """A name in backticks, safe inside text that Spark formats (braces doubled)."""
    return escape(in_backticks(name))


def folded(name: str, case_sensitive: bool) -> str:
    """A name as Spark compares names, by ``spark.sql.caseSensitive``."""
    return name if case_sensitive else name.casefold()


def string_literal(text: str) -> str:
    """A SQL string literal, safe inside text that Spark formats (braces doubled)."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return "'" + escape(escaped) + "'"


def plain_literal(text: str) -> str:
    """A SQL string literal, in text that Spark does not format."""
    return unescape(string_literal(text))


def escape(text: str) -> str:
    """Text with its braces doubled, which Spark formats to what it was."""
    return text.replace("{", "{{").replace("}", "}}")


def unescape(text: str) -> str:
    """Undo the doubling of braces that text for Spark to format carries."""
    return text.replace("{{", "{").replace("}}", "}")
