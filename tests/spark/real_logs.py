"""Real event logs beside the project, as views; and results as an example's file shows them."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from sparkcep.cli.printing import print_markdown

from ..conftest import IS_CONNECT

DATA = Path(__file__).parents[3] / "shared" / "data"


def over(logs: Sequence[str]) -> list[pytest.MarkDecorator]:
    """What marks a test over logs that may not be there."""
    return [
        pytest.mark.long,
        pytest.mark.skipif(
            not all((DATA / f"{log}.parquet").exists() for log in logs),
            reason=f"the logs {', '.join(logs)} are read from ../shared/data beside the project, and are not there",
        ),
        pytest.mark.skipif(IS_CONNECT, reason="engines know no session"),
    ]


def as_views(spark: SparkSession, logs: Sequence[str]) -> Iterator[SparkSession]:
    """A fixture's body: each log is a view of its name."""
    for log in logs:
        spark.read.parquet(str(DATA / f"{log}.parquet")).createOrReplaceTempView(log)
    yield spark
    for log in logs:
        spark.catalog.dropTempView(log)


def shown(frame: DataFrame) -> tuple[str, ...]:
    """The lines of a result as Markdown."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        print_markdown(frame)
    return tuple(printed.getvalue().splitlines())
