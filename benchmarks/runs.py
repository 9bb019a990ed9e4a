"""Event selection strategies in the kernel: enumeration, collapsed matches, merging of equivalent runs.

`SEQ(A a, B+ b[], C c)` under SKIP TILL ANY MATCH on synthetic streams with windows of 25 to 100,000 events; SASE+'s
three stock patterns with and without merging; and a three-step sequence through spark.sql beside MATCH_RECOGNIZE with
gaps. CPU time of one core, medians; a Numba loop that reads the same columns once is the floor.
"""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from benchmarks.generate import DATA, FULL, QUICK, ensure_log
from benchmarks.harness import RESULTS, cpu_seconds
from benchmarks.spark import spark_session
from sparkcep.exec.automaton import compile_automaton
from sparkcep.exec.batch import Batch
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.engines.runs.matcher import RunMatcher
from sparkcep.exec.engines.runs.spec import Check, RunSpec, Span
from sparkcep.expr.nodes import AggregateSlot, Call, Constant, Load, NavigationSlot, RowValue
from sparkcep.expr.types import BIGINT
from sparkcep.pattern import Concatenation, Pattern, Quantified, Variable, variables
from sparkcep.query import RowsPerMatch, Selection, SkipMode, TestedAt

EVENTS = 200_000
#: Windows in events, and how many B events lie in a window on average: all matches of more are beyond anyone's use.
WINDOWS = (25, 100, 1_000, 10_000, 100_000)
B_PER_WINDOW = (2, 4, 8)
A, B, C = (Variable(name) for name in "ABC")
TEMPLATE = Concatenation((A, Quantified(B, 1, None), C))
STOCKS = Concatenation((Quantified(A, 1, None), B))
Ints = npt.NDArray[np.int64]


@njit
def read_once(mask, key):
    total = 0
    for row in range(len(mask)):
        total += mask[row] ^ key[row]
    return total


def spec(pattern: Pattern, selection: Selection, **changes: object) -> RunSpec:
    """All matches of a pattern whose components are told by bits, WITHIN the key's distance."""
    names = variables(pattern)
    made = RunSpec(
        pattern=pattern, automaton=compile_automaton(pattern, names, 1000),
        condition_bits={k: k for k in range(len(names))},
        mask_words=1, selection=selection, one_per_start=False, first_only=False, use_within=True, strict_time=False,
        rows_per_match=RowsPerMatch.ONE, skip=SkipMode.PAST_LAST_ROW, skip_labels=frozenset(), skip_target="",
        slots=(), slot_registers=(), every_row=False, traced=True, conditions=ConditionSet(), checks=(), ansi=True,
        limit_steps=10**12, limit_rows=10**9,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def batch(mask: Ints, window: int, columns: tuple[pa.Array, ...] = (), cases: int = 1) -> Batch:
    rows = len(mask) // cases
    key = np.tile(np.arange(rows), cases)
    within = (pa.array(key), pa.array(key + window - 1), pa.array(key - window + 1))
    return Batch(np.arange(0, len(mask) + 1, rows), [pa.array(mask)], columns, within)


def stream(window: int, b_per_window: float, rng: np.random.Generator) -> Ints:
    """One A and one C in about half a window each, and so many Bs."""
    kind = rng.random(EVENTS)
    edge = 2 / window
    middle = b_per_window / window
    mask = np.zeros(EVENTS, np.int64)
    mask[kind < edge + middle + edge] = 4
    mask[kind < edge + middle] = 2
    mask[kind < edge] = 1
    return mask


def naive(mask: Ints, window: int) -> tuple[int, int]:
    """A run per match: every event is offered to every open run, which is copied to extend it."""
    runs: list[tuple[int, ...]] = []
    matches = events = 0
    for row, bits in enumerate(mask.tolist()):
        if not bits:
            continue
        runs = [r for r in runs if row - r[0] < window]
        if bits & 2:
            runs += [(*r, row) for r in runs]
        if bits & 4:
            for r in runs:
                if len(r) > 1:
                    matches += 1
                    events += len(r) + 1
        if bits & 1:
            runs.append((row,))
    return matches, events


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def template(quick: bool) -> list[str]:
    rng = np.random.default_rng(11)
    lines = [
        f"`SEQ(A a, B+ b[], C c)`, SKIP TILL ANY MATCH, {EVENTS:,} events, one core; *floor*: times the reading of the "
        "columns; *naive*: a run per match in Python, times as long as the kernel.", "",
        row("window", "Bs a window", "matches", "M matches/s", "M matched events/s", "M events/s", "floor",
            "collapsed rows", "candidates", "M candidates/s", "M events/s collapsed", "naive"),
        "|" + "--|" * 12,
    ]  # fmt: skip
    for window in WINDOWS[:2] if quick else WINDOWS:
        for b_per_window in B_PER_WINDOW:
            mask = stream(window, b_per_window, rng)
            data = batch(mask, window)
            floor = cpu_seconds(lambda mask=mask: read_once(mask, mask))
            every = RunMatcher(spec(TEMPLATE, Selection.ANY))
            out, trace = every.match(data)
            took = cpu_seconds(lambda data=data, every=every: every.match(data))
            collapsed = RunMatcher(spec(TEMPLATE, Selection.ANY, collapsed=True))
            rows, candidates = collapsed.match(data)
            fold = cpu_seconds(lambda data=data, collapsed=collapsed: collapsed.match(data))
            beside = ""
            if len(out) < 3_000_000:
                start = time.process_time()
                found = naive(mask, window)
                beside = f"{(time.process_time() - start) / took:.1f}"
                if found != (len(out), len(trace)):
                    raise AssertionError(f"the naive reference finds {found}, the kernel {len(out), len(trace)}")
            lines.append(
                row(f"{window:,}", b_per_window, f"{len(out):,}", f"{len(out) / took / 1e6:.2f}",
                    f"{len(trace) / took / 1e6:.2f}", f"{EVENTS / took / 1e6:.1f}", f"{took / floor:.0f}",
                    f"{len(rows):,}", f"{len(candidates):,}", f"{len(candidates) / fold / 1e6:.2f}",
                    f"{EVENTS / fold / 1e6:.1f}", beside)
            )  # fmt: skip
            print(lines[-1], flush=True)
    return lines


def dense(quick: bool) -> list[str]:
    """Streams whose matches nobody could enumerate: collapsed only."""
    rng = np.random.default_rng(12)
    lines = [
        f"The same pattern collapsed, {EVENTS:,} events, as many As and Cs as Bs in a window.", "",
        row("window", "of each a window", "rows", "candidates", "M rows/s", "M candidates/s", "M events/s"),
        "|" + "--|" * 7,
    ]  # fmt: skip
    for window, share in ((25, 5), (100, 5), (100, 10), (1_000, 10), (1_000, 50)):
        kind = rng.random(EVENTS) * window / share
        data = batch(np.where(kind < 3, 1 << np.minimum(kind.astype(np.int64), 3), 0), window)
        collapsed = RunMatcher(spec(TEMPLATE, Selection.ANY, collapsed=True))
        rows, candidates = collapsed.match(data)
        took = cpu_seconds(lambda data=data, collapsed=collapsed: collapsed.match(data))
        lines.append(
            row(f"{window:,}", share, f"{len(rows):,}", f"{len(candidates):,}", f"{len(rows) / took / 1e6:.2f}",
                f"{len(candidates) / took / 1e6:.2f}", f"{EVENTS / took / 1e6:.1f}")
        )  # fmt: skip
        print(lines[-1], flush=True)
    return lines


def stocks(quick: bool) -> list[str]:
    """SASE+, section 6: `pattern(stock+ a[], stock b) ... a[1].price % 500 = 0 and P and b.volume < 150`."""
    rng = np.random.default_rng(13)
    rows = 100_000
    steps = rng.integers(1, 4, rows) * np.where(rng.random(rows) < 0.7, 1, -1)
    price = np.cumsum(steps) % 1000 + 1
    volume = rng.integers(1, 1001, rows)
    # The first event of a is told by a component of its own: its condition is on itself.
    a1, a, b = Variable("a1"), Variable("a"), Variable("b")
    pattern = Concatenation((a1, Quantified(a, 0, None), b))
    mask = (price % 500 == 0) * 1 + 2 + (volume < 150) * 4
    stock = frozenset([0, 1])
    value = NavigationSlot(0, False, 0, 0, 0)
    before = NavigationSlot(0, False, 1, 0, 0)
    least = AggregateSlot("min", 0, (RowValue(0),), before=True)
    lines = [
        "SASE+'s `pattern(stock+ a[], stock b)`, one symbol, 100,000 events; *gain*: how many times "
        "as fast it is with merging. Runs are",
        "merged where a condition is not tested before matches are enumerated; those of p1 to p3 are, so both columns",
        "run the same. *far*: `SEQ(stock a, stock b, stock c)`, a any, b one in 100, c.price > b.price + 200: many",
        "starts share each b.",
        "",
        row("P", "strategy", "window", "matches", "merged s", "not merged s", "gain"), "|" + "--|" * 7,
    ]  # fmt: skip
    for name, other in (("p1", None), ("p2", before), ("p3", least)):
        conditions, checks = ConditionSet(column_types=(BIGINT,), registers=(stock,)), ()
        if other is not None:
            test = Call(">", (Load(0), Load(1)))
            conditions = ConditionSet({0: test}, (value, other), (BIGINT,), (stock,), tested=(frozenset([1]),))
            checks = (Check(0, frozenset([1]), TestedAt.TAKE, 0, minimum=2, span=Span(4, 0)),)
        for selection in (Selection.STRICT, Selection.NEXT):
            for window in (500,) if quick else (500, 1_000, 2_000):
                data = batch(mask, window, (pa.array(price),))
                made = spec(pattern, selection, traced=False, conditions=conditions, checks=checks)
                merged, apart = RunMatcher(made), RunMatcher(replace(made, merging=False))
                matches = len(merged.match(data)[0])
                if matches != len(apart.match(data)[0]):
                    raise AssertionError("merging changes the answer")
                lines.append(gain(name, selection, window, matches, merged, apart, data))
    for window in (500,) if quick else (500, 1_000, 2_000):
        mask = 1 + 2 * (volume < 10) + 4
        made = spec(Concatenation((a1, b, a)), Selection.NEXT, traced=False, **far_condition())
        data = batch(mask, window, (pa.array(price),))
        merged, apart = RunMatcher(made), RunMatcher(replace(made, merging=False))
        matches = len(merged.match(data)[0])
        if matches != len(apart.match(data)[0]):
            raise AssertionError("merging changes the answer")
        lines.append(gain("far", Selection.NEXT, window, matches, merged, apart, data))
    return lines


def far_condition() -> dict[str, object]:
    """Conditions and checks of `c.price > b.price + 200`, for b and c the second and third component."""
    b, c = NavigationSlot(0, False, 0, 0, 0), NavigationSlot(1, False, 0, 0, 0)
    test = Call(">", (Load(1), Call("+", (Load(0), Constant(200, BIGINT)))))
    registers = (frozenset([1]), frozenset([2]))
    conditions = ConditionSet({0: test}, (b, c), (BIGINT,), registers, tested=(frozenset([2]),))
    return {"conditions": conditions, "checks": (Check(0, frozenset([2]), TestedAt.TAKE, 1),)}


def gain(
    name: str, selection: Selection, window: int, matches: int, merged: RunMatcher, apart: RunMatcher, data: Batch
) -> str:
    """A line of the table of merging: CPU seconds of both matchers."""
    fast = cpu_seconds(lambda: merged.match(data))
    slow = cpu_seconds(lambda: apart.match(data))
    line = row(name, selection.value, window, f"{matches:,}", f"{fast:.3f}", f"{slow:.3f}", f"{slow / fast:.2f}")
    print(line, flush=True)
    return line


def through_spark(quick: bool) -> list[str]:
    """A three-step sequence as a pattern block and as MATCH_RECOGNIZE with gaps, in turn, on the same Parquet."""
    shape = QUICK if quick else FULL
    log = ensure_log(shape)
    names = sorted({str(v) for v in log.read()["activity"].unique().to_pylist()})[:3]
    x, y, z = names
    block = (
        f"SELECT count(*), max(t) FROM (FROM events PARTITION BY case_id ORDER BY ts EVENT TYPE activity "
        f"PATTERN SEQ(`{x}` a, `{y}` b, `{z}` c) MATCHES NON OVERLAPPING RETURN c.ts AS t) m"
    )
    clause = (
        f"SELECT count(*), max(t) FROM events MATCH_RECOGNIZE (PARTITION BY case_id ORDER BY ts MEASURES c.ts AS t "
        f"PATTERN (a g* b h* c) DEFINE a AS activity = '{x}', g AS NOT activity = '{y}', b AS activity = '{y}', "
        f"h AS NOT activity = '{z}', c AS activity = '{z}') m"
    )
    with spark_session({"events": log.parquet}) as spark:
        times: dict[str, list[float]] = {"block": [], "clause": [], "trivial": []}
        texts = {"block": block, "clause": clause, "trivial": "SELECT count(*) FROM range(1)"}
        answers = {}
        for turn in range(12):
            for name in texts if turn % 2 else reversed(texts):
                start = time.perf_counter()
                answers[name] = spark.sql(texts[name]).collect()[0]
                if turn >= 5:
                    times[name].append(time.perf_counter() - start)
        medians = {name: statistics.median(values) for name, values in times.items()}
        if len({answers["block"], answers["clause"]}) > 1:
            raise AssertionError(f"block and clause differ: {answers}")
    return [
        f"Three steps with skips, {shape.events:,} events, `spark.sql` to rows: "
        + ", ".join(f"{name} {value:.3f} s" for name, value in medians.items())
        + f"; block / clause {medians['block'] / medians['clause']:.2f}; "
        f"{shape.events / medians['block'] / 1e6:.2f} M events/s."
    ]


def main(quick: bool = False) -> None:
    """Print all figures and write them to results/runs.md."""
    lines = ["# Event selection strategies", "", *(__doc__ or "").splitlines()[2:], ""]
    for part in (template, dense, stocks, through_spark):
        lines += [*part(quick), ""]
    load = os.getloadavg()
    lines.append(f"CPU time on one core, medians of five; load average at the end {load[0]:.1f}.")
    folder = DATA / "quick" if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "runs.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
