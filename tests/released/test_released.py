"""What each released version has written is read, and gone on with, as though this one had written it."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep import index
from sparkcep.errors import SparkCepError, error_behind
from sparkcep.spark.releases import RELEASE

from ..conftest import IS_CONNECT, configured
from .write import CONFIGURATION, FILES, PLACE, STREAMS, WRITTEN, batch, replace, run, views, write_file

RELEASES = sorted(folder for folder in Path(__file__).parent.iterdir() if (folder / "index").is_dir())
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(
        IS_CONNECT or RELEASE < (4, 3),
        reason="Spark 4.3 wrote the checkpoints",
    ),
]


def log_of(folder: Path, count: int) -> Path:
    """The first files of the log."""
    folder.mkdir(exist_ok=True)
    for number in range(count):
        write_file(folder, number)
    return folder


@pytest.mark.parametrize("release", RELEASES, ids=lambda folder: folder.name)
def test_an_index_is_read_and_refreshed(spark: SparkSession, release: Path, tmp_path: Path) -> None:
    log = log_of(tmp_path / "log", len(FILES))
    made = {"spark.sparkcep.index.path": str(tmp_path / "made")}
    kept = {"spark.sparkcep.index.path": str(tmp_path / "kept")}
    shutil.copytree(release / "index", tmp_path / "kept")
    with configured(spark, made):
        index.create(
            spark, "released", batch(spark, log, 0), case="k", time="ts", event="e", tiebreak="id", include=["v"]
        )
        index.refresh(spark, "released", batch=batch(spark, log, 1), batch_id="1")

    def said() -> list[list[tuple[object, ...]]]:
        texts = (
            "SELECT * FROM pattern_statistics(released, 'A B C')",
            "SELECT * FROM pattern_continuations(released, 'A B')",
            "SELECT * FROM pattern_continuations(released, 'A', 'fast')",
        )
        return [sorted((tuple(row) for row in spark.sql(text).collect()), key=str) for text in texts]

    def both() -> None:
        with configured(spark, made):
            expected = said()
        with configured(spark, kept):
            assert said() == expected

    both()
    with configured(spark, kept):
        # Batches that the release has taken in are known by their names.
        index.refresh(spark, "released", batch=batch(spark, log, 1), batch_id="1")
    both()
    for number in range(WRITTEN, len(FILES)):
        for place in (made, kept):
            with configured(spark, place):
                index.refresh(spark, "released", batch=batch(spark, log, number), batch_id=str(number))
        both()
    with configured(spark, kept):
        index.optimize(spark, "released")
    both()


def test_a_later_format_is_refused_by_name(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sparkcep.index import snapshots

    shutil.copytree(RELEASES[-1] / "index", tmp_path / "kept")
    monkeypatch.setattr(snapshots, "FORMAT_VERSION", 0)  # as an earlier release has it
    with configured(spark, {"spark.sparkcep.index.path": str(tmp_path / "kept")}):
        for text in ("SELECT * FROM pattern_statistics(released, 'A B')", "REFRESH PATTERN INDEX released"):
            with pytest.raises(SparkCepError) as raised:
                spark.sql(text).collect()
            assert raised.value.error_class == "CEP_INDEX_FORMAT"
        assert spark.sql("SHOW PATTERN INDEXES").collect()[0]["kind"] == "CEP_INDEX_FORMAT"


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("release", RELEASES, ids=lambda folder: folder.name)
def test_a_stream_goes_on(spark: SparkSession, release: Path, name: str, tmp_path: Path) -> None:
    log = log_of(tmp_path / "log", len(FILES))
    shutil.copytree(release / name, tmp_path / name)
    replace(tmp_path / name, PLACE, str(tmp_path))
    with configured(spark, CONFIGURATION):
        views(spark, log)
        schema = spark.sql(STREAMS[name].format("released_log")).schema
        out = str(tmp_path / name / "out")
        before = spark.read.schema(schema).parquet(out).count()
        run(spark, STREAMS[name], tmp_path / name)
        found = [tuple(row) for row in spark.read.schema(schema).parquet(out).drop("match_number").collect()]
        rest = spark.sql(STREAMS[name].format("released_log")).drop("match_number")
        assert Counter(map(str, found)) == Counter(str(tuple(row)) for row in rest.collect())
        assert len(found) > before


def test_another_query_does_not_go_on(spark: SparkSession, tmp_path: Path) -> None:
    """The same test fails where it should."""
    log = log_of(tmp_path / "log", len(FILES))
    shutil.copytree(RELEASES[-1] / "absence", tmp_path / "absence")
    replace(tmp_path / "absence", PLACE, str(tmp_path))
    with configured(spark, CONFIGURATION):
        views(spark, log)
        with pytest.raises(Exception, match="CEP_STREAMING_STATE_CHANGED") as raised:
            run(spark, STREAMS["absence"].replace("20 seconds", "21 seconds"), tmp_path / "absence")
        own = error_behind(raised.value)
        assert own is not None and own.error_class == "CEP_STREAMING_STATE_CHANGED"
