"""Where PySpark's Connect client lacks a package, which PySpark itself takes as a reason to end the process with 0."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sparkcep

#: Stands first; `client` makes PySpark believe that it is `pyspark-client`, without a JVM's classes.
HIDE = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec

def find_others(name, path=None, target=None):
    return None if name.partition(".")[0] in ("grpc", "grpc_status") else find(name, path, target)

PathFinder.find_spec = find_others
import pyspark.util
pyspark.util.is_remote_only = lambda: CLIENT
"""
ASK = "import sparkcep; sparkcep.enable(); print('worked')"


@pytest.mark.parametrize("as_file", [False, True])
@pytest.mark.parametrize("client", [False, True])
def test_the_process_goes_on_or_says_why_not(tmp_path: Path, as_file: bool, client: bool) -> None:
    text = HIDE.replace("CLIENT", str(client)) + ASK
    (tmp_path / "program.py").write_text(text)
    command = [sys.executable, *([str(tmp_path / "program.py")] if as_file else ["-c", text])]
    env = {"PYTHONPATH": str(Path(sparkcep.__file__).parents[1]), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=env)
    if client:
        assert done.returncode == 1, done
        assert "grpcio" in done.stderr
        assert "pip install grpcio" in done.stderr or "PACKAGE_NOT_INSTALLED" in done.stderr
    else:
        assert (done.returncode, done.stdout) == (0, "worked\n"), done
    assert "doctests" not in done.stderr
