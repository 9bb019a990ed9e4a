"""What an executor's Python says that lacks the package or part of it, or has another version; without Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import cloudpickle

import sparkcep
from sparkcep.errors import error_behind
from sparkcep.exec.engines.rows.engine import RowsEngine
from sparkcep.spark import shipping

ROOT = Path(sparkcep.__file__).parents[1]
#: As Spark's worker does, in a process where some packages cannot be found and others come first.
WORKER = """
import importlib.abc, pickle, sys

hidden, first = sys.argv[1].split(","), sys.argv[2]

class Hide(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hide())
if first:
    sys.path.insert(0, first)
with open(sys.argv[3], "rb") as file:
    function = pickle.load(file)
assert "sparkcep" not in sys.modules
try:
    print(function(20))
except RuntimeError as error:
    print(f"RuntimeError: {error}")
"""


def needs_numba(number: int) -> int:
    """Stands for a body: what it holds is found by name, in modules that import Numba."""
    return number + RowsEngine.__name__.count("o")


def in_worker(folder: Path, hidden: str = "", first: str = "", operator: str = "") -> str:
    """What a function of the package says or gives in a process of its own."""
    file = folder / "function.pickle"
    file.write_bytes(cloudpickle.dumps(shipping.shipped(needs_numba, "sparkcep_test", operator)))
    done = subprocess.run(
        [sys.executable, "-c", WORKER, hidden, first, file],
        cwd=ROOT, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT), "HOME": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_same_package(tmp_path: Path) -> None:
    assert in_worker(tmp_path) == "21\n"


@pytest.mark.parametrize(
    ("hidden", "error_class", "text"),
    [
        ("sparkcep", "CEP_WORKER_PACKAGE", "has no package sparkcep."),
        ("numba", "CEP_WORKER_DEPENDENCY", "lacks the package numba, which sparkcep needs."),
    ],
)
def test_what_is_not_there(tmp_path: Path, hidden: str, error_class: str, text: str) -> None:
    said = in_worker(tmp_path, hidden)
    assert "ModuleNotFoundError" not in said
    error = error_behind(RuntimeError(f"Job aborted ... PythonException: {said}\n\tat org.apache.spark\n"))
    assert error is not None
    assert error.error_class == error_class
    assert error.sentence.startswith("The executors' Python on ")
    assert sys.executable in error.sentence
    assert error.sentence.endswith(text)
    assert error.hint is not None
    assert f"pip install sparkcep=={sparkcep.__version__} on every node" in error.hint


@pytest.mark.parametrize(("operator", "package"), [("state", "pandas"), ("transform", "protobuf")])
def test_what_streams_need(tmp_path: Path, operator: str, package: str) -> None:
    hidden = {"pandas": "pandas", "protobuf": "google"}[package]
    assert in_worker(tmp_path, hidden) == "21\n"
    assert in_worker(tmp_path, operator=operator) == "21\n"
    error = error_behind(RuntimeError(f"PythonException: {in_worker(tmp_path, hidden, operator=operator)}\n"))
    assert error is not None
    assert error.error_class == "CEP_WORKER_DEPENDENCY"
    assert error.sentence.endswith(f"lacks the package {package}, which streams need.")
    assert error.hint is not None
    assert f"pip install 'sparkcep[stream]=={sparkcep.__version__}' on every node" in error.hint


@pytest.mark.parametrize(
    ("version", "text"), [("0.0.9", "has sparkcep 0.0.9, the driver has"), (None, "has no package")]
)
def test_another_version(tmp_path: Path, version: str | None, text: str) -> None:
    other = tmp_path / "other" / "sparkcep"
    other.mkdir(parents=True)
    if version is not None:
        (other / "__init__.py").write_text(f"__version__ = {version!r}\n")
    said = in_worker(tmp_path, first=str(other.parent))
    if version is None:  # a folder without a module is passed over
        assert said == "21\n"
    else:
        assert "[CEP_WORKER_VERSION]" in said
        assert text in said


def test_other_sources_of_the_same_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipping, "stamp", lambda: "00000000")
    assert "with other source files than the driver's" in in_worker(tmp_path)


def test_a_stamp_is_of_all_modules_from_a_zip_too(tmp_path: Path) -> None:
    import shutil

    kept = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "sparkcep", tmp_path / "copy" / "sparkcep", ignore=kept)
    archive = shutil.make_archive(str(tmp_path / "package"), "zip", tmp_path / "copy")
    ask = "from sparkcep.spark.shipping import stamp; import sparkcep; print(sparkcep.__file__, stamp())"

    def asked() -> list[str]:
        command, path = [sys.executable, "-P", "-c", ask], {"PYTHONPATH": archive}
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True, env=path)
        return done.stdout.split()

    assert asked() == [f"{archive}/sparkcep/__init__.py", shipping.stamp()]
    (tmp_path / "copy" / "sparkcep" / "pattern.py").write_text("")
    shutil.make_archive(str(tmp_path / "package"), "zip", tmp_path / "copy")
    assert asked()[1] != shipping.stamp()


def test_a_worker_does_not_look_for_garbage_in_what_it_has_loaded() -> None:
    """Spark collects after each task; from its second function on a worker has none of our modules to search."""
    code = """
import gc
from sparkcep.spark.shipping import loader, versions
import pickle
load = loader(pickle.dumps(1), *versions())
import sparkcep.exec.warm
for _ in range(3):
    load()
    gc.collect()
    print(gc.get_freeze_count() > 50_000, len(gc.get_objects()) < 10_000)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["False False", "True True", "True True"]
