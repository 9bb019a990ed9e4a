"""Times that are text: read by the one format that fits, or refused with the row that does not and what to write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep.data.row_order import row_order
from sparkcep.data.times import time_reading
from sparkcep.errors import SparkCepError

from ..conftest import every
from .conftest import Run

#: Texts, the format that they are read by, and the first one as Spark then shows it. None: the column is left as it is.
READ = [
    (["01.12.2006", "2.1.2007"], "d.M.yyyy", "2006-12-01"),
    (["01.12.2006 10:05", " 2.1.2007 3:04 ", "", None], "d.M.yyyy H:mm", "2006-12-01 10:05:00"),
    (["01.12.2006 10:05:06"], "d.M.yyyy H:mm:ss", "2006-12-01 10:05:06"),
    (["01.12.2006, 10:05"], "d.M.yyyy, H:mm", "2006-12-01 10:05:00"),
    (["02.12.2006 10:05:06.25", "01.12.2006", "1.1.2007 9:00"], "d.M.yyyy[[,] H:mm[:ss[.SSSSSS]]]",
     "2006-12-02 10:05:06.25"),
    (["01/02/2006 10:05", "13/02/2006 10:05"], "d/M/yyyy H:mm", "2006-02-01 10:05:00"),
    (["01/02/2006 10:05", "02/13/2006 10:05"], "M/d/yyyy H:mm", "2006-01-02 10:05:00"),
    (["5/5/2006", "6/6/2006"], "d/M/yyyy", "2006-05-05"),
    (["1/13/2006 1:05 PM"], "M/d/yyyy h:mm a", "2006-01-13 13:05:00"),
    (["31-12-2006"], "d-M-yyyy", "2006-12-31"),
    (["01.12.06 10:05", "31.1.07 9:00"], "d.M.yy H:mm", "2006-12-01 10:05:00"),
    (["2006/12/31 10:05"], "yyyy/M/d H:mm", "2006-12-31 10:05:00"),
    (["31-Dec-2006 10:05:00"], "d-MMM-yyyy H:mm:ss", "2006-12-31 10:05:00"),
    (["March 3, 2006", "May 12, 2006"], "MMMM d, yyyy", "2006-03-03"),
    (["Mar 3, 2006 4:05 PM"], "MMM d, yyyy[[,] h:mm[:ss][ ]a]", "2006-03-03 16:05:00"),
    (["3. M\u00e4rz 2006", "12. Mai 2006", "1. Jan. 2006"], "de:d[.] MMMM[.] yyyy", "2006-03-03"),
    (["3. M\u00e4rz 2006, 14:05 Uhr"], "de:d[.] MMMM[.] yyyy[[,][' um'] H:mm[:ss]][' Uhr'][ z]",
     "2006-03-03 14:05:00"),
    (["3 ao\u00fbt 2006", "2 f\u00e9vr. 2006"], "fr:d MMMM[.] yyyy", "2006-08-03"),
    (["3 de agosto de 2006 9:10"], "es:d[ 'de'] MMMM[.][ 'de'] yyyy[[,] H:mm[:ss]]", "2006-08-03 09:10:00"),
    (["03.07.2006 10:00:00 MESZ"], "de:d.M.yyyy H:mm[:ss] z", "2006-07-03 08:00:00"),
    (["20061231T100500"], "yyyyMMdd'T'HHmmss", "2006-12-31 10:05:00"),
    (["2006-12-01", "2006-1-2"], "yyyy-M-d", "2006-12-01"),
    (["2006-12-01T10:05:06Z", "2006-12-01T10:05:06.123+02:00", "2006-12-01"], "ISO 8601", "2006-12-01 10:05:06"),
    (["2006-12-01 10:05 +0200", "2006-12-01T10:05:06.5-0130"], "yyyy-M-d['T'][ ]H:mm[:ss[.SSSSSS]][ ]XX",
     "2006-12-01 08:05:00"),
    ([20061201, 20070102], "yyyyMMdd", "2006-12-01"),
    (["2006-12-01 10:00:00,123"], "yyyy-M-d['T'][ ]H:mm:ss,SSSSSS", "2006-12-01 10:00:00.123"),
    (["31.12.2006 10:00:00,5"], "d.M.yyyy H:mm:ss,SSSSSS", "2006-12-31 10:00:00.5"),
    ([20061201100506], "yyyyMMddHHmmss", "2006-12-01 10:05:06"),
    ([1164967200, 1164967300], "seconds since 1970", "2006-12-01 10:00:00"),
    ([1164967200.25], "seconds since 1970", "2006-12-01 10:00:00.25"),
    ([1164967200000], "milliseconds since 1970", "2006-12-01 10:00:00"),
    ([1164967200000001], "microseconds since 1970", "2006-12-01 10:00:00.000001"),
    ([1164967200000001000], "nanoseconds since 1970", "2006-12-01 10:00:00.000001"),
    ([1164967200, 5], None, "1164967200"),
    ([1.5], None, "1.5"),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "format_", "first"), every(4, READ), ids=[str(r[0][0]) for r in READ])
def test_formats(texts: Sequence[str | float | None], format_: str | None, first: str, spark: SparkSession) -> None:
    type_ = {str: "string", int: "bigint", float: "double"}[type(texts[0])]
    frame = spark.createDataFrame([(t,) for t in texts], f"at {type_}")
    reading = time_reading(frame, "AT")
    assert (reading.format if reading else None) == format_
    (shown,) = frame.selectExpr(f"CAST({reading.sql if reading else 'at'} AS STRING)").limit(1).collect()[0]
    assert shown == first
    if reading is not None:
        blank = sum(not str(t or "").strip() for t in texts)
        assert frame.selectExpr(reading.sql).where(f"({reading.sql}) IS NULL").count() == blank


GIVEN = [
    ("de:d. MMMM yyyy", "3. M\u00e4rz 2006", "2006-03-03"),
    ("de:d. MMMM yyyy", "3. Jan. 2006", "2006-01-03"),  # as it is shown where it is found
    ("hh:mm:ss a dd/MM/yyyy", "01:00:00 PM 13/05/2006", "2006-05-13 13:00:00"),  # hh is no language
    ("sv:d MMMM yyyy HH:mm", "3 maj 2006 10:05", "2006-05-03 10:05:00"),
]


@pytest.mark.parametrize("zone", ["TIMESTAMP_LTZ", "TIMESTAMP_NTZ"])
def test_formats_that_are_given(zone: str, spark: SparkSession) -> None:
    spark.conf.set("spark.sql.timestampType", zone)
    try:
        for form, text, shown in GIVEN:
            frame = spark.createDataFrame([(text,)], "at string")
            reading = time_reading(frame, "at", form)
            assert reading is not None
            assert frame.selectExpr(f"CAST({reading.sql} AS STRING)").collect()[0][0] == shown
    finally:
        spark.conf.unset("spark.sql.timestampType")


def test_months_behind_a_text_that_is_no_day(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("-",), *((f"{n}. M\u00e4rz 2006",) for n in range(1, 13))], "at string")
    reading = time_reading(frame, "at", some_misfit=True)
    assert reading is not None and (reading.format, reading.misfits) == ("de:d[.] MMMM[.] yyyy", 1)


REFUSED = [
    (["01/02/2006", "02/03/2006"], "CEP_TIME_FORMAT", "may be d/M/yyyy or M/d/yyyy", '--time-format "d/M/yyyy"'),
    (["01.12.2006", "31.02.2006"], "CEP_TIME_FORMAT", "'31.02.2006' in some row, which is not d.M.yyyy.", '"d.M.yyyy"'),
    (["01.12.06"], "CEP_TIME_FORMAT", "'01.12.06' in some row, which no known format of times reads.", "--time-format"),
    (["10:05"], "CEP_TIME_FORMAT", "'10:05' in some row, which no known format", "--time-format"),
    (["soon", "later"], "CEP_TIME_FORMAT", "'soon' in some row, which no known format", "--option"),
    ([True], "CEP_TIME_TYPE", "at of the log is BOOLEAN, which is not read as a time.", "name a column"),
]


@pytest.mark.parametrize(
    ("texts", "error_class", "said", "hint"), every(3, REFUSED), ids=[str(r[0][0]) for r in REFUSED]
)
def test_refused(texts: Sequence[object], error_class: str, said: str, hint: str, spark: SparkSession) -> None:
    frame = spark.createDataFrame([(t,) for t in texts], f"at {'string' if isinstance(texts[0], str) else 'boolean'}")
    with pytest.raises(SparkCepError) as error:
        time_reading(frame, "at")
    assert error.value.error_class == error_class
    assert said in error.value.sentence
    assert hint in str(error.value.hint)


@pytest.mark.full
def test_all_rows_are_looked_at(spark: SparkSession, tmp_path: Path) -> None:
    """A format that fits the first thousand rows may not fit the last; then the row is said, with its file."""
    lines = [f"{n % 28 + 1:02}.{n % 12 + 1:02}.2006 10:00" for n in range(5000)]
    for name, bad in (("a", {}), ("b", {4321: "99.99.2006 10:00", 4900: "x"})):
        tmp_path.joinpath(f"{name}.csv").write_text("at\n" + "\n".join(bad.get(n, t) for n, t in enumerate(lines)))
    frame = spark.read.options(header="true").csv(str(tmp_path))
    order = row_order(frame, "csv", is_one_file=False)
    with pytest.raises(SparkCepError, match=r"at of logs has '99.99.2006 10:00' in row 4,322 of b.csv, which is not"):
        time_reading(frame, "at", None, "logs", order)
    frame = spark.read.options(header="true").csv(str(tmp_path / "a.csv"))
    reading = time_reading(frame, "at", None, "logs", row_order(frame, "csv", is_one_file=True))
    assert reading is not None
    assert reading.format == "d.M.yyyy H:mm"
    later = tmp_path / "later.csv"  # days above 12 come late
    later.write_text("at\n" + "01/02/2006\n" * 3000 + "02/13/2006\n")
    reading = time_reading(spark.read.options(header="true").csv(str(later)), "at")
    assert reading is not None
    assert reading.format == "M/d/yyyy"


@pytest.mark.full
def test_on_the_command_line(run: Run) -> None:
    """By text, 02.01.2007 comes before 31.12.2006."""
    Path("t.csv").write_text("fall;zeit;was\n1;31.12.2006 08:00;a\n1;02.01.2007 08:00;b\n2;02.01.2007 08:00;a\n")
    named = ["--case", "fall", "--event", "was"]
    text = "FROM t PATTERN SEQ(a x, b y) WITHIN 3 days RETURN x.fall, y.zeit"
    code, out, err = run("sql", "--csv", "t.csv", *named, "--format", "csv", text)
    assert (code, out) == (0, "fall,zeit\n1,2007-01-02 08:00:00\n"), err
    assert "time = zeit (by its name, a STRING, read as d.M.yyyy H:mm)" in err
    code, out, err = run("sql", "--csv", "t.csv", *named, "--time", "zeit", "--format", "csv", text)
    assert (code, out) == (0, "fall,zeit\n1,2007-01-02 08:00:00\n"), err
    assert "time = zeit (as you said, a STRING, read as d.M.yyyy H:mm)" in err
    Path("two.csv").write_text("fall;von;bis\n1;31.12.2006 08:00;31.1.2007\n")
    code, out, err = run("sql", "--csv", "two.csv", "--time", "von", "SELECT 1")
    assert "  bis  time, written d.M.yyyy  31.1.2007\n" in err
    code, out, err = run("sql", "--csv", "two.csv", "SELECT 1")
    assert "no time: several columns are times: von, bis, so blocks need ORDER BY" in err
    assert "  von  time, written d.M.yyyy H:mm  31.12.2006 08:00\n" in err
    code, _, err = run("sql", "--csv", "t.csv", *named, "--time", "was", text)
    assert code == 1
    assert "[CEP_TIME_FORMAT] was of t.csv has 'a' in row 1, which no known format of times reads." in err


@pytest.mark.full
def test_a_format_that_is_told(run: Run) -> None:
    """It reads what Spark takes for a number or for another time too, and what several formats read."""
    Path("t.csv").write_text("case,ts,event\n1,01022007,a\n1,02012007,b\n2,03012007,c\n")
    text = "FROM t PATTERN SEQ(b x, a y) RETURN x.ts AS b, y.ts AS a"
    code, out, err = run("sql", "--csv", "t.csv", "--time-format", "ddMMyyyy", "--format", "csv", text)
    assert (code, out) == (0, "b,a\n2007-01-02,2007-02-01\n"), err
    assert "time = ts (by its name, a STRING, read as ddMMyyyy)" in err
    Path("t.csv").write_text("case,ts,event\n1,2007-05-01,a\n1,2007-01-02,b\n")
    text = "FROM t PATTERN SEQ(a x, b y) RETURN y.ts"
    code, out, err = run("sql", "--csv", "t.csv", "--time-format", "yyyy-dd-MM", "--format", "csv", text)
    assert (code, out) == (0, "ts\n2007-02-01\n"), err
    code, _, err = run("sql", "--csv", "t.csv", "--time-format", "dd.MM.yyyy", text)
    assert code == 1
    assert "[CEP_TIME_FORMAT] ts of t.csv has '2007-05-01' in row 1, which is not dd.MM.yyyy." in err
    code, _, err = run("sql", "--csv", "log.csv", "--csv", "t.csv", "--time-format", "dd.MM.yyyy", "SELECT 1")
    assert code == 1
    assert "--time-format is of one file, but there are 2" in err


@pytest.mark.full
def test_a_guess_that_does_not_fit(run: Run) -> None:
    """Is no error, as the statement may not need it; what needs the time says why there is none."""
    Path("t.csv").write_text("case,ts,event\n" + "1,01.02.2007,a\n" * 3 + "1,soon,b\n")
    code, out, err = run("sql", "--csv", "t.csv", "--format", "csv", "SELECT count(*) AS n FROM t")
    assert (code, out) == (0, "n\n4\n")
    assert "no time: ts of t.csv has 'soon' in row 4, which is not d.M.yyyy (--time-format" in err
    code, out, err = run("sql", "--csv", "t.csv", "-q", "FROM t PATTERN SEQ(a x, b y)")
    assert code == 1
    assert "[CEP_LOG_COLUMNS]" in err
    code, out, err = run("discover", "t.csv", "-q")
    assert code == 1
    assert "sparkcep cannot tell the time of t.csv (time: ts of t.csv has 'soon' in row 4" in err
    code, out, err = run(
        "sql", "--csv", "t.csv", "--option", "nullValue=soon", "--format", "csv", "SELECT count(ts) AS n FROM t"
    )
    assert (code, out) == (0, "n\n3\n"), err
