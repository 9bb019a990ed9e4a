"""What is written down of Spark's answers is what Spark answers (`make test-full`)."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from .answers import Answers
from .corpus import Source, sources
from .plans import answers_file
from .record import recorded

pytestmark = [pytest.mark.full]


@pytest.mark.parametrize("source", [pytest.param(source, id=source.name) for source in sources()])
def test_answers(spark: SparkSession, source: Source) -> None:
    answers, _ = recorded(source, spark)
    known = Answers.read(answers_file(source)).known
    assert {key: (known.get(key), now) for key, now in answers.given.items() if known.get(key) != now} == {}
