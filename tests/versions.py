"""The SQL tests on other releases of Spark and of Python, each in an environment of its own.

    python tests/versions.py 4.1.4 4.2.1 [--folder .venvs] [--connect] [--tests tests/sql tests/spark/test_session.py]
    python tests/versions.py 4.3.0 --python python3.13

Environments are kept and used again; pytest's output is in their tests-classic.log or tests-connect.log. Prints one
line for each release; the exit code is 1 where one fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: The newest of each minor release that pyproject.toml allows, below the one that all tests run with.
RELEASES = ("4.0.5", "4.1.4", "4.2.1")
TOOLS = ("chispa>=0.12", "hypothesis>=6.100", "pytest>=8", "pytest-timeout>=2.3")


def environment(folder: Path, interpreter: str, release: str) -> Path:
    """The Python of a virtual environment that has the release, made by this interpreter where there is none."""
    where = folder / (
        f"spark-{release}" if interpreter == sys.executable else f"spark-{release}-{Path(interpreter).name}"
    )
    python = where / "bin" / "python"
    marker = where / "installed"
    if not marker.exists():
        subprocess.run([interpreter, "-m", "venv", "--clear", where], check=True)
        wanted = [f"{ROOT}[local,demo]", f"pyspark[connect]=={release}", *TOOLS]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
        # The checkout is tested, not a copy of it.
        subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "--yes", "sparkcep"], check=True)
        marker.touch()
    return python


def test(python: Path, tests: Sequence[str], connect: bool) -> tuple[int, str]:
    """Exit code of the tests, and pytest's last line."""
    own = {
        "PYTHONPATH": str(ROOT),
        "SPARKCEP_TEST_SESSION": "connect" if connect else "classic",
        # Kernels are compiled by the environment's own Numba.
        "NUMBA_CACHE_DIR": str(python.parents[1] / "numba"),
    }
    left_out = ("SPARK_HOME", "PYSPARK_PYTHON", "VIRTUAL_ENV")
    env = {k: v for k, v in os.environ.items() if k not in left_out} | own
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    log = python.parents[1] / f"tests-{own['SPARKCEP_TEST_SESSION']}.log"
    with log.open("w") as out:
        done = subprocess.run(command, cwd=ROOT, env=env, check=False, stdout=out, stderr=subprocess.STDOUT)
    lines = log.read_text().rstrip().splitlines() or [""]
    if done.returncode:
        print("\n".join(lines[-80:]))
    return done.returncode, lines[-1]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the SQL tests on other releases of Spark and Python.")
    parser.add_argument("releases", nargs="*", metavar="RELEASE", default=RELEASES)
    parser.add_argument("--folder", type=Path, default=ROOT / ".venvs", help="where the environments are")
    parser.add_argument("--python", default=sys.executable, help="what the environments are made with")
    parser.add_argument("--connect", action="store_true", help="on Spark Connect")
    parser.add_argument("--tests", nargs="+", default=["tests/sql"], help="what pytest gets")
    arguments = parser.parse_args(argv)
    failed = 0
    for release in arguments.releases:
        started = time.perf_counter()
        python = environment(arguments.folder, arguments.python, release)
        code, line = test(python, arguments.tests, arguments.connect)
        how = "Connect" if arguments.connect else "classic"
        print(
            f"Spark {release} {how}: {'ok' if code == 0 else 'FAILED'}, {line}, {time.perf_counter() - started:.0f} s"
        )
        failed |= code != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
