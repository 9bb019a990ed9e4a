"""Where indexes live, by ``spark.sparkcep.index.path``, and whether driver and executors mean the same by it."""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from sparkcep import settings
from sparkcep.errors import PatternIndexError
from sparkcep.index.claims import check_conditional_put
from sparkcep.index.object_store import has_lock, is_own_server, store_options
from sparkcep.index.storage import Location, call
from sparkcep.spark.executors import is_spread, on_executors
from sparkcep.spark.plan import is_remote

KEY = settings.INDEX_PATH.key
#: The error of a path that cannot be meant.
WRONG_PATH = "CEP_INDEX_PATH"
_SHARED = (
    f"SET {KEY} to an object store (s3a://bucket/indexes, abfss://..., gs://...) or to an absolute path that the "
    "driver and all executors share (NFS and the like)"
)


def index_path(spark: SparkSession) -> Location:
    """Where indexes live.

    Raises:
        PatternIndexError: CEP_INDEX_PATH, the path means different places to driver and executors, or is Databricks'
            own; CEP_INDEX_STORAGE_OPTION.
    """
    value = str(spark.conf.get(KEY, settings.INDEX_PATH.default))
    if re.match(r"(?i)dbfs:|/dbfs(/|$)", value):
        raise _wrong(
            "CEP_INDEX_PATH",
            f"{KEY} is {value}: files of DBFS cannot be created atomically, as the commits of an index need.",
            f"SET {KEY} to the object store itself (s3a://..., abfss://..., gs://...)",
        )
    if "://" in value and not value.lower().startswith("file:"):
        return Location(value, store_options(spark, value))
    path = Location(value).local
    if path is None:
        raise _wrong("CEP_INDEX_PATH", f"{KEY} is {value}, which names no directory of this machine.", _SHARED)
    if path.is_absolute():
        return Location(str(path))
    if is_spread(spark):
        raise _wrong(
            "CEP_INDEX_PATH",
            f"{KEY} is {value}, a relative path, which is another directory for the driver and for each executor.",
            _SHARED,
        )
    # Relative as Spark's own warehouse is: to where the session runs.
    return Location(call(spark, os.path.abspath, str(path)))


def _wrong(error_class: str, sentence: str, hint: str) -> PatternIndexError:
    return PatternIndexError(error_class, sentence, blame="name", hint=hint)


#: Servers that are known to have conditional put.
_probed: set[str] = set()


def check_index(spark: SparkSession, index: Location) -> None:
    """As :func:`check_shared`, of the directory that an index is in, and of its own."""
    check_shared(spark, index, Location(index.uri.rpartition("/")[0], index.options))


def check_shared(spark: SparkSession, place: Location, root: Location) -> None:
    """See to it that all executors, and the driver, see what is written into a local directory, and that a server of
    one's own that speaks S3 can be relied on.

    Costs a short Spark job on a cluster, and a second once a process for such a server.

    Args:
        place: the directory. root: where such a server is tried, all indexes' own.

    Raises:
        PatternIndexError: CEP_INDEX_PATH_NOT_SHARED, with those that do not see it; CEP_INDEX_STORAGE_OPTION.
    """
    options = place.storage_options()
    if place.local is None and is_own_server(options) and not has_lock(options) and root.uri not in _probed:
        call(spark, check_conditional_put, root)
        _probed.add(root.uri)
    if place.local is None or not is_spread(spark):
        return
    marker = place.local / f"shared-{uuid.uuid4().hex[:12]}"
    blind: list[str] = []
    call(spark, _write, str(marker))
    try:
        path = str(marker)

        def look() -> Mapping[str, Any]:
            import os

            return {"sees": os.path.exists(path), "may": os.access(os.path.dirname(path), os.W_OK)}

        for seen in on_executors(spark, look):
            if not (seen["sees"] and seen["may"]):
                what = "cannot write there" if seen["sees"] else "does not see it"
                blind.append(f"the executor on {seen['host']} in {seen['folder']} {what}")
        # From a Connect client the marker was written by an executor; Spark's driver is asked by way of a plan.
        if is_remote(spark) and not _driver_sees(spark, path):
            blind.append("the driver does not see it")
    finally:
        with contextlib.suppress(PatternIndexError):
            call(spark, _remove, str(marker))
    if blind:
        raise not_shared(place, "; ".join(blind[:3]) + ("; and others" if len(blind) > 3 else ""))


def not_shared(index: Location, reason: str) -> PatternIndexError:
    """The error CEP_INDEX_PATH_NOT_SHARED. ``reason``: who does not see the directory."""
    return PatternIndexError(
        "CEP_INDEX_PATH_NOT_SHARED",
        f"{index.uri} is not one directory for the driver and all executors: {reason}.",
        blame="name",
        hint=_SHARED,
    )


def _write(path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("whether driver and executors share this directory\n")


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def _driver_sees(spark: SparkSession, path: str) -> bool:
    try:
        return bool(spark.read.text(f"file://{path}").inputFiles())
    except Exception as error:
        if "PATH_NOT_FOUND" in str(error):
            return False
        raise
