"""Conditions that the kernel calls back for: those that only the interpreter evaluates.

The kernel searches as always; where it comes to such a condition it calls a function of this process by its address,
which looks at the kernel's own arrays for what the match has taken so far. Where a test looks at two rows only, the
answer comes with those to the pairs that are likely to be asked for next (:class:`Foresight`), which the kernel then
reads without a call.
"""

from __future__ import annotations

import ctypes
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.columns import (
    Columnwise,
    Failed,
    Labels,
    Matches,
    Pairs,
    Place,
    Values,
    evaluator,
    value,
)
from sparkcep.exec.conditions.programs import CalledBack
from sparkcep.exec.conditions.python_values import python_values
from sparkcep.exec.kernels.conditions import codes as op
from sparkcep.exec.kernels.statuses import CONDITION_FAILED, FALSE, OVERFLOW, TRUE, ZERO_DIVISION
from sparkcep.exec.kernels.tables import Answers, Columns, Conditions, Flags, Ints, SearchState
from sparkcep.exec.memory import OBJECT, Budget
from sparkcep.exec.statuses import interpreted
from sparkcep.expr.numbers import DivisionByZero, Overflow

#: What the kernel takes as NULL.
NULL = -1
_ANSWERS: dict[bool | None, int] = {None: NULL, False: FALSE, True: TRUE}
#: Answers given ahead at first, and of how many of them one must have been asked for if there are to be as many again.
FEW, USED = 16, 4
#: Number of the condition, the partition's first row in the batch, its rows, the match's number -> TRUE, FALSE, NULL or
#: a status.
_Callback = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)


class _Seen(Sequence[int]):
    """The rows of a register, read from the kernel's array as they are asked for."""

    __slots__ = ("rows",)

    def __init__(self, rows: Ints) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, at: Any) -> Any:
        return self.rows[at].tolist()

    def __iter__(self) -> Iterator[int]:
        return iter(self.rows.tolist())


class _Registers(Sequence[Sequence[int]]):
    """The rows that each register has seen, read from the kernel's arrays."""

    __slots__ = ("search",)

    def __init__(self, search: SearchState) -> None:
        self.search = search

    def __len__(self) -> int:
        return len(self.search.counts)

    def __getitem__(self, register: Any) -> Any:
        low = register * self.search.rows
        return _Seen(self.search.occurrences[low : low + self.search.counts[register]])


class _Labels:
    """The names of the variables that took a batch's rows, read from the kernel's arrays."""

    __slots__ = ("names", "nulls", "ranks")

    def __init__(self, ranks: Ints, nulls: Flags, names: dict[int, str]) -> None:
        self.ranks, self.nulls, self.names = ranks, nulls, names

    def __getitem__(self, row: int) -> str | None:
        return None if self.nulls[row] else self.names[int(self.ranks[row])]


class Foresight:
    """Answers a test of two rows for the pair that is asked for and those that follow in the direction of the search.

    A search goes through candidates for one row of the match, so that one row of a pair stays while the other goes on,
    or both go on. As many pairs are answered at once as the answers before were asked for.
    """

    def __init__(self, test: Columnwise, places: tuple[Place, Place], requests: Ints, answers: Answers) -> None:
        self.test = test
        self.places = places
        self.requests = requests
        self.answers = answers
        self.begin()

    def begin(self) -> None:
        """Forget what was answered: rows are others now."""
        self.requests[:] = 0
        self.requests[[op.BASE, op.LAST_I, op.LAST_J]] = -1
        self.ahead = 1
        self.moves = (0, 1)

    def answer(self, batch: Values) -> int | None:
        """TRUE, FALSE or NULL for the pair that the kernel asks for; None: it has to be evaluated by itself."""
        _, length, _, _, _, _, hits, i, j, before_i, before_j = self.requests.tolist()
        if i < 0 or j < 0:
            return None
        moved = i - before_i, j - before_j
        moves = _DIRECTIONS.get((moved[0] > 0, moved[1] > 0, min(moved) >= 0))
        if before_i >= 0 and moves is not None and (moves != (1, 1) or moved[0] == moved[1]):
            self.moves = moves
            if self.ahead < 2 or hits * USED > length:
                self.ahead = min(max(2 * self.ahead, FEW), op.ANSWERS)
        if self.ahead > 1 and hits * USED < length:
            self.ahead //= 2
        if self.ahead < 2:
            self.requests[op.BASE] = -1
            self.requests[op.LENGTH : op.HITS + 1] = 0
            return None
        return self.look_ahead(batch, i, j)

    def look_ahead(self, batch: Values, i: int, j: int) -> int | None:
        """Answer pairs from one on. Those that fail are left to be asked for; None where it is the first one."""
        count = min(self.ahead, *(batch.rows - row for row, moves in zip((i, j), self.moves, strict=True) if moves))
        if self.moves != (1, 1) and (distance := j - i if self.moves[0] else i - j) > 0:
            count = min(count, distance)  # one row stays before the other
        pairs = Pairs(batch, self.places, (i, j), self.moves, count)
        found = self.test(pairs)
        if pairs.failures.any:
            self.answers[:count] = [op.UNANSWERED if type(v) is Failed else _ANSWERS[v] for v in found]
        else:
            self.answers[:count] = [_ANSWERS[v] for v in found]
        self.requests[: op.HITS + 1] = (batch.base, count, i, j, *self.moves, 1)
        return None if type(found[0]) is Failed else _ANSWERS[found[0]]


#: Whether the first and the second row of a pair have gone on since the last one, and neither has gone back -> which.
_DIRECTIONS = {(True, False, True): (1, 0), (False, True, True): (0, 1), (True, True, True): (1, 1)}


#: Where no variable has a register of its own.
NOBODY: Mapping[int, str] = MappingProxyType({})


class External:
    """Evaluates conditions for a kernel. One for each matcher; the kernel and this run in turn, in one thread.

    ``takers``: whose rows a register has, of those with the rows of one variable. ``address``: of the function that the
    kernel calls, 0 where there are no tests for it. ``failure``: what an evaluation raised, once the kernel has given
    CONDITION_FAILED.
    """

    def __init__(self, tests: Sequence[CalledBack], takers: Mapping[int, str] = NOBODY) -> None:
        self.evaluators = [evaluator(each.test) for each in tests]
        self.requests = np.full((len(tests), op.REQUEST), -1, np.int64)
        self.answers = np.zeros((len(tests), op.ANSWERS), np.int8)
        self.foresight = [
            None
            if each.places is None
            else Foresight(evaluator(each.test, each.places), each.places, self.requests[n], self.answers[n])
            for n, each in enumerate(tests)
        ]
        self.columns = sorted(frozenset[int]().union(*(each.columns for each in tests)))
        self.values: list[Sequence[Any]] = []
        self.labels: Labels = ()
        self.takers = takers
        self.reads_takers = [each.labels for each in tests]
        self.registers: Sequence[Sequence[int]] = ()
        self.first_row = 0
        self.failure: BaseException | None = None
        self.address = 0
        if tests:
            self._callback = _Callback(self._holds)  # kept: the address is valid as long as this is
            self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def called_by(self, conditions: Conditions) -> Conditions:
        """A kernel's conditions, whose tests are asked for here."""
        return conditions._replace(callback=self.address, requests=self.requests.ravel(), answers=self.answers.ravel())

    def begin(self, batch: Batch, budget: Budget, first_row: int = 0) -> None:
        """Read the columns of a batch that conditions look at.

        Args:
            budget: what the batch may take. first_row: rows of the first partition that came in earlier batches.

        Raises:
            LimitError: CEP_MEMORY_LIMIT.
        """
        budget.hold("columns in Python", OBJECT * len(self.columns) * int(batch.offsets[-1]))
        self.first_row = first_row
        self.values = [()] * len(batch.columns)
        for column in self.columns:
            self.values[column] = python_values(batch.columns[column])
        for foresight in self.foresight:
            if foresight is not None:
                foresight.begin()

    def look_at(self, search: SearchState) -> None:
        """Take a kernel's arrays as what the match has taken."""
        self.registers = _Registers(search)

    def look_at_labels(self, conditions: Conditions, columns: Columns, names: Sequence[str]) -> None:
        """Take a kernel's column as the names of the variables that took rows, where conditions read them."""
        if conditions.label_column >= 0:
            low = conditions.label_names
            ranks = conditions.const_i[low : low + len(names)].tolist()
            first = conditions.label_column * columns.rows
            of = slice(first, first + columns.rows)
            self.labels = _Labels(columns.ints[of], columns.int_nulls[of], dict(zip(ranks, names, strict=True)))

    def raise_failure(self, status: int) -> None:
        """Raise what made the kernel give CONDITION_FAILED; nothing for another status.

        Raises:
            SparkCepError: CEP_CONDITION_FAILED; anything else that was raised is raised as it was.
        """
        if status != CONDITION_FAILED:
            return
        assert self.failure is not None
        failure, self.failure = self.failure, None
        with interpreted():
            raise failure

    def _holds(self, condition: int, base: int, rows: int, number: int) -> int:
        labels = self.labels
        if self.reads_takers[condition]:
            taken = {base + row: name for g, name in self.takers.items() for row in self.registers[g]}
            labels = defaultdict(lambda: None, taken)
        batch = Values(self.values, base, rows, 0 if base else self.first_row, labels)
        try:
            foresight = self.foresight[condition]
            if foresight is not None and (answer := foresight.answer(batch)) is not None:
                return answer
            return _ANSWERS[value(self.evaluators[condition], Matches(batch, [self.registers], [number]))]
        except Overflow:
            return OVERFLOW
        except DivisionByZero:
            return ZERO_DIVISION
        except BaseException as error:  # nothing may pass through the kernel, not even an interrupt
            self.failure = error
            return CONDITION_FAILED
