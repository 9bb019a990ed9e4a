"""The rules of a set over the released rows of a stream: each goes on where it was left, over rows kept once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sparkcep.errors import SparkCepError
from sparkcep.exec.arrays import Ints
from sparkcep.exec.batch import Batch
from sparkcep.exec.engine import MatchTable, Released, ReleasedDefaults
from sparkcep.exec.engines.shared.items import ItemEvaluator
from sparkcep.exec.engines.shared.left import NEVER, OF_PLACES, PLACES, SINCE, UNTIL, WIDTH, RulesLeft
from sparkcep.exec.engines.shared.matcher import joined, nothing, table_of
from sparkcep.exec.engines.shared.rows import SharedRows
from sparkcep.exec.engines.shared.rule import Matches, OwnBatch, chosen, in_shared, own_batch
from sparkcep.exec.engines.shared.spec import RuleSpec, SharedSpec
from sparkcep.exec.engines.shared.taken import RELEASED, TakesReleased
from sparkcep.exec.kernels.rows.rows import AT_ROW, COVERED, FIRST_ROW, PROGRESS

#: What is counted of each rule of a stream: rows that were looked at (again in a later step, where they are kept),
#: matches, and microseconds of the processor.
COSTS = ("rows", "matches", "microseconds")


class StepRows(NamedTuple):
    """A step's rows. ``times`` (rows,): in microseconds; ``origin`` (partitions,): how many rows of each came before;
    ``released``, ``watermark``: of the step before, and of this one."""

    rows: SharedRows
    times: Ints
    origin: Ints
    released: int
    watermark: int


class SharedReleased(ReleasedDefaults):
    """Runs the rules of a spec, each of which has WITHIN, whose length clocks may change.

    A rule tells from its own rows up to when it needs none any more; what no rule needs is dropped. Rows of equal time
    are kept or dropped together, so that it makes no difference how each rule orders them.
    """

    bounded = False  # each rule has bounds of its own

    def __init__(self, spec: SharedSpec) -> None:
        self.spec = spec
        self.rules = [_Rule(rule) for rule in spec.rules]
        #: The least and the greatest lengths of WITHIN, ascending; those of rules that decide when it has passed.
        self.lengths = _lengths(self.rules)
        self.closing = _lengths([rule for rule in self.rules if rule.takes.closes])

    def due(self, times: Ints, bounds: Ints | None, released: int, watermark: int) -> npt.NDArray[np.bool_]:
        """See :class:`ReleasedMatcher`: a row is new, or WITHIN of some rule has passed behind it."""
        # Where WITHIN may have passed at the last watermark, and need not have: it may have passed since.
        passed = np.searchsorted(self.lengths[0], watermark - times, "right")
        before = np.searchsorted(self.lengths[1], released - times, "right")
        due: npt.NDArray[np.bool_] = (times > released) | (passed > before)
        return due

    def wake(self, times: Ints, bounds: Ints | None, watermark: int) -> int | None:
        """See :class:`ReleasedMatcher`: when a rule may decide something, at latest when nothing is needed any more."""
        if not len(times):
            return None
        wanted = [int(times.max() + self.lengths[1][-1])]
        least, most = self.closing
        following = np.searchsorted(least, watermark - times, "right")
        some = following < len(least)
        if some.any():
            wanted.append(int((times[some] + least[following[some]]).min()))
        if (following > np.searchsorted(most, watermark - times, "right")).any():
            wanted.append(watermark + 1)
        ahead = [time for time in wanted if time > watermark]
        return min(ahead, default=None)

    def match_released(self, batch: Batch, times: Ints, left: Ints, released: int, watermark: int) -> Released:
        """See :class:`ReleasedMatcher`: as though no rule had seen the partitions before."""
        return self.match_rules(batch, times, left, RulesLeft.of([]), released, watermark)[0]

    def match_rules(
        self, batch: Batch, times: Ints, left: Ints, known: RulesLeft, released: int, watermark: int
    ) -> tuple[Released, RulesLeft, Ints]:
        """As :meth:`match_released`, where rules are left, and what they cost, see :data:`COSTS`.

        Args:
            left: (partitions, PROGRESS) of which FIRST_ROW counts the partition's rows, for positions.
            known: where rules were left in the batch's partitions.
        """
        rows = SharedRows(batch, self.spec.order)
        step_rows = StepRows(rows, times, left[:, FIRST_ROW].copy(), released, watermark)
        has_items = self.spec.has_items
        found, costs = [], np.zeros((len(self.rules), len(COSTS)), np.int64)
        for number, rule in enumerate(self.rules):
            started = time.thread_time_ns()
            step = rule.step(step_rows, known, has_items)
            took = (time.thread_time_ns() - started) // 1000
            costs[number] = step.looked_at, 0 if step.table is None else len(step.table), took
            found.append(step)
        cut = np.full(len(left), watermark, np.int64)
        for step in found:
            np.minimum.at(cut, step.partitions, step.since)
        drop = np.bincount(rows.partition[times <= cut[rows.partition]], minlength=len(left)).astype(np.int64)
        left[:, FIRST_ROW] += drop
        lines = [line for rule, step in zip(self.rules, found, strict=True) if (line := rule.line(step, cut))]
        tables = [step.table for step in found if step.table is not None]
        table = joined(tables) if tables else nothing(has_items)
        return Released(table, drop, sum(step.changed for step in found)), RulesLeft.of(lines), costs


def _lengths(rules: Sequence[_Rule]) -> tuple[Ints, Ints]:
    """The least and the greatest lengths of rules' WITHIN, each ascending."""
    pairs = sorted({rule.rule.lengths for rule in rules})
    return np.array([least for least, _ in pairs], np.int64), np.sort(np.array([most for _, most in pairs], np.int64))


class _Step(NamedTuple):
    """What a step of one rule gives. ``table``: output rows, None for none. Of ``partitions``: up to which time it
    needs no rows, ``since``; up to which it must not see those that are there, ``unseen``; where it is ``left``; up to
    when it suppresses matches, ``until``. ``looked_at``: how many of the rows were."""

    table: MatchTable | None
    partitions: Ints
    since: Ints
    unseen: Ints
    left: Ints
    until: Ints
    changed: int = 0
    looked_at: int = 0


class _Rule:
    """One rule, whose tables are compiled at its first match."""

    def __init__(self, rule: RuleSpec) -> None:
        assert rule.within is not None
        self.rule = rule
        own = rule.pattern, rule.within.distance is not None
        self.takes: TakesReleased = RELEASED[type(rule.pattern)](*own)  # type: ignore[arg-type]
        self.items = None if rule.items is None else ItemEvaluator(rule.items, rule.pattern.ansi)
        #: Whether what WITHIN has passed may be left out, whatever was matched of it.
        self.forgets = self.takes.free and rule.drops

    def step(self, step_rows: StepRows, known: RulesLeft, has_items: bool) -> _Step:
        """One step of the batch's partitions.

        Raises:
            SparkCepError: what goes wrong, with the rule's name.
        """
        rows, released, watermark = step_rows.rows, step_rows.released, step_rows.watermark
        partitions, values = known.of_rule(self.rule.number)
        unseen = np.full(len(step_rows.origin), NEVER, np.int64)
        unseen[partitions] = values[:, SINCE]
        hidden = np.maximum(unseen, released - self.rule.lengths[1]) if self.forgets else unseen
        order = rows.order(self.rule.ties)
        rule_batch = own_batch(self.rule, rows, order, step_rows.times > hidden[rows.partition])
        left = np.zeros((len(step_rows.origin), PROGRESS), np.int64)
        left[partitions[:, None], PLACES] = values[:, OF_PLACES]
        until = np.zeros(len(step_rows.origin), np.int64)
        until[partitions] = values[:, UNTIL]
        if rule_batch is None:
            since = np.maximum(unseen[partitions], watermark)
            return _Step(None, partitions, since, unseen[partitions], left[partitions], until[partitions])
        times = step_rows.times[rule_batch.places if order is None else order.row[rule_batch.places]]
        of_own = np.ascontiguousarray(left[rule_batch.partitions])
        try:
            taken, drop, changed = self.takes.step(rule_batch.batch, times, of_own, released, watermark)
            matches = in_shared(taken, rule_batch, rows, order)
            if matches is not None and self.rule.suppress:
                matches = self.first_alerts(step_rows.times, matches, until)
            table = None if matches is None else self.table(step_rows, matches, has_items)
        except SparkCepError as error:
            raise type(error)(error.error_class, f"Rule {self.rule.name}: {error.sentence}", hint=error.hint) from None
        left[rule_batch.partitions] = of_own
        every, looked_at = np.union1d(partitions, rule_batch.partitions), len(rule_batch.places)
        since, unseen = self.advanced(step_rows, rule_batch, times, drop, unseen, left)
        return _Step(table, every, since[every], unseen[every], left[every], until[every], changed, looked_at)

    def first_alerts(self, times: Ints, matches: Matches, until: Ints) -> Matches:
        """The matches that end behind those which suppress them.

        Args:
            times: of the batch's rows. until (partitions,): as of :class:`RulesLeft`; is carried on.
        """
        ends, starts = times[matches.row[matches.ends - 1]], times[matches.row[matches.starts]]
        keep = np.zeros(len(ends), bool)
        for n in np.lexsort((matches.number, starts, ends)).tolist():
            partition, end = matches.partition[n], ends[n] - NEVER
            if end >= until[partition]:
                keep[n] = True
                until[partition] = end + self.rule.suppress
        return chosen(matches, keep)

    def table(self, step_rows: StepRows, matches: Matches, has_items: bool) -> MatchTable:
        """Matches as output rows; positions count from the partition's first row ever."""
        values = None if self.items is None else self.items.values(step_rows.rows, matches)
        of_events = np.repeat(matches.partition, np.diff(matches.ends, prepend=0))
        placed = replace(matches, position=matches.position + step_rows.origin[of_events])
        return table_of(self.rule.number, placed, step_rows.rows.offsets, self.rule.variables, has_items, values)

    def advanced(
        self, step_rows: StepRows, rule_batch: OwnBatch, times: Ints, drop: Ints, unseen: Ints, left: Ints
    ) -> tuple[Ints, Ints]:
        """Up to when no rows are needed, and must not be seen, behind a step over own rows of these times, of whose
        partitions ``drop`` rows matter no more; ``left`` is carried on."""
        offsets = np.asarray(rule_batch.batch.offsets, np.int64)
        new = np.ones(len(times), bool)
        new[1:] = times[1:] != times[:-1]
        new[offsets[:-1]] = True
        heads = np.maximum.accumulate(np.where(new, np.arange(len(times)), 0))
        ends = offsets[:-1] + drop
        some = ends < offsets[1:]  # rows that matter yet
        first = heads[np.where(some, ends, 0)]
        at = np.where(some, first, ends)
        # Rows of the time at which it goes on are all kept.
        again = ends - at
        of = left[rule_batch.partitions]
        of[:, [AT_ROW, COVERED]] += again[:, None]
        of[:, FIRST_ROW] -= again
        left[rule_batch.partitions] = of
        since = np.maximum(unseen, step_rows.watermark)
        since[rule_batch.partitions[some]] = np.maximum(unseen[rule_batch.partitions[some]], times[first[some]] - 1)
        if not self.forgets:
            gone = at > offsets[:-1]
            unseen = unseen.copy()
            unseen[rule_batch.partitions[gone]] = times[at[gone] - 1]
        return since, unseen

    def line(self, step: _Step, cut: Ints) -> tuple[Ints, Ints, Ints] | None:
        """What is kept of the rule, where rows up to ``cut`` (partitions,) are dropped."""
        values = np.zeros((len(step.partitions), WIDTH), np.int64)
        values[:, SINCE] = np.where(step.unseen > cut[step.partitions], step.unseen, NEVER)
        values[:, OF_PLACES] = step.left[:, PLACES]
        values[:, UNTIL] = step.until
        if not self.rule.anchored:
            values[:, 1 + PLACES.index(FIRST_ROW)] = 0
        kept = (values[:, SINCE] > NEVER) | values[:, 1:].any(axis=1)
        if not kept.any():
            return None
        return step.partitions[kept], np.full(int(kept.sum()), self.rule.number), values[kept]
