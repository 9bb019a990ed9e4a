"""What matchers hold is counted, grows in steps, and ends in an error that names the setting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from sparkcep.errors import LimitError, SparkCepError
from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.runs import matcher as runs
from sparkcep.exec.engines.runs.engine import tiny_spec
from sparkcep.exec.layouts.rows import starts_partition, whole_partitions
from sparkcep.exec.memory import Budget, bytes_of
from sparkcep.exec.reports import RowsReport
from sparkcep.exec.shape import OperatorColumns
from sparkcep.settings import read
from sparkcep.spark.task_memory import LEAST, UNTOLD, WORKER, task_memory

from .run_engine import run_case
from .run_strategies import RunCase, run_cases

MB = 1 << 20


@pytest.mark.parametrize(
    ("conf", "expected"),
    [
        ({}, UNTOLD),
        ({"spark.master": "local[4]", "spark.executor.memory": "4g"}, UNTOLD),
        ({"spark.executor.memoryOverhead": "4000", "spark.executor.cores": "4"}, 1000 * MB - WORKER),
        ({"spark.executor.memoryOverhead": "4g", "spark.executor.cores": "4", "spark.task.cpus": "2"},
         2048 * MB - WORKER),
        ({"spark.executor.pyspark.memory": "2g", "spark.executor.memoryOverhead": "9g"}, 2048 * MB - WORKER),
        ({"spark.executor.memoryOverhead": "400m", "spark.executor.cores": "4"}, LEAST),
        ({"spark.master": "yarn", "spark.executor.memory": "20g"}, 2048 * MB - WORKER),
        ({"spark.master": "k8s://h", "spark.executor.memory": "5g"}, 2048 * MB - WORKER),
        ({"spark.master": "yarn"}, LEAST),
    ],
)  # fmt: skip
def test_default_is_what_the_executor_leaves(conf: dict[str, str], expected: int) -> None:
    assert task_memory(conf.get) == pytest.approx(expected, abs=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "expected"), [("512m", 512 * MB), ("1g", 1024 * MB), ("1000", 1000), ("64K", 65536)])
def test_sizes(text: str, expected: int) -> None:
    assert read({"spark.sparkcep.exec.taskMemory": text}.get).task_memory == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "0", "-1", "1x", "1.5g"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(SparkCepError, match=r"spark\.sparkcep\.exec\.taskMemory"):
        read({"spark.sparkcep.exec.taskMemory": text}.get)  # type: ignore[arg-type]


def test_memory_is_counted_once() -> None:
    doubles = np.zeros(10)
    assert bytes_of((doubles, doubles.view(np.int64), [np.zeros(3, np.uint8)], 7)) == 83
    assert bytes_of(doubles[2:], doubles, doubles.view(np.int64)[5:]) == 80
    assert bytes_of((doubles[:5], [doubles.view(np.int64)[:4]], doubles[5:5]), 7) == 47


def test_names_are_counted_anew_when_they_grow() -> None:
    budget = Budget(100, 5)
    budget.hold("a", np.zeros(10, np.uint8))
    budget.hold("b", np.zeros(60, np.uint8), 20)
    budget.hold("a", np.zeros(20, np.uint8))
    assert budget.left == 0
    with pytest.raises(LimitError) as caught:
        budget.hold("a", np.zeros(21, np.uint8))
    assert caught.value.error_class == "CEP_MEMORY_LIMIT"


@given(run_cases())
def test_runs_that_grow_are_the_same(case: RunCase) -> None:
    """Frames, registers and aggregates keep what they hold when they are given more room."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "FRAMES", 1)
        grown = run_case(case)
    assert grown == run_case(case)


@pytest.mark.compiled
def test_a_long_match_ends_in_the_limit() -> None:
    rows = 200_000
    spec = replace(tiny_spec(), one_per_start=True, limit_steps=10**9, limit_rows=10**9)
    batch = Batch(np.array([0, rows]), [pa.array(np.zeros(rows, np.int64))])
    out, trace = runs.RunMatcher(spec).match(batch)
    assert (len(out), len(trace)) == (1, rows)
    # What is known of a row is there, a run of that many rows is not.
    with pytest.raises(LimitError, match=r"200,000 events takes .* a task may take 16 MB \(spark.sparkcep.exec.task"):
        runs.RunMatcher(replace(spec, task_memory=16 * MB)).match(batch)


def test_a_long_partition_is_not_gathered() -> None:
    """The error comes long before all of a partition is there."""
    shape = OperatorColumns(
        keys=0, masks=1, columns=(), within=None, gathers=(), labels=(), chunk_bytes=1000, task_memory=MB
    )
    read = 0

    def rows() -> Iterator[pa.RecordBatch]:
        nonlocal read
        while True:
            read += 1
            values = np.zeros(1000, np.int64)
            values[0] = -1 if read == 1 else 0
            yield pa.record_batch({"__cep_m0": values})

    with pytest.raises(LimitError) as caught:
        next(whole_partitions(rows(), starts_partition, shape))
    assert caught.value.error_class == "CEP_MEMORY_LIMIT"
    assert read < 100


def test_what_the_system_refuses_is_named() -> None:
    def body(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        next(batches)
        raise pa.ArrowMemoryError("malloc of size 1 failed")

    empty = pa.record_batch({"x": pa.array([], pa.int64())})
    (found,) = RowsReport(body, lambda table: empty).run(iter([empty]))
    assert "[CEP_MEMORY_LIMIT]" in found.column(1)[0].as_py()
