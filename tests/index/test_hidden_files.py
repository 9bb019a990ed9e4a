"""Files that are no data: attempts that were never committed are not indexed, checksums of what is kept stay."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from sparkcep import index
from sparkcep.index import catalog
from sparkcep.index.files import data_files
from sparkcep.index.storage import Location

from ..conftest import IS_CONNECT
from .helpers import create


def test_what_spark_does_not_read_is_no_data(tmp_path: Path) -> None:
    batch = tmp_path / "data" / "00000-abc"
    kept = ("part-0.parquet", "x=1/part-1.parquet")
    hidden = (
        "_temporary/0/_temporary/attempt_1/part-2.parquet", ".staging/part-3.parquet", ".part-4.parquet",
        "x=1/_part-5.parquet", "_SUCCESS", ".part-0.parquet.crc",
    )  # fmt: skip
    for name in (*kept, *hidden):
        (batch / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"n": [1, 2]}), batch / name)
    found = data_files(Location(str(tmp_path)), batch.name)
    assert [(f.path, f.rows) for f in found] == [(f"data/00000-abc/{name}", 2) for name in kept]


@pytest.mark.skipif(IS_CONNECT, reason="the client's files")
def test_vacuum_leaves_the_checksums_of_what_it_keeps(spark: SparkSession) -> None:
    create(spark, "checked_ix", [("a", 1, 0, "A"), ("a", 2, 0, "B")])
    place = catalog.locate(spark, "checked_ix").local
    assert place is not None

    def checksums() -> set[str]:
        return {str(p.relative_to(place)) for p in place.rglob(".part-*.parquet.crc")}

    before = checksums()
    assert before
    assert index.vacuum(spark, "checked_ix", 0) is not None
    assert checksums() == before
    index.drop(spark, "checked_ix")
    index.vacuum(spark, "checked_ix", 0)
    assert not checksums()
