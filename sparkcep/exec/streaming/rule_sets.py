"""The operator of a rule set over a stream: rules may come and go between two runs from one checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sparkcep.exec.arrays import Ints, int_values
from sparkcep.exec.batch import Batch
from sparkcep.exec.engine import Released, StreamingEngine
from sparkcep.exec.engines.shared.left import NEVER, SINCE, UNTIL, WIDTH, RulesLeft
from sparkcep.exec.engines.shared.released import COSTS, SharedReleased
from sparkcep.exec.engines.shared.spec import SharedSpec
from sparkcep.exec.layouts.rows import column
from sparkcep.exec.masks import BITS_PER_WORD
from sparkcep.exec.shape import OperatorColumns
from sparkcep.exec.streaming.blobs import TIME
from sparkcep.exec.streaming.rule_names import RuleNames
from sparkcep.exec.streaming.state import OF_RULE, BucketState
from sparkcep.exec.streaming.step import Bucket, BucketOperator, StreamPlan
from sparkcep.query import PREFIX

Flags = npt.NDArray[np.bool_]
_VALUES = tuple(f"v{n}" for n in range(WIDTH))


class RuleSetOperator(BucketOperator[SharedSpec]):
    """A :class:`BucketOperator` that keeps for each rule where it was left in each partition.

    State of another set of rules over the same log is taken over: a rule that is in both goes on, the state of one that
    is gone is dropped. A new one sees of each partition what is later than all that had come of it before: what is kept
    may lack what the rule looks at.
    """

    def __init__(
        self, engine: StreamingEngine[SharedSpec], shape: OperatorColumns, spec: SharedSpec, plan: StreamPlan
    ) -> None:
        super().__init__(engine, shape, spec, plan)
        assert plan.rules is not None
        self.names = plan.rules
        self.names_bytes = plan.rules.to_bytes()
        self.rules_matcher = cast("SharedReleased", self.matcher)

    # -- from the state --------------------------------------------------------------------------------------------

    def restored(self, state: BucketState) -> BucketState:
        """See :class:`BucketOperator`: rows and rules by this set's numbers."""
        if state.names == self.names_bytes:
            return state
        before = RuleNames.from_bytes(state.names)
        number = {rule: n for n, rule in enumerate(self.names.rules)}
        mapped = np.array([number.get(rule, -1) for rule in before.rules], np.int64)
        rows = self.renamed(state.rows, before)
        assert state.more is not None
        rules = mapped[state.more.column("rule").to_numpy()]
        more = state.more.set_column(
            state.more.schema.get_field_index("rule"), "rule", pa.array(rules, pa.int32())
        ).filter(pa.array(rules >= 0))
        return replace(state, rows=rows, more=more)

    def renamed(self, rows: pa.Table, before: RuleNames) -> pa.Table:
        """Rows of another set with this one's columns: what they lack is NULL, no condition they lack is true."""
        assert self.plan.columns is not None
        number = {text: n for n, text in before.fields.items()}
        bit_of = {text: n for n, text in enumerate(before.bits)}
        columns: dict[str, pa.Array] = {}
        for field in self.plan.columns:
            kind, place = field.name.removeprefix(PREFIX)[:1], field.name.removeprefix(PREFIX)[1:]
            if kind == "m" and place.isdigit():
                columns[field.name] = pa.array(_moved(rows, int(place), self.names.bits, bit_of), field.type)
                continue
            old = field.name
            if kind == "f" and place.isdigit():
                old = f"{PREFIX}f{number.get(self.names.fields[int(place)], -1)}"
            known = old in rows.schema.names
            columns[field.name] = rows.column(old) if known else pa.nulls(rows.num_rows, field.type)
        return pa.table(columns)

    def sorted(self, rows: pa.Table, times: Ints, before: BucketState | None) -> Bucket:
        """See :class:`BucketOperator`: and where rules were left."""
        bucket = super().sorted(rows, times, before)
        costs = np.zeros((len(self.names.rules), len(COSTS)), np.int64)
        if before is None or before.more is None:
            return replace(bucket, more=RulesLeft.of([]), costs=costs)
        more = before.more
        values = np.zeros((more.num_rows, WIDTH), np.int64)
        for n, name in enumerate(_VALUES):
            if name in more.column_names:  # an earlier release has fewer
                values[:, n] = more.column(name).to_numpy()
        line, rule = more.column("line").to_numpy(), more.column("rule").to_numpy().astype(np.int64)
        of_rule = line == OF_RULE
        costs[rule[of_rule]] = values[of_rule, : len(COSTS)]
        lines = [(bucket.of_lines[line[~of_rule]], rule[~of_rule], values[~of_rule])]
        known = set(RuleNames.from_bytes(before.names).rules) if before.names != self.names_bytes else None
        if known is not None and before.rows.num_rows:
            added = [n for n, rule in enumerate(self.names.rules) if rule not in known]
            lines += self.begun(added, bucket, int_values(column(before.rows, TIME.removeprefix(PREFIX)))[0])
        return replace(bucket, more=RulesLeft.of(lines), costs=costs)

    def begun(self, added: Sequence[int], bucket: Bucket, times: Ints) -> list[tuple[Ints, Ints, Ints]]:
        """Lines of new rules: they see nothing of a partition up to the last of the kept rows of these times."""
        of = bucket.arrived[: len(times)]
        last = np.full(len(bucket.left), NEVER, np.int64)
        np.maximum.at(last, of, times)
        partitions = np.flatnonzero(last > NEVER)
        values = np.zeros((len(partitions), WIDTH), np.int64)
        values[:, SINCE] = last[partitions]
        return [(partitions, np.full(len(partitions), rule), values) for rule in added]

    # -- matching --------------------------------------------------------------------------------------------------

    def match(
        self, bucket: Bucket, batch: Batch, times: Ints, left: Ints, parts: Ints, released: int, watermark: int
    ) -> tuple[Released, Bucket]:
        """See :class:`BucketOperator`."""
        known = cast("RulesLeft", bucket.more)
        number = np.full(len(bucket.left), -1, np.int64)
        number[parts] = np.arange(len(parts))
        here = number[known.partition] >= 0
        own = known.where(here)
        own = RulesLeft(number[own.partition], own.rule, own.values)
        found, lines, costs = self.rules_matcher.match_rules(batch, times, left, own, released, watermark)
        rest = known.where(~here)
        more = RulesLeft.of(
            [(rest.partition, rest.rule, rest.values), (parts[lines.partition], lines.rule, lines.values)]
        )
        return found, replace(bucket, more=more, costs=costs + cast("Ints", bucket.costs))

    # -- to the state ----------------------------------------------------------------------------------------------

    def settled(self, bucket: Bucket, keep: Flags, watermark: int) -> Bucket:
        """See :class:`BucketOperator`: what a new rule must not see is forgotten with a partition's last row, what
        suppresses matches when none can end before it."""
        known = cast("RulesLeft", bucket.more)
        has_rows = np.zeros(len(bucket.left), bool)
        has_rows[bucket.groups[keep]] = True
        values = known.values.copy()
        values[~has_rows[known.partition] & (values[:, SINCE] <= watermark), SINCE] = NEVER
        # A match that is still to come ends at most the longest WITHIN before the watermark.
        values[values[:, UNTIL] + NEVER <= watermark - int(self.rules_matcher.lengths[1][-1]), UNTIL] = 0
        lines = RulesLeft(known.partition, known.rule, values)
        return replace(bucket, more=lines.where((values[:, SINCE] > NEVER) | values[:, 1:].any(axis=1)))

    def remembered(self, bucket: Bucket, keep: Flags) -> Flags:
        """See :class:`BucketOperator`: and partitions of which something is known of a rule."""
        wanted = super().remembered(bucket, keep)
        wanted[cast("RulesLeft", bucket.more).partition] = True
        return wanted

    def state(self, bucket: Bucket, rest: pa.Table, wanted: Flags, watermark: int) -> BucketState:
        """See :class:`BucketOperator`."""
        known, costs = cast("RulesLeft", bucket.more), cast("Ints", bucket.costs)
        cost = np.flatnonzero(costs.any(axis=1))
        line = np.append((np.cumsum(wanted) - 1)[known.partition], np.full(len(cost), OF_RULE))
        columns = {"line": pa.array(line, pa.int32()), "rule": pa.array(np.append(known.rule, cost), pa.int32())}
        values = np.zeros((len(line), WIDTH), np.int64)
        values[: len(known)], values[len(known) :, : len(COSTS)] = known.values, costs[cost]
        columns |= {name: pa.array(np.ascontiguousarray(values[:, n])) for n, name in enumerate(_VALUES)}
        own = super().state(bucket, rest, wanted, watermark)
        return replace(own, more=pa.table(columns), names=self.names_bytes)


def _moved(rows: pa.Table, word: int, bits: Sequence[str], before: Mapping[str, int]) -> Ints:
    """A word of masks whose bits stood elsewhere."""
    out = np.zeros(rows.num_rows, np.int64)
    for place, text in enumerate(bits[word * BITS_PER_WORD : (word + 1) * BITS_PER_WORD]):
        if text in before:
            old, at = divmod(before[text], BITS_PER_WORD)
            values = column(rows, f"m{old}").to_numpy().astype(np.int64)
            out |= ((values >> np.int64(at)) & 1) << np.int64(place)
    return out
