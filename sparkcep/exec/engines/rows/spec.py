"""MatchSpec: all that an executor needs to match a batch. Picklable, no Spark, no SQL."""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.engines.rows.program import Program
from sparkcep.exec.kernels.rows.rows import DECIDED_BY_END
from sparkcep.exec.shape import OutputSlot
from sparkcep.query import RowsPerMatch, SkipMode
from sparkcep.spark.task_memory import UNTOLD


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
