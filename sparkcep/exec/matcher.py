"""Match one batch of partitions: columns as Arrow arrays in, a table of output rows out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sparkcep.errors import LimitError, SparkCepError
from sparkcep.exec.expressions import Compiler, ConditionPrograms
from sparkcep.exec.interpreter import DivisionByZero, Interpreter, MatchState, Overflow, normalise
from sparkcep.exec.kernels import rows as kernel
from sparkcep.exec.spec import ConditionSet, Ints, MatchSpec
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
    ``within``: ORDER BY key and key plus interval, of one type.
    """

    offsets: Ints
    masks: Sequence[pa.Array]
    columns: Sequence[pa.Array] = ()
    within: tuple[pa.Array, pa.Array] | None = None


def int_values(array: pa.Array) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """An integer-like Arrow array as int64 and its NULL flags."""
    nulls = np.asarray(array.is_null().to_numpy(zero_copy_only=False), np.uint8)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    elif pa.types.is_decimal(array.type):
        low = np.frombuffer(array.buffers()[1], np.int64)[2 * array.offset : 2 * (array.offset + len(array)) : 2]
        return np.ascontiguousarray(low), nulls
    elif pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    elif pa.types.is_timestamp(array.type) or pa.types.is_duration(array.type):
        array = array.view(pa.int64())
    if array.null_count:
        array = array.fill_null(0)
    return np.ascontiguousarray(array.to_numpy(zero_copy_only=False), np.int64), nulls


def float_values(array: pa.Array) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    """A floating Arrow array as float64 and its NULL flags."""
    nulls = np.asarray(array.is_null().to_numpy(zero_copy_only=False), np.uint8)
    return np.asarray(array.fill_null(0.0).to_numpy(zero_copy_only=False), np.float64), nulls


def ordered_ints(array: pa.Array) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """Any WITHIN key as int64 in the same order; floats by the bits of IEEE 754."""
    if not pa.types.is_floating(array.type):
        return int_values(array)
    values, nulls = float_values(array)
    bits = (values + 0.0).view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits - 1, bits), nulls


def rank_strings(arrays: Sequence[pa.Array], constants: Sequence[str]) -> tuple[list[Ints], list[int]]:
    """Ranks of strings over all arrays and constants in Spark's binary order; equal strings share a rank."""
    whole = pa.chunked_array(
        [*(a.cast(pa.large_binary()) for a in arrays), pa.array([c.encode() for c in constants], pa.large_binary())]
    )
    codes = whole.combine_chunks().dictionary_encode()
    if isinstance(codes, pa.ChunkedArray):
        codes = codes.combine_chunks()
    words = codes.dictionary
    ranks = np.empty(len(words), np.int64)
    ranks[pc.sort_indices(words).to_numpy()] = np.arange(len(words))
    indices = codes.indices.fill_null(0).to_numpy(zero_copy_only=False)
    values = ranks[indices] if len(words) else np.zeros(len(indices), np.int64)
    out: list[Ints] = []
    at = 0
    for a in arrays:
        out.append(np.ascontiguousarray(values[at : at + len(a)]))
        at += len(a)
    return out, [int(v) for v in values[at:]]


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
            for e in range(program.edge_start[p], program.edge_start[p + 1]):
                target, condition = int(program.edge_target[e]), int(program.edge_condition[e])
                if target >= 0:
                    self.followers[p, target >> 6] |= np.uint64(1) << np.uint64(target & 63)
                elif self.accepts[p] != 1:
                    self.accepts[p] = 2 if condition & kernel.AT_END else 1
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
        within_null = np.zeros(within.shape[1], np.uint8)
        if batch.within:
            (within[0], null_key), (within[1], null_bound) = map(ordered_ints, batch.within)
            within_null = null_key | null_bound
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
            spec.use_within, within[0], within[1], within_null, _SKIP[spec.skip], self.targets,
            _MODE[spec.rows_per_match], spec.every_row or spec.rows_per_match.is_all, self.slot_membership, self.slots,
            bool(conditions), self.membership,
            np.array([order.get(k, -1) for k in range(len(program.names))], np.int64),
            np.array(p.starts, np.int64), np.array(p.code, np.int64).reshape(-1, 3), const_i,
            np.array(p.const_f, np.float64), np.array(p.nav, np.int64).reshape(-1, 4),
            np.array(p.agg, np.int64).reshape(-1, 5), ints, int_nulls, floats, float_nulls,
            spec.ansi, spec.limit_steps, spec.limit_rows,
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
            return _Search(self, batch, masks, within, within_null).run()
        except Overflow:
            self.check(kernel.OVERFLOW)
        except DivisionByZero:
            self.check(kernel.ZERO_DIVISION)
        raise AssertionError("unreachable")


def membership(registers: Sequence[frozenset[int]], names: int) -> npt.NDArray[np.uint8]:
    """(registers, labels): whether a row with the label belongs to the register."""
    flags = [[k in r for k in range(names)] for r in registers]
    return np.array(flags, np.uint8).reshape(len(registers), names)


def compile_conditions(conditions: ConditionSet, ansi: bool) -> ConditionPrograms:
    """Instruction programs of all conditions, in the order of the mapping.

    Raises:
        NotCompilable: some condition needs the interpreter.
    """
    compiler = Compiler(conditions.slots, conditions.column_types, ansi)
    for condition in conditions.conditions.values():
        compiler.add(condition)
    return compiler.out


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


class _Search:
    """The rows kernel's search in Python, for interpreted conditions."""

    def __init__(
        self, matcher: Matcher, batch: Batch, masks: npt.NDArray[np.uint64], within: Ints,
        within_null: npt.NDArray[np.uint8],
    ) -> None:  # fmt: skip
        self.m = matcher
        self.spec = matcher.spec
        self.batch = batch
        self.masks = masks
        self.within = within
        self.within_null = within_null
        conditions = self.spec.conditions
        interpreter = Interpreter(conditions.slots, conditions.column_types, self.spec.ansi)
        self.tests = {label: interpreter.condition(c) for label, c in conditions.conditions.items()}
        self.columns = [[normalise(v) for v in c.to_pylist()] for c in batch.columns]
        self.edges: list[list[tuple[int, int]]] = []
        program = self.spec.program
        for p in range(program.positions + 1):
            span = slice(program.edge_start[p], program.edge_start[p + 1])
            pairs = zip(program.edge_target[span].tolist(), program.edge_condition[span].tolist(), strict=True)
            self.edges.append(list(pairs))
        self.labels = program.labels.tolist()
        self.steps = 0

    def run(self) -> Ints:
        spec, program = self.spec, self.spec.program
        mode = _MODE[spec.rows_per_match]
        every_row = spec.every_row or spec.rows_per_match.is_all
        out = np.empty((1024, kernel.FIXED + len(spec.slots)), np.int64)
        used = 0
        for q in range(len(self.batch.offsets) - 1):
            base = int(self.batch.offsets[q])
            rows = int(self.batch.offsets[q + 1]) - base
            ends = np.zeros((rows + 1, program.positions), np.int64)
            kernel.earliest_ends(
                base, rows, self.masks, self.m.test_word, self.m.test_bit, program.labels, program.edge_start,
                program.edge_target, self.m.accepts, ends,
            )  # fmt: skip
            occurrences = np.empty((len(spec.slot_registers), rows + 1), np.int64)
            counts = np.zeros(len(spec.slot_registers), np.int64)
            state = MatchState(self.columns, base, rows, program.names)
            self.steps = 0
            start = number = covered = 0
            before = used
            limit = -1
            while start < rows:
                limit = self.reach(base, rows, start, limit)
                path = self.find(state, start, number + 1, ends, limit)
                if path is None:
                    if mode == kernel.WITH_UNMATCHED and start >= covered:
                        out, used = kernel.emit_unmatched(out, used, q, start)
                    start += 1
                    continue
                number += 1
                taken = np.array([*path, 0], np.int64)
                out, used = kernel.emit_match(
                    out, used, q, number, start, len(path), rows, taken, program.labels, program.excluded, mode,
                    every_row, self.m.slot_membership, self.m.slots, occurrences, counts,
                )  # fmt: skip
                if used - before > spec.limit_rows:
                    self.m.check(kernel.TOO_MANY_ROWS)
                covered = max(covered, start + len(path))
                resume, status = kernel.next_start(
                    start, len(path), _SKIP[spec.skip], self.m.targets, taken, program.labels
                )
                self.m.check(int(status))
                start = int(resume)
        result: Ints = out[:used]
        return result

    def reach(self, base: int, rows: int, start: int, limit: int) -> int:
        """Last row within reach of WITHIN from a start row."""
        if not self.spec.use_within:
            return rows
        if self.within_null[base + start]:
            return -1
        limit = max(limit, start - 1)
        bound = self.within[1][base + start]
        while limit + 1 < rows and not self.within_null[base + limit + 1] and self.within[0][base + limit + 1] <= bound:
            limit += 1
        return limit

    def find(self, state: MatchState, start: int, number: int, ends: Ints, limit: int) -> list[int] | None:
        """Positions of the preferred match from a start row."""
        registers = self.spec.conditions.registers
        state.start, state.number = start, number
        state.labels = []
        state.registers = [[] for _ in registers]
        path: list[int] = []
        choice = [0]
        while True:
            self.steps += 1
            if self.steps > self.spec.limit_steps:
                self.m.check(kernel.TOO_MANY_STEPS)
            at = path[-1] if path else self.spec.program.positions
            r = start + len(path)
            if choice[-1] >= len(self.edges[at]):
                choice.pop()
                if not path:
                    return None
                path.pop()
                self.untake(state)
                continue
            target, condition = self.edges[at][choice[-1]]
            choice[-1] += 1
            if (condition & kernel.AT_START and r != 0) or (condition & kernel.AT_END and r != state.rows):
                continue
            if target == kernel.ACCEPT:
                return path
            if r >= state.rows or ends[r, target] > (limit if self.spec.use_within else kernel.NONE - 1):
                continue
            label = self.labels[target]
            state.labels.append(label)
            for seen, of in zip(state.registers, registers, strict=True):
                if label in of:
                    seen.append(r)
            test = self.tests.get(label)
            if test is not None and not test(state):
                self.untake(state)
                continue
            path.append(target)
            choice.append(0)

    def untake(self, state: MatchState) -> None:
        label = state.labels.pop()
        for seen, of in zip(state.registers, self.spec.conditions.registers, strict=True):
            if label in of:
                seen.pop()
