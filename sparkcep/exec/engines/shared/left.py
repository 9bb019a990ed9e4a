"""Where the rules of a set were left in the partitions of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sparkcep.exec.arrays import Ints
from sparkcep.exec.kernels.rows.rows import AT_ROW, COVERED, FIRST_ROW, MATCHES

#: What ``values`` hold of a rule in a partition: the time (microseconds) up to which it looks at no rows any more, then
#: what kernels.rows calls so, counted over the rule's own rows behind that time; then up to when, counted from NEVER,
#: matches that end are suppressed.
SINCE = 0
PLACES = (AT_ROW, COVERED, MATCHES, FIRST_ROW)
OF_PLACES = slice(1, 1 + len(PLACES))
UNTIL = 1 + len(PLACES)
WIDTH = UNTIL + 1
#: A time before all others.
NEVER = -(2**62)


@dataclass(frozen=True, slots=True)
class RulesLeft:
    """Lines for those rules and partitions of which something is known. ``partition``, ``rule`` (n,), ``values``
    (n, WIDTH); in order of rules, then of partitions."""

    partition: Ints
    rule: Ints
    values: Ints

    @staticmethod
    def of(lines: Sequence[tuple[Ints, Ints, Ints]]) -> RulesLeft:
        """Lines in any order."""
        none = np.zeros(0, np.int64)
        partition = np.concatenate([none, *(p for p, _, _ in lines)])
        rule = np.concatenate([none, *(r for _, r, _ in lines)])
        values = np.concatenate([np.zeros((0, WIDTH), np.int64), *(v for _, _, v in lines)])
        order = np.lexsort((partition, rule))
        return RulesLeft(partition[order], rule[order], values[order])

    def __len__(self) -> int:
        return len(self.partition)

    def where(self, chosen: npt.NDArray[np.bool_]) -> RulesLeft:
        """Those lines that are chosen."""
        return RulesLeft(self.partition[chosen], self.rule[chosen], self.values[chosen])

    def of_rule(self, number: int) -> tuple[Ints, Ints]:
        """Partitions and values of one rule."""
        low, high = np.searchsorted(self.rule, [number, number + 1])
        return self.partition[low:high], self.values[low:high]
