"""Shared set-up: Hypothesis profiles and one Spark session per process.

SPARKCEP_TEST_SESSION=connect runs the Spark tests on Spark Connect; the two session kinds cannot share a process. With
`managed` it is a classic session in which sparkcep finds locked what managed runtimes lock.
SPARKCEP_TEST_SETTINGS has more settings of the session: KEY=VALUE, with blanks in between.
SPARKCEP_TEST_CODEGEN=off lets Spark interpret expressions, and fork its Python workers from tests/daemon.py.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.session.machine.java import ensure_java
from sparkcep.spark.releases import RELEASE

from .managed import locked
from .quick import INTERPRETED, JVM_OPTIONS, PRELOADED, YOUNG_JVM

settings.register_profile(
    "ci",
    deadline=None,  # the first example compiles kernels
    derandomize=True,
    # Those that ever found something are pinned; thousands more in test-long. Where Python runs kernels it is slower.
    max_examples=20 if os.environ.get("NUMBA_DISABLE_JIT") == "1" else 75,
    # Reasons are asked of cases without a match, ranges of cases with WITHIN: many draws are passed over.
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
settings.register_profile(
    "long", settings.get_profile("ci"), derandomize=False,
    max_examples=int(os.environ.get("SPARKCEP_TEST_EXAMPLES", "10000")),
    database=DirectoryBasedExampleDatabase(".hypothesis/examples"),  # what fails is tried first the next time
)  # fmt: skip
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

#: Folders whose tests ask Spark, besides tests/sql, which chooses its cases itself.
WITH_SPARK = ("spark", "index", "cli", "docs", "pictures", "tables")

SESSION = os.environ.get("SPARKCEP_TEST_SESSION", "classic")
IS_CONNECT, IS_MANAGED = SESSION == "connect", SESSION == "managed"


def some_on_connect(cases: Sequence[Any], places: Collection[int]) -> list[Any]:
    """Parameters, of which those at some places alone run in `make test` on Spark Connect: engines know no session."""
    return some(cases, [cases[place] for place in places]) if IS_CONNECT else list(cases)


def some(cases: Iterable[Any], short: Collection[Any]) -> list[Any]:
    """Parameters, of which these alone run in `make test`: they differ from the others in what takes its time, not in
    what could break."""
    every = [(case, case if isinstance(case, tuple) else (case,)) for case in cases]
    return [case if case in short else pytest.param(*values, marks=pytest.mark.long) for case, values in every]


def every(nth: int, cases: Iterable[Any]) -> list[Any]:
    """Parameters, of which the first and each nth one after it run in `make test`, the others in `make test-full`:
    together they are a suite, of which some show whether the whole still works."""
    rows = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*row, marks=[pytest.mark.full] if n % nth else []) for n, row in enumerate(rows)]


def drawn(seeds: range) -> list[int]:
    """Seeds of random tests that take hours in all: an eighth of them in a run of `make test-long`, drawn by its SEED;
    all of them where SPARKCEP_TEST_SEED is not set."""
    seed = os.environ.get("SPARKCEP_TEST_SEED")
    return list(seeds) if seed is None else sorted(Random(seed).sample(seeds, max(len(seeds) // 8, 1)))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where tests ask Spark, `make test` runs each third of a test's parameters, and `make test-full` the others."""
    seen: Counter[tuple[Path, str]] = Counter()
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if folder in WITH_SPARK and isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            if any(map(item.get_closest_marker, ("long", "full", "compiled"))):
                continue
            test = item.path, item.originalname
            if seen[test] % 3:
                item.add_marker(pytest.mark.full)
            seen[test] += 1


# Workers take the system Python unless told.
os.environ["PYSPARK_PYTHON"] = sys.executable
# For commands that tests run as processes of their own, with a JVM each.
os.environ["SPARK_SUBMIT_OPTS"] = JVM_OPTIONS

CONFIGURATION = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",  # small data: fewer tasks, shorter tests
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "2g",
    **YOUNG_JVM,
    "spark.log.level": "OFF",  # tests provoke errors; Spark would print each with its stack
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
if RELEASE < (4, 0):  # as later releases have them by themselves
    CONFIGURATION |= {"spark.sql.ansi.enabled": "true", "spark.sql.legacy.createHiveTableByDefault": "false"}
CONFIGURATION |= dict(item.split("=", 1) for item in os.environ.get("SPARKCEP_TEST_SETTINGS", "").split())
if os.environ.get("SPARKCEP_TEST_CODEGEN") == "off":
    CONFIGURATION |= INTERPRETED | PRELOADED


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with pattern queries enabled; its warehouse is a temporary folder."""
    ensure_java()
    builder = SparkSession.builder.appName("sparkcep tests")
    for key, value in CONFIGURATION.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    builder = builder.config("spark.sparkcep.index.path", str(tmp_path_factory.mktemp("indexes")))
    session = builder.remote("local[2]").getOrCreate() if IS_CONNECT else builder.master("local[2]").getOrCreate()
    sparkcep.enable()
    with locked(type(session.range(0))) if IS_MANAGED else contextlib.nullcontext():
        yield session
    sparkcep.disable()
    session.stop()


@contextlib.contextmanager
def configured(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """With these settings; then with those of before."""
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            spark.conf.unset(key) if old is None else spark.conf.set(key, old)


@pytest.fixture
def compiler(spark: SparkSession) -> Iterator[None]:
    """Lets Spark compile expressions, as its own listTables needs, whatever SPARKCEP_TEST_CODEGEN says."""
    with configured(spark, {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}):
        yield


@pytest.fixture
def small_streams(spark: SparkSession) -> Iterator[None]:
    """Little to start for each micro-batch."""
    with configured(spark, {"spark.sql.shuffle.partitions": "2", "spark.sparkcep.streaming.buckets": "2"}):
        yield
