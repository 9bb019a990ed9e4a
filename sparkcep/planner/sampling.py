"""What some rows of a large input say about it. A sample decides how a plan runs, never what it answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

#: Rows that are looked at.
SIZE = 20_000

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


#: Bytes of a row in a list beside its fields, and of a field of it, in the JVM.
ROW_BYTES, FIELD_BYTES = 48, 16
#: So many rows of a partition must have been seen before its share tells anything.
CERTAIN = 30
#: How many times a row's bytes in files are its bytes in memory.
UNPACKED = 3


@dataclass(frozen=True, slots=True)
class Sample:
    """How many of the first rows a plan keeps, of how many partitions, and how many of them pass each test.

    ``bytes``: of the input, Spark's estimate. ``most``: of these rows, those of one partition at most.
    ``total``: rows of the input, 0 where they were not looked at.
    ``largest``: the share of all its rows that are kept and of one partition, the largest, of
    which ``largest_rows`` were seen. ``columns``: of the input. ``changes``: what it may have other rows by when it is
    read again.
    """

    rows: int
    partitions: int
    passing: tuple[int, ...] = ()
    bytes: float = 0.0
    most: int = 0
    total: float = 0.0
    largest: float = 0.0
    largest_rows: int = 0
    columns: int = 0
    changes: str = ""

    def largest_list(self, fields: int) -> float:
        """Bytes in memory of the list of the largest partition, whose rows have so many fields."""
        if self.largest_rows < CERTAIN:
            return 0.0
        width = ROW_BYTES + FIELD_BYTES * fields
        if not self.total:
            return self.largest_rows * width
        carried = min(1.0, fields / max(1, self.columns))
        return self.largest * self.total * (width + UNPACKED * carried * self.bytes / self.total)

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


#: Asks the input for a sample: tests, keys and what rows must satisfy to be looked at, beside what the statement
#: demands of keys; None: nothing at all -> the sample, or None where the input is too small to bother.
Sampler = Callable[[Sequence[str], Sequence[str], Sequence[str] | None], Sample | None]


def sample_kept(
    sampler: Sampler, keys: Sequence[str], filters: Sequence[str], matters: Callable[[Sample], bool]
) -> Sample | None:
    """A sample of the rows that are kept; of all rows where already these do not matter.

    Each pattern keeps other rows, and to ask for them takes as long as a small query; all rows are asked for once an
    input.

    Args:
        matters: whether a sample changes a plan. A sample of more rows must matter where one of fewer does.
    """
    every = sampler((), keys, None)
    return every if every is None or not matters(every) else sampler((), keys, filters)


def sample_sql(tests: Sequence[str], keys: Sequence[str], filters: Sequence[str], source: str) -> str:
    """A query for rows, partitions and the rows that pass each test, of those of the first SIZE rows that are kept."""
    counts = ["count(*)", f"count(DISTINCT struct({', '.join(keys)}))", *(f"count_if({test})" for test in tests)]
    where = f" WHERE {_all_of(filters)}" if filters else ""
    return f"SELECT {', '.join(counts)} FROM {first_rows(source)}{where}"


def partitions_sql(keys: Sequence[str], filters: Sequence[str], rows: str) -> str:
    """A query for how many rows a relation has, then of those that are kept: how many, of how many partitions, and how
    many of one partition at most."""
    kept = f"count_if({_all_of(filters)})" if filters else "count(*)"
    grouped = f"SELECT count(*) AS n, {kept} AS kept FROM {rows} GROUP BY struct({', '.join(keys)})"
    sums = (f"coalesce({found}, 0)" for found in ("sum(n)", "sum(kept)", "count_if(kept > 0)", "max(kept)"))
    return f"SELECT {', '.join(sums)} FROM ({grouped})"


def _all_of(filters: Sequence[str]) -> str:
    return " AND ".join(f"({f})" for f in filters)


def first_rows(source: str) -> str:
    """The first SIZE rows of a relation."""
    return f"(SELECT * FROM {source} LIMIT {SIZE})"


def random_rows(source: str, share: float) -> str:
    """A random share of all rows of a relation, the same ones each time."""
    return f"(SELECT * FROM {source} WHERE rand(17) < {share!r}D)"


def magnitude(size: float) -> int:
    """A number that changes where a size has grown to four times what it was.

    >>> magnitude(1000) == magnitude(1020), magnitude(1000) == magnitude(4200)
    (True, False)
    """
    return int(size).bit_length() // 2


def estimated_bytes(costs: str) -> float:
    """Size of a query's result by Spark's own estimate, from the text of EXPLAIN COST; 0 where it tells none.

    >>> estimated_bytes("Relation a.b Statistics(sizeInBytes=6.5 MiB, rowCount=3)")
    6815744.0
    """
    found = re.search(r"sizeInBytes=([\d.]+(?:E[+-]?\d+)?) (\w+)", costs)
    if found is None or found[2] not in _UNITS:
        return 0.0
    return float(found[1]) * 1024.0 ** _UNITS.index(found[2])
