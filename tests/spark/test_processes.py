"""Drivers that fork and spawn, and Connect sessions one after the other."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

#: A process that is stuck is ended after so many seconds; a machine that is busy takes most of them.
PATIENCE = 240

#: The matcher without Spark: what a child may use of a driver's library.
MATCH = """
def match(times=1):
    from tests.exec.helpers import batch, found_matches, make_spec
    from sparkcep.pattern import Concatenation, Variable
    from sparkcep.query import SkipMode
    spec = make_spec(Concatenation((Variable("A"), Variable("B"))), {"A": 0, "B": 1}, skip=SkipMode.PAST_LAST_ROW)
    return [len(found_matches(spec, batch([1, 2] * 50))) for _ in range(times)][-1]
"""

FORKS = """
import multiprocessing, os, sys, threading
import sparkcep
{match}

def child(queue):
    queue.put(match(20))

def main():
    assert match() == 50
    running = threading.Thread(target=match, args=(200,))
    running.start()                     # a fork in the middle of the parent's matching
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        children = [context.Process(target=child, args=(queue,)) for _ in range(2)]
        for c in children:
            c.start()
        assert [queue.get(timeout=120) for _ in children] == [50, 50]
        for c in children:
            c.join(60)
            assert c.exitcode == 0, (method, c.exitcode)
    running.join()
    assert match() == 50
    print("whole")

if __name__ == "__main__":
    main()
"""


def run(text: str, folder: Path) -> list[str]:
    """The lines that a program prints."""
    program = folder / "program.py"
    program.write_text(textwrap.dedent(text))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_children_match_as_their_parent(tmp_path: Path) -> None:
    """Forked in the middle of a match, spawned and from a server: none hangs, and the parent goes on."""
    assert run(FORKS.format(match=MATCH), tmp_path) == ["whole"]


QUERY = """
def answer(spark):
    spark.sql("SELECT id AS o, if(id % 2 = 0, 'a', 'b') AS e FROM range(10)").createOrReplaceTempView("ev")
    return spark.sql("FROM ev ORDER BY o EVENT TYPE e PATTERN SEQ(a x, b y) MATCHES NON OVERLAPPING RETURN y.o AS y")
"""

DRIVER = """
import os
from sparkcep.session.machine.local import local_session
import sparkcep
{match}
{query}

spark = local_session("local[1]", None, {{"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"}})
sparkcep.enable()
assert answer(spark).count() == 5
child = os.fork()
if not child:
    # A child has its parent's connection to Spark, which it must leave alone; kernels are its own to run.
    os._exit(0 if match() == 50 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert answer(spark).count() == 5
print("whole")
"""

RECONNECTS = """
from pyspark.sql import SparkSession
import sparkcep
{query}

for number in range(2):
    spark = SparkSession.builder.remote("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    sparkcep.enable()
    assert sparkcep.enabled()
    assert answer(spark).count() == 5
    spark.stop()
print("whole")
"""

WITHOUT_PANDAS = r"""
import os, sys
from pathlib import Path

folder = Path(__file__).parent
hidden = [
    "import importlib.abc, sys",
    "class Hide(importlib.abc.MetaPathFinder):",
    "    def find_spec(self, name, path=None, target=None):",
    "        if name == 'pandas':",
    "            raise ModuleNotFoundError(name, name=name)",
    "sys.meta_path.insert(0, Hide())",
]
(folder / "sitecustomize.py").write_text("\n".join(hidden))
worker = folder / "python"
worker.write_text(f'#!/bin/sh\nPYTHONPATH={{folder}}:$PYTHONPATH exec {{sys.executable}} "$@"\n')
worker.chmod(0o755)
os.environ["PYSPARK_PYTHON"] = str(worker)

from sparkcep.errors import error_behind
from sparkcep.session.machine.local import local_session

spark = local_session("local[2]", None, {{"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}})
rows = spark.sql("SELECT id % 3 AS u, timestamp_seconds(id) AS t, IF(id % 2 = 0, 'A', 'B') AS e FROM range(30)")
rows.coalesce(1).write.parquet(f"{{folder}}/in")
stream = spark.readStream.schema(rows.schema).parquet(f"{{folder}}/in")
stream.withWatermark("t", "1 second").createOrReplaceTempView("s")

def matches(operator):
    spark.conf.set("spark.sparkcep.streaming.operator", operator)
    text = "FROM s PARTITION BY u ORDER BY t EVENT TYPE e PATTERN SEQ(A a, B b) WITHIN 1 minute RETURN u"
    writer = spark.sql(text).writeStream.format("memory").queryName(operator).trigger(availableNow=True)
    writer.option("checkpointLocation", f"{{folder}}/{{operator}}").start().awaitTermination(200)
    return spark.table(operator).count()

try:
    matches("state")
except Exception as error:
    own = error_behind(error)
    assert own.error_class == "CEP_WORKER_DEPENDENCY", error
    assert own.sentence.endswith("lacks the package pandas, which streams need."), own
spark.conf.set("spark.sql.streaming.stateStore.providerClass",
               "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider")
assert matches("transform") > 10  # Spark 4.3's workers do without pandas here
print("whole")
"""


@pytest.mark.skipif(os.environ.get("HYPOTHESIS_PROFILE") != "long", reason="each starts a Spark of its own")
@pytest.mark.parametrize("program", [DRIVER, RECONNECTS, WITHOUT_PANDAS], ids=["fork", "reconnect", "without pandas"])
def test_drivers(tmp_path: Path, program: str) -> None:
    assert run(program.format(query=QUERY, match=MATCH), tmp_path) == ["whole"]
