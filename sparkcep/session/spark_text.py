"""What Spark's parser puts in the place of parts of a text before it reads it, done here before patterns are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from sparkcep.settings import flag
from sparkcep.spark.releases import joins_literals
from sparkcep.sql.lexicon import tokenize

#: Spark's ConfigReader; what stands before the colon names where to look.
_REFERENCE = re.compile(r"\$\{(?:(\w+?):)?(\S+?)\}")
_OF_SESSION = (None, "spark", "sparkconf", "hivevar", "hiveconf")


def as_spark_reads(spark: SparkSession, get: Callable[[str, str], Any], text: str) -> str:
    """A statement with the values of `${...}` (``spark.sql.variable.substitute``), with `"x"` as identifiers where
    ``spark.sql.ansi.doubleQuotedIdentifiers`` says so, and with strings as the session's release reads them.

    Args:
        get: the session's settings, see :func:`sparkcep.settings.getter`.
    """
    if "${" in text and flag(get, "spark.sql.variable.substitute", True):
        text = substituted(text, lambda key: str(spark.conf.get(key, "")))
    ansi = ("spark.sql.ansi.enabled", "spark.sql.ansi.doubleQuotedIdentifiers")
    if '"' in text and all(flag(get, key, False) for key in ansi):
        text = with_backticks(text)
    if ("''" in text or '""' in text) and joins_literals(spark):
        text = with_joined_literals(text)
    return text


def with_joined_literals(text: str) -> str:
    r"""A text in which a quote that is doubled in a string ends it and begins the next one.

    >>> with_joined_literals("SELECT 'it''s', '', 'b'")
    "SELECT 'its', '', 'b'"
    >>> with_joined_literals(r"'a\'''b'")
    "'a\\'b'"
    """
    for token in reversed(tokenize(text)):
        quote, inside = text[token.start], slice(token.start + 1, token.end - 1)
        if token.kind == "string" and quote in "'\"":
            joined = re.sub(rf"(\\.)|{quote}{quote}", lambda pair: pair[1] or "", text[inside])
            text = text[: inside.start] + joined + text[inside.stop :]
    return text


def substituted(text: str, value: Callable[[str], str], within: frozenset[str] = frozenset()) -> str:
    """A text with settings' values for `${key}`, `${spark:key}`, `${hivevar:key}` and the like; values may have such.

    What is the environment's or Java's (`${env:...}`), and what names itself, stays as it is.

    >>> substituted("b.v > ${least} AND ${env:HOME}", {"least": "${spark:most} - 1", "most": "9"}.__getitem__)
    'b.v > 9 - 1 AND ${env:HOME}'
    """

    def of(reference: re.Match[str]) -> str:
        prefix, key = reference.groups()
        if prefix not in _OF_SESSION or key in within:
            return reference[0]
        return substituted(value(key), value, within | {key})

    return _REFERENCE.sub(of, text)


def with_backticks(text: str) -> str:
    """A text whose identifiers in double quotes stand in backticks; in strings and comments these are no quotes.

    >>> with_backticks('SELECT "a b" AS "c""d" FROM t WHERE x = \\'"\\'')
    'SELECT `a b` AS `c"d` FROM t WHERE x = \\'"\\''
    """
    for token in reversed(tokenize(text)):
        if token.kind == "string" and text[token.start] == '"':
            name = text[token.start + 1 : token.end - 1].replace('""', '"').replace("`", "``")
            text = f"{text[: token.start]}`{name}`{text[token.end :]}"
    return text
