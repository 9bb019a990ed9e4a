"""What Spark's stateful operators call, whichever it is: bytes in, bytes out."""

from __future__ import annotations

import logging
import pickle
import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pyarrow as pa

from sparkcep.errors import SparkCepError
from sparkcep.exec.engine import StreamingEngine
from sparkcep.exec.shape import OperatorColumns
from sparkcep.exec.streaming.blobs import ROWS, from_bytes, to_bytes
from sparkcep.exec.streaming.late import write_late_rows
from sparkcep.exec.streaming.rule_sets import RuleSetOperator
from sparkcep.exec.streaming.step import BucketOperator, Step, StreamPlan
from sparkcep.query import ERROR

S = TypeVar("S")
#: What a step says of rows it dropped.
_DROPPED = ("late", "untimed", "changed")
#: All that a step counts, as columns of the operator's output: ``given``: rows of output; ``milliseconds``: it took.
COUNTS = (*_DROPPED, "taken", "given", "kept", "milliseconds")

#: Operators of a worker, the last ones used, by what they were made from: a worker serves many micro-batches.
_OPERATORS: dict[bytes, BucketOperator[Any]] = {}
_MOST_OPERATORS = 4


@dataclass(frozen=True, slots=True)
class Advanced:
    """What a call for one bucket gives. ``row``: its output row, None where there is nothing to say. ``state``: the new
    state, None where it stays. ``wake``: milliseconds; a watermark above them is to call the bucket again."""

    row: Mapping[str, Any] | None
    state: bytes | None = None
    wake: int | None = None


class StreamBody(Generic[S]):
    """One call for each bucket of a micro-batch. The operator is made on the executor, never pickled; a worker, which
    serves many micro-batches, keeps the last ones."""

    def __init__(self, engine: StreamingEngine[S], shape: OperatorColumns, spec: S, plan: StreamPlan) -> None:
        self.made_from = engine, shape, spec, plan
        self._operator: BucketOperator[S] | None = None

    def __reduce__(self) -> tuple[type, tuple[StreamingEngine[S], OperatorColumns, S, StreamPlan]]:
        return type(self), self.made_from

    @property
    def operator(self) -> BucketOperator[S]:
        """Made at the first use in a worker."""
        if self._operator is None:
            key = pickle.dumps(self.made_from)
            known = _OPERATORS.pop(key) if key in _OPERATORS else bucket_operator(*self.made_from)
            self._operator = _OPERATORS[key] = known
            while len(_OPERATORS) > _MOST_OPERATORS:
                del _OPERATORS[next(iter(_OPERATORS))]
        return self._operator

    def advance(self, state: bytes | None, blobs: Sequence[bytes], watermark: int) -> Advanced:
        """One step of a bucket.

        Args:
            blobs: its new rows. watermark: milliseconds.
        """
        started = clock.perf_counter()
        try:
            done = self.operator.step(state, [from_bytes(blob)[0] for blob in blobs], watermark * 1000)
            if done.dropped is not None:
                write_late_rows(self.operator.plan.late_rows, done.dropped, state)
        except SparkCepError as error:
            # Raised behind the operator, so that the batch fails and no state is kept of it.
            return Advanced({ROWS: None, ERROR: str(error)} | dict.fromkeys(COUNTS, 0))
        row = None
        if done.state is not None:
            rows = None if done.rows is None else to_bytes(pa.Table.from_batches([done.rows]))
            row = {ROWS: rows, ERROR: None} | counts(done, clock.perf_counter() - started)
        return Advanced(row, done.state, timer(done, watermark))


def bucket_operator(
    engine: StreamingEngine[S], shape: OperatorColumns, spec: S, plan: StreamPlan
) -> BucketOperator[Any]:
    """What matches the partitions of buckets by a plan."""
    made: type[BucketOperator[Any]] = BucketOperator if plan.rules is None else RuleSetOperator
    return made(engine, shape, spec, plan)


def timer(done: Step, watermark: int) -> int | None:
    """Milliseconds; Spark calls a bucket again when the watermark is above them. ``watermark``: of the step, in
    milliseconds."""
    return None if done.wake is None else max(-(-done.wake // 1000) - 1, watermark + 1)


def counts(done: Step, seconds: float) -> dict[str, int]:
    """What is counted of a step that took so long, by name; what was dropped is in the log as well."""
    dropped = {name: getattr(done, name) for name in _DROPPED}
    if any(dropped.values()):
        logging.getLogger("sparkcep").warning(
            "%d late rows and %d rows without a time dropped, %d matches without the row that SKIP names",
            *dropped.values(),
        )
    given = 0 if done.rows is None else done.rows.num_rows
    return dropped | {
        "taken": done.taken, "given": given, "kept": done.kept, "milliseconds": round(1000 * seconds)
    }  # fmt: skip
