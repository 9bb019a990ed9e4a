"""The tests that read SQL and conditions, without Spark, on other releases of sqlglot: what pyproject.toml may allow.

    python tests/sqlglot_versions.py 30.29.0 30.27.0 [--folder .venvs]

Each release gets a virtual environment that holds it alone; everything else is this interpreter's. Prints one line for
each release; the exit code is 1 where one fails.
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
#: The oldest that pyproject.toml allows and some between it and the newest, which all tests run with.
RELEASES = ("30.0.0", "30.10.0", "30.20.0", "30.29.0")
#: What asks sqlglot for tokens and trees and needs no Spark.
TESTS = ("tests/parsing", "tests/planner")


def environment(folder: Path, release: str) -> Path:
    """The Python of a virtual environment that has this release, and looks for all else where this one does."""
    where = folder / f"sqlglot-{release}"
    python = where / "bin" / "python"
    if not (where / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", where], check=True)
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", python]
        subprocess.run([*pip, "install", "--no-deps", f"sqlglot=={release}"], check=True)
        (site,) = where.glob("lib/python*/site-packages")
        (site / "tests.pth").write_text("".join(f"{p}\n" for p in sys.path if "site-packages" in p))
        (where / "installed").touch()
    return python


def test(python: Path, tests: Sequence[str]) -> tuple[int, str]:
    """Exit code of the tests, and pytest's last line."""
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    loaded = [python, "-c", "import sqlglot; print(sqlglot.__version__)"]
    version = subprocess.run(loaded, env=environ, check=True, capture_output=True, text=True).stdout.strip()
    if version not in str(python):
        return 1, f"sqlglot {version} was loaded"
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not long", *tests]
    done = subprocess.run(command, cwd=ROOT, env=environ, check=False, capture_output=True, text=True)
    lines = done.stdout.rstrip().splitlines() or [done.stderr]
    if done.returncode:
        print("\n".join(lines[-40:]))
    return done.returncode, lines[-1]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the tests of parsing and planning on other releases of sqlglot.")
    parser.add_argument("releases", nargs="*", metavar="RELEASE", default=RELEASES)
    parser.add_argument("--folder", type=Path, default=ROOT / ".venvs", help="where the environments are")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="what pytest gets")
    arguments = parser.parse_args(argv)
    failed = 0
    for release in arguments.releases:
        started = time.perf_counter()
        code, line = test(environment(arguments.folder, release), arguments.tests)
        print(f"sqlglot {release}: {'ok' if code == 0 else 'FAILED'}, {line}, {time.perf_counter() - started:.0f} s")
        failed |= code != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
