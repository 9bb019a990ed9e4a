"""Conditions that the kernel calls back for: those that only the interpreter evaluates.

The kernel searches as always; where it comes to such a condition it calls a function of this process by its address,
which looks at the kernel's own arrays for what the match has taken so far.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.expressions import ROW_COLUMN, Expression, columns_read
from sparkcep.exec.conditions.interpreter import Interpreter, MatchState, normalise
from sparkcep.exec.conditions.scalars import DivisionByZero, Overflow
from sparkcep.exec.engines.rows.spec import ConditionSet
from sparkcep.exec.kernels.statuses import CONDITION_FAILED, FALSE, OVERFLOW, TRUE, ZERO_DIVISION
from sparkcep.exec.kernels.tables import Ints, SearchState
from sparkcep.exec.memory import OBJECT, Budget
from sparkcep.exec.statuses import interpreted

#: What the kernel takes as NULL.
NULL = -1
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


class _Registers:
    """What :class:`MatchState` has as lists."""

    __slots__ = ("search",)

    def __init__(self, search: SearchState) -> None:
        self.search = search

    def __getitem__(self, register: int) -> _Seen:
        low = register * self.search.rows
        return _Seen(self.search.occurrences[low : low + self.search.counts[register]])


class External:
    """Evaluates conditions for a kernel. One for each matcher; the kernel and this run in turn, in one thread.

    ``address``: of the function that the kernel calls, 0 where there are no tests for it. ``failure``: what an
    evaluation raised, once the kernel has given CONDITION_FAILED.
    """

    def __init__(self, tests: Sequence[Expression], conditions: ConditionSet, ansi: bool) -> None:
        interpreter = Interpreter(conditions.slots, conditions.column_types, ansi)
        self.evaluators = [interpreter.prepare(test)[0] for test in tests]
        read = frozenset[int]().union(*(columns_read(test, conditions.slots) for test in tests))
        self.columns = sorted(read - {ROW_COLUMN})
        self.state = MatchState((), 0, 0, ())
        self.first_row = 0
        self.failure: BaseException | None = None
        self.address = 0
        if tests:
            self._callback = _Callback(self._holds)  # kept: the address is valid as long as this is
            self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def begin(self, batch: Batch, budget: Budget, first_row: int = 0) -> None:
        """Read the columns of a batch that conditions look at.

        Args:
            budget: what the batch may take. first_row: rows of the first partition that came in earlier batches.

        Raises:
            LimitError: CEP_MEMORY_LIMIT.
        """
        budget.hold("columns in Python", OBJECT * len(self.columns) * int(batch.offsets[-1]))
        self.first_row = first_row
        values: list[Sequence[Any]] = [()] * len(batch.columns)
        for column in self.columns:
            values[column] = [normalise(v) for v in batch.columns[column].to_pylist()]
        self.state.columns = values

    def look_at(self, search: SearchState) -> None:
        """Take a kernel's arrays as what the match has taken."""
        self.state.registers = _Registers(search)  # type: ignore[assignment]

    def raise_failure(self) -> None:
        """Raise what made the kernel give CONDITION_FAILED.

        Raises:
            SparkCepError: CEP_CONDITION_FAILED; anything else that was raised is raised as it was.
        """
        assert self.failure is not None
        failure, self.failure = self.failure, None
        with interpreted():
            raise failure

    def _holds(self, condition: int, base: int, rows: int, number: int) -> int:
        state = self.state
        state.base, state.rows, state.number = base, rows, number
        state.first_row = 0 if base else self.first_row
        try:
            value = self.evaluators[condition](state, -1)
        except Overflow:
            return OVERFLOW
        except DivisionByZero:
            return ZERO_DIVISION
        except BaseException as error:  # nothing may pass through the kernel, not even an interrupt
            self.failure = error
            return CONDITION_FAILED
        return NULL if value is None else TRUE if value else FALSE
