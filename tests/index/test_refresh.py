"""Batch by batch or at once: queries see the same tables."""

from __future__ import annotations

from dataclasses import astuple
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from sparkcep import SparkCepError, index
from sparkcep.errors import PatternWarning
from sparkcep.index import catalog, compaction, local_postings, lookup, table_reader
from sparkcep.index.build import Work
from sparkcep.index.facts import Facts
from sparkcep.index.snapshots import Snapshot
from sparkcep.index.storage import Location
from sparkcep.index.storage_errors import refusal
from sparkcep.index.tables import COUNTS, PAIRS

from .helpers import Row, check_files, create, frame, reference_counts, visible
from .test_pairs import reference

LOG: list[Row] = [
    ("a", 10, 0, "A"), ("a", 20, 1, "B"), ("a", 30, 2, "A"), ("a", 30, 3, "C"), ("a", 90, 4, "B"),
    ("b", 15, 0, "C"), ("b", 25, 0, "A"), ("b", 25, 1, "A"), ("c", 5, 0, "B"), ("d", 100, 0, "D"),
]  # fmt: skip

SECOND = 1_000_000


def check_pairs(seen: dict[str, Any], lookback: int | None) -> None:
    """Stored pairs are those of the definition."""
    wanted = []
    for case, events in seen["cases"].items():
        own = [(e[2], e[0]) for e in events]
        wanted += [(case, *p) for p in reference(own, lookback)]  # type: ignore[arg-type]
    assert [p[:5] for p in seen["pairs"]] == sorted(wanted)


# One example is three to six Spark jobs per batch.
few = settings(max_examples=max(3, settings().max_examples // 25))


@pytest.mark.full
@few
@given(st.data())
def test_batches_equal_one_build(spark: SparkSession, data: st.DataObject) -> None:
    """Continued and new cases, late events, repeated batches, and the newest batches merged; posting lists are made by
    Spark or by one process."""
    unique = st.tuples(st.sampled_from("abcd"), st.integers(0, 40), st.integers(0, 2), st.sampled_from("ABC"))
    rows: list[Row] = data.draw(st.lists(unique, min_size=3, max_size=24, unique_by=lambda r: r[:3]))
    cuts = sorted(data.draw(st.lists(st.integers(1, len(rows) - 1), min_size=1, max_size=3, unique=True)))
    if data.draw(st.booleans()):
        rows.sort(key=lambda r: r[1:3])
    options = data.draw(st.sampled_from([{}, {"lookback": "10 seconds"}, {"postings": "timestamps"}]))
    parts = [rows[low:high] for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    most = local_postings.MAX_EVENTS
    with patch.object(local_postings, "MAX_EVENTS", data.draw(st.sampled_from([0, most]))):
        create(spark, "batches", parts[0], options=options)
    for number, part in enumerate(parts[1:]):
        with patch.object(local_postings, "MAX_EVENTS", data.draw(st.sampled_from([0, most]))):
            index.refresh(spark, "batches", batch=frame(spark, part), batch_id=f"b{number}")
            merge_newest(spark, "batches", data.draw(st.integers(2, 3)))
    again = index.refresh(spark, "batches", batch=frame(spark, parts[1]), batch_id="b0")
    assert again.action == "unchanged"
    create(spark, "at_once", rows, options=options)
    seen = visible(index.open_index(spark, "batches"))
    assert seen == visible(index.open_index(spark, "at_once"))
    check_pairs(seen, 10 * SECOND if "lookback" in options else None)
    counts = reference_counts(index.open_index(spark, "batches"), seen)
    assert {k: astuple(v) for k, v in seen["counts"].items()} == counts


def merge_newest(spark: SparkSession, name: str, newest: int) -> None:
    """Merge some of the newest batches, where there are more."""
    at, base = catalog.current(spark, name)
    if base.batches > newest:
        compaction.merge(spark, at, base, newest)
        check_files(at)


@pytest.mark.full
def test_refreshes_keep_batches_few(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the first batch were large, it stays, and those behind it are merged; OPTIMIZE makes one of all."""
    monkeypatch.setattr(compaction, "MAX_BATCHES", 3)
    monkeypatch.setattr(compaction, "GROWTH", 0)
    create(spark, "few", LOG[:3])
    builds = set()
    for rows in (LOG[3:5], LOG[5:7], [("b", 1, 0, "A")], LOG[7:9], LOG[9:]):
        index.refresh(spark, "few", batch=frame(spark, rows))
        reader = index.open_index(spark, "few")
        builds.add(reader.snapshot.build)
        assert reader.snapshot.batches <= 3
        check_files(reader.index)
    assert len(builds) == 1, "the large batch was written anew"
    create(spark, "few_once", [*LOG, ("b", 1, 0, "A")])
    expected = visible(index.open_index(spark, "few_once"))
    assert visible(index.open_index(spark, "few")) == expected
    done = spark.sql("OPTIMIZE PATTERN INDEX few").collect()[0]
    assert (done.action, done.reason) == ("compacted", f"{reader.snapshot.batches} batches became one")
    reader = index.open_index(spark, "few")
    assert (reader.snapshot.batches, reader.snapshot.totals.replaced) == (1, False)
    assert visible(reader) == expected
    assert spark.sql("OPTIMIZE PATTERN INDEX few").collect()[0].action == "unchanged"


@pytest.mark.full
def test_without_room_for_all_batches_the_newest_become_one(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the storage refuses to hold a second copy of the index: the refresh is done all the same."""
    real = compaction.write_postings

    def refused(work: Work, made: Facts, at: Location, older: Snapshot | None = None, seams: bool = True) -> int:
        if older is None:
            raise refusal("No space left on device")
        return real(work, made, at, older, seams)

    monkeypatch.setattr(compaction, "write_postings", refused)
    monkeypatch.setattr(compaction, "MAX_BATCHES", 3)
    monkeypatch.setattr(compaction, "GROWTH", 1000)
    create(spark, "narrow", LOG[:3])
    for rows in (LOG[3:5], LOG[5:7]):
        index.refresh(spark, "narrow", batch=frame(spark, rows))
    with pytest.warns(PatternWarning, match="No space left on device.* index narrow could not .*OPTIMIZE"):
        index.refresh(spark, "narrow", batch=frame(spark, LOG[7:]))
    reader = index.open_index(spark, "narrow")
    assert reader.snapshot.batches == 3
    check_files(reader.index)
    create(spark, "narrow_once", LOG)
    assert visible(reader) == visible(index.open_index(spark, "narrow_once"))
    builds = [folder.name for folder in Path(reader.index.uri).glob("build-*")]
    assert builds == [reader.snapshot.build]


@pytest.mark.parametrize(
    ("sizes", "newest"),
    [
        ([1000, 1, 1, 1], 3),
        ([1000, 7, 1, 1, 1], 3),
        ([1000, 6, 1, 1, 1], 4),
        ([9, 3, 1, 1], 4),
        ([100, 9, 1], 2),
        ([1], 1),
    ],
)
def test_batches_are_merged_with_those_that_are_not_much_larger(sizes: list[int], newest: int) -> None:
    assert compaction.batches_to_merge(sizes) == newest


@pytest.mark.full
def test_without_a_way_to_remove_files_all_batches_become_one(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with older releases of deltalake."""
    monkeypatch.setattr(compaction, "MAX_BATCHES", 2)
    monkeypatch.setattr(compaction, "can_remove_files", lambda: False)
    create(spark, "compacted", LOG[:3])
    for rows in (LOG[3:5], LOG[5:7], [("b", 1, 0, "A")], LOG[7:]):
        index.refresh(spark, "compacted", batch=frame(spark, rows))
    reader = index.open_index(spark, "compacted")
    assert reader.snapshot.batches <= 2
    create(spark, "compacted_once", [*LOG, ("b", 1, 0, "A")])
    assert visible(reader) == visible(index.open_index(spark, "compacted_once"))


@pytest.mark.full
@pytest.mark.parametrize("kind", ["siesta", "signature", "set_containment"])
def test_candidates_lose_no_case(spark: SparkSession, kind: str) -> None:
    """Every kind of index keeps each case that holds the types in order."""
    create(spark, f"kind_{kind}", LOG[:6], using=kind)
    index.refresh(spark, f"kind_{kind}", batch=frame(spark, [*LOG[6:], ("a", 12, 0, "D")]))
    reader = index.open_index(spark, f"kind_{kind}")
    cases = {row.id: (row.c, row.symbols) for row in reader.sequences().collect()}
    letters = {n: chr(0x100 + c) for n, c in reader.dictionary().items()}
    for branch in (["A"], ["A", "B"], ["B", "A", "B"], ["A", "A"], ["C", "A"], ["D", "B"], ["D", "C", "D"], ["X"]):
        found = {cases[i][0] for i in reader.candidates([branch]).ids.tolist()}
        wanted = set()
        for name, symbols in cases.values():
            at = 0
            for letter in branch:
                at = symbols.find(letters.get(letter, "?"), at) + 1
                if not at:
                    break
            else:
                wanted.add(name)
        assert wanted <= found, branch
        unordered = {cases[i][0] for i in reader.contains_all(branch).ids.tolist()}
        assert wanted <= unordered
    both = reader.candidates([["D"], ["C"]])
    assert {cases[i][0] for i in both.ids.tolist()} >= {"a", "b", "d"}


def test_lookback_serves_only_bounded_queries(spark: SparkSession) -> None:
    create(spark, "looked", [("a", 0, 0, "A"), ("a", 100, 0, "B"), ("b", 0, 0, "A")], options={"lookback": "1 minute"})
    reader = index.open_index(spark, "looked")
    assert [len(reader.candidates([["A", "B"]], bound=b).ids) for b in (60 * SECOND, 61 * SECOND, None)] == [0, 1, 1]
    assert [reader.candidates([["A", "B"]], bound=b).steps[0].rule for b in (1, None)] == [
        "pairs",
        "contains all types",
    ]


def test_where_few_cases_are_left_further_pairs_are_not_asked_for(spark: SparkSession) -> None:
    """Of A B, B C, C D, D E the last is the commonest, so that it is left out."""
    cases = ["ABCDE", "ABCEDE", "DE", "DDE", "ACDE", "BCADE", "ABDE", "ABC"]
    rows = [(f"c{n}", at, 0, letter) for n, case in enumerate(cases) for at, letter in enumerate(case)]
    create(spark, "rarest", rows)
    reader = index.open_index(spark, "rarest")
    found = reader.candidates([["A", "B", "C", "D", "E"]])
    assert found.steps[0].rule == "the rarest 3 of 4 pairs"
    keys = {row["id"]: row["case_key"] for row in reader.case_keys(found.ids, with_ids=True).collect()}
    assert {keys[i] for i in found.ids.tolist()} == {"c0", "c1"}
    assert found.steps[0].cases == 2
    wanted = [(reader.dictionary()[a], reader.dictionary()[b]) for a, b in pairwise("ABCDE")]
    tables = [(reader.table(name), reader.state(name)) for name in (PAIRS, COUNTS)]
    ((every, asked), (first, _)), _ = lookup.cases_of_pairs(*tables[0], tables[1], [wanted, wanted[:1]], 0)
    assert (asked, every.tolist()) == (4, found.ids.tolist())
    assert first.tolist() == reader.candidates([["A", "B"]]).ids.tolist()


def test_many_branches_are_looked_up_as_one_by_one(spark: SparkSession) -> None:
    random = Random(5)
    cases = ["".join(random.choices("ABCDEF", k=random.randint(0, 9))) for _ in range(60)]
    rows = [(f"c{n:02d}", at, 0, letter) for n, case in enumerate(cases) for at, letter in enumerate(case)]
    create(spark, "many", rows)
    reader = index.open_index(spark, "many")
    branches = [tuple(random.choices("ABCDEFX", k=random.randint(1, 6))) for _ in range(40)]
    for ordered in (True, False):
        one_by_one = [reader.candidates([branch], ordered=ordered) for branch in branches]
        together = reader.candidates(branches, ordered=ordered)
        assert [step for found in one_by_one for step in found.steps] == list(together.steps)
        assert set(together.ids.tolist()) == {n for found in one_by_one for n in found.ids.tolist()}
        assert together.bytes_read < sum(found.bytes_read for found in one_by_one)


@pytest.mark.full
def test_files_of_the_source_tell_what_is_new(spark: SparkSession, tmp_path: Any) -> None:
    path = str(tmp_path / "events with space")
    frame(spark, LOG[:4]).coalesce(1).write.parquet(path)
    spark.sql(f"CREATE PATTERN INDEX filed ON parquet.`{path}` (CASE c, TIME ts, TIEBREAK p, EVENT e) INCLUDE (p)")
    reader = index.open_index(spark, "filed")
    assert reader.coverage().state == "current"
    frame(spark, LOG[4:]).coalesce(1).write.mode("append").parquet(path)
    stale = reader.coverage()
    assert stale.state == "stale"
    assert stale.added is not None
    assert len(stale.added) == 1
    done = index.refresh(spark, "filed")
    assert (done.action, done.events) == ("extended", len(LOG))
    assert index.refresh(spark, "filed").action == "unchanged"
    create(spark, "filed_once", LOG)
    assert visible(index.open_index(spark, "filed")) == visible(index.open_index(spark, "filed_once"))
    # The old snapshot is still what it was.
    assert sum(len(r.codes) for r in reader.sequences().collect()) == 4
    frame(spark, LOG[:2]).coalesce(1).write.mode("overwrite").parquet(path)
    assert index.refresh(spark, "filed").action == "built"
    assert index.open_index(spark, "filed").snapshot.totals.events == 2


@pytest.mark.full
def test_views_are_compared_case_by_case(spark: SparkSession) -> None:
    """Extended, new, changed and vanished cases of a source that cannot tell what is new."""
    frame(spark, LOG[:9]).createOrReplaceTempView("index_view")
    index.drop(spark, "viewed", if_exists=True)
    index.create(spark, "viewed", "index_view", case="c", time="ts", event="e", tiebreak="p", include=["p"])
    assert index.open_index(spark, "viewed").coverage().state == "unknown"
    changed: list[Row] = [*LOG[:4], ("a", 95, 0, "C"), LOG[5], LOG[6], ("b", 26, 0, "B"), ("d", 1, 0, "D")]
    frame(spark, changed).createOrReplaceTempView("index_view")
    assert index.refresh(spark, "viewed").action == "extended"
    assert index.refresh(spark, "viewed").action == "unchanged"
    create(spark, "viewed_once", changed)
    found, wanted = visible(index.open_index(spark, "viewed")), visible(index.open_index(spark, "viewed_once"))
    assert {k: v for k, v in found.items() if k != "types"} == {k: v for k, v in wanted.items() if k != "types"}


def test_bad_rows(spark: SparkSession) -> None:
    bad = [*LOG[:2], (None, 1, 0, "A"), ("a", None, 0, "A"), ("a", 2, 0, None), ("b", None, 0, None)]
    with pytest.raises(SparkCepError, match=r"4 rows .*: 1 with NULL case, 1 with NULL event, 2 with NULL time"):
        create(spark, "bad", bad)  # type: ignore[arg-type]
    create(spark, "bad", bad, options={"on_bad_rows": "quarantine"})  # type: ignore[arg-type]
    reader = index.open_index(spark, "bad")
    assert (reader.snapshot.totals.events, reader.snapshot.totals.rejected) == (2, 4)
    rows = table_reader.read_table(spark, reader.index, reader.snapshot, "rejected").collect()
    assert sorted(r.reason for r in rows) == ["NULL case", "NULL event", "NULL time", "NULL time"]


@pytest.mark.full
def test_the_delta_tables_are_what_the_snapshot_says(spark: SparkSession) -> None:
    """Any Delta reader sees the same files, rows and columns, also behind a replaced count."""
    from deltalake import DeltaTable

    create(spark, "delta_read", LOG[:5])
    index.refresh(spark, "delta_read", batch=frame(spark, [LOG[5], ("a", 1, 0, "B")]))
    reader = index.open_index(spark, "delta_read")
    for name, state in reader.snapshot.tables.items():
        table = reader.index.child(reader.snapshot.build, name)
        delta = DeltaTable(table.delta)
        assert delta.version() == state.version
        assert sorted(delta.file_uris()) == sorted(f"{table.delta}/{f.path}" for f in state.files)
        assert pa_rows(delta) == state.rows


def pa_rows(delta: Any) -> int:
    import pyarrow as pa

    return int(pa.table(delta.scan().read_all() if hasattr(delta.scan(), "read_all") else delta.scan()).num_rows)


@pytest.mark.full
def test_streams_feed_an_index(spark: SparkSession) -> None:
    create(spark, "streamed", LOG[:2])
    feed = index.foreach_batch("streamed")
    feed(frame(spark, LOG[2:4]), 0)
    feed(frame(spark, LOG[2:4]), 0)
    feed(frame(spark, LOG[4:5]), 1)
    feed(frame(spark, LOG[2:4]), 0)
    reader = index.open_index(spark, "streamed")
    assert (reader.snapshot.totals.events, reader.snapshot.batch_ids) == (5, ("stream default 1",))


@pytest.mark.full
def test_changed_layout_options_build_anew(spark: SparkSession, tmp_path: Any) -> None:
    path = str(tmp_path / "events")
    frame(spark, LOG).write.parquet(path)
    index.drop(spark, "altered", if_exists=True)
    index.create(spark, "altered", f"parquet.`{path}`", case="c", time="ts", event="e", tiebreak="p", include=["p"])
    index.alter(spark, "altered", {"lookback": "5 seconds", "postings": "timestamps"})
    assert index.open_index(spark, "altered").definition.options.lookback is None
    assert index.refresh(spark, "altered").action == "built"
    reader = index.open_index(spark, "altered")
    assert reader.definition.options.lookback == 5 * SECOND
    check_pairs(visible(reader), 5 * SECOND)
