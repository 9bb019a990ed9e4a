"""Compile what a query needs while Spark plans it, starts its job and reads: where the driver is the workers' machine.

The workers find the kernels in the cache, or wait for them: a kernel is compiled by one process at a time.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterable

from pyspark.sql import SparkSession

from sparkcep.exec.kernel_cache.cache import names
from sparkcep.exec.kernel_cache.places import places
from sparkcep.exec.kernel_cache.report import held
from sparkcep.exec.warm import GROUPS, PARTS
from sparkcep.spark_plan import is_remote

#: Groups that are compiled, or on their way.
_seen: set[str] = set()


def compile_ahead(spark: SparkSession, groups: Iterable[str]) -> list[subprocess.Popen[bytes]]:
    """Start a process for each group of kernels that nothing on this machine holds compiled; they end with this one.

    Args:
        groups: names in `exec.warm.GROUPS`.
    """
    missing = []
    for name in groups:
        if name not in _seen:
            _seen.add(name)
            if any(held(kernel) == "none" for kernel in names(GROUPS[name])):
                missing.append(name)
    if not missing or places().write is None or not _is_local(spark):
        return []
    # Modules are looked for where this process does: a notebook or script may have extended its path.
    try:
        path = os.pathsep.join(p or os.getcwd() for p in sys.path)
    except OSError:  # the working directory was deleted, so that nothing is found there
        path = os.pathsep.join(filter(None, sys.path))
    environment = os.environ | {"PYTHONPATH": path, "PYTHONSAFEPATH": "1"}
    started = []
    for name in missing:
        with contextlib.suppress(OSError):  # the workers compile, then
            process = subprocess.Popen(
                [sys.executable, "-m", "sparkcep.session.ahead", name], env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            atexit.register(process.kill)
            threading.Thread(target=process.wait, daemon=True).start()  # so that none is left as a zombie
            started.append(process)
    return started


def _is_local(spark: SparkSession) -> bool:
    return not is_remote(spark) and str(spark.conf.get("spark.master", "")).startswith("local")


if __name__ == "__main__":
    PARTS[sys.argv[1]]()
