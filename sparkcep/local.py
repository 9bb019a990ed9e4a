"""A Spark session on this machine for the command line, the demo and the examples."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sparkcep.errors import SparkCepError
from sparkcep.java import ensure_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING = Path(__file__).with_name("log4j2.properties")
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Takes effect from the JVM's first line; spark.log.level alone would come after a page of warnings.
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
    "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
}


def local_session(
    master: str | None = None, remote: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """Start Spark with pattern queries enabled.

    Args:
        master: Spark master, all cores of this machine by default.
        remote: Spark Connect address (``sc://host:port``) instead of a master.
        conf: more configuration.

    Raises:
        SparkCepError: pyspark or Java is missing (CEP_SPARK_MISSING, CEP_JAVA_MISSING).
    """
    # Workers take the system Python unless told.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise SparkCepError(
            "CEP_SPARK_MISSING", "pyspark is not installed.", hint="pip install 'sparkcep[local]'"
        ) from None
    import sparkcep

    builder = SparkSession.builder.appName("sparkcep")
    values = dict(conf or {})
    if remote is None:
        ensure_java()
        builder = builder.master(master or "local[*]")
        scratch = tempfile.mkdtemp(prefix="sparkcep-warehouse-")
        values = {**_QUIET, "spark.sql.warehouse.dir": scratch, **values}
    else:
        builder = builder.remote(remote)
    for key, value in values.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    sparkcep.enable()
    return session
