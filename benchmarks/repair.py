"""EXPLAIN NON ANSWERS: repairs of sequences, in the kernel and through spark.sql.

Cases of a few events around each type of the sequence, so that most of them have no match; cost up to 4, shifts up to
2, step 1. CPU time of one core for the kernel, medians; through Spark beside a grouped scan of the same Parquet that
collects each case's events and reads their number.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.generate import DATA
from benchmarks.harness import RESULTS, cpu_seconds
from benchmarks.runs import spec as run_spec
from benchmarks.spark import spark_session
from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.non_answers.matcher import NonAnswers
from sparkcep.exec.engines.non_answers.repairer import Repairer
from sparkcep.exec.engines.non_answers.spec import Bound, Facts, Repair, RepairSpec
from sparkcep.exec.engines.rows.tables import mask_words
from sparkcep.pattern import Concatenation, Variable
from sparkcep.query import Selection

CASES = 20_000
SPARK_CASES = 200_000
TYPES = "ABCDEFGH"
Ints = npt.NDArray[np.int64]


def cases(length: int, events: int, count: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Types (count, events) and times: each case has every type, out of order, and random others."""
    types = rng.integers(0, length, (count, events))
    types[:, :length] = np.arange(length)
    noise = rng.integers(-2, 3, (count, events))
    times = np.sort(rng.integers(0, 3 * events, (count, events)), axis=1)
    order = np.argsort(times[:, :events] + noise, axis=1, kind="stable")
    return np.take_along_axis(types, order, axis=1), times


def repair_spec(length: int, bounds: tuple[Bound, ...], cost: int = 4, shift: int = 2) -> RepairSpec:
    pattern = Concatenation(tuple(Variable(TYPES[k]) for k in range(length)))
    run = run_spec(pattern, Selection.NEXT, use_within=False, one_per_start=True, first_only=True, traced=False)
    repair = Repair(tuple(range(length)), 0, bounds, frozenset(), 1, cost, shift, -(2**60), 2**60)
    bits = {k: k for k in range(length)}
    return RepairSpec(run, bits, repair, tuple(range(length)), tuple(range(length)), Facts((), (), 0), 10**8)


def batch_of(types: Ints, times: Ints) -> Batch:
    count, events = types.shape
    mask = np.left_shift(1, types).astype(np.int64).ravel()
    return Batch(np.arange(0, count * events + 1, events), [pa.array(mask)], [pa.array(times.ravel())])


def kernel(count: int) -> list[str]:
    rng = np.random.default_rng(17)
    lines = [
        f"{count:,} cases, k 4, uncertainty 2, step 1; every case is searched, matched or not",
        "",
        "| length | events | constraints | repaired | cases/s, repair | cases without a match | cases/s, all of it |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    shapes = {
        "none": (),
        "neighbours": (Bound(0, 1, None, 8), Bound(1, 2, 1, None)),
        "first to last": (Bound(0, -1, None, 20),),
        "gap": (Bound(0, 1, None, 2, gap=True),),
    }
    for length, events in ((3, 6), (5, 8), (5, 20), (5, 100), (8, 20)):
        types, times = cases(length, events, count if events < 100 else count // 10, rng)
        batch = batch_of(types, times)
        wanted = np.ones(len(types), np.uint8)
        for name, shape in shapes.items():
            bounds = tuple(replace(b, second=length - 1) if b.second < 0 else b for b in shape)
            spec = repair_spec(length, bounds)
            assert spec.repair is not None
            repairer, engine = Repairer(spec.run, spec.repair, spec.limit_nodes), NonAnswers(spec)
            masks = mask_words(batch, 1)
            found = repairer.repaired(batch, masks, wanted)
            took = cpu_seconds(lambda b=batch, m=masks, w=wanted, r=repairer: r.repaired(b, m, w))
            unmatched = len(engine.explain(batch).partition)
            rate = "" if bounds else f"{len(types) / cpu_seconds(lambda b=batch, e=engine: e.explain(b)):,.0f}"
            lines.append(
                f"| {length} | {events} | {name} | {int((found.cost >= 0).sum()):,} | {len(types) / took:,.0f} | "
                f"{'' if bounds else f'{unmatched:,}'} | {rate} |"
            )
            print(lines[-1], flush=True)
    return lines


def through_spark(count: int) -> list[str]:
    """Length 5 on cases of 8 events, to rows."""
    rng = np.random.default_rng(19)
    types, times = cases(5, 8, count, rng)
    names = np.array(list(TYPES))[types.ravel()]
    table = pa.table(
        {
            "k": np.repeat(np.arange(count), 8),
            "t": times.ravel(),
            "n": np.arange(names.size),
            "e": pa.array(names),
        }
    )
    asked = "EXPLAIN NON ANSWERS (k => 4, uncertainty => 2, step => 1)"
    block = f"(FROM events PARTITION BY k ORDER BY t, n EVENT TYPE e PATTERN SEQ(A, B, C, D, E) {asked})"
    texts = {
        "repairs only": f"SELECT count(*), sum(cost) FROM {block} WHERE cost IS NOT NULL",
        "repairs and reasons": f"SELECT count(*), count(reason), sum(cost) FROM {block}",
        "with warnings": f"SELECT count(*), count(reason), sum(cost), max(size(warnings)) FROM {block}",
        "match, for its rows": "SELECT count(*) FROM (FROM events PARTITION BY k ORDER BY t, n EVENT TYPE e "
        "PATTERN SEQ(A, B, C, D, E) EVENT SELECTION SKIP TILL ANY MATCH MATCHES FIRST RETURN A.t AS t)",
        "grouped scan": "SELECT count(*), sum(size(l)) FROM "
        "(SELECT k, sort_array(collect_list(struct(t, n, e))) AS l FROM events GROUP BY k)",
    }
    times_by: dict[str, list[float]] = {name: [] for name in texts}
    answers = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        pq.write_table(table, path)
        with spark_session({"events": path}) as spark:
            for turn in range(10):
                for name in texts if turn % 2 else reversed(texts):
                    start = time.perf_counter()
                    answers[name] = tuple(spark.sql(texts[name]).collect()[0])
                    if turn >= 3:
                        times_by[name].append(time.perf_counter() - start)
    floor = statistics.median(times_by["grouped scan"])
    lines = [
        f"{count:,} cases of 8 events, SEQ(A, B, C, D, E), spark.sql to rows, medians of 7 rounds in turn",
        "",
        "| query | answer | seconds | cases/s | times the grouped scan |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in texts:
        seconds = statistics.median(times_by[name])
        lines.append(
            f"| {name} | {', '.join(map(str, answers[name]))} | {seconds:.2f} | {count / seconds:,.0f} | "
            f"{seconds / floor:.2f} |"
        )
        print(lines[-1], flush=True)
    return lines


def main(quick: bool = False) -> None:
    """Print all figures and write them to results/repair.md."""
    count, in_spark = (CASES // 10, SPARK_CASES // 10) if quick else (CASES, SPARK_CASES)
    parts = ["# EXPLAIN NON ANSWERS", "", *(__doc__ or "").strip().splitlines()[2:], "", "## Kernel", ""]
    parts += [*kernel(count), "", "## Through Spark", "", *through_spark(in_spark)]
    folder = DATA / "quick" if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "repair.md").write_text("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
