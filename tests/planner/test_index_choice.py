"""Which index a pattern is read through, and what EXPLAIN says of those that are not: over sessions that are lists of
tables, and indexes of which only the contents are given."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, cast
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame
from pyspark.sql.connect.plan import Read

from sparkcep.errors import PatternIndexError
from sparkcep.index import sources
from sparkcep.index.catalog import Indexes
from sparkcep.index.lookup import PairCount
from sparkcep.index.pairs import Longs
from sparkcep.index.reader import Reader, Scope
from sparkcep.index.snapshots import Snapshot, TableState, Totals
from sparkcep.index.storage import Location
from sparkcep.index.storage_errors import damaged
from sparkcep.index.tables import MICROSECONDS, Definition, Options, Source
from sparkcep.planner.pruning import PlanAsks
from sparkcep.session.indexes.choice import Pruning, prune
from sparkcep.settings import INDEX, INDEX_ACCESS_PATH, INDEX_CASES
from sparkcep.sql.rewriter import InputSql

from .catalog import Frame, Session, Table, View, analyzer, as_frame, as_spark, schema
from .planned import LOG, planned

HEAD = "FROM t PARTITION BY case_id ORDER BY ts, pos EVENT TYPE type "
SEQ = "PATTERN SEQ(A a, B b) RETURN a.x"
FILES = {"s3://t/part0": [8, 1]}
DEFINITION = Definition(
    "i", Source("table", ("t",)), "case_id", "ts", "type", "pos", ("x",), tiebreak_type="bigint",
    include_types=("double",),
)  # fmt: skip
#: Cases are looked up, of which more is said than of those that are picked while all are read.
LISTS = {INDEX_CASES.key: "lists"}
#: By case, the types of its events in order; B follows A in two of them.
CASES = {"k1": "AB", "k2": "BA", "k3": "AXB", "k4": "C", "k5": "CC"}
VIEWS = {
    "one.mine": View("SELECT case_id AS id, ts, pos, type AS kind, x FROM t", {
        "id": "string", "ts": "timestamp", "pos": "bigint", "kind": "string", "x": "double",
    }),
    "one.sums": View("SELECT case_id, max(ts) AS ts, type FROM t GROUP BY ALL", LOG),
}  # fmt: skip


@dataclass(slots=True)
class Index:
    """An index by its contents.

    Args:
        changed: of its definition. built_with: of the definition that its files follow.
        set_aside: rows that could not be indexed, by what is wrong with them, and ``rejected``: how many there are.
        state: of its source when it was made; None: as it was then. error: what comes of reading it.
    """

    changed: Mapping[str, Any] = field(default_factory=dict)
    cases: Mapping[str, str] = field(default_factory=lambda: CASES)
    set_aside: Mapping[str, int] = field(default_factory=dict)
    rejected: int = 0
    state: sources.State | None = None
    error: Exception | None = None
    events: int = 0

    def snapshot(self, state: sources.State) -> Snapshot:
        """The newest one; ``state``: of its source now."""
        own = replace(DEFINITION, **self.changed)
        events = self.events or sum(map(len, self.cases.values()))
        table = TableState(1, "")
        totals = Totals(events, len(self.cases), rejected=self.rejected)
        tables = dict.fromkeys(own.tables, table)
        return Snapshot(3, 0.0, "ready", "b", own, own, tables, self.state or state, totals=totals)


class Keys(Frame):
    """CASE values, which the client joins with the source."""

    def toDF(self, *names: str) -> Any:
        return ConnectFrame(Read("keys"), cast(Any, session()))


@dataclass(slots=True)
class Contents(Reader):
    """An index whose files are its contents."""

    of: Index = field(default_factory=Index)

    def dictionary(self) -> Mapping[str, int]:
        if self.of.error is not None:
            raise self.of.error
        return {type_: code for code, type_ in enumerate(sorted(set("".join(self.of.cases.values()))))}

    def events_by_type(self) -> dict[str, int]:
        return Counter("".join(self.of.cases.values()))

    def set_aside(self) -> Mapping[str, int]:
        return self.of.set_aside

    def counts(self, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], PairCount]:
        return {pair: PairCount(n, n, 0, None, None) for pair, n in self.cases_with(pairs).items()}

    def cases_with(self, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
        return {(a, b): sum(b in own.partition(a)[2] for own in self.of.cases.values()) for a, b in pairs}

    def cases_where(self, met: Callable[[pa.Array], pa.Array]) -> Longs | None:
        return np.flatnonzero(met(pa.array(list(self.of.cases))).to_numpy(zero_copy_only=False))

    def _looked_up(
        self, branches: Sequence[Sequence[int]], ordered: bool, by_pairs: bool, scope: Scope
    ) -> tuple[list[tuple[Longs, str]], int]:
        names = {code: name for name, code in self.dictionary().items()}
        found = []
        for branch in branches:
            types = [names[code] for code in branch]
            pairs = list(pairwise(types)) if by_pairs else []
            ids = [
                k
                for k, own in enumerate(self.of.cases.values())
                if set(types) <= set(own) and all(b in own.partition(a)[2] for a, b in pairs)
            ]
            kept = np.array([k for k in ids if scope.ids is None or k in scope.ids], np.int64)
            found.append((kept, "pairs" if by_pairs else "contains all types"))
        return found, 100

    def lists(self, ids: Longs | None = None) -> Any:
        return Frame(schema({}), text=f"lists of {'all' if ids is None else ids.tolist()}")

    def case_keys(self, ids: Longs, with_ids: bool = False) -> Any:
        return Keys(schema({}))

    def keys_set_aside(self) -> Any:
        return self.case_keys(np.array([]))


class Classic(Session):
    """A session that is none of Spark Connect, and shows no plans either."""

    __module__ = "pyspark.sql.session"
    _jvm = object()


def session(
    columns: Mapping[str, str] = LOG, files: Mapping[str, Sequence[int]] = FILES, settings: Mapping[str, str] = {}
) -> Session:
    """Where the log is `t`, and another one `u`."""
    tables = {"one.t": Table(columns, files), "one.u": Table(LOG, {"s3://u/part0": [8, 1]})}
    constants = {"TIMESTAMP'1970-03-02 00:00:00'": ("timestamp", 60 * MICROSECONDS["day"])}
    return Session(tables, VIEWS, constants=constants, settings=settings)


def pruned(
    pattern: str = SEQ, indexes: Sequence[Index] = (Index(),), *, table: str | None = "t", text: str = "",
    columns: Mapping[str, str] = LOG, now: Session | None = None, conf: Mapping[str, str] = {},
    unreadable: Sequence[tuple[str, PatternIndexError]] = (), head: str = HEAD,
) -> Pruning:  # fmt: skip
    """How a pattern's input is read.

    Args:
        table: the input's name, or None: ``text`` is the query that it is. columns: of it.
        now: the session that asks; that in which indexes were made has the same tables without changes.
    """
    then, now = session(), now or session()
    source = Source("table", ("t",))
    state = sources.state_of(as_spark(then), source, as_frame(then.table("t")))
    # Of logs so small, none is read through an index that has a choice.
    now.settings |= {INDEX_ACCESS_PATH.key: "sequences", **conf}
    by_name = {index.changed.get("name", "i"): index for index in indexes}
    found = Indexes(
        tuple((Location(f"s3://indexes/{name}"), index.snapshot(state)) for name, index in by_name.items()),
        tuple(unreadable),
    )

    def reader(spark: Any, place: Location, snapshot: Snapshot) -> Contents:
        return Contents(spark, place, snapshot, of=by_name[snapshot.definition.name])

    frame = now.table(table) if table is not None else Frame(schema(columns))
    plan = planned(head + pattern, {f.name: LOG.get(f.name, "string") for f in frame.schema.fields})
    with (
        patch("sparkcep.session.indexes.choice.catalog.known", lambda spark: found),
        patch("sparkcep.session.indexes.choice.Reader", reader),
        patch.dict(os.environ, {"SPARK_CONNECT_MODE_ENABLED": "1"}),  # columns need no JVM
    ):
        own = analyzer(now)
        return prune(
            own, PlanAsks(plan), as_frame(frame), InputSql(text or f"SELECT * FROM {table}", table), own.settings
        )


#: What is otherwise about the only index, and why it is not used.
INDEXES = [
    ({"case": "CASE_ID"}, "the input's columns are spelled otherwise"),
    ({"time": "TS"}, "the input's columns are spelled otherwise"),
    ({"case_type": "bigint"}, "the types of the input's columns have changed"),
    ({"time_type": "date"}, "the types of the input's columns have changed"),
    ({"tiebreak_type": "int"}, "the types of the input's columns have changed"),
    ({"include_types": ("int",)}, "the types of the input's columns have changed"),
]


@pytest.mark.parametrize(("changed", "reason"), INDEXES)
def test_indexes_that_do_not_fit(changed: dict[str, Any], reason: str) -> None:
    assert pruned(indexes=[Index(changed)]).lines == [f"i not used, {reason}"]


OTHER = {"kind": "files", "files": {"s3://else/part0": [8, 1]}}
#: What there is beside an index that serves, and the reason that no index is named.
NONE = [
    ({"conf": {INDEX.key: "false"}}, "spark.sparkcep.planner.index.enabled = false"),
    ({"indexes": []}, "there is none (CREATE PATTERN INDEX)"),
    ({"table": "u"}, "there is none on u"),
    ({"indexes": [Index({"case": "who", "source": Source("table", ("u",))})]}, "there is none on t"),
    ({"indexes": [Index({"case": "who"})]}, "i is made of columns that t does not have: who"),
    ({"indexes": [Index({"time": "at", "event": "what"})]}, "i is made of columns that t does not have: at, what"),
    ({"indexes": [Index(state=OTHER)]}, "i was made of other files, when t had those: REFRESH PATTERN INDEX i"),
    ({"indexes": [Index({"source": Source("table", ("u",))}, state=OTHER)]}, "there is none on t"),
    ({"indexes": [Index({"source": Source("table", ("u",))}, state={"kind": "unknown"})]}, "there is none on t"),
    ({"now": Classic({"one.t": Table(LOG, FILES)})}, "rows of the input do not come one by one from rows of files"),
    ({"table": None, "text": "SELECT * FROM t GROUP BY ALL"},
     "the text of the input does not prove that its rows come one by one from rows of a table: GROUP BY"),
    ({"table": "sums"}, "the text of the input does not prove that its rows come one by one from rows of a table: "
     "GROUP BY in the view spark_catalog.one.sums"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "reason"), NONE)
def test_no_index(given: dict[str, Any], reason: str) -> None:
    found = pruned(**given)
    assert (found.frame, found.lines) == (None, [f"not used, {reason}"])


#: What the source is now, and what is said of an index of before.
SOURCES = [
    (session(files={"s3://t/part0": [9, 1]}),
     "1 file of the source is gone or has changed; REFRESH PATTERN INDEX i"),
    (session({**LOG, "type": "char(3)"}), "type is CHAR, which Spark compares with blanks added"),
    (session({**LOG, "x": "int"}), "the types of the input's columns have changed"),
    (session(settings={"spark.sql.parquet.binaryAsString": "true"}),
     "the source is read otherwise than it was: spark.sql.parquet.binaryAsString is true, indexed with Spark's own; "
     "REFRESH PATTERN INDEX i"),
]  # fmt: skip


@pytest.mark.parametrize(("now", "reason"), SOURCES)
def test_sources_that_have_changed(now: Session, reason: str) -> None:
    assert pruned(now=now).lines == [f"i not used, {reason}"]


def test_a_source_that_does_not_tell() -> None:
    found = pruned(indexes=[Index(state={"kind": "unknown"})])
    assert found.lines == ["i not used, t does not tell what has changed since the last refresh"]


def test_new_files_are_read_beside_an_index() -> None:
    files = {**FILES, "s3://t/part1": [8, 2]}
    found = pruned(now=session(files=files), conf=LISTS)
    assert found.frame is not None
    assert found.lines[1].startswith("1 file is new and read from the source: REFRESH PATTERN INDEX i would index")
    many = pruned(now=session(files=files), conf=LISTS, indexes=[Index(cases={"k1": "AB"})])
    assert many.lines == [
        "i not used, 100% of the cases can match, and the events must come from the source; 1 file is new: "
        "REFRESH PATTERN INDEX i"
    ]


#: Kinds of indexes with their lookbacks, and the one that is used.
RANKED = [
    ({"a": ("set_containment", None), "b": ("siesta", None), "c": ("signature", None)}, "b (siesta)"),
    ({"a": ("set_containment", None), "c": ("signature", None)}, "c (signature)"),
    ({"a": ("siesta", 5), "b": ("siesta", None)}, "b (siesta)"),
    ({"a": ("siesta", 5), "b": ("signature", None)}, "a (siesta)"),
]


@pytest.mark.parametrize(("kinds", "expected"), RANKED)
def test_which_of_many_is_used(kinds: dict[str, tuple[str, int | None]], expected: str) -> None:
    given = [
        Index({"name": name, "kind": kind, "options": Options(lookback=lookback)})
        for name, (kind, lookback) in kinds.items()
    ]
    found = pruned(indexes=given)
    assert found.frame is not None
    assert found.lines[0] == f"{expected}, snapshot 3"


def test_the_next_index_serves_where_one_does_not() -> None:
    found = pruned(indexes=[Index({"name": "a", "case_type": "int"}), Index({"name": "b", "kind": "signature"})])
    assert found.lines[0] == "b (signature), snapshot 3"
    neither = pruned(indexes=[Index({"name": "a", "case_type": "int"}), Index({"name": "b", "time": "TS"})])
    assert neither.lines == [
        "a not used, the types of the input's columns have changed",
        "b not used, the input's columns are spelled otherwise",
    ]


def test_indexes_that_cannot_be_read() -> None:
    bad = PatternIndexError("CEP_INDEX_FORMAT", "It is of release 9.", hint="use that")
    why = "b not used, CEP_INDEX_FORMAT: It is of release 9 (use that)"
    assert pruned(indexes=[], unreadable=[("b", bad)]).lines == [why]
    assert pruned(indexes=[Index({"time": "TS"})], unreadable=[("b", bad)]).lines[0] == why
    assert pruned(unreadable=[("b", bad)]).frame is not None
    found = pruned(indexes=[Index(error=damaged("a file is gone", "build it"))])
    assert found.lines == ["i not used, CEP_INDEX_DAMAGED: The pattern index is damaged: a file is gone (build it)"]
    with pytest.raises(PatternIndexError, match="no index"):
        pruned(indexes=[Index(error=PatternIndexError("CEP_INDEX_NOT_FOUND", "There is no index."))])
    with pytest.raises(ZeroDivisionError):
        pruned(indexes=[Index(error=ZeroDivisionError())])


#: Patterns that no index serves.
PATTERNS = [
    (HEAD, "PATTERN SEQ(A* a[], B? b)", "an empty match needs no event"),
    (HEAD.replace("BY case_id", "BY pos"), SEQ, "matches are not inside of one case_id"),
]


@pytest.mark.parametrize(("head", "pattern", "reason"), PATTERNS)
def test_patterns_that_no_index_serves(head: str, pattern: str, reason: str) -> None:
    assert pruned(pattern, head=head).lines == [f"i not used, {reason}"]


ONE_BY_ONE = "each row of the input comes from one of t"
#: Inputs by their texts, their columns, and what is said of the index or of how it is used.
INPUTS = [
    ("SELECT * FROM t WHERE x > 1", "case_id ts pos type x", [ONE_BY_ONE, "needed: A -> B"]),
    ("SELECT * FROM mine", "id ts pos kind x",
     [f"{ONE_BY_ONE}: CASE case_id is id, EVENT type is kind", "needed: A -> B"]),
    ("SELECT case_id, ts, pos + 1 AS pos, type FROM t", "case_id ts pos type",
     [ONE_BY_ONE, "order not used, the input does not have the index's TIME and TIEBREAK as they are", "needed: A, B"]),
    # Any event may be there twice.
    ("SELECT l.* FROM t l JOIN u ON l.pos = u.pos", "case_id ts pos type x", [ONE_BY_ONE, "events from source"]),
    ("SELECT case_id, ts, type AS pos, pos AS type FROM t", "case_id ts pos type",
     ["i not used, the input does not have its EVENT type as it is"]),
    ("SELECT case_id, ts, pos, upper(type) AS type FROM t", "case_id ts pos type",
     ["i not used, the input does not have its EVENT type as it is"]),
    ("SELECT 'a' AS case_id, ts, pos, type FROM t", "case_id ts pos type",
     ["i not used, the input does not have its CASE case_id as it is"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "columns", "lines"), INPUTS)
def test_inputs_by_their_texts(text: str, columns: str, lines: list[str]) -> None:
    types = {name: LOG.get(name, "string") for name in columns.split()}
    head = HEAD if "case_id" in types else HEAD.replace("case_id", "id").replace("TYPE type", "TYPE kind")
    found = pruned("PATTERN SEQ(A a, B b) RETURN a.ts", table=None, text=text, columns=types, conf=LISTS, head=head)
    assert [line for line in lines if line not in found.lines] == [], found.lines


def test_one_event_that_comes_twice_is_neighbour_to_itself() -> None:
    twice = "PATTERN SEQ(B a, B b) RETURN a.x"
    assert "needed: B -> B" in pruned(twice, conf=LISTS).lines
    repeated = "SELECT l.* FROM t l CROSS JOIN u"
    assert "needed: B" in pruned(twice, table=None, text=repeated, conf=LISTS).lines


#: Filters of the input, and what is said to be left.
SCOPES = [
    ("case_id IN ('k1', 'k2')", ["filters on case_id leave 2 of 5 cases"]),
    ("ts >= TIMESTAMP'1970-03-02 00:00:00'", ["filters on ts leave posting lists of 30 days number from 2"]),
    ("ts < TIMESTAMP'1970-03-02 00:00:00' AND case_id > 'k4'",
     ["filters on case_id leave 1 of 5 cases", "filters on ts leave posting lists of 30 days number to 1"]),
    ("x > 1", []),
]  # fmt: skip


@pytest.mark.parametrize(("condition", "lines"), SCOPES)
def test_what_filters_leave(condition: str, lines: list[str]) -> None:
    found = pruned(table=None, text=f"SELECT * FROM t WHERE {condition}", conf=LISTS)
    assert [line for line in found.lines if line.startswith("filters on")] == lines


ROWS = "rows set aside (on_bad_rows = 'quarantine')"
#: Rows that could not be indexed by what is wrong with them, how many there are, and what is said.
SET_ASIDE = [
    ({"NULL event": 2}, 2, f"2 {ROWS} have no type, and events without one change nothing here"),
    ({"NULL event": 2, "NULL case": 1}, 3, f"3 {ROWS}: the events of their cases are read from the source"),
    ({"NULL case": 2}, 3, f"i not used, it does not know all 3 {ROWS}; REFRESH PATTERN INDEX i FULL"),
]


@pytest.mark.parametrize(("reasons", "rejected", "line"), SET_ASIDE)
def test_rows_set_aside(reasons: dict[str, int], rejected: int, line: str) -> None:
    assert line in pruned(indexes=[Index(set_aside=reasons, rejected=rejected)], conf=LISTS).lines


def test_steps_are_told_where_there_is_one_alternative() -> None:
    one = pruned(conf=LISTS)
    assert [(step.types, step.rule, step.cases) for step in one.steps] == [("A B", "pairs", 2)]
    assert pruned("PATTERN SEQ(A a, (B b | X c)) RETURN a.x", conf=LISTS).steps == ()
    assert pruned().steps == ()
    assert "cases: 5, picked by a scan of sequences while they are read" in pruned().lines


def test_an_order_that_a_lookback_does_not_reach() -> None:
    hour = Index({"options": Options(lookback=MICROSECONDS["hour"])})
    line = "order not used, steps are not bound by the lookback of 1 hour"
    assert line in pruned(indexes=[hour], conf=LISTS).lines
    assert line not in pruned(f"{SEQ.partition(' RETURN')[0]} WITHIN 1 hour RETURN a.x", [hour], conf=LISTS).lines


#: Patterns, and warnings about their event types.
WARNINGS = [
    ("SEQ(A a, B b)", Index(), ()),
    ("SEQ(A a, Bb b)", Index(), ("no row has type = 'Bb'; did you mean 'B'?",)),
    ("SEQ(A a, (B b | Zebra c))", Index(), ("no row has type = 'Zebra'; it is one of 'A', 'B', 'C', 'X'",)),
    ("SEQ(C a, B b)", Index(), ("no case has 'B' after 'C'",)),
    ("SEQ(C a, B b) WITHIN 1 hour", Index({"options": Options(lookback=MICROSECONDS["day"])}),
     ("no case has 'B' after 'C' within 1 day",)),
    ("SEQ(C a, B b)", Index({"options": Options(lookback=MICROSECONDS["day"])}), ()),
    ("SEQ(C a, B b)", Index({"kind": "signature"}), ()),  # which counts no pairs
    # Each pair is in some case, and no case has both.
    ("SEQ(B a, A b, X c)", Index(), ()),
    ("SEQ(C a, (B b | X c))", Index(), ("no case has 'B' after 'C'", "no case has 'X' after 'C'")),
    ("SEQ(A a, Bb b)", Index({"case_type": "int"}), ()),
    ("SEQ(C a, B b)", Index(set_aside={"NULL case": 1}, rejected=1), ()),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "index", "warnings"), WARNINGS)
def test_warnings(pattern: str, index: Index, warnings: tuple[str, ...]) -> None:
    found = pruned(f"PATTERN {pattern} RETURN case_id", [index], conf=LISTS)
    assert found.warnings == warnings
    assert found.lines[len(found.lines) - len(warnings) :] == list(warnings)
