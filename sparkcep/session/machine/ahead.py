"""Compile what a query needs while Spark plans it, starts its job and reads: where the driver is the workers' machine.

The workers find the kernels in the cache, or wait for them: a kernel is compiled by one process at a time.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import threading
from collections.abc import Callable, Iterable

from pyspark.sql import SparkSession

from sparkcep.exec.kernel_cache.called import counted
from sparkcep.exec.kernel_cache.places import places
from sparkcep.exec.warm import GROUPS, is_compiled
from sparkcep.progress import activity
from sparkcep.session.machine.compilers import Compiler
from sparkcep.spark.plan import is_remote

#: Groups that are compiled, or on their way.
_seen: set[str] = set()


def compile_ahead(spark: SparkSession, groups: Iterable[str]) -> list[subprocess.Popen[str]]:
    """Start a process for each group of kernels that nothing on this machine holds compiled; they end with this one.

    Args:
        groups: names in `exec.warm.GROUPS`.
    """
    return compile_groups(groups, lambda: _is_local(spark))


def compile_groups(groups: Iterable[str], is_local: Callable[[], bool] = lambda: True) -> list[subprocess.Popen[str]]:
    """As :func:`compile_ahead`, where no session says yet whether this machine is the workers'."""
    missing = []
    for name in groups:
        if name not in _seen:
            _seen.add(name)
            if not is_compiled(name):
                missing.append(name)
    if not missing or places().write is None or not is_local():
        return []
    started = []
    for name in missing:
        with contextlib.suppress(OSError):  # the workers compile, then
            compiler = Compiler()
            # Waited for, so that none is left as a zombie, and it is said how far it is.
            threading.Thread(target=_follow, args=(compiler, name), daemon=True).start()
            started.append(compiler.process)
    return started


def _follow(compiler: Compiler, name: str) -> None:
    with activity(f"Compiling (once on this machine) kernels `{name}`") as progress:
        compiler.compile(name, counted(progress, GROUPS[name]))
        compiler.end()


#: What tells, before Spark runs, that a statement will surely need a group of kernels.
_TELLING = (
    ("uncertain", re.compile(r"\bUNCERTAINTY\b", re.IGNORECASE)),
    ("non-answers", re.compile(r"\bEXPLAIN[ -]NON[ -]ANSWERS\b", re.IGNORECASE)),
    ("collapsed", re.compile(r"\bCOLLAPSED\b", re.IGNORECASE)),
    ("runs", re.compile(r"\bEVENT\s+SELECTION\s+SKIP\b|\bskip_till_any_match\b|\bSEQ\s*\([^)]*[+*]", re.IGNORECASE)),
    ("rows", re.compile(r"\bMATCH_RECOGNIZE\b", re.IGNORECASE)),
)


def likely_group(text: str) -> str | None:
    """The group of kernels that a statement will need as far as its words tell, before anything is planned.

    A wrong guess costs a compilation that a later query needs. None where words tell nothing: most sequences need none.
    """
    return next((name for name, telling in _TELLING if telling.search(text)), None)


def _is_local(spark: SparkSession) -> bool:
    return not is_remote(spark) and str(spark.conf.get("spark.master", "")).startswith("local")
