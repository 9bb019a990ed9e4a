"""Imprecise times over a stream: the matches and confidences that the same log has at rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from hypothesis import given, reject
from hypothesis import strategies as st

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.ordering import SortField
from sparkcep.exec.streaming.blobs import TIME
from sparkcep.exec.streaming.step import StreamPlan
from sparkcep.planner.engines.uncertain.plan import UncertainPlan
from sparkcep.planner.plan import PatternPlan
from sparkcep.query import PREFIX, Selection, SortKey

from .notation import tree
from .run_engine import mask_of_case
from .streams import arrivals, batched, streamed
from .test_streams_equal_batch import MEANING, counted
from .uncertain_engine import fields_of_case, plan_uncertain_case
from .uncertain_worlds import UncertainCase, uncertain_cases

#: A set at the end, whose members stand in no order.
LAST_SETS = [uncertain_cases(shape=tree(shape), selections=(Selection.ANY,)) for shape in ("A !X B+", "!X A+", "A+ !X")]
#: Fields of a row's time and of its number, which breaks ties.
TIME_FIELD, TIE = 98, 99


@dataclass(frozen=True)
class Streamed:
    """A case as a stream: rows of two partitions, ``keys``, with ``times`` in units of which ``step`` make a tick."""

    case: UncertainCase
    plan: PatternPlan[UncertainPlan]
    keys: list[int]
    times: list[int]

    @property
    def spec(self) -> Any:
        return self.plan.engine.spec

    @property
    def high(self) -> list[int]:
        return [low + len(mass) - 1 for low, mass in zip(self.case.low, self.case.mass, strict=True)]

    def ends(self, tick: int) -> int:
        """The watermark at which all events before a tick are there."""
        return int(tick * self.spec.stream.step + self.spec.stream.ahead - 1)

    @property
    def bounds(self) -> list[int]:
        return [self.ends(high + self.spec.within + 1) for high in self.high]

    def table(self) -> pa.Table:
        """The prepared rows."""
        shape, texts = self.plan.input.shape, self.plan.input.fields.texts
        assert shape.within is not None
        assert shape.within.bound is not None
        low, high = (texts[n] for n in shape.columns[len(self.spec.run.conditions.column_types) :][:2])
        named = {low: "lo", high: "hi", texts[shape.within.bound]: "t"}
        fields = fields_of_case(self.case, [named.get(text, "p" if "ARRAY" in text else text) for text in texts])
        columns: dict[str, Any] = {f"{PREFIX}f{n}": values for n, values in enumerate(fields)}
        columns |= {
            PREFIX + "k0": pa.array(self.keys, pa.int64()),
            PREFIX + "m0": mask_of_case(self.case.run, self.plan),
        }
        times = pa.array(self.times, pa.int64())
        columns |= {f"{PREFIX}f{shape.within.bound}": pa.array(self.bounds, pa.int64()), TIME: times}
        return pa.table(columns | {f"{PREFIX}f{TIME_FIELD}": times, f"{PREFIX}f{TIE}": range(len(self.keys))})

    def order(self) -> list[int]:
        """Rows by partition, as they are sorted."""
        return sorted(range(len(self.keys)), key=lambda n: (self.keys[n], self.times[n], n))

    def moment(self, row: dict[str, Any]) -> int:
        """The watermark that decides a match."""
        own = [n for n in self.order() if self.keys[n] == row[PREFIX + "k0"]]
        events = [own[e["r"]] for e in row[PREFIX + "events"]]
        there = max(self.times[n] for n in events)
        if not self.spec.keeps_out:
            return there
        first = min(self.bounds[n] for n in events)
        last = self.ends(max(self.high[n] for n in events) if self.spec.sets else self.high[events[-1]])
        return max(there, first if self.spec.stream.closes else min(first, last))


@given(st.one_of(uncertain_cases(untied=False), *LAST_SETS), st.integers(1, 3), st.integers(0, 3), st.data())
def test_a_stream_gives_what_the_log_gives(case: UncertainCase, step: int, ahead: int, data: st.DataObject) -> None:
    """Each match once, as soon as no event to come can change it."""
    within = case.run.within if case.run.within is not None else data.draw(st.integers(0, 6))
    keys = [data.draw(st.integers(0, 1)) for _ in case.low]
    # An interval begins at most so long before its row's time, and may begin later.
    times = [low * step + ahead + step - 1 - data.draw(st.integers(0, 4)) for low in case.low]
    shift = max(0, -min(times, default=0))
    case = replace(case, run=replace(case.run, within=within), low=tuple(low + shift for low in case.low))
    try:
        plan = plan_uncertain_case(case, streaming=True, order_by=(SortKey("lo"),))
    except PatternAnalysisError as error:
        assert error.error_class == "CEP_UNCERTAINTY", error
        reject()
    assert plan.engine.spec.stream is not None
    spec = replace(plan.engine.spec, stream=replace(plan.engine.spec.stream, step=step, ahead=ahead))
    given_ = Streamed(
        case, replace(plan, engine=replace(plan.engine, spec=spec)), keys, [t + shift * step for t in times]
    )
    shape, table = replace(plan.input.shape, keys=1), given_.table()
    expected = batched(table, given_.order(), shape, spec)

    def check(watermark: int, so_far: Sequence[dict[str, Any]]) -> None:
        assert confident(so_far) == confident([row for row in expected if given_.moment(row) <= watermark])

    stream = StreamPlan((SortField(TIME_FIELD), SortField(TIE)), MEANING, remembers=True)
    found = streamed(table, shape, spec, stream, data.draw(arrivals(given_.times)), 1000, check)
    assert confident(found) == confident(expected)
    assert numbers(found) == numbers(expected)


def numbers(rows: Sequence[dict[str, Any]]) -> Counter[tuple[int, int]]:
    """Match numbers by partition."""
    return Counter((row[PREFIX + "k0"], row[PREFIX + "number"]) for row in rows)


def confident(rows: Sequence[dict[str, Any]]) -> Counter[str]:
    """Rows with their confidence but for what rounding makes of it."""
    return counted([row | {PREFIX + "confidence": f"{row[PREFIX + 'confidence']:.9f}"} for row in rows])
