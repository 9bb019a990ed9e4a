"""Flink SQL as a peer: an embedded Flink in a JVM of its own, fed statement by statement."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.harness import Answer

HERE = Path(__file__).parent
DEFAULT_VENV = HERE / ".flink-venv"
PACKAGE = "apache-flink-libraries"

#: What a user with two cores and the time to read the manual would set.
CONFIGURATION: Mapping[str, str] = {
    "parallelism.default": "2",
    "taskmanager.numberOfTaskSlots": "2",
    "taskmanager.memory.managed.size": "1g",  # the embedded cluster's own default of 128 MB would spill sorts
    "taskmanager.memory.network.max": "256m",
    "pipeline.object-reuse": "true",
    "table.local-time-zone": "UTC",
}

# Java modules that Flink opens to itself in its own configuration of Java 17.
_OPENS = (
    "java.base/java.lang",
    "java.base/java.util",
    "java.base/java.time",
    "java.base/java.net",
    "java.base/java.nio",
)
_QUIET = "rootLogger.level = OFF\n"


class FlinkUnavailable(Exception):
    """Flink cannot be had on this machine; the message says why."""


def find_jars(folder: Path = DEFAULT_VENV) -> tuple[Path, str]:
    """The folder of Flink's jars and their version, from a virtual environment made at first use.

    Raises:
        FlinkUnavailable: pip cannot install the package.
    """
    if not folder.exists():
        print(f"Installing {PACKAGE} (330 MB) for the Flink benchmark ...", flush=True)
        venv.create(folder, with_pip=True)
    found = _installed(folder)
    if found is None:
        python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        # The jars alone: nothing of PyFlink is needed to run SQL.
        done = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--no-deps", PACKAGE],
            capture_output=True,
            text=True,
            check=False,
        )
        found = _installed(folder)
        if done.returncode or found is None:
            reason = done.stderr.strip().splitlines()[-1:] or ["pip gave no reason"]
            raise FlinkUnavailable(f"{PACKAGE} cannot be installed: {reason[0]}")
    return found


def _installed(folder: Path) -> tuple[Path, str] | None:
    jars = next(iter(folder.glob("**/pyflink/lib")), None)
    dist = next(iter(jars.glob("flink-dist-*.jar")), None) if jars else None
    return (jars, dist.stem.removeprefix("flink-dist-")) if jars and dist else None


class Flink:
    """One embedded Flink; a context manager.

    Raises:
        FlinkUnavailable: there are no jars or no JDK.
    """

    def __init__(self, folder: Path = DEFAULT_VENV, streaming: bool = False) -> None:
        if shutil.which("javac") is None:
            raise FlinkUnavailable("the driver needs a JDK (javac) on the path")
        jars, self.version = find_jars(folder)
        self._scratch = tempfile.TemporaryDirectory(prefix="sparkcep-flink-")
        scratch = Path(self._scratch.name)
        classes = str(jars / "*")
        compiled = subprocess.run(
            ["javac", "-cp", classes, "-d", scratch, HERE / "FlinkDriver.java"],
            capture_output=True,
            text=True,
            check=False,
        )
        if compiled.returncode:
            raise FlinkUnavailable(f"the driver does not compile: {compiled.stderr.strip()[:500]}")
        (scratch / "log4j2.properties").write_text(_QUIET)
        command = ["java", "-Xmx4g", f"-Dlog4j.configurationFile={scratch / 'log4j2.properties'}"]
        command += [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENS]
        command += ["-cp", f"{classes}:{scratch}", "FlinkDriver", *(f"{k}={v}" for k, v in CONFIGURATION.items())]
        if streaming:
            command.append("execution.runtime-mode=STREAMING")
        self._complaints = (scratch / "stderr").open("w+")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._complaints, text=True
        )

    def __enter__(self) -> Flink:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Of the JVM."""
        return self._process.pid

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._complaints.close()
        self._scratch.cleanup()

    def sql(self, statement: str) -> Answer:
        """Run one statement; its time is taken inside the JVM."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(base64.b64encode(statement.encode()).decode() + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._complaints.seek(0)
            raise RuntimeError(f"Flink has ended: {self._complaints.read()[-1000:]}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"Flink: {answer['error']}")
        return Answer(answer["seconds"], tuple(tuple(row) for row in answer["rows"]))

    def read_csv(self, name: str, columns: str, folder: Path) -> None:
        """Declare a folder of CSV files without header as a table."""
        self.sql(
            f"CREATE TABLE {name} ({columns}) WITH "
            f"('connector' = 'filesystem', 'path' = '{folder.resolve().as_uri()}', 'format' = 'csv')"
        )
