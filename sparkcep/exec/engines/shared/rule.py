"""One rule over the rows that all rules share: its own batch, its matches with their rows in the shared one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sparkcep.exec.arrays import Ints
from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.shared.rows import Flags, Order, SharedRows
from sparkcep.exec.engines.shared.spec import ComponentTest, RuleSpec
from sparkcep.exec.engines.shared.taken import TAKES, Taken, Takes
from sparkcep.exec.masks import BITS_PER_WORD


@dataclass(frozen=True, slots=True)
class Matches:
    """A rule's matches in a batch. ``partition``, ``number`` (n,): of the batch, and of the match in it. ``ends``
    (n,): where each one's events end in ``code``, the component that took it, ``row``, of the batch, and ``position``,
    in the partition in the rule's order."""

    partition: Ints
    number: Ints
    ends: Ints
    code: Ints
    row: Ints
    position: Ints

    @property
    def starts(self) -> Ints:
        """Where each one's events begin."""
        return np.append(0, self.ends[:-1]) if len(self.ends) else self.ends


def chosen(found: Matches, keep: Flags) -> Matches:
    """Those matches that are to be kept."""
    lengths = np.diff(found.ends, prepend=0)
    events = np.repeat(keep, lengths)
    return Matches(
        found.partition[keep], found.number[keep], np.cumsum(lengths[keep]), found.code[events], found.row[events],
        found.position[events],
    )  # fmt: skip


class RuleMatcher:
    """Runs one rule. Holds the compiled tables of its pattern. ``looked_at``: how many rows of the last batch."""

    def __init__(self, rule: RuleSpec) -> None:
        self.rule = rule
        self.looked_at = 0
        self.takes: Takes = TAKES[type(rule.pattern)](rule.pattern)  # type: ignore[arg-type]

    def match(self, rows: SharedRows) -> Matches | None:
        """All matches in a batch; None where there are none.

        Raises:
            SparkCepError: what goes wrong while rows are matched; LimitError where a limit is passed.
        """
        order = rows.order(self.rule.ties)
        own = own_batch(self.rule, rows, order)
        self.looked_at = 0 if own is None else len(own.places)
        return None if own is None else in_shared(self.takes.match(own.batch), own, rows, order)


class OwnBatch(NamedTuple):
    """The rows that a rule looks at, in its order: a ``batch``, at which ``places`` its rows stand in that order of the
    shared one, and which ``partitions`` of that its own are."""

    batch: Batch
    places: Ints
    partitions: Ints


def in_shared(taken: Taken, rule_batch: OwnBatch, rows: SharedRows, order: Order | None) -> Matches | None:
    """Matches in a rule's own batch as matches in the shared one; None for none."""
    if not len(taken.ends):
        return None
    at = rule_batch.places[np.asarray(rule_batch.batch.offsets)[taken.of] + taken.row]
    begins = rows.offsets[rule_batch.partitions[taken.of]]
    row = at if order is None else order.row[at]
    return Matches(
        rule_batch.partitions[taken.partition], np.array(taken.number), taken.ends, np.array(taken.code, np.int64), row,
        at - begins,
    )  # fmt: skip


def own_batch(rule: RuleSpec, rows: SharedRows, order: Order | None, seen: Flags | None = None) -> OwnBatch | None:
    """The rows that a rule looks at; None where there are none.

    Args:
        order: the rule's. seen (rows,): which of the shared batch's rows it may look at; None: all.
    """
    own = own_rows(rows, rule.tests, order, drops=rule.drops, words=rule.pattern.mask_words, seen=seen)
    if own is None:
        return None
    at = None if own.row is None else pa.array(own.row)
    return OwnBatch(_batch(rule, rows, own.masks, own.offsets, at), own.places, own.partitions)


class OwnRows(NamedTuple):
    """Rows of a shared batch that one pattern looks at, in its order. ``places`` (own rows,): where they stand in that
    order of the shared batch; ``row``: which of its rows they are, None for all as they come. ``masks``: words of the
    pattern's own. ``partitions`` (own partitions,): of the shared batch, ``offsets``: borders of their rows."""

    places: Ints
    row: Ints | None
    masks: list[Ints]
    partitions: Ints
    offsets: Ints


def own_rows(
    rows: SharedRows, tests: Sequence[ComponentTest], order: Order | None, *, drops: bool, words: int,
    seen: Flags | None = None, bits: Sequence[int] | None = None,
) -> OwnRows | None:  # fmt: skip
    """The rows that a pattern looks at; None where there are none.

    Args:
        tests: of ``bits`` of its mask, None for its first ones; that has so many ``words``. drops: rows without any
            bit are left out.
        order: its own. seen (rows,): which of the shared batch's rows it may look at; None: all.
    """
    taken = [rows.passing(test) for test in tests]
    if order is not None:
        taken = [np.sort(order.place[own]) for own in taken]
    if seen is not None:
        placed = seen if order is None else seen[order.row]
        taken = [own[placed[own]] for own in taken]
    if drops:
        places = union(taken)
    else:
        places = rows.all_rows() if seen is None else np.flatnonzero(placed)
    if not len(places):
        return None
    every = len(places) == rows.rows
    masks = [np.zeros(len(places), np.int64) for _ in range(max(1, words))]
    for bit, own in zip(range(len(taken)) if bits is None else bits, taken, strict=True):
        word, place = divmod(bit, BITS_PER_WORD)
        masks[word][own if every else np.searchsorted(places, own)] |= np.int64(1 << place)
    if every and not drops:
        partitions, offsets = np.arange(len(rows.offsets) - 1), rows.offsets
    else:
        of = rows.partition[places]
        offsets = np.concatenate([[0], np.flatnonzero(of[1:] != of[:-1]) + 1, [len(of)]])
        partitions = of[offsets[:-1]]
    row = None if every and order is None else places if order is None else order.row[places]
    return OwnRows(places, row, masks, partitions, offsets)


def _batch(rule: RuleSpec, rows: SharedRows, words: list[Ints], offsets: Ints, at: pa.Array | None) -> Batch:
    """A rule's columns at some rows of the shared batch, None for all."""

    def column(number: int) -> pa.Array:
        values = rows.batch.columns[number]
        return values if at is None else values.take(at)

    within = None
    if rule.within is not None:
        key = column(rule.within.key)
        if rule.within.bound is None:
            within = (key, rule.within.bounds(key), rule.within.bounds(key, -1))
        else:
            bound = column(rule.within.bound)
            within = (key, bound, bound if rule.within.lower is None else column(rule.within.lower))
    columns = [column(number) for number in rule.columns]
    masks = [pa.array(word) for word in words]
    return Batch(offsets.astype(np.int64), masks, columns, within, held=rows.batch.held)


def union(parts: list[Ints]) -> Ints:
    """Ascending numbers of ascending lists, each once."""
    if len(parts) == 1:
        return parts[0]
    whole = np.concatenate(parts)
    whole.sort(kind="stable")  # which merges what is in order
    new = np.ones(len(whole), bool)
    new[1:] = whole[1:] != whole[:-1]
    return whole[new]
