"""SharedSpec: many patterns that read the same rows. Picklable, no Spark, no SQL."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.engines.runs.spec import RunSpec
from sparkcep.exec.shape import Within
from sparkcep.expr.nodes import ConditionSlot, Expression
from sparkcep.expr.types import Type


@dataclass(frozen=True, slots=True)
class Comparison:
    """``column operator value``, NULL for a NULL. ``operator``: = <> < <= > >= or in; ``column``: of the batch.
    ``values``: one constant, or those of a list, in the column's type (integers for decimals: unscaled)."""

    column: int
    operator: str
    values: tuple[int | float | str, ...]


@dataclass(frozen=True, slots=True)
class ComponentTest:
    """What one event must satisfy for a component: its type is among ``types`` (none: any) in the batch's column
    ``of``, Spark's conditions ``bits`` are true, and so are ``comparisons``."""

    types: tuple[str, ...] = ()
    of: int = -1
    bits: tuple[int, ...] = ()
    comparisons: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleItems:
    """What a rule returns of each match. ``trees`` over ``slots``, whose columns are ``columns`` of the batch and whose
    registers hold component codes; ``names``: numbers of the items' names; ``kinds``: their types."""

    trees: tuple[Expression, ...]
    slots: tuple[ConditionSlot, ...]
    registers: tuple[frozenset[int], ...]
    columns: tuple[int, ...]
    column_types: tuple[Type, ...]
    names: tuple[int, ...]
    kinds: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class RuleSpec:
    """One rule. ``number``: by which its rows are known. ``pattern``: what is matched, with bit n of its mask for
    ``tests[n]``. ``drops``: rows that no component can take may be left out. ``columns``: of the batch, by the
    pattern's own column. ``within``: fields are columns of the batch. ``variables``: the number of each component's
    name. ``ties``: columns of the batch that order rows of equal keys where that differs from how they come; None where
    it does not. ``anchored``: whether the pattern asks for the partition's first row. Over a stream, in microseconds:
    ``lengths``, the least and the greatest that WITHIN can have; ``suppress``, for how long behind the end of a match
    that is given others are not."""

    number: int
    name: str
    pattern: MatchSpec | RunSpec
    tests: tuple[ComponentTest, ...]
    drops: bool
    columns: tuple[int, ...]
    within: Within | None
    variables: tuple[int, ...]
    items: RuleItems | None
    ties: tuple[int, ...] | None
    anchored: bool = False
    lengths: tuple[int, int] = (0, 0)
    suppress: int = 0


@dataclass(frozen=True, slots=True)
class SharedSpec:
    """Rules over one batch. ``order``: its columns with the ORDER BY keys, where a rule has ``ties``. ``time``: the
    prepared field with an event's time; ``event_id``: with what tells it apart, None for none."""

    rules: tuple[RuleSpec, ...]
    order: tuple[int, ...]
    time: int
    event_id: int | None = None

    @property
    def has_items(self) -> bool:
        """Whether a rule returns something."""
        return any(rule.items is not None for rule in self.rules)


#: A constant that text has; Decimal where it has a fraction.
Literal = int | str | Decimal
