"""Match all rules of a set over one batch."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sparkcep.errors import SparkCepError
from sparkcep.exec.arrays import int32, struct_lists
from sparkcep.exec.batch import Batch
from sparkcep.exec.engine import MatchTable
from sparkcep.exec.engines.shared.items import ItemEvaluator, no_items
from sparkcep.exec.engines.shared.rows import SharedRows
from sparkcep.exec.engines.shared.rule import Matches, RuleMatcher
from sparkcep.exec.engines.shared.spec import RuleSpec, SharedSpec


class RuleCost(NamedTuple):
    """What one rule took for a batch. ``rule``: its number; ``looked_at``: rows of the batch that a component of it may
    take, or all where it skips none; ``cpu_seconds``: of the processor."""

    rule: int
    looked_at: int
    matches: int
    cpu_seconds: float


class SharedMatcher:
    """Runs the rules of a spec one after the other over each batch."""

    def __init__(self, spec: SharedSpec) -> None:
        self.spec = spec
        self.rules = [_Rule(rule) for rule in spec.rules]
        self.rehearsed = False

    def match(self, batch: Batch) -> MatchTable:
        """See :class:`Matcher`: rows of all rules, by partition, then by rule."""
        return joined(list(self.pieces(batch)))

    def pieces(self, batch: Batch) -> Iterator[MatchTable]:
        """See :class:`Matcher`: a table for each rule that has a match, and one at least."""
        rows = SharedRows(batch, self.spec.order)
        has_items = self.spec.has_items  # which looks at every rule
        given = False
        for rule in self.rules:
            found = rule.table(rows, has_items)
            if found is not None:
                given = True
                yield found
        if not given:
            yield nothing(has_items)

    def costs(self, batch: Batch) -> Iterator[RuleCost]:
        """What each rule takes for a batch. What several rules look up counts for the first one.

        Raises:
            SparkCepError: as :meth:`match`.
        """
        if not self.rehearsed:  # so that no rule pays for kernels and tables that are made at their first use
            self.match(batch)
            self.rehearsed = True
        rows = SharedRows(batch, self.spec.order)
        for rule in self.rules:
            started = time.thread_time()
            found = rule.table(rows, self.spec.has_items)
            took = time.thread_time() - started
            looked_at = 0 if rule.matcher is None else rule.matcher.looked_at
            yield RuleCost(rule.rule.number, looked_at, 0 if found is None else len(found), took)


def joined(tables: Sequence[MatchTable]) -> MatchTable:
    """Tables of rules as one, by partition, then by rule."""
    if len(tables) == 1:
        return tables[0]
    partition = np.concatenate([table.partition for table in tables])
    order = np.argsort(partition, kind="stable")
    at = pa.array(order)
    columns = {name: pa.concat_arrays([table.columns[name] for table in tables]).take(at) for name in tables[0].columns}
    return MatchTable(partition[order], columns)


def nothing(has_items: bool) -> MatchTable:
    """A table without rows."""
    none = np.zeros(0, np.int64)
    return table_of(0, Matches(none, none, none, none, none, none), none, (), has_items)


class _Rule:
    """One rule, whose tables are compiled at its first match."""

    def __init__(self, rule: RuleSpec) -> None:
        self.rule = rule
        self.matcher: RuleMatcher | None = None
        self.items: ItemEvaluator | None = None

    def table(self, rows: SharedRows, has_items: bool) -> MatchTable | None:
        """Output rows of a batch, None for none.

        Raises:
            SparkCepError: what goes wrong, with the rule's name.
        """
        rule = self.rule
        try:
            if self.matcher is None:
                self.matcher = RuleMatcher(rule)
                self.items = None if rule.items is None else ItemEvaluator(rule.items, rule.pattern.ansi)
            found = self.matcher.match(rows)
            if found is None:
                return None
            values = None if self.items is None else self.items.values(rows, found)
        except SparkCepError as error:
            raise type(error)(error.error_class, f"Rule {rule.name}: {error.sentence}", hint=error.hint) from None
        return table_of(rule.number, found, rows.offsets, rule.variables, has_items, values)


def table_of(
    number: int, matches: Matches, offsets: np.ndarray, variables: tuple[int, ...], has_items: bool,
    values: pa.Array | None = None,
) -> MatchTable:  # fmt: skip
    """Matches as output columns.

    Args:
        offsets: of the batch's partitions. variables: numbers of the components' names. has_items: whether any rule
            returns something; values: what this one does.
    """
    n = len(matches.ends)
    own = matches.row - offsets[np.repeat(matches.partition, np.diff(matches.ends, prepend=0))] if n else matches.row
    events = {
        "r": int32(own), "p": int32(matches.position),
        "v": int32(np.array(variables, np.int64)[matches.code] if n else matches.code),
    }  # fmt: skip
    columns = {
        "rule": int32(np.full(n, number)), "number": pa.array(np.asarray(matches.number, np.int64)),
        "first": int32(own[matches.starts]), "last": int32(own[matches.ends - 1]),
        "events": struct_lists(matches.ends, events),
    }  # fmt: skip
    if has_items:
        columns["measures"] = no_items(n) if values is None else values
    return MatchTable(np.asarray(matches.partition, np.int64), columns)
