"""TrendSpec: all that an executor needs to aggregate over trends. Picklable, no Spark."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from sparkcep.exec.automaton import Automaton
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.engines.runs.spec import RunSpec


class Granularity(enum.Enum):
    """How what stands before an event is added up."""

    STATE = "one sum per state"
    TREE = "one tree per state"
    GRID = "one tree of trees per state"
    PAIRS = "predecessor by predecessor"


@dataclass(frozen=True, slots=True)
class Key:
    """A kernel column (by number) as a side of a comparison: ``factor * value + summand``, of unscaled integers."""

    column: int
    factor: int = 1
    summand: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether it is the column itself."""
        return self.factor == 1 and self.summand == 0


@dataclass(frozen=True, slots=True)
class KeyPair:
    """What an edge condition compares: of the event before and of the event after."""

    before: Key
    after: Key

    @property
    def keys(self) -> tuple[Key, Key]:
        """Both sides."""
        return self.before, self.after


@dataclass(frozen=True, slots=True)
class Order:
    """``equal`` pairs must be equal, and the event before must stand in relation ``operator`` to the one after, in
    another pair, which a GRID has, in relation ``second_operator``."""

    equal: tuple[KeyPair, ...]
    ordered: KeyPair | None
    operator: str = ""
    second: KeyPair | None = None
    second_operator: str = ""

    @property
    def orders(self) -> tuple[Order, ...]:
        """The order of one tree, or the two of a grid."""
        if self.second is None:
            return (self,)
        return (Order(self.equal, self.ordered, self.operator), Order((), self.second, self.second_operator))


@dataclass(frozen=True, slots=True)
class Compared:
    """The event before stands in relation ``operator`` (one of = < <= > >=) to the one after."""

    pair: KeyPair
    operator: str


@dataclass(frozen=True, slots=True)
class EdgeClass:
    """Edges that leave one state under the same negations and conditions.

    ``edges``: their places in its list. ``bit``: mask bit that the event before must have, -1 for none. ``order`` for
    TREE and GRID; for PAIRS ``compared``, and ``tests`` (numbers in the condition set) of what is no comparison.
    """

    state: int
    edges: tuple[int, ...]
    granularity: Granularity
    bit: int = -1
    order: Order | None = None
    compared: tuple[Compared, ...] = ()
    tests: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TrendAggregate:
    """One aggregate: ``function`` as in block.Trend, without try_sum and try_avg; ``column``: kernel column of its
    argument, -1 without; ``components`` whose events count (empty for ``*``), with an argument those where it is not
    NULL. ``type``: Spark's name of the result's type; of an exact sum its scale is 0 where its digits are
    wanted."""

    function: str
    column: int
    components: frozenset[int]
    type: str
    distinct: bool = False

    @property
    def is_scaled(self) -> bool:
        """Whether partial results are m * 2^(512 e)."""
        return self.function == "avg" or (self.function == "sum" and self.type == "double")


@dataclass(frozen=True, slots=True)
class Part:
    """A side of AND, or what both sides match, with the masks and kernel columns of the batch that are its own."""

    spec: TrendSpec
    first_mask: int
    first_column: int
    after_column: int


@dataclass(frozen=True, slots=True)
class TrendSpec:
    """One pattern's aggregates, ready to run.

    ``run``: strategy, limits, tests of components. ``condition_bits``: mask bits of components and of what single edges
    demand. ``edge_bits``: per state (the start last) and edge a mask bit that the event taken must have, -1 for none;
    of an edge to acceptance it is what the last event must have. ``conditions``: tests of two events, registers 0 and
    1. ``column_types``: Spark types of the kernel columns. ``width``, ``slide``: windows in the kernel's units of time,
    0 without. ``enumerated``: why matches are constructed after all, empty where they are not. ``parts``: of AND, its
    sides and then, where trends are not constructed, what both match.
    """

    run: RunSpec
    condition_bits: dict[int, int]
    edge_bits: tuple[tuple[int, ...], ...]
    classes: tuple[EdgeClass, ...]
    conditions: ConditionSet
    aggregates: tuple[TrendAggregate, ...]
    column_types: tuple[str, ...]
    width: int = 0
    slide: int = 0
    enumerated: str = ""
    parts: tuple[Part, ...] = ()

    @property
    def automaton(self) -> Automaton:
        """The pattern's."""
        return self.run.automaton

    @property
    def mask_words(self) -> int:
        """Words of condition bits of a row."""
        return self.run.mask_words

    @property
    def windowed(self) -> bool:
        """Whether WITHIN makes windows."""
        return self.width > 0


def result_columns(spec: TrendSpec) -> list[tuple[str, str]]:
    """(name below the prefix, Spark type) of what the operator gives for each partition and window."""
    out = [("w", "bigint")]
    for n, a in enumerate(spec.aggregates):
        if a.is_scaled:
            out += [(f"v{n}", "double"), (f"e{n}", "double")]
            if a.function == "avg":
                out += [(f"n{n}", "double"), (f"f{n}", "double")]
        elif a.function in ("min", "max", "approx_count"):
            out.append((f"v{n}", a.type))
        else:
            out += [(f"v{n}", a.type), (f"o{n}", "boolean")]
    return out
