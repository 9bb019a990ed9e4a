"""Match one batch of partitions: columns as Arrow arrays in, a table of output rows out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkcep.errors import LimitError, SparkCepError
from sparkcep.exec.arrays import Ints, float_values, int_values, ordered_ints, rank_strings
from sparkcep.exec.compiler import ConditionPrograms, compile_conditions
from sparkcep.exec.interpreter import DivisionByZero, Overflow
from sparkcep.exec.kernels import rows as kernel
from sparkcep.exec.search import Search
from sparkcep.exec.spec import ConditionSet, MatchSpec
from sparkcep.query import RowsPerMatch, SkipMode
from sparkcep.settings import LIMIT_MATCHES, LIMIT_STEPS

_SKIP = {
    SkipMode.PAST_LAST_ROW: kernel.PAST_LAST_ROW,
    SkipMode.TO_NEXT_ROW: kernel.TO_NEXT_ROW,
    SkipMode.TO_FIRST: kernel.TO_FIRST,
    SkipMode.TO_LAST: kernel.TO_LAST,
}
_MODE = {
    RowsPerMatch.ONE: kernel.ONE_ROW,
    RowsPerMatch.ALL_SHOW_EMPTY: kernel.SHOW_EMPTY,
    RowsPerMatch.ALL_OMIT_EMPTY: kernel.OMIT_EMPTY,
    RowsPerMatch.ALL_WITH_UNMATCHED: kernel.WITH_UNMATCHED,
}
_BITS_PER_WORD = 63


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of whole partitions, in order.

    ``offsets`` (partitions + 1,): row borders. ``masks``: int64 arrays of condition bits. ``columns``: kernel columns.
    ``within``: ORDER BY key and key plus interval, of one type. ``marks`` (rows,): for matches by range, where matching
    may resume; see kernels.rows.
    """

    offsets: Ints
    masks: Sequence[pa.Array]
    columns: Sequence[pa.Array] = ()
    within: tuple[pa.Array, pa.Array] | None = None
    marks: npt.NDArray[np.uint8] | None = None


class Matcher:
    """Runs one MatchSpec over batches. Made once per task; holds the compiled tables."""

    def __init__(self, spec: MatchSpec) -> None:
        self.spec = spec
        program = spec.program
        names = len(program.names)
        self.test_word = np.zeros(names, np.int64)
        self.test_bit = np.full(names, -1, np.int64)
        for label, bit in spec.condition_bits.items():
            self.test_word[label], self.test_bit[label] = divmod(bit, _BITS_PER_WORD)
        positions = program.positions
        words = max(1, (positions + 63) // 64)
        self.followers = np.zeros((positions, words), np.uint64)
        self.accepts = np.zeros(positions, np.int64)
        for p in range(positions):
            for target, condition in program.successors(p):
                if target >= 0:
                    self.followers[p, target >> 6] |= np.uint64(1) << np.uint64(target & 63)
                elif self.accepts[p] != 1:
                    self.accepts[p] = 2 if condition & kernel.AT_END else 1
        self.skip = _SKIP[spec.skip]
        self.mode = _MODE[spec.rows_per_match]
        self.every_row = spec.every_row or spec.rows_per_match.is_all
        self.targets = np.array([k in spec.skip_labels for k in range(names)], np.uint8)
        self.slots = np.array(
            [(s.register, s.from_first, s.logical, s.physical, s.running, s.label) for s in spec.slots],
            np.int64,
        ).reshape(-1, 6)
        self.slot_membership = membership(spec.slot_registers, names)
        self.membership = membership(spec.conditions.registers, names)
        self.programs = None if spec.conditions.interpreted else compile_conditions(spec.conditions, spec.ansi)

    def match(self, batch: Batch) -> Ints:
        """Output rows (n, FIXED + slots); see kernels.rows for the columns.

        Raises:
            LimitError: CEP_STEP_LIMIT, CEP_MATCH_LIMIT.
            SparkCepError: CEP_SKIP_TO_FIRST_ROW, CEP_SKIP_TARGET_ABSENT, ARITHMETIC_OVERFLOW, DIVIDE_BY_ZERO.
        """
        rows = int(batch.offsets[-1])
        masks = np.zeros((max(1, self.spec.mask_words), rows), np.uint64)
        for w, mask in enumerate(batch.masks):
            masks[w] = int_values(mask)[0].view(np.uint64)
        within = np.zeros((2, rows if batch.within else 1), np.int64)
        within_null = np.zeros(within.shape, np.uint8)
        if batch.within:
            for k, array in enumerate(batch.within):
                within[k], within_null[k] = ordered_ints(array)
        if self.programs is None:
            return self.interpret(batch, masks, within, within_null)
        p = self.programs
        ints, int_nulls, floats, float_nulls, const_i = load_columns(p, self.spec.conditions, batch)
        conditions = self.spec.conditions.conditions
        order = {label: k for k, label in enumerate(conditions)}
        program, spec = self.spec.program, self.spec
        status, _, out, used = kernel.match_partitions(
            batch.offsets, masks, self.test_word, self.test_bit, program.labels, program.excluded,
            program.edge_start, program.edge_target, program.edge_condition, self.followers, self.accepts,
            spec.use_within, within[0], within[1], within_null, self.skip, self.targets, self.mode, self.every_row,
            self.slot_membership, self.slots,
            bool(conditions), self.membership,
            np.array([order.get(k, -1) for k in range(len(program.names))], np.int64),
            np.array(p.starts, np.int64), np.array(p.code, np.int64).reshape(-1, 3), const_i,
            np.array(p.const_f, np.float64), np.array(p.nav, np.int64).reshape(-1, 4),
            np.array(p.agg, np.int64).reshape(-1, 5), ints, int_nulls, floats, float_nulls,
            spec.ansi, spec.limit_steps, spec.limit_rows,
            np.zeros(0, np.uint8) if batch.marks is None else batch.marks,
        )  # fmt: skip
        self.check(int(status))
        result: Ints = out[:used]
        return result

    def check(self, status: int) -> None:
        """Raise the error behind a kernel status."""
        if status == kernel.OK:
            return
        if status == kernel.TOO_MANY_STEPS:
            raise LimitError(
                "CEP_STEP_LIMIT",
                f"Matching one partition took more than {self.spec.limit_steps} steps ({LIMIT_STEPS.key}).",
                hint="make the conditions more selective, bound the quantifiers, add WITHIN, or raise the limit",
            )
        if status == kernel.TOO_MANY_ROWS:
            raise LimitError(
                "CEP_MATCH_LIMIT",
                f"One partition has more than {self.spec.limit_rows} output rows ({LIMIT_MATCHES.key}).",
                hint="use AFTER MATCH SKIP PAST LAST ROW or ONE ROW PER MATCH, or raise the limit",
            )
        if status == kernel.SKIP_TO_FIRST_ROW:
            raise SparkCepError(
                "CEP_SKIP_TO_FIRST_ROW",
                f"AFTER MATCH SKIP TO {self.spec.skip_target} would resume at the first row of the match itself.",
                hint="use AFTER MATCH SKIP TO NEXT ROW",
            )
        if status == kernel.SKIP_TARGET_ABSENT:
            raise SparkCepError(
                "CEP_SKIP_TARGET_ABSENT",
                f"AFTER MATCH SKIP TO {self.spec.skip_target}: no row of a match is mapped to it.",
                hint="skip to a variable that every match holds",
            )
        if status == kernel.OVERFLOW:
            raise SparkCepError(
                "ARITHMETIC_OVERFLOW", "An integer overflowed in DEFINE.", hint="cast an operand to a wider type"
            )
        raise SparkCepError("DIVIDE_BY_ZERO", "Division by zero in DEFINE.", hint="use nullif(divisor, 0)")

    def interpret(
        self, batch: Batch, masks: npt.NDArray[np.uint64], within: Ints, within_null: npt.NDArray[np.uint8]
    ) -> Ints:
        """The same search as the kernel's, with conditions run by the interpreter."""
        try:
            return Search(self, batch, masks, within, within_null).run()
        except Overflow:
            self.check(kernel.OVERFLOW)
        except DivisionByZero:
            self.check(kernel.ZERO_DIVISION)
        except (TypeError, ValueError, OverflowError) as error:
            raise SparkCepError(
                "CEP_CONDITION_FAILED",
                f"A condition that depends on the match failed on a value: {error}.",
                hint="compute it as a column of the input",
            ) from None
        raise AssertionError("unreachable")


def membership(registers: Sequence[frozenset[int]], names: int) -> npt.NDArray[np.uint8]:
    """(registers, labels): whether a row with the label belongs to the register."""
    flags = [[k in r for k in range(names)] for r in registers]
    return np.array(flags, np.uint8).reshape(len(registers), names)


def load_columns(p: ConditionPrograms, conditions: ConditionSet, batch: Batch) -> tuple[Any, ...]:
    """Kernel columns of a batch as stacked arrays, strings ranked together with the constants."""
    rows = int(batch.offsets[-1])
    of_floats = [(i, place) for i, (store, place) in p.columns.items() if store == "float"]
    of_ints = [(i, place) for i, (store, place) in p.columns.items() if store != "float"]
    floats = np.zeros((max(1, len(of_floats)), rows), np.float64)
    ints = np.zeros((max(1, len(of_ints)), rows), np.int64)
    float_nulls = np.zeros(floats.shape, np.uint8)
    int_nulls = np.zeros(ints.shape, np.uint8)
    const_i = np.array([*p.const_i, 0], np.int64)
    for i, place in of_floats:
        floats[place], float_nulls[place] = float_values(batch.columns[i])
    strings = [(i, place) for i, place in of_ints if p.columns[i][0] == "string"]
    for i, place in of_ints:
        if p.columns[i][0] != "string":
            ints[place], int_nulls[place] = int_values(batch.columns[i])
    if strings or p.string_constants:
        ranks, codes = rank_strings([batch.columns[i] for i, _ in strings], list(p.string_constants.values()))
        for (i, place), values in zip(strings, ranks, strict=True):
            ints[place] = values
            int_nulls[place] = batch.columns[i].is_null().to_numpy(zero_copy_only=False)
        for at, code in zip(p.string_constants, codes, strict=True):
            const_i[at] = code
    return ints, int_nulls, floats, float_nulls, const_i
