"""What the first rows of a large input say about it. A sample decides how a plan runs, never what it answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: Rows that are looked at.
SIZE = 20_000

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


@dataclass(frozen=True, slots=True)
class Sample:
    """How many rows there are, of how many partitions, and how many of them pass each test."""

    rows: int
    partitions: int
    passing: tuple[int, ...] = ()

    @property
    def partition_rows(self) -> float:
        """Rows of a partition; a lower bound where partitions interleave."""
        return self.rows / max(1, self.partitions)

    def share(self) -> float:
        """Expected share of partitions in which every test passes for some row, were all independent."""
        out = 1.0
        for count in self.passing:
            out *= 1 - (1 - count / max(1, self.rows)) ** self.partition_rows
        return out


#: Asks the input for a sample: tests and keys -> the sample, or None where the input is too small to bother.
Sampler = Callable[[Sequence[str], Sequence[str]], Sample | None]


def sample_sql(tests: Sequence[str], keys: Sequence[str], source: str) -> str:
    """A query for the numbers of a :class:`Sample`."""
    counts = ["count(*)", f"count(DISTINCT struct({', '.join(keys)}))", *(f"count_if({test})" for test in tests)]
    return f"SELECT {', '.join(counts)} FROM (SELECT * FROM {source} LIMIT {SIZE})"


def estimated_bytes(costs: str) -> float:
    """Size of a query's result by Spark's own estimate, from the text of EXPLAIN COST; 0 where it tells none.

    >>> estimated_bytes("Relation a.b Statistics(sizeInBytes=6.5 MiB, rowCount=3)")
    6815744.0
    """
    found = re.search(r"sizeInBytes=([\d.]+(?:E[+-]?\d+)?) (\w+)", costs)
    if found is None or found[2] not in _UNITS:
        return 0.0
    return float(found[1]) * 1024.0 ** _UNITS.index(found[2])
