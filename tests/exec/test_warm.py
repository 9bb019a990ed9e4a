"""After a warm-up there is nothing left to compile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sparkcep
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.rows.matcher import Batch, Matcher
from sparkcep.exec.shape import OutputSlot
from sparkcep.expr.nodes import AggregateSlot, Call, Constant, Load, RowValue
from sparkcep.expr.types import DOUBLE, STRING
from sparkcep.pattern import Concatenation, Quantified, Variable
from sparkcep.query import RowsPerMatch, SkipMode
from sparkcep.session.machine.warmup import ENTRIES, warm_up

from .helpers import make_spec

pytestmark = [pytest.mark.compiled]

PATTERN = Concatenation((Variable("A"), Quantified(Variable("B"), 0, None)))


def test_one_signature_for_all_queries() -> None:
    """WITHIN, slots, every mode and type, pieces, read-only arrays: none of them makes another signature."""
    warm_up()
    equal = Call("=", (Load(0), Constant("a", STRING)))
    total = Call(">", (Load(0), Constant(0.5, DOUBLE)))
    offsets = np.array([0, 2, 4])
    offsets.flags.writeable = False
    masks, doubles, strings = pa.array([1] * 4), pa.array([1.0, None, 2.0, 3.0]), pa.array(["a", "b", None, "a"])
    cases = [
        ConditionSet(),
        ConditionSet({1: equal}, (AggregateSlot("max", 0, (RowValue(0),)),), (STRING,), (frozenset([1]),)),
        ConditionSet({1: total}, (AggregateSlot("sum", 0, (RowValue(0),)),), (DOUBLE,), (frozenset([1]),)),
    ]
    for conditions, column in zip(cases, (doubles, strings, doubles), strict=True):
        for calls_back in (CallsBack.NEVER, CallsBack.ALWAYS):
            for mode in RowsPerMatch:
                for use_within in (False, True):
                    spec = make_spec(
                        PATTERN, {"A": 0}, rows_per_match=mode, skip=SkipMode.TO_NEXT_ROW, use_within=use_within,
                        conditions=conditions, slot_registers=(frozenset([0]),),
                        slots=(OutputSlot(0, False, 0, -1, True, False),),
                    )  # fmt: skip
                    for array in (spec.program.labels, spec.program.edge_start):
                        array.flags.writeable = False  # as they may come out of a pickle
                    data = Batch(offsets, [masks], [column], (doubles, doubles) if use_within else None)
                    _, resume = Matcher(spec, calls_back).match_piece(data, more=True)
                    assert resume is not None
    assert [len(entry.signatures) for entry in ENTRIES] == [1] * len(ENTRIES)


def test_second_process_compiles_nothing() -> None:
    """This process fills the cache; a fresh cache would cost a minute of compilation more."""
    warm_up()
    root = str(Path(sparkcep.__file__).parents[1])
    command = [sys.executable, "-c", "from sparkcep.session.machine.warmup import warm_up; print(warm_up())"]
    second = subprocess.run(command, env={**os.environ, "PYTHONPATH": root}, check=True, capture_output=True, text=True)
    assert int(second.stdout) == 0
