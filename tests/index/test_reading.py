"""Files that are read in another way are other events: an index of them is left alone, and EXPLAIN says why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import sparkcep
from sparkcep import SparkCepError, index
from sparkcep.index import sources
from sparkcep.index.reading import _COMMON, SETTINGS, difference
from sparkcep.settings import INDEX

from ..conftest import IS_CONNECT, every

ZONE = "spark.sql.session.timeZone"
NAME = "read_ix"


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """A place for one log, whose index is gone afterwards."""
    yield tmp_path
    spark.conf.set(ZONE, "UTC")
    if index.drop(spark, NAME, if_exists=True):
        index.vacuum(spark, NAME, 0)
    for table in ("read_one", "read_other"):
        spark.sql(f"DROP TABLE IF EXISTS {table}")


def rows(spark: SparkSession, relation: str, enabled: bool = True) -> list[tuple[Any, ...]]:
    spark.conf.set(INDEX.key, str(enabled).lower())
    try:
        return sorted(tuple(r) for r in spark.sql(block(relation)).collect())
    finally:
        spark.conf.unset(INDEX.key)


def block(relation: str) -> str:
    return (
        f"FROM {relation} PARTITION BY k ORDER BY t EVENT TYPE e PATTERN SEQ(A x, B y) MATCHES FIRST "
        "RETURN k, CAST(unix_micros(x.t) AS STRING) AS low, CAST(unix_micros(y.t) AS STRING) AS high"
    )


def check_unused(spark: SparkSession, relation: str, reason: str) -> None:
    """A query answers as without the index, and says why."""
    assert rows(spark, relation) == rows(spark, relation, enabled=False)
    told = sparkcep.explain(spark, block(relation))
    assert f"{NAME} not used, " in told, told
    assert reason in told, told


def check_used(spark: SparkSession, relation: str) -> None:
    assert rows(spark, relation) == rows(spark, relation, enabled=False)
    assert f"{NAME} (siesta), snapshot" in sparkcep.explain(spark, block(relation))


def create(spark: SparkSession, source: str) -> None:
    index.create(spark, NAME, source, case="k", time="t", event="e")


#: One case matches; the other keeps candidates few enough to be worth looking up.
EVENTS = (("a", 1, "A"), ("a", 3, "B"), ("b", 1, "B"))
CSV = "".join(f"{k},2020-03-04 0{h}:00:00,{e}\n" for k, h, e in EVENTS)
JSON = "".join(f'{{"k": "{k}", "t": "2020-03-04 0{h}:00:00", "e": "{e}"}}\n' for k, h, e in EVENTS)
XML = "<log>" + CSV.replace("a,", "<row><k>a</k><t>").replace("b,", "<row><k>b</k><t>").replace(
    ",A", "</t><e>A</e></row>").replace(",B", "</t><e>B</e></row>") + "</log>"  # fmt: skip


@pytest.mark.parametrize(
    ("format_", "text", "options"),
    every(3, [("csv", CSV, ""), ("json", JSON, ""), ("xml", XML, ", rowTag 'row'")]),
    ids=["csv", "json", "xml"],
)
def test_times_in_text_are_of_the_sessions_zone(
    spark: SparkSession, folder: Path, format_: str, text: str, options: str
) -> None:
    (folder / "log").write_text(text)
    spark.sql(
        f"CREATE TABLE read_one (k STRING, t TIMESTAMP, e STRING) USING {format_} OPTIONS (path '{folder}'{options})"
    )
    create(spark, "read_one")
    check_used(spark, "read_one")
    spark.conf.set(ZONE, "Asia/Tokyo")
    check_unused(spark, "read_one", "spark.sql.session.timeZone is Asia/Tokyo, indexed with UTC")
    done = index.refresh(spark, NAME)
    assert done.action == "built"
    assert "spark.sql.session.timeZone is Asia/Tokyo, indexed with UTC" in done.reason
    check_used(spark, "read_one")
    spark.conf.set(ZONE, "UTC")
    check_unused(spark, "read_one", "spark.sql.session.timeZone is UTC, indexed with Asia/Tokyo")


def test_times_with_a_zone_of_their_own(spark: SparkSession, folder: Path) -> None:
    (folder / "log").write_text(CSV)
    spark.sql(
        "CREATE TABLE read_one (k STRING, t TIMESTAMP, e STRING) USING csv "
        f"OPTIONS (path '{folder}', timeZone 'Asia/Tokyo')"
    )
    create(spark, "read_one")
    spark.conf.set(ZONE, "Europe/Paris")
    check_used(spark, "read_one")


@pytest.mark.full
@pytest.mark.parametrize(
    ("text", "one", "other", "reason"),
    [
        (
            CSV.replace("2020-03-04", "03/04/2020"),
            "(k STRING, t TIMESTAMP, e STRING) USING csv OPTIONS (timestampFormat 'MM/dd/yyyy HH:mm:ss', path '{}')",
            "(k STRING, t TIMESTAMP, e STRING) USING csv OPTIONS (timestampFormat 'dd/MM/yyyy HH:mm:ss', path '{}')",
            "option timestampformat is dd/MM/yyyy HH:mm:ss, indexed with MM/dd/yyyy HH:mm:ss",
        ),
        (
            "A,2020-03-04 01:00:00,A\nA,2020-03-04 03:00:00,B\nB,2020-03-04 03:00:00,A\n",
            "(k STRING, t TIMESTAMP, e STRING) USING csv OPTIONS (path '{}')",
            "(e STRING, t TIMESTAMP, k STRING) USING csv OPTIONS (path '{}')",
            "its columns are e, t, k, indexed as k, t, e",
        ),
        (
            CSV,
            "(k STRING, t TIMESTAMP, e STRING) USING csv OPTIONS (path '{}')",
            "(k STRING, t TIMESTAMP, e STRING) USING csv OPTIONS (path '{}', header 'true')",
            "option header is true, indexed with not set",
        ),
        (
            CSV.replace(",B", ",-"),
            "(k STRING, t TIMESTAMP, e STRING) USING csv OPTIONS (path '{}', nullValue '#')",
            "(k STRING, t TIMESTAMP, e STRING DEFAULT 'x') USING csv OPTIONS (path '{}', nullValue '#')",
            "column e is string with other properties, indexed as string",
        ),
    ],
    ids=["formats", "columns", "header", "defaults"],
)
def test_tables_over_the_same_files(
    spark: SparkSession, folder: Path, text: str, one: str, other: str, reason: str
) -> None:
    (folder / "log").write_text(text)
    for name, how in (("read_one", one), ("read_other", other)):
        spark.sql(f"CREATE TABLE {name} {how.format(folder)}")
    create(spark, "read_one")
    check_used(spark, "read_one")
    # Where files are all that a session can tell of a relation without a plan, a name decides.
    if not IS_CONNECT:
        check_unused(spark, "read_other", reason)
    assert rows(spark, "read_other") == rows(spark, "read_other", enabled=False)


@pytest.mark.full
@pytest.mark.parametrize(
    ("key", "value"), [("spark.sql.legacy.timeParserPolicy", "LEGACY"), ("spark.sql.caseSensitive", "true")]
)
def test_settings_of_the_parser(spark: SparkSession, folder: Path, key: str, value: str) -> None:
    (folder / "log").write_text(CSV)
    spark.sql(f"CREATE TABLE read_one (k STRING, t TIMESTAMP, e STRING) USING csv OPTIONS (path '{folder}')")
    create(spark, "read_one")
    spark.conf.set(key, value)
    try:
        check_unused(spark, "read_one", f"{key} is {value}, indexed with Spark's own")
    finally:
        spark.conf.unset(key)
    check_used(spark, "read_one")


def test_rows_that_go_by_the_columns_asked_for(spark: SparkSession, folder: Path) -> None:
    (folder / "log").write_text(CSV.replace("A\n", "A,x\n").replace("B\n", "B,1\n"))
    columns = "(k STRING, t TIMESTAMP, e STRING, v INT)"
    spark.sql(f"CREATE TABLE read_one {columns} USING csv OPTIONS (path '{folder}', mode 'DROPMALFORMED')")
    with pytest.raises(SparkCepError, match="Which rows read_one has depends on the columns") as raised:
        index.create(spark, NAME, "read_one", case="k", time="t", event="e", include=["v"])
    assert raised.value.error_class == "CEP_INDEX_SOURCE"


def write_parquet(path: Path, **more: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    times = pa.array([1, 2, 3], pa.timestamp("us", tz="UTC"))
    pq.write_table(pa.table({"k": ["a", "a", "b"], "t": times, "e": ["A", "B", "B"], **more}), path)


def test_parquet_knows_its_times(spark: SparkSession, folder: Path) -> None:
    """Zone and order of columns change nothing; a setting of its reader may."""
    write_parquet(folder / "log.parquet")
    create(spark, f"parquet.`{folder}`")
    spark.conf.set(ZONE, "Asia/Tokyo")
    check_used(spark, f"parquet.`{folder}`")
    spark.conf.set("spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY")
    try:
        check_unused(spark, f"parquet.`{folder}`", "spark.sql.parquet.datetimeRebaseModeInRead is LEGACY")
    finally:
        spark.conf.unset("spark.sql.parquet.datetimeRebaseModeInRead")


@pytest.mark.full
@pytest.mark.skipif(IS_CONNECT, reason="plans are not shown; docs/reliability.md says what is missing")
def test_partitions_that_change_places(spark: SparkSession, folder: Path) -> None:
    for place, cases in (("A", ["a"]), ("B", ["a", "b"]), ("C", ["a"])):
        times = pa.array([ord(place)] * len(cases), pa.timestamp("us", tz="UTC"))
        (folder / place).mkdir()
        pq.write_table(pa.table({"k": cases, "t": times}), folder / place / "log.parquet")
    spark.sql("CREATE TABLE read_one (k STRING, t TIMESTAMP, e STRING) USING parquet PARTITIONED BY (e)")
    for k in ("A", "B"):
        spark.sql(f"ALTER TABLE read_one ADD PARTITION (e = '{k}') LOCATION '{folder / k}'")
    create(spark, "read_one")
    check_used(spark, "read_one")
    spark.sql(f"ALTER TABLE read_one ADD PARTITION (e = 'C') LOCATION '{folder / 'C'}'")
    assert index.refresh(spark, NAME).action == "extended"
    for k, place in (("A", "B"), ("B", "A")):
        spark.sql(f"ALTER TABLE read_one PARTITION (e = '{k}') SET LOCATION '{folder / place}'")
    check_unused(spark, "read_one", "is the place of another partition")


@pytest.mark.full
def test_partitions_of_times_are_of_the_sessions_zone(spark: SparkSession, folder: Path) -> None:
    for k, hour in (("A", 1), ("B", 3)):
        place = folder / f"t=2020-03-04 0{hour}%3A00%3A00"
        place.mkdir()
        pq.write_table(pa.table({"k": ["a", k], "e": [k, k]}), place / "log.parquet")
    create(spark, f"parquet.`{folder}`")
    check_used(spark, f"parquet.`{folder}`")
    spark.conf.set(ZONE, "Asia/Tokyo")
    check_unused(spark, f"parquet.`{folder}`", "spark.sql.session.timeZone is Asia/Tokyo, indexed with UTC")


@pytest.mark.full
@pytest.mark.skipif(IS_CONNECT, reason="replaces a function that runs in a task there")
@pytest.mark.parametrize(("format_", "text"), [("parquet", ""), ("csv", CSV)])
def test_an_index_of_an_earlier_release(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch, format_: str, text: str
) -> None:
    """It did not keep how its source was read: Parquet is believed, text is not, until the next refresh."""
    columns = "(k STRING, t TIMESTAMP, e STRING)"
    if text:
        (folder / "log").write_text(text)
    else:
        write_parquet(folder / "log.parquet")
    spark.sql(f"CREATE TABLE read_one {columns} USING {format_} OPTIONS (path '{folder}')")
    new = sources.files_state
    old: Callable[..., Any] = lambda *args: {k: v for k, v in new(*args).items() if k != "reading"}  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(sources, "files_state", old)
        create(spark, "read_one")
    if text:
        check_unused(spark, "read_one", "the index does not say how its source was read")
        assert index.refresh(spark, NAME).action == "built"
    check_used(spark, "read_one")


def test_readings_differ() -> None:
    plain = {"format": "csv", "options": {}, "columns": [["a", "int", {}]], "settings": {}, "partitions": {}}
    assert difference(plain, plain) == ""
    assert difference(plain, plain | {"format": "json"}) == "its format is json, indexed as csv"
    assert difference(plain, plain | {"columns": [["a", "string", {}]]}) == "column a is string, indexed as int"
    assert difference(plain, None) == "how the source is read is unknown"
    wider = {"columns": [["b", "int", {}], ["a", "int", {}]]}
    assert difference(plain, plain | wider) == "its columns are b, a, indexed as a"
    stored = plain | {"format": "parquet"}
    assert difference(stored, stored | wider) == ""
    assert difference(None, stored | wider) == ""
    assert difference(None, stored | {"options": {"x": "y"}}) == "the index does not say how its source was read"


@pytest.mark.skipif(IS_CONNECT, reason="the same Spark")
def test_sparks_settings_have_the_defaults_that_are_compared(spark: SparkSession) -> None:
    """A key or default that another Spark has is to be looked at: what it changes, an index has to know."""
    for key, default in {**_COMMON, **{k: v for own in SETTINGS.values() for k, v in own.items()}}.items():
        try:
            found = spark.conf.get(key)
        except PySparkException:  # no setting of Spark SQL: Hadoop's, or an earlier name
            assert key.startswith(("orc.", "spark.sql.legacy.")), key
            continue
        assert (found or "").lower() in (default.lower(), "none"), key
