"""Engine: what the layouts of the grouped map ask of a way of matching, and what it gives them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
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
    """An output column: an array of events. ``members``: what the matcher gives of each, with Spark types; ``r`` is its
    row of the partition. ``fields``: names of prepared fields at that row, or at what is called ``row``."""

    name: str
    members: tuple[tuple[str, str], ...]
    fields: tuple[tuple[str, int], ...]
    row: str = "r"


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


@dataclass(frozen=True, slots=True)
class Released:
    """What a step of a stream finds. ``table``: output rows. ``drop`` (partitions,): how many rows of each, from its
    first, nothing depends on any more. ``changed``: matches behind which SKIP went on elsewhere than it says."""

    table: MatchTable
    drop: Ints
    changed: int = 0


class ReleasedMatcher(Protocol):
    """Matches the rows of a stream up to its watermark, as far as no row to come can change what it gives.

    ``bounded``: whether WITHIN says how long a row matters. ``closes``: whether something may be decided when the bound
    of a start row is reached, though no row comes.
    """

    bounded: bool
    closes: bool

    def due(self, times: Ints, bounds: Ints | None, released: int, watermark: int) -> npt.NDArray[np.bool_]:
        """(rows,) whether something happens to a row's partition between two watermarks (microseconds).

        Args:
            bounds: up to when WITHIN lets a match go on that begins at a row.
        """
        ...

    def wake(self, times: Ints, bounds: Ints | None, watermark: int) -> int | None:
        """The next watermark at which there is something to do for kept rows though no row comes; None: never.

        Args:
            times, bounds: as of :meth:`due`.
        """
        ...

    def match_released(self, batch: Batch, times: Ints, left: Ints, released: int, watermark: int) -> Released:
        """Match partitions whose rows begin with those that were kept.

        Args:
            batch: rows up to the watermark. times (rows,): theirs, in microseconds.
            left: (partitions, PROGRESS) where each was left, see kernels.rows; is set to where it is left now, counted
                from the first row that is not dropped.
            released, watermark: what was emitted before was decided by the first; what is emitted now, by the second.
        """
        ...


class ReleasedDefaults:
    """What most engines do: a new row is something, and so is a start row's bound."""

    bounded = True
    closes = True

    def due(self, times: Ints, bounds: Ints | None, released: int, watermark: int) -> npt.NDArray[np.bool_]:
        """See :class:`ReleasedMatcher`."""
        due: npt.NDArray[np.bool_] = times > released
        if bounds is not None and self.closes:
            due = due | ((bounds > released) & (bounds <= watermark))
        return due

    def wake(self, times: Ints, bounds: Ints | None, watermark: int) -> int | None:
        """See :class:`ReleasedMatcher`: a start row's bound decides; the last one clears the bucket."""
        if bounds is None:
            return None
        ahead = bounds[bounds > watermark]
        return int(ahead.min() if self.closes else ahead.max()) if len(ahead) else None


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


class StreamingEngine(Engine[S_contra], Protocol[S_contra]):
    """An engine that matches streams as well."""

    def released(self, spec: S_contra, shape: OperatorColumns) -> ReleasedMatcher:
        """What matches the released rows of a stream by a spec."""
        ...
