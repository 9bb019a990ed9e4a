"""The kernels' tables: of a spec once per matcher, of a batch's columns once per batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sparkcep.exec.arrays import Ints, float_values, high_words, int_values, ordered_ints, rank_strings
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.lookback import Lookback
from sparkcep.exec.conditions.programs import ConditionPrograms
from sparkcep.exec.engines.rows.program import Program
from sparkcep.exec.kernels.conditions.codes import STACK
from sparkcep.exec.kernels.conditions.functions import ADDRESSES
from sparkcep.exec.kernels.decimals import SCRATCH
from sparkcep.exec.kernels.rows.memo import LOOKBACKS
from sparkcep.exec.kernels.rows.search import AT_END
from sparkcep.exec.kernels.tables import (
    Answers,
    Automaton,
    Columns,
    Conditions,
    Flags,
    Memo,
    Output,
    SearchState,
    Within,
    Words,
)
from sparkcep.exec.masks import BITS_PER_WORD
from sparkcep.exec.shape import OutputSlot
from sparkcep.expr.nodes import LABEL_COLUMN, ROW_COLUMN

D = TypeVar("D", bound=np.generic)

_MEMO_BYTES = 32 << 20
#: Output that is handed on in pieces; and all output of a batch, where it cannot be.
PIECE_BYTES, WHOLE_BYTES = 1 << 26, 1 << 31
#: Rows given back per row of a partition below which backtracking is cheaper than keeping failed states.
PATIENCE = 16
#: The patience where conditions look at more than a state can hold.
NEVER = 1 << 31


def automaton(program: Program, condition_bits: Mapping[int, int]) -> Automaton:
    """A program with, per position, its followers as bits and whether it accepts.

    Arrays are copied: out of a pickle they may be read-only, which would be another type to the kernels.
    """
    positions = program.positions
    followers = np.zeros((positions, max(1, (positions + 63) // 64)), np.uint64)
    accepts = np.zeros(positions, np.int64)
    for p in range(positions):
        for target, condition in program.successors(p):
            if target >= 0:
                followers[p, target >> 6] |= np.uint64(1) << np.uint64(target & 63)
            elif accepts[p] != 1:
                accepts[p] = 2 if condition & AT_END else 1
    return Automaton(
        program.labels.copy(), program.excluded.copy(), program.edge_start.copy(), program.edge_target.copy(),
        program.edge_condition.copy(), followers, accepts, *bit_table(condition_bits, len(program.names)),
    )  # fmt: skip


def bit_table(bits: Mapping[int, int], components: int) -> tuple[Ints, Ints]:
    """Mask word and bit per component, bit -1 without."""
    word, bit = np.zeros(components, np.int64), np.full(components, -1, np.int64)
    for c, b in bits.items():
        word[c], bit[c] = divmod(b, BITS_PER_WORD)
    return word, bit


def mask_words(batch: Batch, words: int) -> Words:
    """Masks of a batch as the kernels read them, (words, rows) uint64; one alone is not copied. Nobody writes to it."""
    if words == 1 and len(batch.masks) == 1 and not batch.masks[0].null_count:
        return _Unlocked(batch.masks[0].to_numpy(zero_copy_only=False)).array().view(np.uint64)[np.newaxis]
    masks = np.zeros((max(1, words), int(batch.offsets[-1])), np.uint64)
    for w, mask in enumerate(batch.masks):
        masks[w] = int_values(mask)[0].view(np.uint64)
    return masks


class _Unlocked:
    """Keeps read-only memory, Arrow's, that numpy may see as writeable: read-only would be another type to kernels."""

    def __init__(self, values: Ints) -> None:
        self.values = values
        seen = values.__array_interface__
        self.__array_interface__ = {**seen, "data": (seen["data"][0], False)}

    def array(self) -> Ints:
        return np.asarray(self)


def membership(registers: Sequence[frozenset[int]], names: int) -> Flags:
    """(registers, labels): whether a row with the label belongs to the register."""
    flags = [[k in r for k in range(names)] for r in registers]
    return np.array(flags, np.uint8).reshape(len(registers), names)


def output_table(
    slots: Sequence[OutputSlot], registers: Sequence[frozenset[int]], targets: frozenset[int], names: int
) -> Output:
    """Output slots with their registers, and the variables that AFTER MATCH SKIP names."""
    return Output(
        _ints([(s.register, s.from_first, s.logical, s.physical, s.running, s.label) for s in slots]),
        membership(registers, names),
        np.array([k in targets for k in range(names)], np.uint8),
    )


def condition_tables(program: Program, p: ConditionPrograms, lookback: Lookback, registers: int) -> Conditions:
    """Compiled conditions; string constants are still to be filled in, and who is asked for others."""
    label_column, label_names = p.name_labels(program.names)
    starts = [0]
    for label in range(len(program.names)):
        starts.append(p.spans[label][1] if label in p.spans else starts[-1])
    return Conditions(
        _ints(starts), _ints(p.code), _ints([*p.const_i, 0]), np.array(p.const_f, np.float64), _ints(p.nav),
        _ints(p.agg), lookback.registers.low, lookback.registers.high, _ints(lookback.registers.items),
        lookback.folds.low, lookback.folds.high, _ints(lookback.folds.items), registers, int(p.ansi), label_column,
        label_names, *no_requests(),
    )  # fmt: skip


def no_requests() -> tuple[Ints, int, Ints, Answers]:
    """The fields of Conditions for what lies outside of the kernel; :meth:`External.called_by` fills in the last."""
    return ADDRESSES, 0, np.zeros(0, np.int64), np.zeros(0, np.int8)


def _ints(values: Sequence[int] | Sequence[Sequence[int]]) -> Ints:
    return np.array(values, np.int64).ravel()


def memo_table(p: ConditionPrograms, lookback: Lookback) -> Memo:
    """An empty table of failed states. Untouched memory costs nothing."""
    is_whole = LABEL_COLUMN not in p.columns and not any(r.everything for r in p.reads.values())
    width = LOOKBACKS + int((lookback.signature.high - lookback.signature.low).max(initial=0))
    capacity = 1 << max(10, (_MEMO_BYTES // (8 * width)).bit_length() - 1)
    return Memo(
        lookback.signature.low, lookback.signature.high, _ints(lookback.signature.items),
        np.zeros(capacity * width if p.code else 0, np.int64), np.zeros(width, np.int64), capacity, width,
        int(p.reads_number), PATIENCE if is_whole else NEVER,
    )  # fmt: skip


def within_table(batch: Batch, rows: int) -> Within:
    """Key and bound of WITHIN as integers of one order."""
    if batch.within is None:
        return Within(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((2, 1), np.uint8))
    (key, key_null), (bound, bound_null) = (ordered_ints(array) for array in batch.within[:2])
    return Within(owned(key), owned(bound), np.stack([key_null, bound_null]))


def owned(values: Ints) -> Ints:
    """Arrow's memory is read-only, which would be another type to the kernels."""
    return values if values.flags.writeable else values.copy()


def load_columns(p: ConditionPrograms, batch: Batch) -> tuple[Columns, Ints]:
    """Columns of a batch, strings ranked together with the constants, and the integer constants."""
    rows = int(batch.offsets[-1])
    of_floats = [(i, place) for i, (store, place) in p.columns.items() if store == "float"]
    of_ints = [(i, place) for i, (store, place) in p.columns.items() if store != "float"]
    floats = np.empty((len(of_floats), rows), np.float64)
    wide = [(i, place) for i, place in of_ints if p.columns[i][0] == "wide"]
    ints = np.empty((len(of_ints) + len(wide), rows), np.int64)
    float_nulls = np.zeros(floats.shape, np.uint8)
    int_nulls = np.zeros(ints.shape, np.uint8)
    const_i = np.array([*p.const_i, 0], np.int64)
    for i, place in of_floats:
        floats[place], float_nulls[place] = float_values(batch.columns[i])
    strings = [(i, place) for i, place in of_ints if p.columns[i][0] == "string"]
    for i, place in of_ints:
        if i == ROW_COLUMN:
            ints[place] = np.arange(rows) - np.repeat(np.asarray(batch.offsets[:-1]), np.diff(batch.offsets))
            int_nulls[place] = 0
        elif i == LABEL_COLUMN:
            int_nulls[place] = 1
        elif p.columns[i][0] != "string":
            ints[place], int_nulls[place] = int_values(batch.columns[i])
    for i, place in wide:
        ints[place + 1] = high_words(batch.columns[i])
    if strings or p.string_constants:
        ranks, codes = rank_strings([batch.columns[i] for i, _ in strings], list(p.string_constants.values()))
        for (i, place), values in zip(strings, ranks, strict=True):
            ints[place] = values
            int_nulls[place] = batch.columns[i].is_null().to_numpy(zero_copy_only=False)
        for at, code in zip(p.string_constants, codes, strict=True):
            const_i[at] = code
    return Columns(ints.ravel(), int_nulls.ravel(), floats.ravel(), float_nulls.ravel(), rows), const_i


def new_search_state(rows: int, registers: int, aggregates: int = 0, dependent: bool = False) -> SearchState:
    """A search's state for partitions of up to so many rows. Untouched memory costs nothing."""
    agg_n = np.empty(aggregates * (rows + 1), np.int64)
    agg_v = np.empty(aggregates * (rows + 1), np.int64)
    agg_n[:: rows + 1] = 0
    agg_v[:: rows + 1] = 0
    return SearchState(
        np.empty(registers * (rows + 1), np.int64), np.zeros(registers, np.int64), agg_n, agg_v,
        agg_v.view(np.float64), np.empty(rows + 1, np.int64), np.empty(rows + 1 if dependent else 1, np.int64),
        np.empty(STACK, np.int64), np.empty(STACK, np.int64), np.empty(STACK, np.float64), np.empty(STACK, np.uint8),
        np.empty(SCRATCH, np.uint64), rows + 1,
    )  # fmt: skip


def grown_search_state(state: SearchState, rows: int) -> SearchState:
    """Room for so many rows taken, with what the registers and aggregates hold."""

    def grown_lists(lists: Ints) -> Ints:
        own = lists.reshape(-1, state.rows)
        larger = np.empty((len(own), rows + 1), np.int64)
        larger[:, : state.rows] = own
        return larger.ravel()

    agg_v = grown_lists(state.agg_v)
    return state._replace(
        occurrences=grown_lists(state.occurrences), agg_n=grown_lists(state.agg_n), agg_v=agg_v,
        agg_f=agg_v.view(np.float64), path=np.empty(rows + 1, np.int64), edge_at=np.empty(rows + 1, np.int64),
        rows=rows + 1,
    )  # fmt: skip


def grown(out: npt.NDArray[D], used: int, more: int) -> npt.NDArray[D]:
    """A buffer with room along its first axis for ``more`` further items (at least one), the same or at least twice as
    large."""
    if used + max(more, 1) <= len(out):
        return out
    larger = np.empty((max(2 * len(out), used + more + 1), *out.shape[1:]), out.dtype)
    larger[:used] = out[:used]
    return larger
