"""A small harness: systems answer the same queries in turn, and only equal answers are timed."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"

Rows = tuple[tuple[Any, ...], ...]
#: Timed calls of a kernel.
REPEATS = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows of one execution in any order, and the seconds it took by the system's own clock."""

    seconds: float
    rows: Rows


def timed(run: Callable[[], Iterable[Sequence[Any]]]) -> Answer:
    """Time a call in this process; making the rows comparable comes after the clock stops."""
    start = time.perf_counter()
    rows = run()
    seconds = time.perf_counter() - start
    return Answer(seconds, tuple(tuple(_plain(v) for v in row) for row in rows))


def cpu_seconds(run: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median CPU time after one call that is not timed; other work on the machine does not count."""
    run()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return statistics.median(times)


def _plain(value: Any) -> Any:
    """Times as milliseconds since 1970: systems differ in time zones and precision of what they hand out."""
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return round(aware.timestamp() * 1000)
    return value


@dataclass(frozen=True, slots=True)
class Entry:
    """How one system answers one query; answers of entries with the same ``answer`` are compared.

    A floor or a larger input has an answer of its own, but it too must be the same in every run.
    """

    query: str
    system: str
    run: Callable[[], Answer]
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A quotient of medians to show; of several systems on one side, the fastest counts."""

    name: str
    above: tuple[str, ...]
    below: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Entries to run in turn, and what to say about them."""

    name: str
    title: str
    about: str
    entries: tuple[Entry, ...]
    ratios: tuple[Ratio, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def queries(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(e.query for e in self.entries))

    @property
    def systems(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(e.system for e in self.entries))


@dataclass(frozen=True, slots=True)
class Timing:
    """All measured seconds of one entry, without the warm-up."""

    query: str
    system: str
    seconds: tuple[float, ...]
    rows: int

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A finished benchmark."""

    benchmark: Benchmark
    timings: tuple[Timing, ...]
    warmups: int
    load_before: float
    load_after: float

    def best(self, query: str, systems: Iterable[str]) -> Timing | None:
        """The fastest of some systems on a query."""
        wanted = set(systems)
        found = [t for t in self.timings if t.query == query and t.system in wanted]
        return min(found, key=lambda t: t.median, default=None)

    def ratio(self, query: str, ratio: Ratio) -> float | None:
        above, below = self.best(query, ratio.above), self.best(query, ratio.below)
        return above.median / below.median if above and below else None


class DifferentAnswers(Exception):
    """Two systems disagree, so their times mean nothing."""


def run(benchmark: Benchmark, runs: int, warmups: int = 1) -> Outcome:
    """Warm every entry up, compare all answers, then time rounds in which the systems take turns.

    Raises:
        DifferentAnswers: systems give different rows for a query, in the warm-up or later.
    """
    load_before = os.getloadavg()[0]
    expected: dict[tuple[str, str], tuple[str, Rows]] = {}
    for _ in range(warmups):
        for entry in benchmark.entries:
            answer = _checked(entry, expected)
            line = f"{entry.query:11} {entry.system:32} {answer.seconds:8.3f} s {len(answer.rows):8} rows"
            print(f"  warm-up  {line}", flush=True)
    seconds: dict[Entry, list[float]] = {entry: [] for entry in benchmark.entries}
    # Turn and turn about: a disturbance of the machine then falls on all systems alike. Backwards every other time: the
    # one that runs after a heavy neighbour pays for what that leaves behind.
    for number in range(1, runs + 1):
        for entry in benchmark.entries if number % 2 else reversed(benchmark.entries):
            seconds[entry].append(_checked(entry, expected).seconds)
        print(f"  round {number} of {runs}", flush=True)
    timings = tuple(
        Timing(e.query, e.system, tuple(s), len(expected[e.query, e.answer][1])) for e, s in seconds.items()
    )
    return Outcome(benchmark, timings, warmups, load_before, os.getloadavg()[0])


def _checked(entry: Entry, expected: dict[tuple[str, str], tuple[str, Rows]]) -> Answer:
    answer = entry.run()
    rows = tuple(sorted(answer.rows))
    system, wanted = expected.setdefault((entry.query, entry.answer), (entry.system, rows))
    if rows != wanted:
        missing, extra = set(wanted) - set(rows), set(rows) - set(wanted)
        raise DifferentAnswers(
            f"{entry.query}: {entry.system} gives {len(rows)} rows, {system} gives {len(wanted)}; "
            f"missing e.g. {sorted(missing)[:3]}, extra e.g. {sorted(extra)[:3]}"
        )
    return answer


def write(outcome: Outcome, folder: Path = RESULTS) -> Path:
    """Write ``<name>.json`` and ``<name>.md``; neither tells anything of the machine but its size and versions."""
    folder.mkdir(parents=True, exist_ok=True)
    name = outcome.benchmark.name
    (folder / f"{name}.json").write_text(json.dumps(as_json(outcome), indent=2) + "\n")
    path = folder / f"{name}.md"
    path.write_text(as_markdown(outcome))
    return path


def as_json(outcome: Outcome) -> dict[str, Any]:
    benchmark = outcome.benchmark
    return {
        "benchmark": benchmark.name,
        "cores": os.cpu_count(),
        "warmups": outcome.warmups,
        "python": platform.python_version(),
        "versions": dict(benchmark.versions),
        "facts": dict(benchmark.facts),
        "load_average": {"before": round(outcome.load_before, 2), "after": round(outcome.load_after, 2)},
        "queries": {
            query: {
                "rows": next(t.rows for t in outcome.timings if t.query == query),
                "systems": {
                    t.system: {"median": round(t.median, 4), "seconds": [round(s, 4) for s in t.seconds]}
                    for t in outcome.timings
                    if t.query == query
                },
                "ratios": {
                    r.name: round(value, 2) for r in benchmark.ratios if (value := outcome.ratio(query, r)) is not None
                },
            }
            for query in benchmark.queries
        },
        "notes": list(benchmark.notes),
    }


def as_markdown(outcome: Outcome) -> str:
    benchmark = outcome.benchmark
    runs = len(outcome.timings[0].seconds)
    lines = [f"# {benchmark.title}", "", benchmark.about.strip(), ""]
    lines += table(
        ["seconds", *benchmark.queries],
        [[s, *(_seconds(outcome.best(q, [s])) for q in benchmark.queries)] for s in benchmark.systems]
        + [["rows of the answer", *(f"{outcome.best(q, benchmark.systems).rows:,}" for q in benchmark.queries)]],
    )
    if benchmark.ratios:
        lines += ["", "Ratios of medians; if a side has two formulations, the faster one counts:", ""]
        lines += table(
            ["ratio", *benchmark.queries],
            [[r.name, *(_number(outcome.ratio(q, r)) for q in benchmark.queries)] for r in benchmark.ratios],
        )
    versions = ", ".join(f"{k} {v}" for k, v in benchmark.versions.items())
    lines += [
        "",
        f"Medians of {runs} interleaved runs after {outcome.warmups} warm-up runs, {os.cpu_count()} cores; "
        "answers that are compared were the same in every run.",
        f"Load average of the machine before and after: {outcome.load_before:.2f}, {outcome.load_after:.2f}.",
        f"Versions: {versions}, Python {platform.python_version()}.",
    ]
    lines += ["", *(f"- {note}" for note in benchmark.notes)] if benchmark.notes else []
    return "\n".join(lines) + "\n"


def table(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table whose first column is words and whose others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in body]


def _seconds(timing: Timing | None) -> str:
    return "" if timing is None else f"{timing.median:.2f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}" if value < 10 else f"{value:.1f}"
