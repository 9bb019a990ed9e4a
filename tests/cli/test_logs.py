"""Files on the command line: how they are read, what their columns are taken for, and what a look at them proposes."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from sparkcep.data.files import log_files, separator_of
from sparkcep.data.roles import Column, guess_roles
from sparkcep.errors import SparkCepError
from sparkcep.settings import INDEX_PATH

from ..conftest import configured, every
from ..spark.real_logs import DATA
from .conftest import ROWS, Run

PAID = "FROM log PATTERN SEQ(register a, pay b) MATCHES FIRST RETURN a.order_id, b.amount ORDER BY order_id"


def test_a_csv(run: Run) -> None:
    code, out, err = run("sql", "--csv", "log.csv", "--format", "csv", PAID)
    assert (code, out) == (0, "order_id,amount\n1,10\n2,20\n"), err
    said = err.splitlines()
    assert said[0].startswith(
        "log is log.csv: case = order_id (by its name); time = when happened (the only TIMESTAMP)"
    )
    assert "event = step (by its name)" in said[0]
    assert "--case, --time, --event and --tiebreak" in said[1]


@pytest.mark.parametrize("kind", every(4, ["parquet", "json", "array", "delta", "folder", "gz", "stdin"]))
def test_formats(kind: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pc.read_csv("log.csv", parse_options=pc.ParseOptions(delimiter=";"))
    rows = [{**r, "when happened": str(r["when happened"])} for r in table.to_pylist()]
    option, path = f"--{kind}", f"there.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "json":
        Path(path).write_text("\n".join(map(json.dumps, rows)))
    elif kind == "array":
        option, path = "--json", "there.json"
        Path(path).write_text(json.dumps(rows, indent=1))
    elif kind == "delta":
        from deltalake import write_deltalake

        write_deltalake(path, table)
    elif kind == "folder":
        option, path = "--csv", "parts"
        Path("parts").mkdir()
        head, *lines = ROWS.splitlines()
        for n in range(2):
            Path("parts", f"{n}.csv").write_text("\n".join([head, *lines[n::2]]))
    elif kind == "gz":
        option, path = "--csv", "there.csv.gz"
        Path(path).write_bytes(gzip.compress(ROWS.encode()))
    else:
        option, path = "--csv", "-"
        monkeypatch.setattr(sys, "stdin", io.StringIO(ROWS))
    code, out, err = run("sql", option, path, "--as", "log", "--format", "csv", PAID)
    assert (code, out) == (0, "order_id,amount\n1,10\n2,20\n"), err
    if kind in ("json", "array"):  # whose times Spark reads as text
        assert "time = when happened (the only text of times, read as ISO 8601)" in err
    assert ("tiebreak = row_in_file (the order of the rows in the" in err) == (kind != "delta")
    assert ("no tiebreak: a Delta table's rows have no order" in err) == (kind == "delta")


@pytest.mark.full
def test_a_mistyped_type_is_said(run: Run) -> None:
    """Also where there are rows all the same: no case has a `canceled`."""
    text = "FROM log PATTERN SEQ(register a, NOT shipp b, pay c) MATCHES FIRST RETURN a.order_id ORDER BY order_id"
    code, out, err = run("sql", "--csv", "log.csv", "-q", "--format", "csv", text)
    assert (code, out) == (0, "order_id\n1\n2\n")
    assert err == "Warning: no row has step = 'shipp'; did you mean 'ship'?\n"
    code, out, err = run("sql", "--csv", "log.csv", "-q", "--format", "csv", "FROM log PATTERN SEQ(regster a, pay b)")
    assert code == 0
    assert err.startswith("Warning: no row has step = 'regster'; did you mean 'register'?\nNote: ")


def test_rules_are_looked_at_too(run: Run) -> None:
    rules = "SELECT * FROM VALUES ('typo', 'PATTERN SEQ(register a, shipp b)'), ('bad', 'PATTERN SEQ(') t(name, rule)"
    code, out, err = run(
        "sql", "--csv", "log.csv", "-q", "--format", "csv",
        f"SELECT rule FROM pattern_rules(TABLE(log) PARTITION BY order_id ORDER BY `when happened`, "
        f"rules => TABLE({rules}), event_type => step)",
    )  # fmt: skip
    assert (code, out) == (0, "rule\n"), err
    assert "Warning: rule typo: no row has step = 'shipp'; did you mean 'ship'?\n" in err
    assert "Warning: 1 of 2 rules are refused and do not run: bad (CEP_PATTERN_SYNTAX)" in err
    assert "PatternWarning" not in err


def test_other_statements_are_let_be(run: Run) -> None:
    text = ("CREATE OR REPLACE TEMPORARY PATTERN FUNCTION paid AS PATTERN SEQ(register a, pay b) RETURN b.amount; "
            "EXPLAIN FROM log PATTERN SEQ(register a, pay b); SHOW TABLES IN default LIKE 'nothing'")  # fmt: skip
    code, out, err = run("sql", "--csv", "log.csv", "-q", text)
    assert (code, err) == (0, ""), err
    assert "== Pattern Plan ==" in out


def test_no_rows_have_a_reason(run: Run) -> None:
    _, _, err = run("sql", "--csv", "log.csv", "-q", "FROM log PATTERN SEQ(ship a, register b)")
    assert err.startswith("Note: the longest partial matches have a; in ")


def test_other_columns(run: Run) -> None:
    code, out, err = run(
        "sql", "--csv", "log.csv", "--event", "amount", "--case", "step", "--format", "csv",
        "FROM log PATTERN SEQ('10' a, '20' b) MATCHES FIRST RETURN a.step ORDER BY step",
    )  # fmt: skip
    assert (code, out) == (0, "step\npay\nregister\n")
    assert "case = step (as you said)" in err
    code, _, err = run("sql", "--csv", "log.csv", "--case", "ordr_id", PAID)
    assert code == 1
    assert "[CEP_UNRESOLVED_COLUMN] --case names ordr_id" in err
    assert "Hint: did you mean order_id?" in err


@pytest.mark.full
def test_a_case_of_several_columns(run: Run, spark: SparkSession) -> None:
    """Named by an option, or by the setting itself."""
    text = "FROM log PATTERN SEQ('10' a, '10' b) MATCHES FIRST RETURN a.step"
    code, out, err = run("sql", "--csv", "log.csv", "--case", "order_id, step", "--event", "amount", "--format", "csv",
                         text.replace("10", "20"))  # fmt: skip
    assert (code, out) == (0, "step\npay\n"), err
    code, out, err = run("discover", "log.csv", "--case", "order_id,step", "--event", "amount")
    assert code == 0, err
    assert "8 events in 7 cases" in out


@pytest.mark.full
def test_several_files_name_their_columns(run: Run) -> None:
    Path("more.csv").write_text(ROWS)
    code, out, err = run(
        "sql", "--csv", "log.csv", "--csv", "others=more.csv", "--format", "csv",
        "SELECT count(*) AS n FROM log JOIN others USING (order_id)",
    )  # fmt: skip
    assert (code, out) == (0, "n\n22\n")
    joined = "(SELECT log.*, row_in_others FROM log JOIN others USING (order_id))"  # no two columns have one name
    text = (
        f"FROM {joined} ORDER BY `when happened`, row_in_log, row_in_others EVENT TYPE step PATTERN SEQ(pay a) RETURN 1"
    )
    code, out, err = run("sql", "--csv", "log.csv", "--csv", "others=more.csv", "--format", "csv", text)
    assert (code, out.count("\n")) == (0, 10), err
    assert "  write FROM others PATTERN ...\n" in err
    code, out, err = run("sql", "--csv", "log.csv", "--csv", "others=more.csv", "--format", "csv", PAID)
    assert (code, out) == (0, "order_id,amount\n1,10\n2,20\n"), err


def test_what_cannot_be_told_is_said(run: Run) -> None:
    rows = (f"{24 + n // 20}.05.2024 10:0{n % 7},{n % 2},{n % 5},x" for n in range(40))
    Path("log.csv").write_text("\n".join(["when,a_id,b_id,text", *rows]))
    code, _, err = run("sql", "--csv", "log.csv", "SELECT 1")
    assert code == 0
    assert "  no case: no column looks like a case: " in err
    assert "a_id (2 cases of 20.0 events, which last " in err
    Path("more.csv").write_text("a_id,text\n1,x\n")
    code, _, err = run("sql", "--csv", "more.csv", "SELECT 1")
    assert "no time: no column is a time" in err
    code, _, err = run("sql", "--csv", "log.csv", "--option", "timestampFormat=dd.MM.yyyy HH:mm", "SELECT 1")
    assert "time = when (the only TIMESTAMP)" in err


@pytest.mark.full
def test_a_log_in_xes(run: Run, spark: SparkSession) -> None:
    """Its columns need no names; it is packed or comes by standard input as others do; and an index is made of it."""
    events = [("pay", "T10:00"), ("ship", "T10:00"), ("register", "T09:00")]
    xml = "<log><trace><string key='concept:name' value='o1'/>" + "".join(
        f"<event><string key='concept:name' value='{e}'/><date key='time:timestamp' value='2024-05-01{t}:00Z'/></event>"
        for e, t in events
    ) + "</trace></log>"  # fmt: skip
    Path("orders.xes.gz").write_bytes(gzip.compress(xml.encode()))
    text = "FROM log PATTERN SEQ(register a, pay b, ship c) RETURN b.`event:position` AS at"
    code, out, err = run("sql", "--xes", "log=orders.xes.gz", "--format", "csv", text)
    assert (code, out) == (0, "at\n0\n"), err
    said = ["case = case:concept:name", "time = time:timestamp", "event = concept:name", "tiebreak = event:position"]
    assert [s for s in said if f"{s} (by its name" not in err] == []
    code, out, err = run("discover", "orders.xes.gz")
    assert code == 0, err
    assert "3 events in 1 case, of 3 types" in out
    before = spark.conf.get(INDEX_PATH.key)
    try:
        an_index_of_xes(run, text)
    finally:
        spark.conf.set(INDEX_PATH.key, before or "")
    Path("bad.xes").write_text("<log>\n<trace>\n<event><date key='time:timestamp' value='soon'/></event></trace></log>")
    code, _, err = run("sql", "--xes", "bad.xes", "SELECT 1")
    assert code == 1
    assert "[CEP_XES] bad.xes, line 3: time:timestamp is 'soon', which is not a valid date." in err


def an_index_of_xes(run: Run, text: str) -> None:
    """It is made of a folder of Parquet, which is made once and serves what reads the folder."""
    code, out, err = run("index", "create", "of_xes", "--xes", "orders.xes.gz", "--path", "indexes")
    assert code == 0, err
    assert "3 events, 1 cases, 3 pairs" in out
    assert "orders.xes.gz is now the Parquet of orders.parquet" in err
    code, out, err = run("explain", "--parquet", "log=orders.parquet", text)
    assert code == 0, err
    assert "Index: of_xes (siesta), snapshot 0" in out  # it covers the folder
    code, _, err = run("index", "create", "of_xes", "--xes", "orders.xes.gz", "--path", "indexes")
    assert code == 1
    assert "[CEP_FILE] orders.parquet cannot be written: it is there already." in err


@pytest.mark.full
def test_an_index_of_parquet_serves_its_view(run: Run, spark: SparkSession) -> None:
    """Also where the view has a column more, the place of a row in its file."""
    table = pc.read_csv("log.csv", parse_options=pc.ParseOptions(delimiter=";"))
    Path("orders").mkdir()
    for n in range(2):
        pq.write_table(
            table.filter(pa.compute.equal(pa.compute.bit_wise_and(table["order_id"], 1), n)), f"orders/{n}.parquet"
        )
    source = f"parquet.`{Path('orders').absolute()}`"
    before = spark.conf.get(INDEX_PATH.key)
    try:
        columns = ["--case", "order_id", "--time", "when happened", "--event", "step"]
        code, _, err = run("index", "create", "of_orders", "--source", source, *columns, "--path", "indexes")
        assert code == 0, err
        with configured(spark, {"spark.sparkcep.planner.index.events": "source"}):  # so small a log needs no index
            code, out, err = run("explain", "--parquet", "log=orders", PAID)
            assert code == 0, err
            assert "tiebreak = row_in_file (the order of the rows in their files)" in err
            assert "Index: of_orders (siesta), snapshot 0" in out
            code, out, err = run("sql", "--parquet", "log=orders", "-q", "--format", "csv", PAID)
        assert (code, out) == (0, "order_id,amount\n1,10\n2,20\n"), err
        code, out, err = run(
            "explain", "--parquet", "log=orders", "FROM log PATTERN SEQ(register a, pay b) RETURN b.amount"
        )
        assert "PushedFilters: [Or(EqualTo(step" in out
    finally:
        spark.conf.set(INDEX_PATH.key, before or "")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "one of --source and --xes is expected"),
        (["--source", "a", "--xes", "b"], "one of --source and --xes is expected"),
        (["--source", "a", "--into", "b"], "--into is the folder of what --xes names"),
        (["--source", "a", "--case", "k"], "missing --time, --event"),
        (["--xes", "none.xes"], "[CEP_FILE] none.xes cannot be read: there is no such file."),
    ],
)
def test_what_an_index_cannot_be_made_of(argv: list[str], said: str, run: Run) -> None:
    code, _, err = run("index", "create", "x", *argv)
    assert code in (1, 2)
    assert said in err


@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_output(ending: str, run: Run) -> None:
    code, out, err = run("sql", "--csv", "log.csv", "-q", "-o", f"out.{ending}", PAID)
    assert (code, out, err) == (0, "", f"2 rows in out.{ending}\n")
    wanted = [(1, 10), (2, 20)]
    if ending == "parquet":
        assert pq.read_table("out.parquet").equals(
            pa.table({"order_id": pa.array([1, 2], pa.int32()), "amount": pa.array([10, 20], pa.int32())})
        )
    elif ending == "csv":
        assert Path("out.csv").read_text() == "order_id,amount\n1,10\n2,20\n"
    else:
        lines = Path("out.json").read_text().splitlines()
        assert [tuple(json.loads(line).values()) for line in lines] == wanted


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["sql", "--csv", "no.csv", "SELECT 1"], "[CEP_FILE] no.csv cannot be read: there is no such file"),
        (["sql", "--csv", "log.csv", "-o", "out.xlsx", "SELECT 1"], "[CEP_ARGUMENTS] -o out.xlsx: results are"),
        (["sql", "--csv", "a=log.csv", "--csv", "A=log.csv", "SELECT 1"], "Two files would be the view"),
        (["sql", "--csv", "log.csv", "--as", "1x", "SELECT 1"], "a name has letters, digits"),
        (["discover", "log.xyz"], "does not say which format"),
    ],
)
def test_what_is_refused_before_spark_starts(argv: list[str], said: str, run: Run) -> None:
    code, out, err = run(*argv)
    assert (code, out) == (1, "")
    assert said in err


def test_discover(run: Run) -> None:
    code, out, err = run("discover", "log.csv")
    assert code == 0, err
    assert "8 events in 3 cases, of 3 types, from 2024-05-01 10:00:00 to 2024-05-07 09:00:00" in out
    assert re.search(r"\| register +\| 3 +\| 3 +\| 0 ", out)
    assert re.search(r"\| pay +\| 3 +\| 2 +\| 1 ", out)
    assert re.search(r"\| register +\| pay +\| 2 +\| 2 +\| 30 min +\| 45 min +\| 1 h ", out)
    assert "Variants: 3\n" in out
    assert "# pay more than once in a case: 1 case\n" in out


def proposals(out: str) -> list[tuple[str, list[str]]]:
    """Questions and commands."""
    lines = out.split("as commands:\n")[1].splitlines()
    return [(line, words(lines[n + 1])) for n, line in enumerate(lines) if line.startswith("# ")]


def words(line: str) -> list[str]:
    """The words that a shell makes of a line."""
    done = subprocess.run(["sh", "-c", f"printf '%s\\0' {line}"], capture_output=True, text=True, check=True)
    return done.stdout.split("\0")[:-1]


@pytest.mark.full
def test_proposals_run_as_they_are(run: Run) -> None:
    """Also with names that a shell or SQL would take for something else."""
    text = ROWS.replace("pay", "pay it's $HOME!").replace("step", "the step").replace(";", ",")
    Path("log.csv").write_text(text)
    found = proposals(run("discover", "log.csv", "--event", "the step")[1])
    assert len(found) == 3
    for question, (_, *argv) in found:
        code, out, err = run(*argv, "-q", "--format", "csv")
        assert code == 0, err
        rows = len(out.splitlines()) - 1
        if counted := re.search(r": (\d+) cases?$", question):
            assert rows == int(counted[1])
        assert "Warning" not in err


@pytest.mark.long
@pytest.mark.skipif(not DATA.is_dir(), reason="there are no real logs here")
@pytest.mark.parametrize("name", ["helpdesk", "sepsis", "env_permit_receipt", "bpi_2013_incidents"])
def test_proposals_over_real_logs(name: str, run: Run) -> None:
    code, out, err = run("discover", str(DATA / f"{name}.parquet"))
    assert code == 0, err
    assert "case = case_id (by its name); time = ts (by its name, a TIMESTAMP); event = activity (by its name); " in err
    for question, (_, *argv) in proposals(out):
        code, found, err = run(*argv, "-q", "--format", "csv")
        assert code == 0, err
        rows = len(found.splitlines()) - 1
        counted = re.search(r": ([\d,]+) cases?$", question)
        assert rows == int(counted[1].replace(",", "")) if counted else rows


#: Columns as name and type, maybe distinct values of 1000; roles that must be found, in the order of ROLES.
GUESSES = [
    ("case:concept:name string 90, concept:name string 9, time:timestamp timestamp 900, org:resource string 30",
     ("case:concept:name", "time:timestamp", "concept:name", None)),
    ("Case ID string 90, Activity string 9, Complete Timestamp timestamp 900, Variant string 40",
     ("Case ID", "Complete Timestamp", "Activity", None)),
    ("case_id string 90, pos int 40, activity string 9, start_time timestamp 800, end_time timestamp 800",
     ("case_id", "end_time", "activity", "pos")),
    ("user_id bigint 90, ts bigint 990, event string 9", ("user_id", "ts", "event", None)),
    ("symbol string 4, trade_date date 250, price double 700", ("symbol", "trade_date", None, None)),
    ("event_id bigint 1000, session string 80, kind string 8, at timestamp 950", ("session", "at", "kind", "event_id")),
    ("a_time timestamp 900, b_time timestamp 900, case string 9, event string 5", ("case", None, "event", None)),
    ("order_id int 1000, date date 200, status string 4", (None, "date", "status", None)),
    ("x string 900, y string 800", (None, None, None, None)),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "wanted"), GUESSES, ids=[c for c, _ in GUESSES])
def test_guesses(columns: str, wanted: tuple[str | None, ...]) -> None:
    made = [Column(name, kind, int(n), 1000) for name, kind, n in (c.rsplit(" ", 2) for c in columns.split(", "))]
    assert tuple(g.column for g in guess_roles(made, {}).values()) == wanted


def test_names_of_files(tmp_path: Path) -> None:
    assert [f.name for f in log_files([("csv", "a/my log.csv.gz"), ("csv", "x=b=c.csv"), ("json", "-")], None)] == [
        "my_log", "x", "log"
    ]  # fmt: skip
    with pytest.raises(SparkCepError, match="--as x names one file"):
        log_files([("csv", "a.csv"), ("csv", "b.csv")], "x")
    assert [separator_of(t) for t in ("a,b;c,d", "a\tb", "one", "one\n1,5\n", "a,b;c\n1;2\n")] == [
        ",",
        "\t",
        "\t",
        "\t",
        ";",
    ]
