"""The first answer of the command line: processes from their start to their end, over a file of three rows."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path

from benchmarks.harness import Answer, Benchmark, Entry, Ratio, timed

ROWS = "case_id,ts,event\n1,2024-01-01 10:00:00,a\n1,2024-01-01 11:00:00,b\n2,2024-01-01 10:00:00,a\n"
COUNTED = """from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
print(spark.read.csv("three.csv", header=True, inferSchema=True).count())"""
PATTERN = "SELECT count(*) FROM (FROM three PATTERN SEQ(a x, b y))"

ABOUT = f"""
Whole processes, one after the other: a script that starts Spark and counts the rows of a CSV of three rows, and
`sparkcep sql --csv three.csv "{PATTERN}"`. All kernels are compiled.

```python
{COUNTED}
```
"""


def process(folder: Path, *command: str) -> Answer:
    """The time of a process."""

    def run() -> list[tuple[int]]:
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return [(1,)]

    return timed(run)


@contextmanager
def first_answer(**_: object) -> Iterator[Benchmark]:
    """The benchmark."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "three.csv").write_text(ROWS)
        ours = (sys.executable, "-m", "sparkcep", "sql", "--csv", "three.csv", PATTERN)
        yield Benchmark(
            name="first_answer",
            title="The first answer of the command line",
            about=ABOUT,
            entries=(
                Entry("three rows", "Spark counts", partial(process, folder, sys.executable, "-c", COUNTED)),
                Entry("three rows", "sparkcep sql", partial(process, folder, *ours)),
            ),
            ratios=(Ratio("sparkcep sql / Spark counts", ("sparkcep sql",), ("Spark counts",)),),
            versions={"pyspark": version("pyspark")},
        )
