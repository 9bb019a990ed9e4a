"""Where the rows of a relation come from: what the readings of plans and of texts find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from sparkcep.lineage.comparisons import Comparison


@dataclass(frozen=True, slots=True)
class Origin:
    """Files that each row of a relation comes from.

    ``files``: all their rows and columns. ``columns``: columns of the relation that are nothing but a column of the
    files, and which. ``repeats``: whether a row of the files may be in the relation more than once. ``made_from``: by
    column of the relation the columns of the files that its value is made from, ``tested``: those that filters and
    joins look at; ``by_row``: whether that is all that decides of a row, so that other rows may take the place of the
    files'. ``tests``: by column of the files what filters ask of it, as far as that can be told: rows that do not meet
    it are not in the relation.

    ``over``: the relation with other rows in the place of its files. It takes some columns of the files, by their names
    and with their types; the others are NULL, and so is what the relation makes of them. It raises TypeError where a
    column has another type. ``text``: the query that it is over ``{SOURCE}``; empty where it was read from a plan.
    """

    files: DataFrame
    columns: Mapping[str, str]
    repeats: bool
    made_from: Mapping[str, frozenset[str]]
    tested: frozenset[str]
    by_row: bool
    tests: Mapping[str, tuple[Comparison, ...]]
    over: Callable[[DataFrame], DataFrame] = field(repr=False)
    text: str = ""
