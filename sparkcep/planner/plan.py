"""PatternPlan: what Spark computes before, what an engine matches, what Spark computes after.

The plan's own text is what runs; EXPLAIN prints the same objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

from sparkcep.exec.engines.by_spec import Spec
from sparkcep.exec.engines.non_answers.spec import RepairSpec
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.streaming.step import StreamPlan
from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.output_sql import OutputSql
from sparkcep.planner.rules.folded import FoldPlan
from sparkcep.query import PatternQuery

#: Evaluates `SELECT list FROM input` without running it: expressions -> (name, Spark type as simpleString).
Analyzer = Callable[[Sequence[str]], list[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Decision:
    """A rule of the planner: whether it changed the plan, and why or why not. ``lines``: what else EXPLAIN says."""

    rule: str
    applied: bool
    reason: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexNeeds:
    """What an engine lets an index do. ``refused``: why none is of use, ``unordered``: why the order of two events
    tells nothing; empty where nothing speaks against it. ``bounded``: whether WITHIN bounds what is looked at."""

    refused: str = ""
    unordered: str = ""
    bounded: bool = True


@dataclass(frozen=True, slots=True)
class StreamNeeds:
    """How an engine's matches are decided over a stream.

    ``refused``: what is never decided, and what to write instead; None where all is. ``decided``: as soon as what a
    match is emitted, as a sentence; empty where that is when no row to come can change it. ``kept``: until when rows
    are kept, empty where WITHIN says so; ``longer``: what is kept beyond that. ``lookback``: how many times WITHIN
    before a moment rows can matter to what is decided after it; 0: any row can. ``by_last``: whether a match is decided
    by its last event; ``by_end``: whether matches of a partition come in the order in which they end. ``numbered``:
    whether conditions read MATCH_NUMBER()."""

    refused: tuple[str, str] | None = None
    decided: str = ""
    kept: str = ""
    longer: str = ""
    lookback: int = 0
    by_last: bool = False
    by_end: bool = False
    numbered: bool = False


#: Refused over a stream, with what to write instead.
NEXT_IN_OUTPUT = (
    "NEXT in MEASURES or RETURN that may look past the match, at a row that may never come",
    "look at a variable of the pattern",
)


@dataclass(frozen=True, slots=True)
class SharedNeeds:
    """What an engine matches as one rule of a set. ``pattern``: the spec, with every event of a match emitted.
    ``drops``: whether nothing sees the rows that no component can take."""

    pattern: MatchSpec | RunSpec
    drops: bool


def slow(how: str, lacks: str) -> str:
    """How what the kernel ``lacks`` is evaluated, as a clause; empty where it lacks nothing."""
    return f"{how} (slow), since the kernel has no {lacks}" if lacks else ""


class EnginePlan(Protocol):
    """What one engine matches. ``names``: components by code. ``facts``: what is asked of the whole log beside the
    matches."""

    @property
    def name(self) -> str:
        """The engine's name, by which EXPLAIN finds what to say of the plan."""

    @property
    def spec(self) -> Spec:
        """What the operator runs; its type says which engine does."""

    @property
    def names(self) -> Sequence[str]:
        """Components by code, as the spec numbers them."""

    @property
    def facts(self) -> RepairSpec | None:
        """What is asked of all partitions, also those that an index leaves out; None: nothing."""

    @property
    def slow_because(self) -> str:
        """What is not evaluated by a compiled kernel, and why; empty where all is."""

    @property
    def index_needs(self) -> IndexNeeds:
        """What an index may leave out."""

    @property
    def stream_needs(self) -> StreamNeeds:
        """How matches are decided where the input is a stream."""

    def shared_needs(self, query: PatternQuery) -> SharedNeeds | None:
        """What is matched as one rule of a set; None: the engine runs by itself."""


class EngineDefaults:
    """What engines' plans have in common. ``described``: conditions that depend on the match, for EXPLAIN by label or
    number; ``lacking``: what the kernel lacks of those for which it calls the interpreter. ``filter_reason``: of a
    block, why rows that nothing can take are kept, or that they are not."""

    __slots__ = ()
    filter_reason: str
    described: Mapping[int, str]
    lacking: Mapping[int, str]

    @property
    def facts(self) -> RepairSpec | None:
        """Nothing is asked beside the matches."""
        return None

    @property
    def slow_because(self) -> str:
        """See :class:`EnginePlan`."""
        return slow("some by the interpreter", next(iter(self.lacking.values()), ""))

    @property
    def index_needs(self) -> IndexNeeds:
        """Any case that cannot match may be left out, order and WITHIN count."""
        return IndexNeeds()

    @property
    def stream_needs(self) -> StreamNeeds:
        """Streams are refused before it is asked."""
        return StreamNeeds()

    def shared_needs(self, query: PatternQuery) -> SharedNeeds | None:
        """It runs by itself."""
        return None


@dataclass(frozen=True, slots=True)
class StreamInput:
    """What a plan over a stream has more. ``plan``: of the operator. ``sql``: the statement over ``{SOURCE}`` that
    gives it its rows. ``operator``: Spark's, see exec/streaming/spark.py. ``end``: the operator's output column that
    carries the watermark on, empty where there is none. ``history``: a table whose rows come before the stream's, empty
    for none; ``lookback``: the interval before its last event that matters, empty for all of it. ``decided``, ``kept``:
    sentences for EXPLAIN."""

    plan: StreamPlan
    sql: str
    decided: str
    kept: str
    operator: str
    end: str
    history: str = ""
    lookback: str = ""


E_co = TypeVar("E_co", bound=EnginePlan, covariant=True)


@dataclass(frozen=True, slots=True)
class PatternPlan(Generic[E_co]):
    """A planned occurrence. ``fold``: where Spark follows the pattern itself. ``decisions``: of rules, in order.
    ``sequence``: the block that runs as a row pattern, where one does. ``stream``: where the input is one.
    ``original``: the query as it came to the planners."""

    input: InputPlan
    engine: E_co
    output: OutputSql
    fold: FoldPlan | None = None
    decisions: tuple[Decision, ...] = ()
    sequence: PatternQuery | None = None
    stream: StreamInput | None = None
    original: PatternQuery | None = None

    @property
    def query(self) -> PatternQuery:
        """What runs."""
        return self.input.query

    @property
    def bound(self) -> PatternQuery:
        """What was written."""
        return self.sequence or self.query

    def before(self) -> str:
        """The statement over ``{SOURCE}`` that gives the operator its input, or the fold its lists."""
        if self.stream is not None:
            return self.stream.sql
        return self.fold.before() if self.fold is not None else self.input.sql()


#: A plan whatever its engine.
AnyPlan: TypeAlias = PatternPlan[EnginePlan]
