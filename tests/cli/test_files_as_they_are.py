"""Files as offices and machines export them: encodings, decimal commas, epochs, rows that do not fit, dirty types."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import sparkcep
from sparkcep.errors import SparkCepError
from sparkcep.sql.log_columns import READ, names_of, roles_of

from ..conftest import IS_CONNECT
from .conftest import Run

pytestmark = pytest.mark.skipif(IS_CONNECT, reason="files are this machine's")

HEAD = "Auftrag;Datum;Schritt;Betrag;Menge;Eilt"
CASES = 30


def orders() -> list[str]:
    """Thirty orders of three steps in the order of time, with amounts such as 1.204,50."""
    rows = []
    for day in range(CASES):
        for hour, step in enumerate(["Anlage", "Prüfung", "Versand"]):
            amount = f"{1 + day % 3}.{200 + day},5{hour}" if hour else "7"
            rows.append(
                f"A-{day};{1 + day % 28:02d}.{1 + day // 28:02d}.2024 {8 + hour:02d}:30;{step};{amount};"
                f"{'1.000' if hour else '12'};{'ja' if day % 2 else 'nein'}"
            )
    return rows


def amounts() -> float:
    cells = (row.split(";")[3] for row in orders())
    return sum(float(cell.replace(".", "").replace(",", ".")) for cell in cells)


def write(rows: Sequence[str], encoding: str = "utf-8", head: str = HEAD) -> None:
    Path("orders.csv").write_bytes(("\r\n".join([head, *rows]) + "\r\n").encode(encoding))


ASK = "SELECT sum(Betrag), sum(Menge), count_if(Eilt), count(DISTINCT Schritt), max(Datum) FROM orders"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_an_export_in_german(encoding: str, run: Run) -> None:
    write(orders(), encoding)
    code, out, err = run("sql", "--csv", "orders.csv", "--format", "csv", ASK)
    assert code == 0, err
    total, number, urgent, steps, last = out.splitlines()[1].split(",")
    assert float(total) == pytest.approx(amounts())
    assert (number, urgent, steps, last) == (str(CASES * 2012), str(CASES // 2 * 3), "3", "2024-02-02 10:30:00")
    assert "case = Auftrag (by its name); time = Datum (by its name, a STRING, read as d.M.yyyy H:mm); event = " in err
    assert "  Betrag  number, written 1.234,56         7\n" in err
    assert "  Menge   whole number, written 1.234      12\n" in err
    assert "  Eilt    truth value, written ja or nein  nein\n" in err
    wanted = {"cp1252": "windows-1252", "utf-16": "UTF-16"}.get(encoding)
    assert (f"  its encoding is {wanted}\n" in err) == (wanted is not None)


@pytest.mark.full
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_that_says_the_separator(encoding: str, run: Run) -> None:
    write(["1;2,5"], encoding, head="sep=;\r\nid;a,b")
    code, out, err = run("sql", "--csv", "orders.csv", "--format", "csv", "SELECT id, `a,b` FROM orders")
    assert (code, out) == (0, 'id,"a,b"\n1,2.5\n'), err


@pytest.mark.full
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_lines_before_the_header(encoding: str, run: Run) -> None:
    write(orders(), encoding, head=f"Auftr\u00e4ge 2024;\r\n\r\nErstellt am;1.3.2024\r\n{HEAD}")
    code, out, err = run("sql", "--csv", "orders.csv", "--format", "csv", ASK)
    assert code == 0, err
    assert out.splitlines()[1].split(",")[2:] == [str(CASES // 2 * 3), "3", "2024-02-02 10:30:00"]
    assert "  left out: 3 lines before the header, the first one is 'Auftr\u00e4ge 2024;'\n" in err


@pytest.mark.full
def test_bytes_of_another_encoding_far_behind(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparkcep.data.files._BEGINNING", 64)
    write(orders(), "cp1252")
    code, _, err = run("sql", "--csv", "orders.csv", "SELECT 1")
    assert code == 1
    assert "[CEP_FILE] orders.csv is not UTF-8: row 2 has 'A-0 01.01.2024 09:30 Pr\ufffd" in err
    code, _, err = run("sql", "--csv", "orders.csv", "--option", "encoding=windows-1252", "SELECT 1")
    assert code == 0, err


@pytest.mark.parametrize(
    ("options", "count", "kept", "told"),
    [
        (["--bad-rows", "null"], 92, 2, "1 row does not fit: NULL there"),
        (["--bad-rows", "drop"], 90, 0, "1 row does not fit: dropped"),
        (["--bad-rows", "keep-aside"], 90, 0, "1 row does not fit: kept in orders_bad_rows"),
        (["--option", "nullValue=k.A."], 92, 2, ""),
    ],
)
def test_rows_that_do_not_fit(options: Sequence[str], count: int, kept: int, told: str, run: Run) -> None:
    write([*orders(), "A-1;01.03.2024 08:00;Anlage;k.A.;1;ja", "A-2;k.A.;Anlage;5,5;1;ja"])
    code, _, err = run("sql", "--csv", "orders.csv", "SELECT 1")
    assert code == 1
    assert "[CEP_BAD_ROWS] Betrag of orders.csv is a number, written 1.234,56, but 1 row does not fit: row 91 " in err
    assert "--text Betrag leaves the column as text" in err
    text = "SELECT count(*), count_if(Betrag IS NULL OR Datum IS NULL) FROM orders"
    code, out, err = run("sql", "--csv", "orders.csv", *options, "--format", "csv", text)
    assert (code, out.splitlines()[1:]) == (0, [f"{count},{kept}"]), err
    assert err.count(told) == 2 or not told
    if "keep-aside" in options:
        text = "SELECT Betrag, Datum, bad_columns FROM orders_bad_rows ORDER BY Auftrag"
        code, out, err = run("sql", "--csv", "orders.csv", *options, "--format", "csv", text)
        assert out.splitlines()[1:] == ["k.A.,01.03.2024 08:00,Betrag", '"5,5",k.A.,Datum'], err


@pytest.mark.full
def test_a_column_that_is_to_stay_text(run: Run) -> None:
    write([*orders(), "A-1;01.03.2024 08:00;Anlage;k.A.;1;ja"])
    text = "SELECT typeof(Betrag), typeof(Menge) FROM orders LIMIT 1"
    code, out, err = run("sql", "--csv", "orders.csv", "--text", "betrag", "--format", "csv", text)
    assert (code, out.splitlines()[1:]) == (0, ["string,bigint"]), err


@pytest.mark.full
def test_fractions_behind_the_first_rows(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What looks like whole numbers in the first rows and is none is one with fractions."""
    monkeypatch.setattr("sparkcep.data.read_log._SAMPLE", 10)
    write([*(row.replace(";7;", ";1.000;") for row in orders() if ";7;" in row), orders()[1]])
    text = "SELECT typeof(Betrag), max(Betrag) FROM orders GROUP BY ALL"
    code, out, err = run("sql", "--csv", "orders.csv", "--decimal", ",", "--format", "csv", text)
    assert (code, out.splitlines()[1:]) == (0, ["double,1200.51"]), err


@pytest.mark.full
def test_what_only_a_decimal_mark_could_tell(run: Run) -> None:
    write([f"A-{n};0{n}.01.2024;x;1.{n}00;3;ja" for n in range(1, 8)])
    text = "SELECT sum(Betrag) FROM orders"
    code, out, err = run("sql", "--csv", "orders.csv", "--format", "csv", text)
    assert (code, float(out.splitlines()[1])) == (0, pytest.approx(9.8))
    assert "  Betrag is read as DOUBLE: '1.100' is another number with another decimal mark; --decimal , or" in err
    code, out, err = run("sql", "--csv", "orders.csv", "--decimal", ",", "--format", "csv", text)
    assert (code, out.splitlines()[1]) == (0, "9800"), err


ODD = """id;plz;room;place;clock;code
00123;01067;1D;4711-1;10:15;12e400
123;01069;1F;4711-2;11:30;13e500
"""


def test_what_a_number_would_lose(run: Run) -> None:
    """Zeros in front, a D or an F behind, the day of a clock: Spark's reader makes other values of them."""
    Path("odd.csv").write_text(ODD)
    text = "SELECT count(DISTINCT id), min(plz), max(room), max(place), min(clock), count(DISTINCT code) FROM odd"
    code, out, err = run("sql", "--csv", "odd.csv", "--format", "csv", text)
    assert (code, out.splitlines()[1]) == (0, "2,01067,1F,4711-2,10:15,2"), err
    assert "  id stays text: '00123' would be another value as INT\n" in err
    assert "  clock stays text: '10:15' would be another value as TIMESTAMP\n" in err


@pytest.mark.full
@pytest.mark.parametrize(("day", "form"), [("15.01.2024", ", read as d.M.yyyy"), ("2024-01-15", "")])
def test_a_day_and_a_clock_in_two_columns(day: str, form: str, run: Run) -> None:
    rows = [f"1;{day};10:15;b", f"1;{day};8:05:30;a", f"2;{day};;a"]
    Path("two.csv").write_text("\n".join(["case_id;Datum;Uhrzeit;event", *rows]))
    text = "SELECT min(Datum), max(Datum) FROM two WHERE case_id = 1"
    code, out, err = run("sql", "--csv", "two.csv", "--format", "csv", text)
    assert (code, out.splitlines()[1]) == (0, "2024-01-15 08:05:30,2024-01-15 10:15:00"), err
    assert f"{form} with the clock of Uhrzeit); event = event" in err
    Path("two.csv").write_text("\n".join(["case_id;Datum;Uhrzeit;event", *rows, f"1;{day};24:00;b"]))
    code, out, err = run("sql", "--csv", "two.csv", "--format", "csv", text)
    assert (code, out.splitlines()[1]) == (0, "2024-01-15,2024-01-15"), err
    assert "  Datum is a day, without the clock of Uhrzeit: row 4 has '24:00'\n" in err


def test_rows_with_other_fields_than_the_header(run: Run) -> None:
    write(
        [*orders(), "A-1;01.03.2024 08:00;Anlage;1;1;ja;more", "A-2;02.03.2024 08:00", "A-3;03.03.2024 08:00;x;1;1;ja;"]
    )
    code, _, err = run("sql", "--csv", "orders.csv", "SELECT 1")
    assert code == 1
    assert "[CEP_BAD_ROWS] orders.csv has 2 rows with more or fewer fields than its first line: row 91 is" in err
    text = "SELECT count(*) FROM orders"
    for mode, number in (("drop", "91"), ("keep-aside", "91"), ("null", "93")):
        code, out, err = run("sql", "--csv", "orders.csv", "--bad-rows", mode, "--format", "csv", text)
        assert (code, out.splitlines()[1]) == (0, number), err


@pytest.mark.full
def test_files_of_a_folder_have_the_same_columns(run: Run) -> None:
    Path("parts").mkdir()
    Path("parts/a.csv").write_text("case_id,ts,event,x,y\n1,2024-01-01 10:00:00,a,1,100\n")
    Path("parts/b.csv").write_text("case_id,ts,event,y,x\n1,2024-01-01 11:00:00,b,200,2\n")
    code, _, err = run("sql", "--csv", "parts", "SELECT sum(x), sum(y) FROM parts")
    assert code == 1
    assert "[CEP_FILE] parts cannot be read: " in err
    assert "Hint: the files of a folder must have the same columns in the same order" in err


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.json", '{"a": 1}\n{"a": 2\n{"a": 3}\n', "row 2 of a.json is not JSON: "),
        ("a.json", '{\n"a": 1\n}\n{\n"a": 2\n}\n', "several JSON objects, each over several lines"),
        ("a.json", '{"id": 1, "ID": 2}\n', "a.json cannot be read: "),
        ("a.parquet", "none", "a.parquet cannot be read: "),
    ],
)
def test_files_that_are_something_else(name: str, text: str, told: str, run: Run) -> None:
    Path(name).write_text(text)
    code, _, err = run("sql", f"--{name.partition('.')[2]}", name, "SELECT 1")
    assert code == 1
    assert told in err
    assert err.startswith("[CEP_")


@pytest.mark.full
def test_backslashes_that_end_a_path(run: Run) -> None:
    Path("paths.csv").write_text('id,path,said\n1,"C:\\temp, x\\","say ""hi"", ok"\n')
    code, out, err = run("sql", "--csv", "paths.csv", "--format", "json", "SELECT path, said FROM paths")
    assert (code, json.loads(out)) == (0, [{"path": "C:\\temp, x\\", "said": 'say "hi", ok'}]), err


def test_times_since_1970(run: Run) -> None:
    rows = [f"{n},{1717236000000 + 1000 * n},a" for n in range(3)]
    Path("machine.csv").write_text("\n".join(["device_id,ts,event", *rows]))
    code, out, err = run("sql", "--csv", "machine.csv", "--format", "csv", "SELECT max(ts) FROM machine")
    assert (code, out.splitlines()[1]) == (0, "2024-06-01 10:00:02"), err
    assert "time = ts (by its name, a BIGINT, read as milliseconds since 1970)" in err
    code, out, err = run(
        "sql", "--csv", "machine.csv", "--time-format", "number", "--format", "csv", "SELECT max(ts) FROM machine"
    )
    assert (code, out.splitlines()[1]) == (0, "1717236002000"), err


def test_parquet_with_nanoseconds(run: Run, spark: SparkSession) -> None:
    instants = [1711848600123456789 + 10**9 * n for n in range(3)]
    utc, local = pa.array(instants, pa.timestamp("ns", "UTC")), pa.array(instants, pa.timestamp("ns"))
    log = {"ts": utc, "seen": local, "case_id": ["a", "a", "b"], "event": ["x", "y", "x"]}
    pq.write_table(pa.table(log), "n.parquet")
    query = "SELECT max(ts), max(seen), count_if(CAST(seen AS TIMESTAMP) <> ts) FROM n"
    code, out, err = run("sql", "--parquet", "n.parquet", "--format", "csv", query)
    assert (code, out.splitlines()[1]) == (0, "2024-03-31 01:30:02.123456,2024-03-31 01:30:02.123456,0"), err
    assert "  seen  time, in nanoseconds" in err
    spark.conf.unset("spark.sql.legacy.parquet.nanosAsLong")  # which this session has got


@pytest.mark.full
def test_nanoseconds_beside_microseconds(run: Run, spark: SparkSession) -> None:
    Path("logs").mkdir()
    for unit, scale in (("ns", 10**9), ("us", 10**6)):
        at = pa.array([1711848600 * scale], pa.timestamp(unit))
        pq.write_table(pa.table({"ts": at, "case_id": ["a"], "event": ["x"]}), f"logs/{unit}.parquet")
    code, out, err = run("sql", "--parquet", "logs", "SELECT min(ts) FROM logs")
    spark.conf.unset("spark.sql.legacy.parquet.nanosAsLong")
    assert (code, out) == (1, ""), out
    assert "ns.parquet has times in nanoseconds, and us.parquet others" in err or "TIMESTAMP(NANOS" in err


def test_a_workbook_is_not_read(run: Run) -> None:
    Path("log.xlsx").write_bytes(b"PK")
    code, _, err = run("discover", "log.xlsx")
    assert code != 0 and "save the sheet as CSV" in err


@pytest.mark.full
def test_quotes_over_several_lines(run: Run) -> None:
    Path("notes.csv").write_text('id,note\n1,"one\ntwo"\n2,"three"\n')
    text = "SELECT count(*), max(length(note)) FROM notes"
    code, out, err = run("sql", "--csv", "notes.csv", "--format", "csv", text)
    assert (code, out.splitlines()[1]) == (0, "2,7"), err


DIRTY = (
    "A-0;01.01.2024 08:30;ANLAGE ;7;12;nein", "A-1;02.01.2024 09:30;prufung;7;12;ja",
    "A-1;02.01.2024 09:30;prufung;7;12;ja", "A-99;01.01.1900 00:00;Anlage;7;12;ja", ";01.01.2024 08:00;;7;12;ja",
)  # fmt: skip


def test_the_quality_of_a_log(run: Run) -> None:
    write([*orders(), *DIRTY])
    code, out, err = run("discover", "orders.csv")
    assert code == 0, err
    said = out.split("Data quality:\n")[1].split("\n\n")[0].splitlines()
    assert said == [
        "  1 row is equal to an earlier row in all columns: --drop-duplicates keeps the first one",
        "  event types that differ only in case, blanks or accents: 'Anlage' (31)/'ANLAGE ' (1), "
        "'Prüfung' (30)/'prufung' (2); --fold-types merges them",
        "  1 row is without a case (NULL): WHERE Auftrag IS NOT NULL leaves them out",
        "  1 row is without a type (NULL): WHERE Schritt IS NOT NULL leaves them out",
        "  1 row is before 1990: if such a date means none, --option nullValue=TEXT makes it NULL",
        "  2 cases have one event",
        "  3 rows are earlier than a row of the same case before it in the file; patterns use the time, not the order "
        "in the file",
    ]
    code, out, err = run("discover", "orders.csv", "--json", "--drop-duplicates", "--fold-types")
    assert code == 0, err
    found = json.loads(out)
    assert (found["events"], [t["name"] for t in found["types"]]) == (93, ["Anlage", "Prüfung", "Versand", "NULL"])
    assert (found["quality"]["duplicates"], found["quality"]["spellings"]) == (0, [])
    assert found["roles"] == {"case": "Auftrag", "time": "Datum", "event": "Schritt", "tiebreak": "row_in_file"}
    assert [c["name"] for c in found["read"]] == ["Betrag", "Menge", "Eilt"]
    assert all(" --drop-duplicates --fold-types " in command for command in found["commands"])


@pytest.mark.full
def test_a_clean_log(run: Run) -> None:
    write(orders())
    code, out, err = run("discover", "orders.csv")
    assert code == 0, err
    assert "Data quality:\n  no duplicates" in out


def test_a_case_by_what_is_in_it(run: Run) -> None:
    """No name says it: the case is what repeats close in time, the event type what changes within it."""
    regions = [f"{row};{'Nord' if n // 3 % 4 else 'Süd'}" for n, row in enumerate(orders())]
    write(regions, head="a;b;c;d;e;f;g")
    code, out, err = run("discover", "orders.csv")
    assert code == 0, err
    assert (
        "case = a (its values are like cases: 30 cases of 3.0 events, which last 0% of the log's time on average)"
        in err
    )
    assert "event = c (it has few values, of which a case has several)" in err
    assert "90 events in 30 cases, of 3 types" in out


@pytest.mark.full
def test_an_event_type_by_what_is_in_it_of_cases_of_two_columns(run: Run) -> None:
    rows = [f"{row};{'Nord' if n // 3 % 4 else 'Süd'};{'x' if n // 3 % 5 else 'y'}" for n, row in enumerate(orders())]
    write(rows, head="a;b;c;d;e;f;g;h")
    code, out, err = run("discover", "orders.csv", "--case", "a,g")
    assert code == 0, err
    assert "event = c (it has few values, of which a case has several)" in err
    assert "90 events in 30 cases, of 3 types" in out


@pytest.mark.full
def test_no_column_is_a_case(run: Run) -> None:
    write([f"{row.partition(';')[2]};{n % 2}x" for n, row in enumerate(orders())], head="b;c;d;e;f;g")
    code, _, err = run("discover", "orders.csv", "--event", "c")
    assert code == 1
    assert "[CEP_LOG_COLUMNS] sparkcep cannot tell the case of orders.csv (case: no column looks like a case: " in err
    assert "g (2 cases of 45.0 events, which last 100% of the log's time on average)" in err
    assert "--case COLUMN, --one-case takes the whole log for one; its columns are b, c, d, e, f, g, row_in_file" in err
    code, out, err = run("discover", "orders.csv", "--event", "c", "--one-case")
    assert code == 0, err
    assert "90 events in 1 case, of 3 types" in out


def test_a_log_in_python(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "orders.csv"
    path.write_bytes("\n".join([HEAD, *orders()]).encode("cp1252"))
    log = sparkcep.read_log(spark, path)
    types = "string timestamp string double bigint boolean bigint"
    assert [type_ for _, type_ in log.dtypes] == types.split()
    said = capsys.readouterr().out
    assert "  its encoding is windows-1252\n" in said
    assert "  write FROM orders PATTERN ...\n" in said
    text = "FROM orders PATTERN SEQ('Anlage' a, 'Versand' b) RETURN b.Betrag AS amount"
    assert sparkcep.sql(spark, text).count() == CASES
    spark.sql("SELECT * EXCEPT (Datum), Datum AS at FROM orders").createOrReplaceTempView("orders_at")
    assert sparkcep.sql(spark, text.replace("FROM orders", "FROM orders_at")).count() == CASES
    assert (
        sparkcep.read_log(path, quiet=True).count() == sparkcep.read_log(path=path, quiet=True).count() == log.count()
    )
    twice = sparkcep.read_log(spark, path, case="Auftrag,Schritt", event="Schritt", quiet=True)
    said = {READ + "case": ("Auftrag", "Schritt"), READ + "event": ("Schritt",)}.items()
    assert said <= {key: names_of(names) for key, names in roles_of(twice.schema).items()}.items()
    # A role whose columns are there twice, or not all there, is nobody's.
    assert READ + "case" not in roles_of(twice.selectExpr("*", "Auftrag AS other").schema)
    assert READ + "case" not in roles_of(twice.drop("Schritt").schema)
    twice.selectExpr("*", "row_in_file AS other").createOrReplaceTempView("orders_at")
    assert sparkcep.sql(spark, text.replace("FROM orders", "FROM orders_at PARTITION BY Auftrag")).count() == CASES
    with pytest.raises(SparkCepError, match="it is one of error, null, drop, keep-aside"):
        sparkcep.read_log(spark, path, bad_rows="ignore")
    with pytest.raises(SparkCepError, match="a decimal mark is"):
        sparkcep.read_log(spark, path, decimal=";")
    with pytest.raises(SparkCepError, match="There is no encoding klingon"):
        sparkcep.read_log(spark, path, encoding="klingon", quiet=True)
