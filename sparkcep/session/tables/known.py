"""Pattern tables that a session may name, without loading anything that only those need who have some."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from sparkcep.settings import INDEX_PATH
from sparkcep.spark.plan import is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
