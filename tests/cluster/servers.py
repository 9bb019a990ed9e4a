"""A standalone master, its workers and a Connect server on the loopback, each a process that can be killed."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

HOST = "127.0.0.1"


def free_port() -> int:
    """A port that nobody listens at; 10,000 more is one, too, where SeaweedFS has its second."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as found, suppress(OSError):
            found.bind((HOST, port))
            return port


def environment(spark_home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's variables without those that name another Spark, Python or package."""
    left_out = ("PYSPARK_PYTHON", "PYTHONPATH", "VIRTUAL_ENV", "SPARK_REMOTE", "SPARK_CONF_DIR")
    own = {k: v for k, v in os.environ.items() if k not in left_out}
    return {**own, "SPARK_HOME": str(spark_home), "SPARK_LOCAL_IP": HOST, "SPARK_NO_DAEMONIZE": "1", **(more or {})}


class Cluster:
    """A master and workers of one core and one executor each.

    Args:
        folder: for logs and work of the processes; each worker has a folder of its own in it.
    """

    def __init__(self, spark_home: Path, folder: Path, workers: int = 2, memory: str = "1500m") -> None:
        self.spark_home, self.folder, self.memory = spark_home, folder, memory
        self.port = free_port()
        self.url = f"spark://{HOST}:{self.port}"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.workers: dict[int, subprocess.Popen[bytes]] = {}
        self.start_master()
        for number in range(workers):
            self.start_worker(number)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in [*self.processes, *self.workers.values()]:
            end(process)

    def start(self, name: str, *command: str, folder: Path | None = None, python: str = "") -> subprocess.Popen[bytes]:
        place = folder or self.folder
        place.mkdir(parents=True, exist_ok=True)
        # Executors that are killed on purpose are started again as often as that happens.
        own = {"SPARK_MASTER_OPTS": "-Dspark.deploy.maxExecutorRetries=-1"}
        if python:
            own["PYSPARK_PYTHON"] = python
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                cwd=place,
                env=environment(self.spark_home, own),
                start_new_session=True,
            )

    def spark_class(self, name: str, *arguments: str, folder: Path | None = None) -> subprocess.Popen[bytes]:
        return self.start(name, str(self.spark_home / "bin" / "spark-class"), *arguments, folder=folder)

    def start_master(self) -> None:
        where = ("--host", HOST, "--port", str(self.port), "--webui-port", str(free_port()))
        self.processes.append(self.spark_class("master", "org.apache.spark.deploy.master.Master", *where))
        wait_for(self.port)

    def start_worker(self, number: int, apart: Path | None = None) -> None:
        """Start a worker. ``apart``: a folder that this one alone has on a disk of its own (needs root)."""
        folder = self.folder / f"worker-{number}"
        size = ("--cores", "1", "--memory", self.memory, "--work-dir", str(folder / "work"))
        where = ("--host", HOST, "--webui-port", str(free_port()))
        worker = (str(self.spark_home / "bin" / "spark-class"), "org.apache.spark.deploy.worker.Worker")
        command = (*worker, *where, *size, self.url)
        if apart is not None:
            command = ("unshare", "--mount", "sh", "-c", f'mount -t tmpfs none {apart} && exec "$@"', "sh", *command)
        self.workers[number] = self.start(f"worker-{number}", *command, folder=folder)

    def start_connect(self, conf: Mapping[str, str]) -> str:
        """A Connect server whose driver is beside the master; its address."""
        port = free_port()
        options = [f"--conf={k}={v}" for k, v in {**conf, "spark.connect.grpc.binding.port": str(port)}.items()]
        submit = str(self.spark_home / "bin" / "spark-submit")
        server = "org.apache.spark.sql.connect.service.SparkConnectServer"
        command = (submit, "--master", self.url, "--class", server, *options, "spark-internal")
        self.processes.append(
            self.start("connect", *command, folder=self.folder / "connect", python=conf["spark.pyspark.python"])
        )
        wait_for(port)
        return f"sc://{HOST}:{port}"

    def executors(self, number: int) -> list[int]:
        """Processes of a worker's executors."""
        return [
            child for child in children(self.workers[number].pid) if "CoarseGrainedExecutorBackend" in command(child)
        ]

    def kill_executor(self, number: int) -> bool:
        """kill -9 of a worker's executors; whether there was one."""
        found = self.executors(number)
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return bool(found)

    def kill_worker(self, number: int, apart: Path | None = None) -> None:
        """kill -9 of a worker and its executors, as where a machine is lost; another one then takes its place."""
        found = self.executors(number)
        self.workers[number].kill()
        self.workers[number].wait()
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self.start_worker(number, apart)


def wait_for(port: int, seconds: float = 90) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError(f"nothing listens at {port}")


def children(process: int) -> list[int]:
    """Processes that a process has started (Linux)."""
    with suppress(OSError):
        return [int(p) for p in Path(f"/proc/{process}/task/{process}/children").read_text().split()] + [
            int(p)
            for task in Path(f"/proc/{process}/task").iterdir()
            if task.name != str(process)
            for p in (task / "children").read_text().split()
        ]
    return []


def command(process: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    return ""


def end(process: subprocess.Popen[bytes]) -> None:
    """Stop a process and what it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
