"""MatchSpec: all that an executor needs to match a batch. Picklable, no Spark, no SQL."""

from __future__ import annotations

from dataclasses import dataclass, field

from sparkcep.exec.engines.rows.program import Program
from sparkcep.exec.kernels.rows.rows import DECIDED_BY_END
from sparkcep.expr.nodes import ConditionSlot, Expression
from sparkcep.expr.types import Type
from sparkcep.query import RowsPerMatch, SkipMode
from sparkcep.task_memory import UNTOLD

#: Conditions in one int64 mask; the sign is left alone.
BITS_PER_WORD = 63


def words_of(bits: int) -> int:
    """Masks that so many conditions take, at least one."""
    return max(1, -(-bits // BITS_PER_WORD))


@dataclass(frozen=True, slots=True)
class OutputSlot:
    """A value that measures need of each output row: a row of the partition, or (``label``) a row's label.

    ``register`` numbers the set of variables navigated over.
    """

    register: int
    from_first: bool
    logical: int
    physical: int
    running: bool
    label: bool


@dataclass(frozen=True, slots=True)
class ConditionSet:
    """Match-dependent conditions by variable code, the slots they load and the kernel columns' types.

    Of runs (engines/runs) they go by number: ``tested`` has the components of which the row that condition k is tested
    on is one (none on leaving), ``each`` the registers that a condition over every event of a variable goes through.
    ``calls_back``: the kernel calls the interpreter for some of them.
    """

    conditions: dict[int, Expression] = field(default_factory=dict)
    slots: tuple[ConditionSlot, ...] = ()
    column_types: tuple[Type, ...] = ()
    registers: tuple[frozenset[int], ...] = ()
    calls_back: bool = False
    tested: tuple[frozenset[int], ...] = ()
    each: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class MatchSpec:
    """One pattern, ready to run.

    ``condition_bits``: variable code -> bit of its match-independent condition (absent: always true). ``mask_words``:
    how many 63-bit mask columns there are. ``every_row``: emit all rows of a match even for ONE ROW PER MATCH, since
    aggregates in MEASURES need them. ``gap``: code of what stands for rows before the match proper (SEEK in a window),
    -1 for none. ``undecided``: what becomes of start rows that rows behind their partition's last could decide
    otherwise, see kernels.rows. ``task_memory``: bytes that a batch's arrays may take.
    """

    program: Program
    condition_bits: dict[int, int]
    mask_words: int
    use_within: bool
    rows_per_match: RowsPerMatch
    skip: SkipMode
    skip_labels: frozenset[int]
    skip_target: str
    slots: tuple[OutputSlot, ...]
    slot_registers: tuple[frozenset[int], ...]
    every_row: bool
    conditions: ConditionSet
    ansi: bool
    limit_steps: int
    limit_rows: int
    gap: int = -1
    undecided: int = DECIDED_BY_END
    task_memory: int = UNTOLD
