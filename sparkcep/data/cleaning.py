"""What mends a log: event types in one spelling, rows that stand there once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from sparkcep.data.roles import folded
from sparkcep.query import in_backticks, plain_literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def spellings(frame: DataFrame, event: str) -> list[list[tuple[str, int]]]:
    """Event types that differ by capitals, blanks or accents alone, with how many events each has, the most first."""
    counted = frame.groupBy(F.col(in_backticks(event)).cast("string").alias("e")).count().where("e IS NOT NULL")
    groups: dict[str, list[tuple[str, int]]] = {}
    for name, number in sorted(map(tuple, counted.collect()), key=lambda one: (-one[1], one[0])):
        groups.setdefault(folded_type(name), []).append((name, number))
    return [group for group in groups.values() if len(group) > 1]


def folded_type(name: str) -> str:
    """An event type without capitals, accents, and blanks around and beside each other.

    >>> folded_type(" Prüfung  OK "), folded_type("prufung ok")
    ('prufung ok', 'prufung ok')
    """
    return folded(" ".join(name.split()))


def in_one_spelling(frame: DataFrame, event: str) -> tuple[DataFrame, int]:
    """A log each of whose event types is spelled as most of its events are, and how many spellings that replaced."""
    spelled = {s: group[0][0] for group in spellings(frame, event) for s, _ in group[1:]}
    if not spelled:
        return frame, 0
    name = in_backticks(event)
    pairs = ", ".join(f"{plain_literal(a)}, {plain_literal(b)}" for a, b in spelled.items())
    return frame.withColumn(event, F.expr(f"coalesce(element_at(map({pairs}), {name}), {name})")), len(spelled)


def without_duplicates(frame: DataFrame, place: str | None) -> DataFrame:
    """A log without rows that are equal to an earlier one in all columns but that of their places."""
    if place is None:
        return frame.dropDuplicates()
    columns = [in_backticks(name) for name in frame.columns if name != place]
    return frame.groupBy(*columns).agg(F.min(place).alias(place))
