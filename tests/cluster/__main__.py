"""sparkcep on a cluster: a standalone master and two workers on the loopback, each process of an environment made from
the wheel.

    python -m tests.cluster [--folder .venvs/cluster] [--only NAME ...]

Every engine, index and function is asked in local mode first; then each scenario asks again, on the cluster, while
something is wrong, and its answers must be the same rows, or where executors cannot give any, the error that says why.
Prints a line for each scenario; the exit code is 1 where one fails. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from .environments import ROOT, Environments
from .servers import HOST, Cluster, end, environment, free_port, wait_for

QUESTIONS = Path(__file__).with_name("questions.py")
CASES = 800
Answers = dict[str, list[str]]


class Setting:
    """What scenarios share: environments, events, and local mode's answers."""

    def __init__(self, folder: Path) -> None:
        self.environments = Environments(folder)
        self.python = self.environments.python("full")
        self.home = self.environments.spark_home()
        self.scratch = folder / "scratch"
        shutil.rmtree(self.scratch, ignore_errors=True)
        (self.scratch / "data").mkdir(parents=True)
        # Before anything is measured or killed.
        subprocess.run([self.python.with_name("sparkcep"), "warmup"], check=True, env=environment(self.home))
        self.ask("prepare", ["--prepare", str(CASES)], data=self.scratch / "data")
        self.truth = self.answers("local", [])
        assert all(rows and rows[0] != "error" for rows in self.truth.values()), self.truth

    def ask(
        self,
        name: str,
        options: Sequence[str],
        data: Path,
        python: Path | None = None,
        on_line: Callable[[list[str]], None] = lambda words: None,
        variables: Mapping[str, str] | None = None,
    ) -> Path:
        """Run the program of questions; where its answers are."""
        out = self.scratch / f"{name}.json"
        own = python or self.python
        command = [str(own), str(QUESTIONS), "--data", str(data), "--out", str(out), *options]
        env = environment(self.home, variables)
        if variables and variables.get("SPARK_HOME") == "":
            del env["SPARK_HOME"]
        with (self.scratch / f"{name}.log").open("w") as log:
            running = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, env=env, cwd=self.scratch
            )
            assert running.stdout is not None
            try:
                for line in running.stdout:
                    log.write(line)
                    on_line(line.split())
            finally:
                if running.poll() is None and sys.exc_info()[0] is not None:
                    running.kill()
            if running.wait():
                raise AssertionError(f"{name} ended with {running.returncode}, see {log.name}")
        return out

    def answers(
        self,
        name: str,
        options: Sequence[str],
        only: Sequence[str] = (),
        python: Path | None = None,
        on_line: Callable[[list[str]], None] = lambda words: None,
        variables: Mapping[str, str] | None = None,
        index: str | None = None,
    ) -> Answers:
        """What is answered; the index and its log are made anew for each."""
        data = self.scratch / f"data-{name}"
        shutil.rmtree(data, ignore_errors=True)
        shutil.copytree(self.scratch / "data", data)
        path = f"spark.sparkcep.index.path={index or data / 'indexes'}"
        options = [*options, "--conf", path, *(["--only", *only] if only else [])]
        found = json.loads(self.ask(name, options, data, python, on_line, variables).read_text())
        assert str(self.environments.folder) in found["from"], found["from"]
        answers: Answers = found["answers"]
        return answers

    def on_cluster(
        self, cluster: Cluster, workers: Path | None = None, more: Mapping[str, str] | None = None
    ) -> list[str]:
        """Options of a driver on a cluster. ``workers``: the executors' Python."""
        conf = {**self.configuration(workers), **(more or {})}
        return ["--master", cluster.url, *(part for k, v in conf.items() for part in ("--conf", f"{k}={v}"))]

    def configuration(self, workers: Path | None = None) -> dict[str, str]:
        return {
            "spark.pyspark.python": str(workers or self.python),
            "spark.executor.memory": "1g",
            "spark.driver.host": HOST,
            "spark.driver.bindAddress": HOST,
            "spark.sql.shuffle.partitions": "4",
            "spark.log.level": "ERROR",
        }

    def same(self, found: Answers) -> None:
        """Hold answers to local mode's."""
        wrong = {name: rows for name, rows in found.items() if rows != self.truth[name]}
        for name, rows in wrong.items():
            lost, more = set(self.truth[name]) - set(rows), set(rows) - set(self.truth[name])
            print(f"  {name}: {len(lost)} rows are missing, {len(more)} too many: {str(sorted(more))[:600]}")
        assert not wrong, sorted(wrong)


def cluster(s: Setting) -> str:
    """All questions on two workers."""
    with Cluster(s.home, s.scratch / "cluster") as c:
        s.same(s.answers("cluster", s.on_cluster(c)))
    return f"{len(s.truth)} questions"


def killed(s: Setting, name: str, kill: Callable[[Cluster, int], object]) -> str:
    """Something is killed while each question runs."""
    kills: list[str] = []
    with Cluster(s.home, s.scratch / name) as c:
        running = threading.Event()

        def strike(question: str) -> None:
            # In the middle: after its first tasks have begun, on one worker and then the other.
            time.sleep(0.7)
            if running.is_set() and kill(c, len(kills) % 2) is not False:
                kills.append(question)

        def on_line(words: list[str]) -> None:
            if words[:1] == ["start"]:
                running.set()
                threading.Thread(target=strike, args=(words[1],)).start()
            elif words[:1] == ["end"]:
                running.clear()

        s.same(s.answers(name, s.on_cluster(c), on_line=on_line))
    assert len(kills) >= len(s.truth) // 2, kills
    return f"killed in {', '.join(kills)}"


def executor_killed(s: Setting) -> str:
    """kill -9 of an executor in each question."""
    return killed(s, "executor_killed", Cluster.kill_executor)


def worker_killed(s: Setting) -> str:
    """kill -9 of a worker and its executor in each question; another one comes."""
    return killed(s, "worker_killed", Cluster.kill_worker)


def speculation(s: Setting) -> str:
    """Tasks run twice."""
    twice = {
        "spark.speculation": "true", "spark.speculation.interval": "50ms", "spark.speculation.multiplier": "1.01",
        "spark.speculation.quantile": "0.1", "spark.speculation.minTaskRuntime": "50ms",
    }  # fmt: skip
    with Cluster(s.home, s.scratch / "speculation") as c:
        s.same(s.answers("speculation", s.on_cluster(c, more=twice)))
    return ""


def connect(s: Setting) -> str:
    """Two Connect clients of one server on the cluster; one is pyspark-client alone and has no Java."""
    thin = s.environments.python("thin")
    no_java = {"PATH": "/nonexistent", "JAVA_HOME": "", "SPARK_HOME": ""}
    with Cluster(s.home, s.scratch / "connect") as c:
        address = c.start_connect(s.configuration())
        s.same(s.answers("connect", ["--remote", address]))
        s.same(s.answers("connect_thin", ["--remote", address], python=thin, variables=no_java))
        relative = s.answers("connect_path", ["--remote", address], ["lists", "index"], index="indexes")
        s.same({"lists": relative["lists"]})
        says(relative["index"], "CEP_INDEX_PATH", "a relative path")
    return ""


def wrong_workers(s: Setting) -> str:
    """Executors without the package, without Numba, with another version, and one of each sort."""
    asked = ["lists", "rows", "trends", "function", "index"]
    with Cluster(s.home, s.scratch / "wrong_workers") as c:
        for name, error_class in (
            ("bare", "CEP_WORKER_PACKAGE"), ("partial", "CEP_WORKER_DEPENDENCY"), ("older", "CEP_WORKER_VERSION"),
        ):  # fmt: skip
            found = s.answers(name, s.on_cluster(c, s.environments.python(name)), asked)
            s.same({"index": found.pop("index")})  # a small one is built where the session is
            for rows in found.values():
                says(rows, error_class, "pip install sparkcep==")
        mixed = s.scratch / "mixed-python"
        mixed.write_text(
            f'#!/bin/sh\ncase "$PWD" in *worker-0*) exec {s.python} "$@";; esac\n'
            f'exec {s.environments.python("older")} "$@"\n'
        )
        mixed.chmod(0o755)
        found = s.answers("mixed", s.on_cluster(c, mixed), asked)
        for question, rows in found.items():
            if rows[0] == "error":
                says(rows, "CEP_WORKER_VERSION", "pip install sparkcep==")
            else:
                s.same({question: rows})
    return f"of one good and one older executor: {sum(r[0] == 'error' for r in found.values())} of {len(found)} refused"


def index_path(s: Setting) -> str:
    """Index paths that are not the same place for everybody."""
    with Cluster(s.home, s.scratch / "index_path") as c:
        found = s.answers("relative", s.on_cluster(c), ["lists", "index"], index="indexes")
        s.same({"lists": found["lists"]})
        says(found["index"], "CEP_INDEX_PATH", "SET spark.sparkcep.index.path")
        says(s.answers("dbfs", s.on_cluster(c), ["index"], index="dbfs:/x")["index"], "CEP_INDEX_PATH", "DBFS")
        if os.geteuid() != 0:
            return "relative and dbfs only: mounts need root"
        own = s.scratch / "own-disk"
        own.mkdir()
        c.kill_worker(1, apart=own)
        found = s.answers("not_shared", s.on_cluster(c), ["lists", "index"], index=str(own))
        s.same({"lists": found["lists"]})
        says(found["index"], "CEP_INDEX_PATH_NOT_SHARED", "does not see it")
        assert not list(own.glob("log/build-*")), "nothing is built in a place that is not shared"
    return "relative, dbfs, a disk of one worker's own"


def doctor(s: Setting) -> str:
    """sparkcep doctor --cluster."""
    with Cluster(s.home, s.scratch / "doctor") as c:
        for name, python, expected in (
            ("well", s.python, ["executor on", "memory", "index path"]),
            ("bare", s.environments.python("bare"), ["MISSING", "sparkcep", "pip install"]),
        ):
            conf = {**s.configuration(python), "spark.sparkcep.index.path": str(s.scratch / "indexes")}
            command = [s.python.with_name("sparkcep"), "doctor", "--cluster", "--master", c.url]
            command += [part for k, v in conf.items() for part in ("--conf", f"{k}={v}")]
            done = subprocess.run(
                [str(part) for part in command], check=False, capture_output=True, text=True, env=environment(s.home)
            )
            (s.scratch / f"doctor-{name}.log").write_text(done.stdout + done.stderr)
            assert done.returncode == (0 if name == "well" else 1), done.stdout + done.stderr
            for text in expected:
                assert text in done.stdout, (text, done.stdout)
    thin = s.environments.python("thin")
    env = {**environment(s.home), "PATH": "/nonexistent", "JAVA_HOME": ""}
    done = subprocess.run([thin, "-m", "sparkcep", "doctor"], check=False, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return "two executors, executors without the package, a thin client without Java"


def s3(s: Setting) -> str:
    """Two refreshers race on servers that speak S3; one of them behind a proxy loses its conditional put. Posting lists
    are written to the servers and read again."""
    tools = s.environments.python("s3").parent
    folder = s.scratch / "s3"
    folder.mkdir()
    users = [{"accessKey": "test", "secretKey": "hush"}]
    names = {"identities": [{"name": "test", "credentials": users, "actions": ["Admin", "Read", "Write", "List"]}]}
    (folder / "users.json").write_text(json.dumps(names))
    moto, weed, proxy = free_port(), free_port(), free_port()
    others = [f"-{part}.port={free_port()}" for part in ("master", "volume", "filer")]
    commands = [
        [tools / "moto_server", "-H", HOST, "-p", moto],
        [sys.executable, Path(__file__).with_name("unconditional.py"), proxy, moto],
        [tools / "weed", "server", f"-ip={HOST}", f"-ip.bind={HOST}", f"-dir={folder}", "-s3", f"-s3.port={weed}",
         f"-s3.config={folder / 'users.json'}", "-volume.max=20", "-master.volumeSizeLimitMB=64", *others],
    ]  # fmt: skip
    program = Path(__file__).with_name("s3.py")

    def told(port: int, *what: str) -> str:
        command = [str(s.python), str(program), f"http://{HOST}:{port}", *what]
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, env=environment(s.home), timeout=600
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "hush" not in done.stdout + done.stderr
        return done.stdout

    servers = []
    try:
        with (folder / "servers.log").open("w") as log:
            for command in commands:
                servers.append(
                    subprocess.Popen(
                        [str(c) for c in command], stdout=log, stderr=log, cwd=folder, start_new_session=True
                    )
                )
        for port in (moto, proxy, weed):
            wait_for(port)
        time.sleep(5)  # SeaweedFS listens before its parts know of each other
        for port in (moto, weed):
            told(port, "bucket")
            probed = told(port, "probe")
            assert probed == "conditional put\n", probed
        probed = told(proxy, "probe")
        assert "CEP_INDEX_STORAGE_OPTION" in probed, probed
        return "; ".join(
            f"{name}: {told(port, 'race', '20').strip()}, {told(port, 'lists', '300000').strip()}"
            for name, port in (("moto", moto), ("weed", weed))
        )
    finally:
        for server in servers:
            end(server)


def says(rows: list[str], error_class: str, text: str) -> None:
    """An answer is an error of a class, in one sentence and a hint, without a bare ModuleNotFoundError."""
    told = "\n".join(rows)
    assert rows[0] == "error", told[:500]
    assert error_class in told, told[:2000]
    assert text in told, told[:2000]
    assert "ModuleNotFoundError" not in told, told[:2000]


SCENARIOS: dict[str, Callable[[Setting], str]] = {
    f.__name__: f
    for f in (cluster, executor_killed, worker_killed, speculation, connect, wrong_workers, index_path, doctor, s3)
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Run sparkcep on a cluster of this machine, with faults.")
    parser.add_argument("--folder", type=Path, default=ROOT / ".venvs" / "cluster", help="where the environments are")
    parser.add_argument("--only", nargs="+", choices=list(SCENARIOS), default=list(SCENARIOS), metavar="NAME")
    arguments = parser.parse_args()
    s = Setting(arguments.folder.resolve())
    passed = failed = 0
    for name in arguments.only:
        started = time.perf_counter()
        try:
            said = SCENARIOS[name](s)
            passed += 1
        except AssertionError as error:
            said = f"FAILED: {error}"
            failed += 1
        print(f"{name}: {said or 'ok'}, {time.perf_counter() - started:.0f} s", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
