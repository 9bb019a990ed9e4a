"""PatternQuery: a bound clause or block. What comes in, the pattern with its conditions, and what goes out.

MATCH_RECOGNIZE and ``FROM t PATTERN ...`` bind to it alike: DEFINE becomes conditions of the variables' components.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sparkcep.pattern import Concatenation, Negation, Pattern, can_be_empty, has_exclusion, variables, walk
from sparkcep.query.body import (
    Component,
    Condition,
    Equivalence,
    Matches,
    NonAnswers,
    Selection,
    Trend,
    TrendExpression,
    Uncertainty,
    told_apart,
)
from sparkcep.query.names import GROUP_KEY, PREFIX
from sparkcep.query.scalars import Events, MatchNumber, Navigation, RowExpression, Scalar, Slot


class RowsPerMatch(enum.Enum):
    """What rows the output has: one per match, or those of matches and, if asked for, the others (ISO/IEC 19075-5)."""

    ONE = "ONE ROW PER MATCH"
    ALL_SHOW_EMPTY = "ALL ROWS PER MATCH SHOW EMPTY MATCHES"
    ALL_OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    ALL_WITH_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"
    #: Of a window: a row for each row of the input, with the match that is looked for from there.
    EACH_ROW = "a row per input row"

    @property
    def is_all(self) -> bool:
        """Whether the output has a row for each row of a match."""
        return self not in (RowsPerMatch.ONE, RowsPerMatch.EACH_ROW)

    @property
    def has_columns(self) -> bool:
        """Whether the output has the input's columns."""
        return self is not RowsPerMatch.ONE

    @property
    def has_unmatched(self) -> bool:
        """Whether the output has rows that belong to no match."""
        return self in (RowsPerMatch.ALL_WITH_UNMATCHED, RowsPerMatch.EACH_ROW)


class SkipMode(enum.Enum):
    """Where the search for the next match begins; TO_FIRST and TO_LAST go to a variable's row (AFTER MATCH SKIP)."""

    PAST_LAST_ROW = "SKIP PAST LAST ROW"
    TO_NEXT_ROW = "SKIP TO NEXT ROW"
    TO_FIRST = "SKIP TO FIRST"
    TO_LAST = "SKIP TO LAST"


@dataclass(frozen=True, slots=True)
class Skip:
    """AFTER MATCH SKIP; ``variables`` are the primary variables of the target. ``or_past``: to behind the last row
    where the match has no row of the target."""

    mode: SkipMode
    target: str | None = None
    variables: tuple[str, ...] = ()
    or_past: bool = False

    def text(self, row: str = "ROW") -> str:
        """As it is written; ``row``: what a row is called.

        >>> Skip(SkipMode.TO_LAST, "ROWS", or_past=True).text("EVENT")
        'SKIP TO LAST ROWS OR PAST LAST EVENT'
        """
        words = [self.mode.value.replace("ROW", row), *filter(None, [self.target])]
        return " ".join([*words, f"OR PAST LAST {row}"] if self.or_past else words)


@dataclass(frozen=True, slots=True)
class SortKey:
    """One ORDER BY key: the expression's text and its direction."""

    expression: str
    ascending: bool = True
    nulls_first: bool = True
    position: int = field(default=0, compare=False)

    @property
    def text(self) -> str:
        """As SQL, with direction and order of NULLs always said."""
        return (
            f"{self.expression} {'ASC' if self.ascending else 'DESC'} NULLS {'FIRST' if self.nulls_first else 'LAST'}"
        )


@dataclass(frozen=True, slots=True)
class KeyExpression:
    """A PARTITION BY expression."""

    expression: str
    position: int = field(default=0, compare=False)

    @property
    def folded(self) -> str:
        """What is the same for two spellings of a column."""
        return self.expression.strip().strip("`").casefold()


@dataclass(frozen=True, slots=True)
class Measure:
    """An output column; ``expression`` is evaluated once per match, or per row of it under ALL ROWS PER MATCH."""

    name: str
    expression: Scalar


@dataclass(frozen=True, slots=True)
class Window:
    """A window with a pattern (R020): a match is looked for in each row's frame, ending with the query's ``within``.

    ``row``: the input's column with each row's place in its partition, which ``order`` gives it. ``frame``: the frame's
    end as it was written. With ``seek`` a match may begin anywhere in the frame; ``pattern`` of the query then begins
    with a component ``GAP``. ``calls``: measures that stand for functions over the window, which of a row without a
    match see an empty frame.
    """

    row: str
    frame: str
    order: tuple[SortKey, ...] = ()
    seek: bool = False
    calls: frozenset[str] = frozenset()


#: The component that stands for the rows of a frame before the match, in a window with SEEK.
GAP = PREFIX + "gap"


@dataclass(frozen=True, slots=True)
class PatternQuery:
    """A bound row pattern clause or pattern block; defaults are those of a clause.

    Input: ``columns`` are the input's column names in table order; ``identifiers`` every name that occurs in the
    form's expressions (an upper bound of the columns they use), ``named_beside_order`` those that occur elsewhere than
    in ORDER BY and as a log's tie-break (None: all of them), which is ``tiebreak``; ``partition_predicate`` what the
    statement around it demands of PARTITION BY columns; ``with_prefix`` the WITH its subqueries may need. The last of
    ``partition_by`` are those that equivalence tests and GROUP BY make. ``event_type`` is the type column's text, None
    where every component takes every row. ``groups``: cases that are merged, as numbers and texts, GROUPS; the block is
    then over an input with a column more, ``group_id``, which partitions it, and ``case`` is the key that partitioned
    it before (None where that is no single one). ``streaming``: the input is a stream. ``own_neighbours``: PREV and
    NEXT of one row are the matcher's to look at: where Spark prepares the rows they have other neighbours.

    Pattern: ``components`` are the pattern's leaves, ``conditions`` what DEFINE, WHERE and time constraints demand.
    ``within``, ``slide`` and ``between`` are expressions. ``equivalences``: all of a block's, see
    :attr:`partitioning`. ``partition_contiguity``: strict contiguity in the partitions that the equivalences make,
    where plain STRICT takes them for conditions. ``subsets``: a clause's unions of variables.

    Output: ``measures`` per match; ``trends`` aggregates over all matches, with ``group_by``; a block has one or the
    other. ``has_return``: the block's RETURN lists them, so that keys are not emitted (``hidden_keys``: how many of the
    last). ``output``: for trends, what RETURN lists in its order, and ``having``. ``wanted``: case-folded names of the
    output columns that the statement around the form may use, None for all. ``limit``: the statement takes any so many
    rows of the result, ``most_probable``: those of the highest confidence. ``omit_censored``: OMIT CENSORED MATCHES.
    ``timed_out``: MATCHES ... WITH TIMED OUT.

    ``window``: of a pattern in a window, whose frame is the query's ``within`` over that window's ``row``.

    ``remarks``: sentences about what is written and probably not meant; ``notes``: about settings that are passed over.

    ``text`` is the statement, ``start`` where the form stands in it, ``expressions`` where the expressions of a clause
    stand; positions are -1 where there is no such clause.
    """

    columns: tuple[str, ...]
    partition_by: tuple[KeyExpression, ...]
    order_by: tuple[SortKey, ...]
    event_type: str | None
    pattern: Pattern
    components: tuple[Component, ...]
    conditions: tuple[Condition, ...]
    selection: Selection
    measures: tuple[Measure, ...]
    identifiers: frozenset[str]
    is_block: bool = False
    rows_per_match: RowsPerMatch = RowsPerMatch.ONE
    skip: Skip = Skip(SkipMode.PAST_LAST_ROW)
    subsets: tuple[tuple[str, tuple[str, ...]], ...] = ()
    matches: Matches = Matches.NON_OVERLAPPING
    equivalences: tuple[Equivalence, ...] = ()
    partition_contiguity: bool = False
    collapsed: bool = False
    strict_time: bool = False
    within: str | None = None
    within_position: int = 0
    slide: str | None = None
    slide_position: int = 0
    between: tuple[str, str] | None = None
    has_return: bool = False
    hidden_keys: int = 0
    trends: tuple[Trend, ...] = ()
    group_by: tuple[KeyExpression, ...] = ()
    output: tuple[TrendExpression, ...] = ()
    having: TrendExpression | None = None
    groups: tuple[tuple[int | str, ...], ...] = ()
    case: KeyExpression | None = None
    uncertainty: Uncertainty | None = None
    confidence: float | None = None
    non_answers: NonAnswers | None = None
    wanted: frozenset[str] | None = None
    partition_predicate: str = ""
    limit: int | None = None
    most_probable: int | None = None
    omit_censored: bool = False
    timed_out: bool = False
    window: Window | None = None
    with_prefix: str = ""
    named_beside_order: frozenset[str] | None = None
    expressions: tuple[tuple[int, int], ...] = ()
    streaming: bool = False
    own_neighbours: bool = False
    tiebreak: str | None = None
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    censored_position: int = field(default=-1, compare=False)
    timed_out_position: int = field(default=-1, compare=False)
    groups_position: int = field(default=-1, compare=False)
    range_position: int = field(default=-1, compare=False)
    text: str = field(default="", compare=False)
    start: int = field(default=0, compare=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """Component keys; a component's code is its place here."""
        return tuple(c.key for c in self.components)

    @property
    def steps(self) -> tuple[Selection, ...]:
        """Of each component, the strategy by which a match comes to its events; empty where all have the query's."""
        return tuple(c.step or Selection.NEXT for c in self.components) if self.selection is Selection.BY_STEP else ()

    @property
    def strategy(self) -> str:
        """The event selection strategy in words, or those of its components."""
        if self.selection is not Selection.BY_STEP:
            return str(self.selection.value)
        own = {s: [c.variable for c in self.components if c.step is s and not c.negated] for s in Selection}
        words = {s: "IMMEDIATELY" if s is Selection.STRICT else str(s.value) for s in Selection}
        return "; ".join(f"{', '.join(names)}: {words[s]}" for s, names in own.items() if names)

    @property
    def which(self) -> str:
        """Which matches under a strategy count, in words."""
        if self.skip.mode is SkipMode.PAST_LAST_ROW:
            return self.matches.value
        return f"MATCHES {self.skip.text('EVENT')}" if self.is_block else f"AFTER MATCH {self.skip.text()}"

    def length(self, clause: str) -> tuple[str | None, int]:
        """WITHIN's or SLIDE's expression, and where it stands."""
        return (self.within, self.within_position) if clause == "WITHIN" else (self.slide, self.slide_position)

    def wants(self, column: str) -> bool:
        """Whether the statement around the form may use an output column."""
        return self.wanted is None or column.casefold() in self.wanted

    @property
    def trend_expressions(self) -> tuple[TrendExpression, ...]:
        """What is computed of aggregates over trends: the output, and HAVING."""
        return self.output if self.having is None else (*self.output, self.having)

    @property
    def nullable_match(self) -> bool:
        """Whether an output row may have no current row (empty match, unmatched row)."""
        return can_be_empty(self.pattern) or self.rows_per_match.has_unmatched

    @property
    def filters_excluded(self) -> bool:
        """Whether rows inside `{- -}` are matched and not shown."""
        return has_exclusion(self.pattern) and self.rows_per_match.is_all

    @property
    def partitioning(self) -> tuple[Equivalence, ...]:
        """Equivalences that make partitions: the unqualified ones, but for plain STRICT CONTIGUITY."""
        if self.selection is Selection.STRICT and not self.partition_contiguity:
            return ()
        return tuple(e for e in self.equivalences if not e.components)

    @property
    def tested_equivalences(self) -> tuple[Equivalence, ...]:
        """Equivalences that are conditions on the events of a match."""
        partitioning = self.partitioning
        return tuple(e for e in self.equivalences if e not in partitioning)

    def component(self, key: str) -> Component:
        """The component of a key, which is unique in the pattern.

        Raises:
            StopIteration: there is none.
        """
        return next(c for c in self.components if c.key == key)

    @property
    def hides_keys(self) -> bool:
        """Whether the output has only what RETURN lists."""
        return self.has_return or bool(self.trends)

    def tells_apart(self, keys: Sequence[str]) -> bool:
        """Whether no event fits two of these components, by its type alone."""
        return told_apart([self.component(k) for k in keys])

    def partitioned(self) -> PatternQuery:
        """With group keys and equivalences that make partitions among the keys, and the keys hidden behind RETURN."""
        keys = list(self.partition_by)
        seen = {k.folded for k in keys}
        own = [KeyExpression(e.expression.text.strip(), e.position) for e in self.partitioning]
        keys += [k for k in self.group_by if k.folded not in seen]
        seen |= {k.folded for k in self.group_by}
        keys += [k for k in own if k.folded not in seen]
        return replace(self, partition_by=tuple(keys), hidden_keys=len(keys) if self.has_return else 0)


def returning_keys(query: PatternQuery) -> PatternQuery:
    """A query that gives the keys of a row's partition too, as columns named by :func:`key_column`, where RETURN would
    hide them; as it is where it does not, or where a row comes from several partitions."""
    if not query.hides_keys:
        return query
    keys = [k.folded for k in query.partition_by]
    if not query.trends:
        firsts = [Navigation(RowExpression((k.expression,)), None, True, 0, 0, False) for k in query.partition_by]
        more = [Measure(key_column(n), Scalar(("", first, ""))) for n, first in enumerate(firsts)]
        return replace(query, measures=(*query.measures, *more))
    groups = [k.folded for k in query.group_by]
    if not set(keys) <= set(groups):
        return query
    shown = [TrendExpression(key_column(n), f"{GROUP_KEY}{groups.index(key)}") for n, key in enumerate(keys)]
    return replace(query, output=(*query.output, *shown))


def key_column(number: int) -> str:
    """The output column of a partition key that :func:`returning_keys` adds."""
    return f"{PREFIX}key_{number}"


def pattern_proper(query: PatternQuery) -> Pattern:
    """A clause's or window's pattern as it was written, without the GAP of SEEK."""
    if query.window is None or not query.window.seek:
        return query.pattern
    assert isinstance(query.pattern, Concatenation)
    return query.pattern.items[1]


def clause_components(pattern: Pattern) -> tuple[Component, ...]:
    """A clause's variables as components that every row may be taken for."""
    negated = {name for n in walk(pattern) if isinstance(n, Negation) for name in variables(n)}
    return tuple(Component(name, name, (), negated=name in negated) for name in variables(pattern))


#: Columns of a block without RETURN that are not made where nobody asks for them.
DEFAULT_OUTPUT = ("start_time", "end_time", "events")


def default_measures(time: str, components: Sequence[Component]) -> tuple[Measure, ...]:
    """match_number, start_time, end_time, events: what a block without RETURN emits. ``time``: of an event."""
    start = Navigation(RowExpression((time,)), None, True, 0, 0, False)
    end = Navigation(RowExpression((time,)), None, False, 0, 0, False)
    events = Events(time, tuple(c.variable for c in components))
    slots: tuple[Slot, ...] = (MatchNumber(), start, end, events)
    names = ("match_number", *DEFAULT_OUTPUT)
    return tuple(Measure(name, Scalar(("", slot, ""))) for name, slot in zip(names, slots, strict=True))
