"""RepairSpec: all that an executor needs to explain why partitions have no match. Picklable, no Spark."""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.exec.engines.runs.spec import RunSpec

#: Reasons by the kernel's codes (LANGUAGE, section 3, item 12).
REASONS = ("no_event_of_type", "no_successor", "condition_failed", "window_exceeded", "negation_blocked")


@dataclass(frozen=True, slots=True)
class Bound:
    """``least <= value at second - value at first <= most``, None: no bound; ``gap``: of positions, else of times in
    the kernel's units. ``first``, ``second``: places in a sequence, or component codes. ``source``: the user's text."""

    first: int
    second: int
    least: int | None
    most: int | None
    gap: bool = False
    source: str = ""


@dataclass(frozen=True, slots=True)
class Repair:
    """How events may be moved. ``places``: component codes of the sequence. ``bounds``: its time and gap constraints.
    ``key``: kernel column of the ORDER BY key. ``timed``: conditions (of the run spec) that bounds stand for. ``step``,
    in the kernel's units of the key; ``most_cost`` and ``most_shift`` in steps. ``earliest``, ``latest``: bounds of
    every new time."""

    places: tuple[int, ...]
    key: int
    bounds: tuple[Bound, ...]
    timed: frozenset[int]
    step: int
    most_cost: int
    most_shift: int
    earliest: int
    latest: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What is told of each partition: for every component whether there is an event of its type, then which ``pairs``
    of components' types are there in order, then which ``bounds`` (of component codes) two events meet. ``key``: kernel
    column of the ORDER BY key, -1 where no bound is of times."""

    pairs: tuple[tuple[int, int], ...]
    bounds: tuple[Bound, ...]
    key: int


@dataclass(frozen=True, slots=True)
class RepairSpec:
    """One pattern whose non-answers are explained.

    ``run``: the pattern, asked for the first match. ``condition_bits``: mask bits by code, of components and of what
    else Spark tests. ``repair``: None where nothing can be repaired. ``type_bits``: per
    component code the mask bit of its type alone, -1: every event. ``needed``: codes of components that every match
    takes, in the pattern's order. ``limit_nodes``: most (component, event, tick) of one partition. ``repairs_only``:
    nobody asks for reasons.
    """

    run: RunSpec
    condition_bits: dict[int, int]
    repair: Repair | None
    type_bits: tuple[int, ...]
    needed: tuple[int, ...]
    facts: Facts
    limit_nodes: int
    repairs_only: bool = False

    @property
    def mask_words(self) -> int:
        """Words of condition bits of a row."""
        return self.run.mask_words

    @property
    def fact_words(self) -> int:
        """Words of 63 bits that facts take."""
        count = len(self.type_bits) + len(self.facts.pairs) + len(self.facts.bounds)
        return max(1, -(-count // 63))
