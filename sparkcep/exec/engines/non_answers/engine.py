"""EXPLAIN NON ANSWERS: a row for each partition without a match."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from sparkcep.exec.arrays import Ints, int32, struct_lists
from sparkcep.exec.automaton import compile_automaton
from sparkcep.exec.batch import Batch
from sparkcep.exec.engine import Events, FieldAt, Matcher, MatchTable, OutputColumn, Value
from sparkcep.exec.engines.non_answers.matcher import FactTeller, NonAnswers
from sparkcep.exec.engines.non_answers.spec import Facts, Repair, RepairSpec
from sparkcep.exec.engines.runs.engine import tiny_spec
from sparkcep.exec.engines.runs.output import event_column
from sparkcep.exec.shape import OperatorColumns
from sparkcep.pattern import Variable


class NonAnswersEngine:
    """``cost`` in steps; ``moves``: array of (component code ``c``, row ``r``, steps ``n``, ORDER BY key ``f``); codes
    ``reason`` and ``component``, the event's ``row`` and ``time``; the longest run's ``events``."""

    name = "non_answers"

    def columns(self, spec: RepairSpec, shape: OperatorColumns) -> tuple[OutputColumn, ...]:
        """See :class:`Engine`."""
        assert shape.trace is not None
        time = shape.trace[0]
        return (
            Value("cost", "bigint"), Value("reason", "int"), Value("component", "int"), Value("row", "int"),
            FieldAt("time", "row", time),
            Events("moves", (("c", "int"), ("r", "int"), ("n", "bigint")), (("f", time),)),
            event_column("events", (time,)),
        )  # fmt: skip

    def matcher(self, spec: RepairSpec, shape: OperatorColumns) -> NonAnswerTables:
        """See :class:`Engine`."""
        return NonAnswerTables(spec)

    def needs(self, spec: RepairSpec, shape: OperatorColumns) -> tuple[str, ...]:
        """See :class:`Engine`."""
        return ("runs", "non-answers")

    def warm_ups(self) -> Mapping[str, Callable[[], None]]:
        """See :class:`Engine`."""
        return {"non-answers": _warm_up}


class NonAnswerTables(Matcher):
    """Repairs and reasons as columns."""

    def __init__(self, spec: RepairSpec) -> None:
        self.inner = NonAnswers(spec)

    def match(self, batch: Batch) -> MatchTable:
        """See :class:`Matcher`."""
        found = self.inner.explain(batch)
        moves = {"c": int32(found.moves[:, 0]), "r": int32(found.moves[:, 1])}
        columns = {
            "cost": pa.array(found.cost, mask=found.cost < 0), "reason": _codes(found.reason),
            "component": _codes(found.component), "row": _codes(found.event),
            "moves": struct_lists(found.move_ends, moves | {"n": pa.array(np.ascontiguousarray(found.moves[:, 2]))}),
            "events": struct_lists(found.run_ends, {"c": int32(found.runs[:, 0]), "r": int32(found.runs[:, 1])}),
        }  # fmt: skip
        return MatchTable(found.partition, columns)


def _codes(values: Ints) -> pa.Array:
    """Codes or rows as int32; below zero is NULL."""
    return pa.array(np.ascontiguousarray(values), pa.int32(), mask=values < 0)


def _warm_up() -> None:
    """On two partitions that nothing matches."""
    pattern = Variable("A")
    run = replace(
        tiny_spec(), pattern=pattern, automaton=compile_automaton(pattern, ("A",), 100), condition_bits={0: 0},
        one_per_start=True, first_only=True, traced=False,
    )  # fmt: skip
    repair = Repair((0,), 0, (), frozenset(), 1, 1, 1, 0, 10)
    spec = RepairSpec(run, {0: 0}, repair, (0,), (0,), Facts((), (), 0), 1000)
    batch = Batch(np.array([0, 1, 2]), [pa.array([0, 0])], [pa.array([1, 2])])
    NonAnswers(spec).explain(batch)
    FactTeller(spec).tell(batch)
