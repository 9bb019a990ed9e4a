"""Imprecise time in the kernel: signatures and their confidence, on the paper's grid, beside reading the events once.

100,000 events of twenty types, one a tick, sequences of two to six of the types, half widths of 1 to 50 ticks, windows
of 10 to 200. A cell ends after so many signatures, whose events are counted up to the last partition matched. Beside it
what a point-based evaluation does on the same events: all combinations of points, matched each for itself and grouped
by signature. CPU time of one core; a Numba loop that reads the columns once is the floor.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.generate import DATA
from benchmarks.harness import RESULTS, cpu_seconds
from benchmarks.runs import read_once, spec
from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.uncertain.matcher import Found, UncertainMatcher
from sparkcep.exec.engines.uncertain.spec import UncertainSpec
from sparkcep.pattern import Concatenation, Pattern, Quantified, Variable
from sparkcep.query import Selection

EVENTS = 100_000
PARTITION = 1_000
TYPES = 20
HALF, WINDOW, LENGTH = 10, 100, 3
HALVES, WINDOWS, LENGTHS = (1, 5, 10, 25, 50), (10, 25, 50, 100, 200), (2, 3, 4, 5, 6)
THRESHOLDS = (0.0, 0.7, 0.8, 0.9, 0.99, 0.999)
#: A cell goes on with further partitions until it has taken this long.
SECONDS = 2.0
NAMES = "ABCDEF"
Ints = npt.NDArray[np.int64]


def sequence(length: int) -> Pattern:
    return Concatenation(tuple(Variable(name) for name in NAMES[:length]))


def stream(length: int, events: int = EVENTS) -> Ints:
    """Types as bits of a mask; events of other types than the pattern's have none."""
    kind = np.random.default_rng(17).integers(0, TYPES, events)
    return np.where(kind < length, np.int64(1) << np.minimum(kind, length), 0).astype(np.int64)


def matcher(pattern: Pattern, selection: Selection, window: int, threshold: float = 0.0) -> UncertainMatcher:
    run = replace(spec(pattern, selection), use_within=False)
    sets = frozenset([1]) if isinstance(pattern, Concatenation) and isinstance(pattern.items[1], Quantified) else ()
    return UncertainMatcher(UncertainSpec(run, frozenset(sets), window - 1, threshold, False, 2000, 10))


def pieces(mask: Ints, half: int) -> Iterator[Batch]:
    for start in range(0, len(mask), PARTITION):
        part = mask[start : start + PARTITION]
        time_of = np.arange(start, start + len(part))
        columns = [pa.array(time_of - half), pa.array(time_of + half)]
        yield Batch(np.array([0, len(part)]), [pa.array(part)], columns)


def measured(made: UncertainMatcher, mask: Ints, half: int, seconds: float) -> tuple[int, int, int, int, float]:
    """Signatures found and looked at, events tried in vain, events read and seconds, until a cell's time is over."""
    found = looked = dead = events = 0
    took = 0.0
    for batch in pieces(mask, half):
        begin = time.process_time()
        answer: Found = made.match(batch)
        took += time.process_time() - begin
        found += len(answer.out)
        looked += answer.signatures
        dead += answer.dead_ends
        events += int(batch.offsets[-1])
        if took > seconds:
            break
    return found, looked, dead, events, took


def points(mask: Ints, half: int, window: int, length: int, events: int) -> tuple[int, float]:
    """Point-based evaluation of a sequence under SKIP TILL ANY MATCH: signatures and seconds."""
    begin = time.process_time()
    found: dict[tuple[int, ...], float] = {}
    kinds = [np.flatnonzero(mask[:events] == 1 << k).tolist() for k in range(length)]
    share = 1.0 / (2 * half + 1)

    def extend(path: tuple[int, ...], first: int, last: int) -> None:
        if len(path) == length:
            found[path] = found.get(path, 0.0) + share**length
            return
        for event in kinds[len(path)]:
            if path and (event - half > first + window - 1 or event + half <= last):
                continue
            for tick in range(event - half, event + half + 1):
                if not path:
                    extend((event,), tick, tick)
                elif last < tick <= first + window - 1:
                    extend((*path, event), first, tick)

    extend((), 0, 0)
    return len(found), time.process_time() - begin


def grid(lines: list[str], seconds: float) -> None:
    lines += ["", "| strategy | half width | window | length | signatures | signatures/s | events/s | x reading "
              "| µs a signature | in vain |", "|--|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]  # fmt: skip
    cells = [(h, WINDOW, LENGTH) for h in HALVES] + [(HALF, w, LENGTH) for w in WINDOWS if w != WINDOW]
    cells += [(HALF, WINDOW, n) for n in LENGTHS if n != LENGTH]
    for selection in (Selection.ANY, Selection.NEXT):  # kernels are loaded
        measured(matcher(sequence(2), selection, WINDOW), stream(2, PARTITION), 1, seconds)
    for selection, (half, window, length) in itertools.product((Selection.ANY, Selection.NEXT), cells):
        mask = stream(length)
        found, _, dead, events, took = measured(matcher(sequence(length), selection, window), mask, half, seconds)
        part = mask[:events]
        floor = cpu_seconds(lambda part=part: read_once(part, part))
        lines.append(
            f"| {selection.name} | {half} | {window} | {length} | {found:,} | {found / took:,.0f} | "
            f"{events / took:,.0f} | {took / floor:,.0f} | {took / max(found, 1) * 1e6:.2f} | "
            f"{dead / max(found, 1):.1%} |"
        )
        print(lines[-1], flush=True)


def beside_points(lines: list[str]) -> None:
    lines += ["", f"Point-based evaluation (ANY, window {WINDOW}, length {LENGTH}) on the first events:", "",
              "| half width | events | signatures | event-based s | point-based s | times as long |",
              "|--:|--:|--:|--:|--:|--:|"]  # fmt: skip
    for half, events in ((0, 1000), (1, 1000), (2, 1000), (5, 500)):
        mask = stream(LENGTH)[:events]
        made = matcher(sequence(LENGTH), Selection.ANY, WINDOW)
        batch = next(pieces(mask, half))
        fast = cpu_seconds(lambda made=made, batch=batch: made.match(batch))
        found = len(made.match(batch).out)
        wanted, slow = points(mask, half, WINDOW, LENGTH, events)
        if found != wanted:
            raise AssertionError(f"points give {wanted} signatures, events {found}")
        lines.append(f"| {half} | {events} | {found:,} | {fast:.4f} | {slow:.2f} | {slow / fast:,.0f} |")
        print(lines[-1], flush=True)


def thresholds(lines: list[str], seconds: float) -> None:
    """A B+ C, members of B a set: runs of too little confidence are dropped on the way."""
    lines += ["", f"CONFIDENCE >= p with Kleene, SEQ(A, B+, C) under ANY, half width {HALF}, window {WINDOW // 2}:",
              "", "| p | signatures | looked at | events/s |", "|--:|--:|--:|--:|"]  # fmt: skip
    pattern = Concatenation((Variable("A"), Quantified(Variable("B"), 1, None), Variable("C")))
    mask = stream(LENGTH)
    for threshold in THRESHOLDS:
        found, looked, _, events, took = measured(
            matcher(pattern, Selection.ANY, WINDOW // 2, threshold), mask, HALF, seconds
        )
        lines.append(f"| {threshold} | {found:,} | {looked:,} | {events / took:,.0f} |")
        print(lines[-1], flush=True)


def main(quick: bool = False) -> None:
    """Print all figures and write them to results/uncertain.md."""
    seconds = 0.2 if quick else SECONDS
    lines = [
        "# Imprecise time",
        "",
        f"{EVENTS:,} events of {TYPES} types, one a tick, in partitions of {PARTITION:,}; unless a column says "
        f"otherwise half width {HALF}, window {WINDOW}, length {LENGTH}. A cell that takes longer than {seconds:g} s "
        "ends with the partition it is at. CPU time of one core.",
        "",
        "*in vain*: events that the bounds refused, and runs without a signature in the end, per signature. A search "
        "that begins with the rarest component (the paper's any-state evaluation) could save no more than these, so "
        "there is only one, from the pattern's first component on, with bounds on what can still be completed.",
    ]
    for selection in (Selection.ANY, Selection.NEXT):
        matcher(sequence(2), selection, 10).match(next(pieces(stream(2), 1)))
    grid(lines, seconds)
    thresholds(lines, seconds)
    beside_points(lines)
    lines += ["", f"{os.cpu_count()} cores; load average at the end {os.getloadavg()[0]:.1f}."]
    folder = DATA / "quick" if quick else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "uncertain.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
