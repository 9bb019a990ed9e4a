"""What a pattern is made of beside its tree: components, conditions, how events are selected, what is asked."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

from sparkcep.query.scalars import Aggregate, Navigation, RowExpression, Scalar

#: The partition column of a block with GROUPS: the number of the group, from 1.
GROUP_ID = "group_id"


class Selection(enum.Enum):
    """Event selection strategies (SASE+, section 2); BY_STEP: components have strategies of their own."""

    STRICT = "STRICT CONTIGUITY"
    NEXT = "SKIP TILL NEXT MATCH"
    ANY = "SKIP TILL ANY MATCH"
    BY_STEP = "a strategy for each component"


class Matches(enum.Enum):
    """Which matches count."""

    ALL = "MATCHES ALL"
    NON_OVERLAPPING = "MATCHES NON OVERLAPPING"
    FIRST = "MATCHES FIRST"


class TestedAt(enum.Enum):
    """When a condition is tested."""

    TAKE = "on taking"
    LEAVE = "on leaving"
    PASS = "without"


@dataclass(frozen=True, slots=True)
class Component:
    """One occurrence of an event type in the pattern.

    ``key`` is unique and the name of its leaf in the pattern tree; ``variable`` is the name the user gave (several
    components of one type without names share it). ``types``: event types it takes, empty for every row. ``kleene``:
    stands under a quantifier of its own that may take several events. ``negated``: inside ``!``. ``step``: how
    a match comes to its events, where that is not the block's strategy; STRICT (IMMEDIATELY) is a condition, too.
    """

    key: str
    variable: str
    types: tuple[str, ...]
    kleene: bool = False
    negated: bool = False
    step: Selection | None = None
    position: int = field(default=0, compare=False)


def told_apart(components: Sequence[Component]) -> bool:
    """Whether no event fits two of these components, by its type alone."""
    types = [set(c.types) for c in components]
    return len(types) < 2 or (all(types) and len(set.union(*types)) == sum(map(len, types)))


@dataclass(frozen=True, slots=True)
class Condition:
    """One conjunct of WHERE (or a time or gap constraint) with the moment it is tested.

    Slots of ``scalar`` name components by key. It is tested each time an event is taken as one of ``decided_by``
    (TAKE; the event counts as taken), each time the next event taken is of another variable than theirs, and on
    accepting (LEAVE), or once where none of them was taken: with the event behind which neither they nor those
    ``beside`` them can be taken any more, or on accepting (PASS). Slots over variables that took nothing are NULL, or
    aggregates of no rows. It holds untested while

    * one of the variables in ``required`` (tuples of keys), which may come later, has no event yet,
    * the variable decided by has fewer than ``minimum`` events (``v[i-1]`` wants two), or, where ``first_only``, more
      than one (``v[1]``),
    * ``after`` is not empty and the event taken before is of none of these components (``NEXT(E)``).

    With ``each`` it is tested for every event, from the ``minimum``-th on, of these components; slots marked ``each``
    see their events up to that one. Where there is none, and one would do, it is tested once.

    A negated component's conditions are tested for each event that might be it, that event counting as taken, once
    each of the variables in ``awaited`` has an event or can have none any more. ``source`` is the user's text.
    """

    scalar: Scalar
    decided_by: tuple[str, ...]
    at: TestedAt = TestedAt.TAKE
    required: tuple[tuple[str, ...], ...] = ()
    minimum: int = 1
    first_only: bool = False
    after: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    awaited: tuple[tuple[str, ...], ...] = ()
    source: str = field(default="", compare=False)

    @property
    def beside(self) -> tuple[str, ...]:
        """Of a condition that is tested where its variable took nothing (PASS), the other components that it names: it
        waits for them. `(c | d)` goes by d before it takes c."""
        return tuple(k for k in self.named if k not in self.decided_by) if self.at is TestedAt.PASS else ()

    @property
    def named(self) -> tuple[str, ...]:
        """The components whose events it reads, by their keys."""
        slots = (s for s in self.scalar.slots if isinstance(s, (Navigation, Aggregate)))
        return tuple(dict.fromkeys(key for slot in slots for key in slot.variables or ()))


@dataclass(frozen=True, slots=True)
class Equivalence:
    """``[x]``: all events have the same x. With ``components``, only theirs (``[P.x]``)."""

    expression: RowExpression
    components: tuple[str, ...] = ()
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Trend:
    """An aggregate over trends: COUNT(*), COUNT(E), COUNT, MIN, MAX, SUM, AVG of E.attr, try_count, try_sum, try_avg,
    approx_count.

    ``name``: as it is written. ``argument`` None for COUNT(*) and COUNT(E); ``components`` empty for COUNT(*);
    ``distinct`` for COUNT(DISTINCT *).
    """

    name: str
    function: str
    argument: RowExpression | None
    components: tuple[str, ...]
    distinct: bool = False
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class TrendExpression:
    """An output column of a block that aggregates over trends, or its HAVING (without a name).

    ``text``: SQL over aggregates, group keys and the window, which are columns named TREND_VALUE, GROUP_KEY and
    WINDOW_OF_GROUP in it.
    """

    name: str
    text: str
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """UNCERTAINTY: either ``lower`` and ``upper`` columns, or a half ``width`` around the time, all expressions.
    ``at_most``: how far from an event's time its bounds may lie, which it promises."""

    lower: str | None
    upper: str | None
    width: str | None
    step: str | None
    probability: str | None
    at_most: str | None = None
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class NonAnswers:
    """EXPLAIN NON ANSWERS (k, uncertainty, step), each as the user's text; ``positions``: where they stand.

    ``repairs_only``: the statement around it drops the rows of partitions that are not repaired.
    """

    cost: str
    uncertainty: str
    step: str
    position: int = field(default=0, compare=False)
    positions: tuple[int, ...] = field(default=(), compare=False)
    repairs_only: bool = False
