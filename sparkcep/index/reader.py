"""A reader of an index: it answers all questions from one pinned snapshot.

>>> reader = sparkcep.index.open_index(spark, "orders")
>>> reader.coverage().state                 # 'current', 'stale' or 'unknown'
>>> found = reader.candidates([["pay", "ship"], ["pay", "cancel"]], bound=None)
>>> reader.sequences(found.ids)             # DataFrame of the cases that can match
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from sparkcep.index import groups, lookup, sources, table_reader
from sparkcep.index.groups import Groups
from sparkcep.index.lookup import PairCount
from sparkcep.index.pairs import Longs, unpack
from sparkcep.index.snapshots import Snapshot, TableState
from sparkcep.index.storage import Location, call
from sparkcep.index.tables import (
    ACTIVITIES,
    COUNTS,
    DICTIONARY,
    PAIRS,
    REJECTED,
    SEQUENCES,
    SIGNATURES,
    Definition,
    include_columns,
)
from sparkcep.spark.plan import is_remote
from sparkcep.spark.releases import frame_of
from sparkcep.spark.shipping import shipped

#: Cases of so few events are not worth further posting lists.
FEW_EVENTS = 50_000
MIN_INT, MAX_INT = -(2**31), 2**31 - 1


@dataclass(frozen=True, slots=True)
class Coverage:
    """Whether the index covers its source as it is now.

    ``state``: `current` (all of the source is indexed), `stale` (``reason`` says what is not), `unknown` (the source
    does not show what has changed, so nothing may be pruned). ``added``: the source's new files, if nothing else has
    changed; otherwise None.
    """

    state: str
    reason: str
    added: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of pruning: which types were looked up, by which rule, and how many cases were left."""

    types: str
    rule: str
    cases: int


@dataclass(frozen=True, slots=True)
class Candidates:
    """Cases that may match: their ids, ascending, and the steps that found them.

    ``total``: how many live cases the index has; a case is live until a refresh replaces or removes it.
    ``bytes_read``: bytes of posting lists that were read.
    """

    ids: Longs
    total: int
    steps: tuple[Step, ...] = ()
    bytes_read: int = 0

    @property
    def share(self) -> float:
        """The share of live cases that may match; 0 if there are no cases."""
        return len(self.ids) / max(1, self.total)


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a log that a query's filters leave.

    ``ids``: ascending ids of the cases that matter, None: all. ``least``, ``most``: the first and last time that
    matters, in units of the index, None: no bound.
    """

    ids: Longs | None = None
    least: int | None = None
    most: int | None = None

    @property
    def is_timed(self) -> bool:
        """Whether only some times matter."""
        return self.least is not None or self.most is not None

    def intervals(self, length: int) -> lookup.Intervals:
        """First and last interval of posting lists that may matter; None: all. ``length``: of an interval."""
        if not self.is_timed:
            return None
        first = MIN_INT if self.least is None else max(MIN_INT, self.least // length)
        return first, MAX_INT if self.most is None else min(MAX_INT, self.most // length)


#: A log of which all matters.
EVERYTHING = Scope()


@dataclass(slots=True)
class Reader:
    """One snapshot of an index. Its answers stay consistent when the index is refreshed meanwhile."""

    spark: SparkSession
    index: Location
    snapshot: Snapshot
    _codes: dict[str, int] | None = None
    _dead: Longs | None = None

    @property
    def definition(self) -> Definition:
        """The index's definition when the stored data were written."""
        return self.snapshot.built_with

    def coverage(self, now: sources.State | None = None) -> Coverage:
        """Compare the source with what the snapshot indexed. Reads file listings or table versions, not events.

        Args:
            now: the source's state, if you know it.
        """
        before = self.snapshot.source_state
        if before.get("kind") == "unknown":
            return Coverage(
                "unknown", f"{self.definition.source} does not tell what has changed since the last refresh"
            )
        if now is None:
            source = self.snapshot.definition.source
            now = sources.state_of(self.spark, source, sources.load(self.spark, source))
        found = sources.compared(self.spark, before, now)
        if found.mode == "none":
            return Coverage("current", found.reason)
        return Coverage("stale", found.reason, found.added if found.mode == "added" else None)

    # -- small tables --------------------------------------------------------------------------------------------------

    def dictionary(self) -> Mapping[str, int]:
        """The code of each event type."""
        if self._codes is None:
            self._codes = call(self.spark, lookup.dictionary, self.table(DICTIONARY), self.state(DICTIONARY))
        return self._codes

    def counts(self, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], PairCount]:
        """Completions, cases and durations of pairs, over the whole log. Pairs that never occur have zero completions.

        Durations are those of pairs without overlap, within the lookback. They must not be used to rule out cases.
        """
        wanted = list(pairs)
        codes = self.dictionary()
        known = [(codes[a], codes[b]) for a, b in wanted if a in codes and b in codes]
        found = call(self.spark, lookup.counts, self.table(COUNTS), self.state(COUNTS), known)
        nothing = PairCount(0, 0, 0, None, None)
        return {(a, b): found.get((codes.get(a, -1), codes.get(b, -1)), nothing) for a, b in wanted}

    def cases_with(self, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """How many cases hold each pair, as in :meth:`counts`. The numbers of all pairs then stay in memory."""
        wanted, codes = list(pairs), self.dictionary()
        known = [(codes.get(a, -1), codes.get(b, -1)) for a, b in wanted]
        found = call(self.spark, lookup.cases_with, self.table(COUNTS), self.state(COUNTS), known)
        return dict(zip(wanted, found, strict=True))

    def events_by_type(self) -> dict[str, int] | None:
        """How many events each type has; None if the index does not know, or would need a Spark job to find out."""
        if ACTIVITIES not in self.snapshot.tables or is_remote(self.spark):
            return None
        known = call(self.spark, lookup.events_by_type, self.table(ACTIVITIES), self.state(ACTIVITIES))
        return {event: known.get(code, 0) for event, code in self.dictionary().items()}

    def sizes(self) -> dict[str, tuple[int, int, int]]:
        """Bytes, rows and files of each table."""
        return {name: (t.size, t.rows, len(t.files)) for name, t in self.snapshot.tables.items()}

    # -- cases ---------------------------------------------------------------------------------------------------------

    def candidates(
        self, branches: Sequence[Sequence[str]], bound: int | None = None, ordered: bool = True,
        scope: Scope = EVERYTHING,
    ) -> Candidates:  # fmt: skip
        """Cases that hold every consecutive pair of types of at least one branch.

        Args:
            branches: for each alternative of a pattern, the types of its mandatory components in order. A branch of one
                type selects cases that contain it; an empty branch selects all cases.
            bound: the longest time that the query allows between two neighbours (units of :class:`Definition`'s times),
                None: any. If the index has a lookback, and the bound is longer or None, a branch selects cases that
                contain all its types.
            ordered: False: a branch selects cases that contain all its types, in any order.
            scope: the cases and times that matter. The second event of each pair must have a time that matters.

        Returns:
            All cases that can match, and perhaps others.
        """
        codes = self.dictionary()
        total = self.snapshot.totals.cases
        if not all(branches):
            if scope.ids is not None:
                return Candidates(scope.ids, total, (Step("nothing", "cases that filters leave", len(scope.ids)),))
            return Candidates(self.all_ids(), total, (Step("nothing", "all cases", total),))
        known = [[codes[t] for t in branch] for branch in branches if all(t in codes for t in branch)]
        looked_up, read = self._looked_up(known, ordered, ordered and self.tells_order(bound), scope)
        answers = iter(looked_up)
        steps: list[Step] = []
        found: list[Longs] = []
        for branch in branches:
            unknown = next((t for t in branch if t not in codes), None)
            if unknown is not None:
                steps.append(Step(unknown, "no event of this type is indexed", 0))
                continue
            ids, rule = next(answers)
            steps.append(Step(" ".join(branch), rule, len(ids)))
            found.append(ids)
        return Candidates(lookup.ascending(found), total, tuple(steps), read)

    def tells_order(self, bound: int | None) -> bool:
        """Whether pairs cover all events that are at most ``bound`` apart (None: any distance)."""
        lookback = self.definition.options.lookback
        return lookback is None or (bound is not None and bound <= lookback)

    def _looked_up(
        self, branches: Sequence[Sequence[int]], ordered: bool, by_pairs: bool, scope: Scope
    ) -> tuple[list[tuple[Longs, str]], int]:
        """Cases of each branch and the rule that found them, all in one reading of each table; and bytes read."""
        tables = self.snapshot.tables
        found: list[tuple[Longs, str]] = [(lookup.NO_IDS, "")] * len(branches)
        read = 0
        if SIGNATURES in tables:
            from sparkcep.index import signature

            for n, branch in enumerate(branches):
                ids, size = call(
                    self.spark, signature.superset, self.table(SIGNATURES), self.state(SIGNATURES), list(branch),
                    ordered,
                )  # fmt: skip
                ids = ids if scope.ids is None else np.intersect1d(ids, scope.ids, assume_unique=True)
                found[n] = self._living(ids), "signature"
                read += size
            return found, read
        paired = [n for n, b in enumerate(branches) if PAIRS in tables and by_pairs and len(b) > 1]
        if paired:
            wanted = [sorted(set(pairwise(branches[n]))) for n in paired]
            totals = self.snapshot.totals
            answers, size = call(
                self.spark, lookup.cases_of_pairs, self.table(PAIRS), self.state(PAIRS),
                (self.table(COUNTS), self.state(COUNTS)), wanted, FEW_EVENTS * totals.cases // max(1, totals.events),
                scope.ids, scope.intervals(self.definition.interval),
            )  # fmt: skip
            read += size
            for n, own, (ids, pairs_read) in zip(paired, wanted, answers, strict=True):
                rule = "pairs" if pairs_read == len(own) else f"the rarest {pairs_read} of {len(own)} pairs"
                rule = rule if pairs_read else "not looked up, filters leave few cases"
                found[n] = self._living(ids), rule
        others = sorted(set(range(len(branches))) - set(paired))
        if others:
            types = [sorted(set(branches[n])) for n in others]
            cases, size = call(
                self.spark, lookup.cases_of_types, self.table(ACTIVITIES), self.state(ACTIVITIES), types, scope.ids
            )
            read += size
            for n, ids in zip(others, cases, strict=True):
                found[n] = self._living(ids), "contains all types"
        return found, read

    def contains_all(self, types: Sequence[str]) -> Candidates:
        """Cases that contain all of the given types, in any order."""
        return self.candidates([types], ordered=False)

    def candidates_of_groups(self, branches: Sequence[Sequence[str]], of: Groups) -> Candidates:
        """Cases of those groups whose cases together contain all types of at least one branch.

        Args:
            branches: as for :meth:`candidates`.
            of: CASE values of each group, whole numbers or text.
        """
        total, codes = self.snapshot.totals.cases, self.dictionary()
        found = call(self.spark, groups.members, self.table(SEQUENCES), self.state(SEQUENCES), of)
        found = [self._living(ids) for ids in found]
        types = sorted({codes[t] for branch in branches for t in branch if t in codes})
        known, read = None, 0
        if ACTIVITIES in self.snapshot.tables:
            cases, read = call(self.spark, lookup.cases_by_type, self.table(ACTIVITIES), self.state(ACTIVITIES), types)
            known = groups.present(found, cases)

        def cases_of(kept: npt.NDArray[np.bool_]) -> Longs:
            return lookup.ascending([found[number] for number in np.flatnonzero(kept)])

        kept, steps = np.zeros(len(found), bool), []
        for branch in branches:
            holding = np.ones(len(found), bool)
            for type_ in branch:
                if type_ not in codes:
                    holding[:] = False
                elif known is not None:
                    holding &= known[codes[type_]]
            where = f"in {holding.sum()} of {len(found)} groups"
            steps.append(Step(" ".join(branch), where, len(cases_of(holding))))
            kept |= holding
        return Candidates(cases_of(kept), total, tuple(steps), read)

    def cases_where(self, met: Callable[[pa.Array], pa.Array]) -> Longs | None:
        """Ascending ids of live cases whose CASE values meet a condition; None if there are too many cases to test.

        Args:
            met: maps CASE values to booleans; it must be picklable.
        """
        if not lookup.is_kept(self.state(SEQUENCES)):
            return None
        ids = call(self.spark, lookup.cases_where, self.table(SEQUENCES), self.state(SEQUENCES), met)
        return self._living(ids)

    def all_ids(self) -> Longs:
        """Ids of all live cases."""
        ids = call(self.spark, lookup.all_ids, self.table(SEQUENCES), self.state(SEQUENCES))
        return self._living(ids)

    def _living(self, ids: Longs) -> Longs:
        """Without cases that were replaced: postings keep them until the next compaction."""
        if not self.snapshot.totals.replaced:
            return ids
        if self._dead is None:
            self._dead = call(self.spark, lookup.dead, self.table(SEQUENCES), self.state(SEQUENCES))
        return np.setdiff1d(ids, self._dead, assume_unique=False)

    # -- rows set aside ------------------------------------------------------------------------------------------------

    def set_aside(self) -> Mapping[str, int]:
        """How many rows could not be indexed, by reason (`on_bad_rows = 'quarantine'`)."""
        if REJECTED not in self.snapshot.tables:
            return {}
        return call(self.spark, lookup.reasons, self.table(REJECTED), self.state(REJECTED))

    def keys_set_aside(self) -> DataFrame:
        """CASE values of rows that could not be indexed, in one column, each once; NULL if a row has no case.

        The index stores them as text, which is exact for text and whole numbers only.
        """
        rows = table_reader.read_table(self.spark, self.index, self.snapshot, REJECTED)
        return rows.select(F.col("case_key").cast(self.definition.case_type)).distinct()

    # -- events --------------------------------------------------------------------------------------------------------

    def sequences(self, ids: Longs | None = None, columns: Sequence[str] | None = None) -> DataFrame:
        """One row per case: id, the case column, codes, times, [ties], symbols, and the INCLUDEd columns.

        Args:
            ids: only these cases.
            columns: INCLUDEd columns to keep; by default all.
        """
        d = self.definition
        ties = ["ties"] if d.tiebreak is not None else []
        include = [
            F.col(own).alias(name)
            for name, own in zip(d.include, include_columns(d), strict=True)
            if columns is None or name in columns
        ]
        lists = self.lists(ids)
        return lists.select("id", F.col("case_key").alias(d.case), "codes", "times", *ties, "symbols", *include)

    def lists(self, ids: Longs | None = None) -> DataFrame:
        """One row per case, under column names that do not depend on the source's.

        Columns id, case_key, codes, times, [ties], include_0, include_1, ..., symbols.
        """
        rows = self._of(table_reader.segments(self.spark, self.index, self.snapshot), ids)
        return table_reader.stitched(rows, self.definition, self.snapshot.totals.segmented)

    def case_keys(self, ids: Longs, with_ids: bool = False) -> DataFrame:
        """CASE values (column case_key) of some cases. ``with_ids`` puts the column id before them."""
        rows = table_reader.segments(self.spark, self.index, self.snapshot).where("start = 0").select("id", "case_key")
        return self._of(rows, ids).select(*(["id"] if with_ids else []), "case_key")

    def activities(self, types: Sequence[str], ids: Longs | None = None) -> DataFrame:
        """One row per event of some types: id, type (text), position in the case, time."""
        codes = self.dictionary()
        names = {codes[t]: t for t in types if t in codes}
        lists = table_reader.read_table(self.spark, self.index, self.snapshot, ACTIVITIES)
        lists = lists.where(F.col("type").isin(list(names)) if names else F.lit(False))

        def expand(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                counts = batch["count"].to_numpy().astype(np.int64)
                yield pa.record_batch(
                    {
                        "id": pa.array(unpack(batch["cases"], counts, batch["first_case"].to_numpy(), 1)),
                        "type": pa.array([names[c] for c in np.repeat(batch["type"].to_numpy(), counts)], pa.string()),
                        "position": pa.array(unpack(batch["positions"], counts).astype(np.int32)),
                        "time": pa.array(unpack(batch["times"], counts, None, 2)),
                    }
                )

        frame = lists.mapInArrow(
            shipped(expand, "sparkcep_activities"), "id bigint, type string, position int, time bigint"
        )
        return self._of(self._alive(frame), ids)

    def _alive(self, frame: DataFrame) -> DataFrame:
        if not self.snapshot.totals.replaced:
            return frame
        rows = table_reader.read_table(self.spark, self.index, self.snapshot, SEQUENCES)
        dead = rows.where("replaces IS NOT NULL").select(F.col("replaces").alias("dead"))
        return frame.join(dead, F.col("id") == F.col("dead"), "left_anti")

    def _of(self, frame: DataFrame, ids: Longs | None) -> DataFrame:
        if ids is None:
            return frame
        wanted = frame_of(self.spark, pa.table({"id": pa.array(ids, pa.int64())}))
        return frame.join(F.broadcast(wanted), "id", "left_semi")

    def table(self, name: str) -> Location:
        """The location of a table."""
        return self.index.child(self.snapshot.build, name)

    def state(self, name: str) -> TableState:
        """A table's files in the snapshot."""
        return self.snapshot.tables[name]
