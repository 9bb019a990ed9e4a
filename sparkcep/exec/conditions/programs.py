"""What conditions are compiled to: instructions, the tables that they index, and what they look back at."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sparkcep.exec.conditions.columns import Place
from sparkcep.expr.nodes import LABEL_COLUMN
from sparkcep.expr.typed import Typed

#: Operation, argument, and two operands of three integers each; see kernels/conditions/codes.py.
Instruction: TypeAlias = tuple[int, int, int, int, int, int, int, int]


class CallsBack(enum.Enum):
    """Which tests a kernel leaves to the interpreter, by a call."""

    NEVER = 0
    WHERE_NEEDED = 1
    ALWAYS = 2


class Labels(enum.Enum):
    """Where conditions find the names of the variables that took rows: in a column that the kernel fills, or in the
    registers, of which each variable has one of its own."""

    NOWHERE = 0
    COLUMN = 1
    REGISTERS = 2


@dataclass(frozen=True, slots=True)
class CalledBack:
    """A test that the kernel calls back for. ``places``: the two rows that it looks at, None where it looks at anything
    else; ``columns``: the kernel columns that it reads; ``labels``: whether it reads names out of registers."""

    test: Typed
    places: tuple[Place, Place] | None
    columns: frozenset[int]
    labels: bool = False


@dataclass(slots=True)
class Reads:
    """What the condition of one variable looks back at, beside the tested row and its neighbours.

    ``navigations``: (register, from_first, logical offset). ``aggregates``: numbers in ``ConditionPrograms.agg``;
    ``before``: those of them that are taken without the last row. ``everything``: registers of which all rows are read.
    """

    navigations: set[tuple[int, bool, int]] = field(default_factory=set)
    aggregates: set[int] = field(default_factory=set)
    before: set[int] = field(default_factory=set)
    everything: set[int] = field(default_factory=set)


@dataclass(slots=True)
class ConditionPrograms:
    """Instructions of all conditions of a query and the tables they index.

    ``spans`` and ``reads``: variable code -> its instructions in ``code`` (in ascending order of codes), what it looks
    at. ``columns``: kernel column -> ('int' | 'float' | 'string' | 'decimal' | 'wide' | 'label', place); a wide one, a
    decimal of more than 18 digits, takes two places, and a label's is filled as rows are taken. ``string_constants``:
    place in ``const_i`` -> text, filled per batch with the text's rank. ``nav``: register, whether from its first row,
    logical and physical offset. ``agg``: function, register and place of the column, -1 for none. ``reads_number``:
    whether conditions read MATCH_NUMBER(). ``external``: what the kernel calls back for, by number; ``lacking``: why,
    for each.
    """

    ansi: bool
    code: list[Instruction] = field(default_factory=list)
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    reads: dict[int, Reads] = field(default_factory=dict)
    const_i: list[int] = field(default_factory=list)
    const_f: list[float] = field(default_factory=list)
    string_constants: dict[int, str] = field(default_factory=dict)
    nav: list[tuple[int, int, int, int]] = field(default_factory=list)
    agg: list[tuple[int, int, int]] = field(default_factory=list)
    columns: dict[int, tuple[str, int]] = field(default_factory=dict)
    reads_number: bool = False
    external: list[CalledBack] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)

    def name_labels(self, names: Sequence[str]) -> tuple[int, int]:
        """The place of the column of labels, and that of the first variable's name in ``const_i``; -1 where no
        condition reads labels."""
        if LABEL_COLUMN not in self.columns:
            return -1, -1
        first = len(self.const_i)
        self.string_constants |= {first + k: name for k, name in enumerate(names)}
        self.const_i += [0] * len(names)
        return self.columns[LABEL_COLUMN][1], first
