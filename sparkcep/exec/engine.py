"""Engine: what the layouts of the grouped map ask of a way of matching, and what it gives them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import pyarrow as pa

from sparkcep.exec.arrays import Ints
from sparkcep.exec.batch import Batch, Resume
from sparkcep.exec.shape import OperatorColumns


@dataclass(frozen=True, slots=True)
class Value:
    """An output column that the matcher gives. ``type``: as Spark writes it. ``is_row``: rows of the partition, which
    count from its first row though the matcher saw only a piece of it."""

    name: str
    type: str
    is_row: bool = False


@dataclass(frozen=True, slots=True)
class FieldAt:
    """An output column: prepared field ``field`` at the row of the partition that the matcher gives as ``row`` (INT);
    NULL where that is NULL or below 0."""

    name: str
    row: str
    field: int


@dataclass(frozen=True, slots=True)
class Events:
    """An output column: an array of events. ``own``: what the matcher gives of each, with Spark types; ``r`` is its
    row of the partition. ``fields``: names of prepared fields at that row."""

    name: str
    own: tuple[tuple[str, str], ...]
    fields: tuple[tuple[str, int], ...]


OutputColumn = Value | FieldAt | Events


@dataclass(frozen=True, slots=True)
class MatchTable:
    """Output rows of a batch, in the order of their partitions.

    ``partition`` (n,): its number in the batch. ``columns``: n values each, by what the output columns name: a
    :class:`Value`, the ``row`` of a :class:`FieldAt`, the list of structs of :class:`Events`.
    """

    partition: Ints
    columns: Mapping[str, pa.Array]

    def __len__(self) -> int:
        return len(self.partition)

    def slice(self, low: int, rows: int) -> MatchTable:
        """So many rows from ``low`` on."""
        columns = {name: values.slice(low, rows) for name, values in self.columns.items()}
        return MatchTable(self.partition[low : low + rows], columns)


class Matcher(Protocol):
    """Matches batches. Made on an executor, once per task and thread; holds what the spec compiles to."""

    def match(self, batch: Batch) -> MatchTable:
        """All output rows of a batch of whole partitions.

        Raises:
            SparkCepError: what goes wrong while rows are matched; LimitError where a limit is passed.
        """
        ...

    def pieces(self, batch: Batch) -> Iterator[MatchTable]:
        """The same in pieces; a piece may be overwritten when the next one is asked for. Here there is one."""
        yield self.match(batch)


@runtime_checkable
class ResumableMatcher(Matcher, Protocol):
    """A matcher that can go on in the middle of a partition. ``chunk``: rows to gather before matching."""

    chunk: int

    def parts(self, batch: Batch, resume: Resume | None, more: bool) -> Generator[MatchTable, None, Resume | None]:
        """Output rows of a batch whose first partition was left at ``resume`` and whose last one goes on if there is
        ``more``; returns where that was left."""
        ...


S_contra = TypeVar("S_contra", contravariant=True)


class Engine(Protocol[S_contra]):
    """A way of matching. Picklable, without state; what runs it is made from a spec on the executor."""

    name: str

    def columns(self, spec: S_contra, shape: OperatorColumns) -> tuple[OutputColumn, ...]:
        """Output columns beside the partition's keys."""
        ...

    def matcher(self, spec: S_contra, shape: OperatorColumns) -> Matcher:
        """What matches batches by a spec."""
        ...

    def needs(self, spec: S_contra, shape: OperatorColumns) -> tuple[str, ...]:
        """Which of the groups of kernels in ``warm_ups``, the engine's own or another's, a spec is matched by."""
        ...

    def warm_ups(self) -> Mapping[str, Callable[[], None]]:
        """Calls that compile the engine's kernels on tiny inputs, by name; they may run in different processes."""
        ...
