"""The SQL tests with other releases of Spark and of what sparkcep needs, each in an environment of its own.

    python tests/versions.py                            all of MATRIX
    python tests/versions.py 4.0.5 4.3.0/connect        some of it; a release alone is its first row
    python tests/versions.py --python python3.13        with another Python, of which the environments are made
    python tests/versions.py --full                     all cases, rather than those of `make test`

Environments are kept below .venvs and used again; pytest's output is beside them, in a log for each row. Prints one
line for each row; the exit code is 1 where one fails.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ("chispa>=0.12", "hypothesis>=6.100", "pytest>=8", "pytest-timeout>=2.3")
OFF = {"spark.sql.ansi.enabled": "false"}


@dataclass(frozen=True)
class Row:
    """What the tests run with.

    Args:
        session: classic, connect, or managed (tests/managed.py).
        packages: other releases than pip would take.
        settings: of Spark.
    """

    spark: str
    session: str = "classic"
    packages: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        settings = (f"{k}={v}" for k, v in self.settings.items())
        return "/".join([self.spark, self.session, *self.packages, *settings])

    def environment(self, folder: Path, interpreter: str) -> Path:
        """Where its packages are; rows that differ in sessions and settings alone share them."""
        others = "".join(f"-{re.sub(r'[^A-Za-z0-9.]+', '-', name)}" for name in self.packages)
        python = "" if interpreter == sys.executable else f"-{Path(interpreter).name}"
        return folder / f"spark-{self.spark}{python}{others}"


#: The newest of each minor release that pyproject.toml allows, and the oldest of what comes beside it.
MATRIX = (
    # PySpark 3.5 wants NumPy 1, which PyArrow 25 is the last to take. PyPI has no Connect server of it.
    Row("3.5.9", packages=("pyarrow==25.0.0",)),
    *(Row(spark, session) for spark in ("4.0.5", "4.1.4", "4.2.1", "4.3.0") for session in ("classic", "connect")),
    Row("4.3.0", "managed"), Row("4.3.0", settings=OFF), Row("4.0.5", settings=OFF),
    Row("4.3.0", packages=("numpy==1.26.4", "pyarrow==18.1.0")),
)  # fmt: skip


def made(row: Row, folder: Path, interpreter: str) -> Path:
    """The Python of the row's environment, which is made where there is none."""
    where = row.environment(folder, interpreter)
    python, marker = where / "bin" / "python", where / "installed"
    wanted = [f"{ROOT}[local,demo]", f"pyspark[connect]=={row.spark}", *row.packages, *TOOLS]
    state = hashlib.sha256("\n".join([*wanted, (ROOT / "pyproject.toml").read_text()]).encode()).hexdigest()
    if not marker.exists() or marker.read_text() != state:
        subprocess.run([interpreter, "-m", "venv", "--clear", where], check=True)
        pip = [str(python), "-m", "pip", "--quiet"]
        subprocess.run([*pip, "install", *wanted], check=True)
        # The checkout is tested, not a copy of it.
        subprocess.run([*pip, "uninstall", "--yes", "sparkcep"], check=True)
        marker.write_text(state)
    return python


def test(row: Row, python: Path, tests: Sequence[str], full: bool) -> tuple[int, str]:
    """Exit code of the tests, and pytest's last line."""
    own = {
        "PYTHONPATH": str(ROOT),
        "SPARKCEP_TEST_SESSION": row.session,
        "SPARKCEP_TEST_SETTINGS": " ".join(f"{key}={value}" for key, value in row.settings.items()),
        "SPARKCEP_TEST_CODEGEN": "off",
        "NUMBA_DISABLE_JIT": "1",
    } | ({"SPARKCEP_TEST_CONNECT": "all"} if full else {})
    left_out = ("SPARK_HOME", "PYSPARK_PYTHON", "VIRTUAL_ENV")
    env = {k: v for k, v in os.environ.items() if k not in left_out} | own
    tier = "not long" if full else "not long and not full and not compiled"
    command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", tier, *tests]
    log = python.parents[1].parent / f"{str(row).replace('/', '-')}.log"
    with log.open("w") as out:
        done = subprocess.run(command, cwd=ROOT, env=env, check=False, stdout=out, stderr=subprocess.STDOUT)
    lines = log.read_text().rstrip().splitlines() or [""]
    if done.returncode:
        print("\n".join(lines[-80:]))
    return done.returncode, lines[-1]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the SQL tests with other releases.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(map(str, MATRIX)))
    parser.add_argument("--folder", type=Path, default=ROOT / ".venvs", help="where the environments are")
    parser.add_argument("--python", default=sys.executable, help="what the environments are made with")
    parser.add_argument("--tests", nargs="+", default=["tests/sql"], help="what pytest gets")
    parser.add_argument("--full", action="store_true", help="all cases")
    arguments = parser.parse_args(argv)
    known = {row.spark: row for row in reversed(MATRIX)} | {str(row): row for row in MATRIX}
    if unknown := [name for name in arguments.rows if name not in known]:
        parser.error(f"no row {unknown[0]}; there are {', '.join(known)}")
    failed = 0
    for row in [known[name] for name in arguments.rows] or MATRIX:
        started = time.perf_counter()
        code, line = test(row, made(row, arguments.folder, arguments.python), arguments.tests, arguments.full)
        print(f"{row}: {'ok' if code == 0 else 'FAILED'}, {line}, {time.perf_counter() - started:.0f} s", flush=True)
        failed |= code != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
