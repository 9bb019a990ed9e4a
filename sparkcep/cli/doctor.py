"""`sparkcep doctor`: what this machine lacks for pattern queries, each with its fix."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import sparkcep
from sparkcep.errors import SparkCepError

PANDAS_LIMIT = (3,)
ARROW_MINIMUM = (18,)
PYTHON_MINIMUM = (3, 11)


@dataclass(frozen=True, slots=True)
class Finding:
    """``fix``: what to do about it; empty where all is well. ``fatal``: pattern queries do not run without it."""

    subject: str
    text: str
    fix: str = ""
    fatal: bool = False

    def line(self) -> str:
        """As doctor prints it, with what to do about it."""
        sign = "ok" if not self.fix else "MISSING" if self.fatal else "note"
        fix = f"\n{'':10}{self.fix}" if self.fix else ""
        return f"{sign:<8}  {self.subject}: {self.text}{fix}"


def _version(package: str) -> tuple[str, tuple[int, ...]] | None:
    try:
        text = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
    return text, tuple(int(n) for n in re.findall(r"\d+", text)[:2])


def python() -> Finding:
    """Its version."""
    text = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < PYTHON_MINIMUM:
        return Finding("Python", text, "use Python 3.11 or newer", True)
    return Finding("Python", text)


def spark() -> Finding:
    """Its version, whichever package brings it."""
    from sparkcep.session.machine.local import way_to_spark

    found = _version("pyspark") or _version("pyspark-client") or _version("databricks-connect")
    if found is None:
        return Finding("Spark", "not installed", way_to_spark(), True)
    text, number = found
    from sparkcep.spark.releases import TESTED, lacking

    if not TESTED[0] <= number < TESTED[1] and not _version("databricks-connect"):
        return Finding("Spark", text, "sparkcep is tested with 3.5 to 4.3: pip install 'pyspark>=3.5,<4.4'")
    # A Connect client that lacks a package cannot be imported to ask it.
    return Finding("Spark", text if is_thin() else "; ".join([text, *lacking()]))


def is_thin() -> bool:
    """Whether Spark is a Connect client alone, which starts no Java."""
    return not _version("pyspark") and bool(_version("pyspark-client") or _version("databricks-connect"))


def java() -> Finding:
    """Where it is, unless Spark is a Connect client."""
    from sparkcep.session.machine.java import ensure_java

    if is_thin():
        return Finding("Java", "not needed: Spark is a Connect client")
    try:
        return Finding("Java", ensure_java())
    except SparkCepError as error:
        return Finding("Java", error.sentence, error.hint or "", True)


def arrow() -> Finding:
    """PyArrow's version."""
    found = _version("pyarrow")
    if found is None or found[1] < ARROW_MINIMUM:
        return Finding("Arrow", found[0] if found else "not installed", "pip install 'pyarrow>=18'", True)
    try:
        importlib.import_module("pyarrow")
    except ImportError as error:  # PyArrow 26 beside the NumPy of PySpark 3.5
        return Finding("Arrow", f"{found[0]}: {error}", "pip install 'pyarrow<26', or 'numpy>=2'", True)
    return Finding("Arrow", found[0])


def pandas() -> Finding:
    """Its version, which must be below 3."""
    found = _version("pandas")
    if found is None:
        return Finding("pandas", "not installed (Spark Connect and patterns over streams need it)")
    if found[1] >= PANDAS_LIMIT:
        return Finding("pandas", found[0], "PySpark 4 does not support pandas 3: pip install 'pandas<3'")
    return Finding("pandas", found[0])


def workers() -> Finding:
    """Workers take the system Python unless told."""
    chosen = os.environ.get("PYSPARK_PYTHON")
    if is_thin():
        return Finding("Python of the workers", "the server's")
    if chosen is None:
        return Finding(
            "Python of the workers", "PYSPARK_PYTHON is not set",
            "export PYSPARK_PYTHON=$(which python) before your own code starts Spark; the command line does so itself",
        )  # fmt: skip
    return Finding("Python of the workers", chosen)


def kernels() -> Finding:
    """Where compiled kernels come from, and where those are kept that are compiled here."""
    try:
        from sparkcep.exec.kernel_cache.cache import names as names_of
        from sparkcep.exec.kernel_cache.places import places
        from sparkcep.exec.kernel_cache.report import held
        from sparkcep.session.machine.warmup import ENTRIES
    except ImportError as error:
        return Finding(
            "Kernels",
            f"{error.name} is not installed" if error.name else str(error),
            "pip install 'sparkcep[local]'",
            True,
        )
    names = names_of(ENTRIES)
    if not names:
        return Finding("Kernels", "run by Python, since Numba compiles nothing", "unset NUMBA_DISABLE_JIT")
    found = Counter[str](held(name) for name in names)
    kept = places()
    if found["none"] == 0:
        text = f"compiled for {', '.join(_WHOSE[how] for how in _WHOSE if found[how])}"
    elif found["none"] == len(names):
        text = "not compiled yet; the first pattern query of each kind does it"
    else:
        text = f"{found['none']} of {len(names)} not compiled yet; the first pattern query of each kind does it"
    because = "".join(f"; {reason}" for reason in kept.refused)
    if kept.write is None:
        return Finding(
            "Kernels", f"{text}; none can be kept, so every process compiles what is missing{because}", _KEEP if
            found["none"] else "",
        )  # fmt: skip
    text += f"; kept in {kept.write}{because}"
    # A package in a temporary folder, a checkout for example, is kept for as long as its kernels.
    beside = Path(sparkcep.__file__).parent in kept.write.parents
    if Path(tempfile.gettempdir()) in kept.write.parents and not beside:
        return Finding("Kernels", text, _KEEP)
    return Finding("Kernels", text, "sparkcep warmup does it ahead" if found["none"] else "")


#: By what :func:`held` says.
_WHOSE = {"native": "this processor", "portable": "all of its level", "shipped": "all of its level, by the package"}
_KEEP = "export NUMBA_CACHE_DIR=a folder that lasts and only you can write to, on the driver and the workers"


def settings() -> Finding:
    """Where they come from."""
    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(os.environ.get("SPARK_HOME", ""), "conf")
    found = Path(folder, "spark-defaults.conf")
    if found.is_file():
        lines = [line.split()[0] for line in found.read_text().splitlines() if line.startswith("spark.sparkcep.")]
        return Finding("Settings", f"{len(lines)} keys spark.sparkcep.* in {found}")
    return Finding("Settings", "Spark's and sparkcep's defaults (spark-defaults.conf of the sources lists all keys)")


def a_query() -> Finding:
    """One pattern query from end to end."""
    from sparkcep.session.machine.local import local_session

    started = time.perf_counter()
    try:
        session = local_session("local[1]")
        rows = session.sql(
            "SELECT * FROM VALUES (1, 'a'), (2, 'b') t(ts, e) MATCH_RECOGNIZE (ORDER BY ts MEASURES b.ts AS ts "
            "PATTERN (a b) DEFINE a AS e = 'a', b AS e = 'b' AND ts > a.ts)"
        ).collect()
    except Exception as error:  # whatever Spark has against this machine
        return Finding("A pattern query", str(error).strip().splitlines()[0], "fix what is listed above first", True)
    if [r.ts for r in rows] != [2]:
        return Finding("A pattern query", f"gave {rows}", "please report this as a bug", True)
    return Finding("A pattern query", f"right, {time.perf_counter() - started:.1f} s with starting Spark")


CHECKS: tuple[Callable[[], Finding], ...] = (python, spark, java, arrow, pandas, workers, kernels, settings)


def findings(run: bool = True) -> Iterator[Finding]:
    """All checks in order; the last one runs a query, unless ``run`` is false or something fatal came before."""
    fatal = False
    for check in CHECKS:
        found = check()
        fatal |= found.fatal
        yield found
    if run and not fatal:
        yield (
            a_query()
            if not is_thin()
            else Finding(
                "A pattern query", "not run: sparkcep doctor --cluster --remote sc://host:port runs one on a server"
            )
        )
