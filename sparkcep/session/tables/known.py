"""Pattern tables that a session may name, without loading anything that only those need who have some."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

from sparkcep.settings import INDEX_PATH
from sparkcep.spark.plan import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
#: Below the path of the indexes; no index can have this name.
DIRECTORY = "pattern-tables"
#: Of each session the names of pattern tables, with the newest commit that its view was made of; empty: none was made.
_KNOWN: WeakKeyDictionary[SparkSession, dict[str, str]] = WeakKeyDictionary()


def known(spark: SparkSession) -> dict[str, str]:
    """Names that the session has seen, or that were there when it first ran a statement, as far as that can be told
    for nothing; others are looked for where Spark misses them."""
    if spark not in _KNOWN:
        _KNOWN[spark] = {}
        path = "://" if is_remote(spark) else str(spark.conf.get(INDEX_PATH.key, INDEX_PATH.default))
        with suppress(OSError):
            if "://" not in path.removeprefix("file://"):
                names = os.listdir(os.path.join(path.removeprefix("file://"), DIRECTORY))
                _KNOWN[spark] = dict.fromkeys(names, "")
    return _KNOWN[spark]


def with_tables(spark: SparkSession, text: str, run: Callable[[str], T]) -> T:
    """Run a statement that may name pattern tables, which are views of their newest versions by then."""
    from pyspark.errors import AnalysisException

    missed: set[str] = set()
    while True:
        named = text
        if tables := known(spark):
            words = set(re.findall(r"\w+", text.lower()))
            if names := [name for name in tables if words.issuperset(name.split("."))]:
                from sparkcep.session.tables.names import with_views

                named = with_views(spark, text, names)
        try:
            return run(named)
        except AnalysisException as error:
            from sparkcep.session.tables.names import show_missing

            name = show_missing(spark, error)
            if not name or name in missed:
                raise
            missed.add(name)
