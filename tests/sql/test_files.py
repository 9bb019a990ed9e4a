"""Run every case of every `.test` file; see tests/sqltest.py for their form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ..conftest import IS_CONNECT
from ..sqltest import Case, read_cases, run

#: What these say is said of engines, which know no session (or of pruning, as other files do); one kind of session is
#: enough.
ENGINES = """
block/case_table block/collapsed block/conditions block/equivalence block/event_limit block/groups block/lookalikes
block/negation block/patterns block/siesta block/strategies block/uncertainty block/windows block/worked_values
clause/aggregates clause/aggregates_define clause/alternation clause/anchors clause/conditions clause/empty_matches
clause/event_selection clause/exclusion clause/interpreted_functions clause/navigation clause/quantifiers clause/skip
clause/subset_classifier clause/traps clause/unmatched clause/within index/pruning non_answers/errors
non_answers/reasons non_answers/repairs planner/gap_elimination planner/gap_sequence planner/join_prefilter
planner/range_splitting trends/conjunction trends/granularity trends/windows trends/worked_values
""".split()
FOLDER = Path(__file__).parent
FILES = sorted(
    f for f in FOLDER.rglob("*.test") if not IS_CONNECT or str(f.relative_to(FOLDER).with_suffix("")) not in ENGINES
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.parametrize("file", FILES, ids=[f.stem for f in FILES], scope="module")


@pytest.fixture(scope="module")
def changed_settings(spark: SparkSession, file: Path) -> Iterator[dict[str, str | None]]:
    """Settings that a file's `set` cases changed, put back behind the file."""
    before: dict[str, str | None] = {}
    yield before
    for key, value in before.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)


def test_file(spark: SparkSession, file: Path, changed_settings: dict[str, str | None]) -> None:
    """All cases of a file, in order; every failure is told, not only the first."""
    failures = []
    for case in read_cases(file):
        try:
            run(spark, case, changed_settings)
        except Exception as error:
            failures.append(describe(case, error))
    assert not failures, "\n\n".join(failures)


def describe(case: Case, error: Exception) -> str:
    return f"{case.file.name}:{case.line} {case.comment}\n{case.sql}\n{type(error).__name__}: {error}"
