"""The logical form of the skip strategies: a pattern block after binding, as frozen dataclasses.

``FROM t PATTERN ...`` binds to it, and so does MATCH_RECOGNIZE with EVENT SELECTION. No Spark, no parser objects.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

from sparkcep.pattern import Pattern
from sparkcep.query import KeyExpression, Measure, NonAnswers, RowExpression, Scalar, Selection, SortKey

__all__ = [
    "GROUP_ID",
    "BlockQuery",
    "Component",
    "Condition",
    "Decision",
    "Equivalence",
    "Matches",
    "NonAnswers",
    "Selection",
    "Trend",
    "Uncertainty",
]


#: The partition column of a block with GROUPS: the number of the group, from 1.
GROUP_ID = "group_id"


class Matches(enum.Enum):
    """Which matches count."""

    ALL = "MATCHES ALL"
    NON_OVERLAPPING = "MATCHES NON OVERLAPPING"
    FIRST = "MATCHES FIRST"


class Decision(enum.Enum):
    """When a condition is tested."""

    TAKE = "on taking"
    LEAVE = "on leaving"


@dataclass(frozen=True, slots=True)
class Component:
    """One occurrence of an event type in the pattern.

    ``key`` is unique and the name of its leaf in the pattern tree; ``variable`` is the name the user gave (several
    components of one type without names share it). ``types``: event types it takes, empty for every row. ``kleene``:
    stands under a quantifier of its own that may take several events. ``negated``: inside ``!``.
    """

    key: str
    variable: str
    types: tuple[str, ...]
    kleene: bool = False
    negated: bool = False
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Condition:
    """One conjunct of WHERE (or a time or gap constraint) with the moment it is tested.

    Slots of ``scalar`` name components by key. It is tested each time an event is taken as one of ``decided_by``
    (TAKE; the event counts as taken), or each time the next event taken is of another variable than theirs, and on
    accepting (LEAVE); a negated component's conditions are tested for each event that might be it, that event counting
    as taken. It holds untested while

    * one of the variables in ``required`` (tuples of keys) has no event yet,
    * the variable decided by has fewer than ``minimum`` events (``v[i-1]`` wants two), or, where ``first_only``, more
      than one (``v[1]``),
    * ``after`` is not empty and the event taken before is of none of these components (``NEXT(E)``).

    With ``each`` it is tested for every event, from the ``minimum``-th on, of these components; slots marked ``each``
    see their events up to that one. ``source`` is the user's text.
    """

    scalar: Scalar
    decided_by: tuple[str, ...]
    at: Decision = Decision.TAKE
    required: tuple[tuple[str, ...], ...] = ()
    minimum: int = 1
    first_only: bool = False
    after: tuple[str, ...] = ()
    each: tuple[str, ...] = ()
    source: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Equivalence:
    """``[x]``: all events have the same x. With ``components``, only theirs (``[P.x]``)."""

    expression: RowExpression
    components: tuple[str, ...] = ()
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Trend:
    """An aggregate over trends: COUNT(*), COUNT(E), MIN, MAX, SUM, AVG of E.attr, try_count, approx_count.

    ``argument`` None for COUNT(*) and COUNT(E); ``components`` empty for COUNT(*); ``distinct`` for COUNT(DISTINCT *).
    """

    name: str
    function: str
    argument: RowExpression | None
    components: tuple[str, ...]
    distinct: bool = False
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """UNCERTAINTY: either ``lower`` and ``upper`` columns, or a half ``width`` around the time, all expressions."""

    lower: str | None
    upper: str | None
    width: str | None
    step: str | None
    probability: str | None
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class BlockQuery:
    """A bound pattern block.

    ``event_type`` is the type column's text, None where every component takes every row. ``within``, ``slide`` and
    ``between`` are expressions. ``returns`` are items per match; ``trends`` aggregates over all of them, with
    ``group_by``; a block has one or the other. ``output``: for trends, what RETURN lists in its order, each a group
    key's expression, a trend's name or ``window``, with its output name. ``groups``: cases that are merged, as numbers
    and texts, GROUPS; the block is then over an input with a column more, ``group_id``, which partitions it, and
    ``case`` is the key that partitioned it before (None where that is no single one). ``groups_position`` and
    ``range_position`` are where GROUPS and its first range stand, -1 where there is none. ``partition_contiguity``:
    strict contiguity in the partitions that the equivalences make, where plain STRICT takes them for conditions.
    ``limit``: the statement takes any so many rows of the result. ``omit_censored``: OMIT CENSORED MATCHES, at
    ``censored_position``. ``columns``,
    ``identifiers``, ``with_prefix``, ``text``, ``start``: as in PatternQuery.
    """

    columns: tuple[str, ...]
    partition_by: tuple[KeyExpression, ...]
    order_by: tuple[SortKey, ...]
    event_type: str | None
    components: tuple[Component, ...]
    pattern: Pattern
    conditions: tuple[Condition, ...]
    equivalences: tuple[Equivalence, ...]
    selection: Selection
    matches: Matches
    collapsed: bool
    strict_time: bool
    within: str | None
    within_position: int
    slide: str | None
    between: tuple[str, str] | None
    returns: tuple[Measure, ...]
    trends: tuple[Trend, ...]
    group_by: tuple[KeyExpression, ...]
    groups: tuple[tuple[int | str, ...], ...]
    uncertainty: Uncertainty | None
    confidence: float | None
    non_answers: NonAnswers | None
    tiebreak: str | None
    identifiers: frozenset[str]
    wanted: frozenset[str] | None = None
    partition_predicate: str = ""
    partition_contiguity: bool = False
    output: tuple[tuple[str, str], ...] = ()
    with_prefix: str = ""
    limit: int | None = None
    case: KeyExpression | None = None
    omit_censored: bool = False
    censored_position: int = field(default=-1, compare=False)
    groups_position: int = field(default=-1, compare=False)
    range_position: int = field(default=-1, compare=False)
    text: str = field(default="", compare=False)
    start: int = field(default=0, compare=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """Component keys; a component's code is its place here."""
        return tuple(c.key for c in self.components)

    def component(self, key: str) -> Component:
        return next(c for c in self.components if c.key == key)

    def tells_apart(self, keys: Sequence[str]) -> bool:
        """Whether no event fits two of these components, by its type alone."""
        if len(keys) < 2:
            return True
        types = [set(self.component(k).types) for k in keys]
        return all(types) and len(set.union(*types)) == sum(map(len, types))

    def keys_of(self, variable: str) -> tuple[str, ...]:
        """Keys of a variable's components."""
        return tuple(c.key for c in self.components if c.variable == variable)
