"""What is said of releases of Spark that lack something, by one that does not."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

from sparkcep import SparkCepError
from sparkcep.errors import PatternWarning, error_behind
from sparkcep.spark import releases
from sparkcep.spark.exceptions import condition_of, contexts, fragments, message, reason, sentence


@pytest.fixture(autouse=True)
def unchecked() -> Iterator[None]:
    releases.check_release.cache_clear()
    yield
    releases.check_release.cache_clear()


def test_a_release_that_was_tested_is_not_mentioned(monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for release in ((3, 5), (4, 0), (4, 3)):
            monkeypatch.setattr(releases, "RELEASE", release)
            releases.check_release.cache_clear()
            releases.check_release()


def test_a_newer_release_warns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "RELEASE", (4, 4))
    with pytest.warns(PatternWarning, match="was not tested with PySpark"):
        releases.check_release()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        releases.check_release()


def test_an_older_release_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "RELEASE", (3, 4))
    with pytest.raises(SparkCepError, match="too old") as raised:
        releases.check_release()
    assert raised.value.error_class == "CEP_SPARK_RELEASE"


class _Context:
    """As Spark 3.5's JVM gives it: of SQL, and without a kind."""

    def fragment(self) -> str:
        return "x + y"


class _Origin:
    def getQueryContext(self) -> list[_Context]:
        return [_Context()]


class _Early:
    """An error as PySpark 3.5 gives it."""

    desc = "[UNRESOLVED_COLUMN.WITH_SUGGESTION] There is no `x`.; line 1 pos 7;\n'Project [x]"
    _origin = _Origin()

    def getErrorClass(self) -> str:
        return "UNRESOLVED_COLUMN.WITH_SUGGESTION"

    def getMessageParameters(self) -> None:
        return None


def test_what_an_early_error_says() -> None:
    error: AnalysisException = _Early()  # type: ignore[assignment]
    assert condition_of(error) == "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    assert message(error) == _Early.desc
    assert reason(error) == "[UNRESOLVED_COLUMN.WITH_SUGGESTION] There is no `x`.; line 1 pos 7;"
    assert sentence(error) == "There is no `x`."
    assert fragments(error) == ["x + y"]


def test_contexts_of_other_errors() -> None:
    assert contexts(ValueError("no error of Spark's")) == []


@pytest.mark.parametrize(
    "text",
    [
        "[USER_RAISED_EXCEPTION] [CEP_ROW_LIMIT] Too many rows. SQLSTATE: P0001",
        "An error occurred\n: java.lang.RuntimeException: [CEP_ROW_LIMIT] Too many rows.\n\tat org.x.Y",
    ],
)
def test_errors_of_tasks_are_told_from_their_text(text: str) -> None:
    own = error_behind(RuntimeError(text))
    assert own is not None
    assert (own.error_class, own.sentence) == ("CEP_ROW_LIMIT", "Too many rows.")


def test_arrow_tables_become_rows_where_spark_takes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "RELEASE", (3, 5))
    given: list[object] = []

    class Session:
        def createDataFrame(self, *arguments: object) -> None:
            given.extend(arguments)

    releases.frame_of(Session(), pa.table({"id": pa.array([1, None], pa.int64()), "e": ["A", None]}))  # type: ignore[arg-type]
    rows, schema = given
    assert rows == [(1, "A"), (None, None)]
    assert schema.simpleString() == "struct<id:bigint,e:string>"  # type: ignore[attr-defined]
