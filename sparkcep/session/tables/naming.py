"""Statements that may name pattern tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from sparkcep.session.tables.known import known

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")


def with_tables(spark: SparkSession, text: str, run: Callable[[str], T]) -> T:
    """Run a statement that may name pattern tables, which are views of their newest versions by then."""
    from pyspark.errors import AnalysisException

    missed: set[str] = set()
    while True:
        named = text
        if tables := known(spark):
            words = set(re.findall(r"\w+", text.lower()))
            if names := [name for name in tables if words.issuperset(name.split("."))]:
                from sparkcep.session.tables.names import with_views

                named = with_views(spark, text, names)
        try:
            return run(named)
        except AnalysisException as error:
            from sparkcep.session.tables.names import show_missing

            name = show_missing(spark, error)
            if not name or name in missed:
                raise
            missed.add(name)
