"""How long a query takes through an index and without it, by what has to be done; not how many bytes there are.

The constants are what `python -m benchmarks.pruning` measures over 1 and 10 million events on two cores. On other
machines all of them differ, and much alike, so that their order stays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

#: Seconds of a core: to read an event's row from a file of columns, and to group and sort it and have it matched.
READ, MATCH = 0.29e-6, 6.2e-6
#: To read a byte, which is more where rows are text, and the most that this makes of an event.
BYTE, READ_TEXT = 0.03e-6, 3e-6
#: To unpack an event of a case of `sequences`, and to make a row of it if the case can match.
UNPACK, ROW = 0.12e-6, 0.86e-6
#: To compare a row of the source with the cases that can match.
JOIN = 0.05e-6
#: To unpack an event of `activities` by Spark's tasks.
EXPANDED = 1.5e-6
#: To unpack an event of `activities` or `sequences` by the driver alone, and to hand one whose case can match to Spark.
LISTED, STORED, SHIPPED = 0.1e-6, 0.1e-6, 1.1e-6
#: Seconds that go by whatever the size: jobs, and for an index the reading of posting lists too; the same where the
#: driver reads the events, and where tasks unpack `activities`.
JOBS, WITH_LISTS, HERE, WITH_ACTIVITIES = 0.09, 0.25, 0.1, 1.2
#: Events of logs so small that nobody waits for them.
SMALL = 200_000
#: What an index must lose, of its seconds, before it is left alone: estimates are no better.
MARGIN = 0.1


@dataclass(frozen=True, slots=True)
class Work:
    """What a query asks of a log. ``events``: of the log, ``size``: the bytes of its files; ``wanted``: the share of
    events that it looks at; ``cores``: that work on it; ``here``: access paths of which the driver reads the events."""

    events: int
    size: int
    wanted: float
    cores: int
    here: Collection[str] = ()

    @property
    def read(self) -> float:
        """Seconds of a core to read an event's row of the source."""
        return max(READ, min(READ_TEXT, BYTE * self.size / max(1, self.events)))

    def without(self) -> float:
        """Seconds without an index."""
        return JOBS + self.events * (self.read + MATCH * self.wanted) / self.cores

    def through(self, access_path: str, share: float) -> float:
        """Seconds where events come from one of ``access.ACCESS_PATHS``.

        Args:
            share: of the cases that can match.
        """
        matched = MATCH * self.wanted * share / self.cores
        if access_path in self.here:
            read = LISTED * self.wanted if access_path == "activities" else STORED
            return HERE + self.events * (read + SHIPPED * self.wanted * share + matched)
        if access_path == "activities":
            return WITH_ACTIVITIES + self.events * (EXPANDED * self.wanted / self.cores + matched)
        if access_path == "sequences":
            return WITH_LISTS + self.events * ((UNPACK + ROW * share) / self.cores + matched)
        return WITH_LISTS + self.events * ((self.read + JOIN) / self.cores + matched)

    def quickest(self, access_paths: Sequence[str], share: Callable[[], float]) -> str:
        """The way through an index that takes the least. ``share``: is asked only where it decides."""
        least, most = (min(access_paths, key=lambda p: self.through(p, s)) for s in (0.0, 1.0))
        if least == most:
            return least
        likely = share()
        return min(access_paths, key=lambda p: self.through(p, likely))

    def loses(self, access_path: str, share: float) -> bool:
        """Whether a query takes longer through an index than without."""
        is_small = self.events <= SMALL and access_path != "source"
        return not is_small and self.through(access_path, share) > (1 + MARGIN) * self.without()


def seconds(value: float) -> str:
    """Seconds with as many digits as an estimate has.

    >>> seconds(0.123), seconds(12.3)
    ('0.12 s', '12 s')
    """
    return f"{value:.2f} s" if value < 10 else f"{value:.0f} s"
