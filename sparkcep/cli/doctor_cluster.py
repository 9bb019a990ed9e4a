"""`sparkcep doctor --cluster`: what a session's executors lack for pattern queries, each with its fix."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sparkcep.cli.doctor import Finding

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: What a matching Python worker takes beside its rows, by core, in MiB: the range that was measured.
PYTHON_MEMORY = (250, 850)
#: Spark's own defaults of a container's memory beside the heap: a share, and at least so many MiB.
OVERHEAD, LEAST_OVERHEAD = 0.1, 384
#: Executors that are listed one by one.
MOST = 50
_INSTALL = (
    "pip install {}sparkcep=={} on every node, or ship an environment: --archives env.tar.gz#environment with "
    "spark.pyspark.python=./environment/bin/python"
)


def cluster_findings(spark: SparkSession) -> Iterator[Finding]:
    """All checks of a session's cluster; a pattern query at the end, unless something fatal came before."""
    from sparkcep.spark.executors import known_cores, on_executors
    from sparkcep.spark.shipping import versions

    version, sources = versions()
    yield Finding(
        "Cluster", f"Spark {spark.version}, {_setting(spark, 'spark.master', 'a master that it does not tell')}"
    )
    try:
        executors = on_executors(spark, looker())
    except Exception as error:  # whatever a cluster has against a Python task
        yield Finding("Executors", _first_line(error), "no Python task ran: see the executors' logs", True)
        return
    fatal = False
    yield Finding("Driver", f"sparkcep {version}, Python {sys.version.split()[0]}; {len(executors)} executors answer")
    for executor in executors[:MOST]:
        found = executor_finding(executor, version, sources)
        fatal |= found.fatal
        yield found
        if executor["cache"]:
            yield Finding(f"  kernels on {executor['host']}", *executor["cache"])
    if len(executors) > MOST:
        others = [executor_finding(e, version, sources) for e in executors[MOST:]]
        bad = [f for f in others if f.fatal]
        fatal |= bool(bad)
        yield Finding(
            "Other executors", f"{len(others) - len(bad)} of {len(others)} are well", bad[0].fix if bad else ""
        )
    cores = -(-(known_cores(spark) or 1) // len(executors))
    yield memory_finding(lambda key, default: _setting(spark, key, default), cores)
    yield _index_path(spark, fatal)
    if not fatal:
        yield _query(spark)


def looker() -> Callable[[], Mapping[str, Any]]:
    """What looks around in a worker; it must run where the package is not."""

    def look() -> Mapping[str, Any]:
        import importlib
        import importlib.metadata
        import sys

        def version(package: str) -> str | None:
            try:
                return importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                return None

        found: dict[str, Any] = {"python": sys.version.split()[0], "executable": sys.executable, "cache": None}
        names = ("numba", "numpy", "pyarrow", "sqlglot", "deltalake", "pandas", "protobuf")
        found["packages"] = {p: version(p) for p in names}
        found["version"] = found["sources"] = found["broken"] = None
        try:
            import sparkcep

            found["version"] = getattr(sparkcep, "__version__", None)
            importlib.import_module("sparkcep.exec.operator")
            from sparkcep.cli.doctor import kernels
            from sparkcep.spark.shipping import stamp

            found["sources"] = stamp()
            said = kernels()
            found["cache"] = [said.text, said.fix]
        except ImportError as error:
            found["broken"] = str(error)
        found["limit"] = None
        for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
            try:
                with open(file) as limit:
                    text = limit.read().strip()
            except OSError:
                continue
            if text.isdigit() and int(text) < 1 << 50:
                found["limit"] = int(text)
        return found

    return look


def executor_finding(executor: Mapping[str, Any], version: str, sources: str) -> Finding:
    """What is said of one executor, from what :func:`looker` has seen there."""
    subject = f"executor on {executor['host']}"
    packages = ", ".join(f"{name} {found or 'not installed'}" for name, found in executor["packages"].items())
    own = f"sparkcep {executor['version']}" if executor["version"] else "no sparkcep"
    limit = f", at most {executor['limit'] >> 20:,} MiB of memory" if executor["limit"] else ""
    text = f"{own}, Python {executor['python']} ({executor['executable']}), {packages}{limit}"
    fix = _INSTALL.format("", version)
    if executor["broken"]:
        return Finding(subject, f"{text}; {executor['broken']}", fix, True)
    if executor["version"] != version:
        return Finding(subject, text, f"the driver has {version}: {fix}", True)
    if executor["sources"] != sources:
        # Without these options pip leaves a package of the same version as it is.
        again = _INSTALL.format("--force-reinstall --no-deps ", version)
        return Finding(subject, text, f"its source files of {version} are other ones than the driver's: {again}", True)
    if executor["packages"].get("pandas") is None:
        streams = fix.replace(f"sparkcep=={version}", f"'sparkcep[stream]=={version}'")
        return Finding(subject, text, f"patterns over streams need pandas there: {streams}")
    return Finding(subject, text)


def memory_finding(setting: Callable[[str, str], str], cores: int) -> Finding:
    """Whether a container leaves room for Python workers beside the JVM's heap.

    Args:
        cores: of an executor, where spark.executor.cores does not say.
    """
    heap = mebibytes(setting("spark.executor.memory", "1g"))
    contained = setting("spark.master", "").startswith(("yarn", "k8s"))  # where an executor has one by default
    cores = int(setting("spark.executor.cores", "1" if contained else str(cores)))
    share = float(setting("spark.executor.memoryOverheadFactor", str(OVERHEAD)))
    given = setting("spark.executor.memoryOverhead", "")
    overhead = mebibytes(given) if given else max(int(heap * share), LEAST_OVERHEAD)
    python = setting("spark.executor.pyspark.memory", "")
    room = mebibytes(python) if python else overhead
    text = f"{heap:,} MiB of heap, {room:,} MiB beside it for {cores} Python workers of {PYTHON_MEMORY[0]} to "
    text += f"{PYTHON_MEMORY[1]} MiB"
    if room >= PYTHON_MEMORY[1] * cores:
        return Finding("Executors' memory", text)
    key = "spark.executor.pyspark.memory" if python else "spark.executor.memoryOverhead"
    where = "" if python else "; standalone workers hold Python to no limit"
    return Finding("Executors' memory", text, f"--conf {key}={PYTHON_MEMORY[1] * cores}m on YARN and Kubernetes{where}")


def mebibytes(text: str) -> int:
    """Spark's sizes, where a number alone is MiB.

    >>> mebibytes("2g"), mebibytes("512"), mebibytes("1048576k")
    (2048, 512, 1024)
    """
    found = re.fullmatch(r"\s*(\d+)\s*([kmgtb]?)b?\s*", text.lower())
    if found is None:
        return 0
    scale = {"b": 1, "k": 1 << 10, "m": 1 << 20, "": 1 << 20, "g": 1 << 30, "t": 1 << 40}[found[2]]
    return int(found[1]) * scale >> 20


def _index_path(spark: SparkSession, blind: bool) -> Finding:
    """``blind``: workers cannot run what looks at storage from a Connect session."""
    from sparkcep.errors import PatternIndexError
    from sparkcep.index import catalog
    from sparkcep.index.path import check_shared, index_path
    from sparkcep.spark.plan import is_remote

    subject = "index path"
    try:
        location = index_path(spark)
        if blind and is_remote(spark):
            return Finding(subject, location.uri)
        check_shared(spark, location, location)
        indexes = catalog.all_indexes(spark)
    except PatternIndexError as error:
        return Finding(subject, error.sentence, error.hint or "see the sentence")
    shared = ", the same for all" if location.local is not None else ""
    return Finding(subject, f"{location.uri}{shared}; {len(indexes.indexes)} indexes")


def _query(spark: SparkSession) -> Finding:
    """One pattern query, matched by all executors."""
    import sparkcep

    started = time.perf_counter()
    keys = 1000
    try:
        rows = sparkcep.sql(
            spark,
            f"SELECT count(*), sum(n) FROM (SELECT id % {keys} AS k, id DIV {keys} AS n FROM range({3 * keys})) "
            "MATCH_RECOGNIZE (PARTITION BY k ORDER BY n MEASURES b.n AS n PATTERN (a b) DEFINE b AS n > a.n)",
        ).collect()
    except Exception as error:  # whatever Spark has against this cluster
        return Finding("A pattern query", _first_line(error), "fix what is listed above first", True)
    if tuple(rows[0]) != (keys, keys):
        return Finding("A pattern query", f"gave {rows}", "please report this as a bug", True)
    return Finding("A pattern query", f"right, {time.perf_counter() - started:.1f} s")


def _first_line(error: Exception) -> str:
    from sparkcep.errors import error_behind

    own = error_behind(error)
    return own.sentence if own is not None else (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def _setting(spark: SparkSession, key: str, default: str) -> str:
    try:
        return str(spark.conf.get(key, default))
    except Exception:  # locked-down sessions refuse to read some keys
        return default
