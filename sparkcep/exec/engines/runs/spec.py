"""RunSpec: all that an executor needs to match a batch under an event selection strategy. Picklable, no Spark."""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.exec.automaton import Automaton
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.shape import OutputSlot
from sparkcep.pattern import Pattern
from sparkcep.query import RowsPerMatch, Selection, SkipMode, TestedAt
from sparkcep.spark.task_memory import UNTOLD

NO_LIMIT = 2**62


@dataclass(frozen=True, slots=True)
class Span:
    """A condition `x op f` with f between the least and the greatest x of the variable's earlier events.

    ``orders``: bits of kernels.conditions.codes for which op holds. ``column``: x, a kernel column.
    """

    orders: int
    column: int


@dataclass(frozen=True, slots=True)
class Check:
    """A match-dependent condition and when it is tested (see block.Condition).

    ``number``: in the condition set. ``decided_by`` and ``after``: component codes. ``counted``: register of the
    variable whose events count for ``minimum`` and ``first_only``. ``required``: registers that must not be empty.
    ``each``: the register to go through, -1 for none. ``awaited``: registers that a negation waits for. ``none``: the
    register that must be empty, -1 for none. ``span``: how it is prechecked, before matches are enumerated. ``beside``:
    codes of the components that it waits for, too, where it is tested without its own.
    """

    number: int
    decided_by: frozenset[int]
    at: TestedAt
    counted: int
    required: tuple[int, ...] = ()
    minimum: int = 1
    first_only: bool = False
    after: frozenset[int] = frozenset()
    each: int = -1
    awaited: tuple[int, ...] = ()
    none: int = -1
    span: Span | None = None
    beside: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class StreamedRuns:
    """What runs over a stream need of their matches: slots of the first and the last event, and of the event that SKIP
    goes on at (-1 where it names none). ``closes``: whether a trailing negation waits for WITHIN to pass. ``behind``:
    how many rows before a match its output or a condition looks at. ``looks_back``: a leading negation looks
    at rows before it, which WITHIN bounds."""

    first: int
    last: int
    target: int = -1
    closes: bool = False
    behind: int = 0
    looks_back: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """One pattern, ready to run.

    ``one_per_start``: the preferred match of a start row only, after which ``skip`` says where to go on; else all
    matches. ``first_only``: the partition's first match. ``most_matches``: more of a partition are not asked for.
    ``traced``: the events of each match are wanted. ``collapsed``: one row per start and end event; then checks in
    ``postponed`` are not tested. ``merging``: whether equivalent runs share what they skip. ``timed_out``: start
    rows without a match give their run that timed out. ``steps``: of each component, where ``selection`` is BY_STEP.
    ``stream``: where the input is one. The rest is as in spec.MatchSpec.
    """

    pattern: Pattern
    automaton: Automaton
    condition_bits: dict[int, int]
    mask_words: int
    selection: Selection
    one_per_start: bool = False
    first_only: bool = False
    use_within: bool = False
    strict_time: bool = False
    rows_per_match: RowsPerMatch
    skip: SkipMode
    skip_labels: frozenset[int] = frozenset()
    skip_target: str
    skip_or_past: bool = False
    slots: tuple[OutputSlot, ...] = ()
    slot_registers: tuple[frozenset[int], ...] = ()
    every_row: bool = False
    traced: bool = False
    conditions: ConditionSet
    checks: tuple[Check, ...] = ()
    ansi: bool
    limit_steps: int
    limit_rows: int
    most_matches: int = NO_LIMIT
    task_memory: int = UNTOLD
    collapsed: bool = False
    postponed: frozenset[int] = frozenset()
    merging: bool = True
    timed_out: bool = False
    steps: tuple[Selection, ...] = ()
    stream: StreamedRuns | None = None
