"""Join prefilter: partitions that lack a variable every match needs are dropped by a cheap aggregate.

After Zhu, Huang and Chaudhuri, "High-Performance Row Pattern Recognition Using Joins" (PVLDB 2023). The bits of all
rows of a partition are or-ed together; where a mandatory variable's bit is missing there is no match. In the lists
layout the partition's rows are at hand, so the test stands behind the grouping and costs next to nothing. In the rows
layout the partitions that pass are joined to the input before it is sorted, which reads the input twice; a sample
decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sparkcep.exec.masks import BITS_PER_WORD
from sparkcep.pattern import Pattern, mandatory
from sparkcep.planner.conditions.row_conditions import RowCondition, all_of
from sparkcep.planner.sampling import Sample
from sparkcep.query import PREFIX
from sparkcep.settings import SAMPLING_BYTES

#: The join reads the input twice; it must save at least as much.
MAX_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Prefilter:
    """``needed``: mandatory variables whose conditions can be tested row by row, by code; empty: the rule is off.

    ``tests``: SQL of these conditions. ``joins``: whether passing partitions are joined to the input (rows layout).
    """

    needed: tuple[int, ...]
    reason: str
    tests: tuple[str, ...] = ()
    joins: bool = False

    def decided(self, keys: Sequence[str], sample: Sample | None) -> Prefilter:
        """Rows layout: the rule with its decision, by a sample of the input."""
        if not self.needed:
            return self
        if not keys:
            return Prefilter((), "there is no PARTITION BY")
        if sample is None:
            return Prefilter((), f"{self.reason}; the input is smaller than {SAMPLING_BYTES.key}")
        if sample.changes:
            why = f"{self.reason}; the input may have other rows when it is read again ({sample.changes})"
            return Prefilter((), why)
        share = sample.share()
        reason = f"{self.reason}; by a sample of {sample.rows} rows, {share:.0%} of the partitions have them"
        return replace(self, needed=self.needed if share <= MAX_SHARE else (), reason=reason, joins=share <= MAX_SHARE)

    def having(self, bits: Mapping[int, int]) -> str:
        """Lists layout: SQL test over the mask words of a group's rows that it has every mandatory variable."""
        words: dict[int, int] = {}
        for code in self.needed:
            word, place = divmod(bits[code], BITS_PER_WORD)
            words[word] = words.get(word, 0) | 1 << place
        return " AND ".join(f"(bit_or({PREFIX}m{w}) & {bits}L) = {bits}L" for w, bits in words.items())

    def join(self, keys: Sequence[str], source: str, where: str) -> str:
        """Rows layout: a relation of the rows of ``source`` whose partition has every mandatory variable."""
        having = " AND ".join(f"bool_or({test})" for test in self.tests)
        named = ", ".join(f"({key}) AS {PREFIX}q{i}" for i, key in enumerate(keys))
        passing = f"SELECT {named} FROM {source}{where} GROUP BY {', '.join(keys)} HAVING {having}"
        on = " AND ".join(f"({key}) <=> {PREFIX}q{i}" for i, key in enumerate(keys))
        return f"(SELECT * FROM {source} LEFT SEMI JOIN ({passing}) ON {on})"


def prefilter(
    pattern: Pattern, names: Sequence[str], local: Mapping[int, Sequence[RowCondition]], keeps_unmatched: bool
) -> Prefilter:
    """Which variables to test for.

    Args:
        keeps_unmatched: the result has rows outside of matches, or empty matches.
    """
    if keeps_unmatched:
        return Prefilter((), "the result has rows outside of matches, or empty matches")
    wanted = mandatory(pattern)
    needed = tuple(code for code in sorted(local) if names[code] in wanted and any(not c.shifts for c in local[code]))
    if not needed:
        return Prefilter((), "no variable that every match needs has a condition on one row")
    tests = tuple(all_of([c.sql() for c in local[code] if not c.shifts]) for code in needed)
    return Prefilter(needed, "every match needs " + ", ".join(names[code] for code in needed), tests)
