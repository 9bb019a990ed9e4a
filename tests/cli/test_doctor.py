"""`sparkcep doctor`."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from sparkcep.cli import doctor
from sparkcep.cli.doctor_cluster import cluster_findings, executor_finding, memory_finding
from sparkcep.cli.main import main
from sparkcep.exec.kernel_cache.places import Places


def test_all_is_well(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    """In the tests' own environment, whose session serves the query."""
    assert main(["doctor"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("ok", "note", "MISSING"))]
    assert len(lines) == len(doctor.CHECKS) + 1
    assert lines[-1].startswith("ok        A pattern query: right")
    assert [line.split()[0] for line in lines if "Spark:" in line or "Java:" in line] == ["ok", "ok"]


@pytest.mark.compiled
def test_what_is_missing_has_its_fix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    versions = {"pyspark": ("3.4.1", (3, 4)), "pandas": ("3.0.0", (3, 0)), "pyarrow": ("14.0", (14, 0))}
    monkeypatch.setattr(doctor, "_version", versions.get)
    monkeypatch.delenv("PYSPARK_PYTHON")
    monkeypatch.setattr("sparkcep.exec.kernel_cache.report.held", lambda name: "none")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    (tmp_path / "spark-defaults.conf").write_text("spark.sparkcep.limit.steps 5\nspark.master local\n")
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    for said in (
        "note      Spark: 3.4.1\n          sparkcep is tested with",
        "MISSING   Arrow: 14.0\n          pip install 'pyarrow>=18'",
        "note      pandas: 3.0.0",
        "note      Python of the workers: PYSPARK_PYTHON is not set",
        "sparkcep warmup does it ahead",
        "Settings: 1 keys spark.sparkcep.*",
    ):
        assert said in out
    assert "A pattern query" not in out


def test_a_spark_that_python_does_not_find_is_not_installed_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Images of Spark have pyspark in SPARK_HOME, where no pip has put it."""
    monkeypatch.setattr(doctor, "_version", lambda package: None)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert doctor.spark().fix == "pip install 'sparkcep[local]'"
    (tmp_path / "python" / "pyspark").mkdir(parents=True)
    (tmp_path / "python" / "lib").mkdir()
    (tmp_path / "python" / "lib" / "py4j-0.10.9.9-src.zip").touch()
    found = doctor.spark()
    assert found.fatal
    assert found.fix == f"export PYTHONPATH={tmp_path}/python:{tmp_path}/python/lib/py4j-0.10.9.9-src.zip"


@pytest.mark.compiled
def test_where_kernels_come_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a cache that lasts, in one that does not, and nowhere."""
    found = dict.fromkeys(("native", "portable", "shipped"))
    answers = iter(range(10**6))
    monkeypatch.setattr("sparkcep.exec.kernel_cache.report.held", lambda name: [*found][next(answers) % len(found)])
    lasting = Places((tmp_path,), tmp_path, ())
    monkeypatch.setattr("sparkcep.exec.kernel_cache.places.places", lambda: lasting)
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/other")
    said = doctor.kernels()
    assert not said.fix
    assert said.text == (
        f"compiled for this processor, all of its level, all of its level, by the package; kept in {tmp_path}"
    )
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path.parent))
    assert doctor.kernels().fix.startswith("export NUMBA_CACHE_DIR=")
    found.clear()
    found["none"] = None
    nowhere = Places((), None, ("/home cannot be written (Read-only file system)",))
    monkeypatch.setattr("sparkcep.exec.kernel_cache.places.places", lambda: nowhere)
    said = doctor.kernels()
    assert not said.fatal
    assert said.text.startswith("not compiled yet; the first pattern query of each kind does it; none can be kept")
    assert said.text.endswith("; /home cannot be written (Read-only file system)")
    assert said.fix.startswith("export NUMBA_CACHE_DIR=")


def test_a_cluster_is_looked_at(spark: SparkSession) -> None:
    found = list(cluster_findings(spark))
    subjects = [f.subject for f in found]
    assert subjects[0] == "Cluster"
    assert any(s.startswith("executor on ") for s in subjects)
    assert not any(f.fatal for f in found), [f.line() for f in found]
    assert found[-1].text.startswith("right")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ""),
        ({"version": None, "sources": None, "broken": "No module named 'sparkcep'"}, "pip install sparkcep==1.0"),
        ({"version": "0.9"}, "the driver has 1.0"),
        (
            {"sources": "other"},
            "are other ones than the driver's: pip install --force-reinstall --no-deps sparkcep==1.0",
        ),
        (
            {"packages": {"numba": "0.61", "pandas": None}},
            "patterns over streams need pandas there: pip install 'sparkcep[stream]==1.0' on every node",
        ),
    ],
)
def test_an_executor(change: dict[str, object], said: str) -> None:
    well = {
        "host": "a", "version": "1.0", "sources": "s", "python": "3.12.1", "executable": "/x/python", "broken": None,
        "packages": {"numba": "0.61", "pandas": "2.2"}, "limit": 2 << 30,
    }  # fmt: skip
    found = executor_finding({**well, **change}, "1.0", "s")
    assert found.fatal == (bool(said) and "packages" not in change)
    assert (said in found.fix) if said else not found.fix
    assert "at most 2,048 MiB" in found.text


@pytest.mark.parametrize(
    ("settings", "fix"),
    [
        ({}, "spark.executor.memoryOverhead=2550m"),  # standalone: all three cores of a worker
        ({"spark.master": "yarn"}, "spark.executor.memoryOverhead=850m"),
        ({"spark.master": "k8s://host"}, "spark.executor.memoryOverhead=850m"),
        ({"spark.executor.cores": "4", "spark.executor.memory": "8g"}, "spark.executor.memoryOverhead=3400m"),
        ({"spark.executor.memoryOverhead": "2g", "spark.executor.cores": "2"}, ""),
        ({"spark.executor.pyspark.memory": "512m"}, "spark.executor.pyspark.memory=2550m"),
    ],
)
def test_memory_beside_the_heap(settings: dict[str, str], fix: str) -> None:
    found = memory_finding(settings.get, 3)  # type: ignore[arg-type]
    assert (fix in found.fix) if fix else not found.fix


def test_a_thin_client_needs_no_java(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    versions = {"pyspark-client": ("4.2.0", (4, 2)), "pandas": ("2.3.0", (2, 3)), "pyarrow": ("20.0", (20, 0))}
    monkeypatch.setattr(doctor, "_version", versions.get)
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "Java: not needed" in out
    assert "sparkcep doctor --cluster --remote" in out
