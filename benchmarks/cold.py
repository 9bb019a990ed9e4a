"""The first answer on a machine: nothing compiled, what the package ships, and everything compiled for this processor.

Each session is a process of its own over a copy of the package without caches, with an empty home. Spark is started
and has run a query of its own before the clock starts; *first* is a pattern query from its text to its rows, the
session's first of its engine, *again* the same one once more. CPU seconds are of the driver's Python, its JVM, the
workers and what they start. The speed of machine code is measured in processes that take turns, on prepared batches.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import sparkcep
from benchmarks.harness import RESULTS, cpu_seconds
from benchmarks.processes import children_seconds

PACKAGE = Path(sparkcep.__file__).parent
ROOT = PACKAGE.parent
ROUNDS = 5
LOG = (
    "(SELECT id DIV 10 AS c, id AS t, substr('ABC', 1 + CAST(id % 3 AS INT), 1) AS e, CAST(id * 7 % 11 AS INT) AS v "
    "FROM range(1000))"
)
_BLOCK = f"FROM {LOG} PARTITION BY c ORDER BY t EVENT TYPE e PATTERN "
#: A query of each engine, and of the kernels of one engine that are apart from each other.
QUERIES = {
    "rows": f"SELECT * FROM {LOG} MATCH_RECOGNIZE (PARTITION BY c ORDER BY t MEASURES A.t AS a, LAST(B.t) AS b "
    "PATTERN (A B+) DEFINE A AS e = 'A', B AS v > LAST(B.v, 1) OR e = 'B')",
    "runs": _BLOCK + "SEQ(A a, B+ b[], C c) EVENT SELECTION SKIP TILL ANY MATCH RETURN c.t AS found",
    "collapsed": _BLOCK + "SEQ(A a, B+ b[], C c) EVENT SELECTION SKIP TILL ANY MATCH COLLAPSED",
    "trends": f"FROM {LOG} ORDER BY t EVENT TYPE e PATTERN A S+ WHERE S.v > NEXT(S).v GROUP BY c "
    "RETURN c, COUNT(*) AS n",
    "uncertain": _BLOCK + "SEQ(A a, B b) UNCERTAINTY 1 EVENT SELECTION SKIP TILL ANY MATCH",
    "non-answers": _BLOCK + "SEQ(A a, B b, A d, A e) WITHIN 3 EXPLAIN NON ANSWERS (4, 2, 1)",
}  # fmt: skip
#: What one session runs. Non-answers need the kernel of runs, too, and so another session, where it is not there yet.
SESSIONS = (("rows", "runs", "collapsed", "trends", "uncertain"), ("non-answers",))
#: What there is before the first query: shipped kernels, and those that were compiled for this processor.
CONDITIONS = {"nothing": (False, False), "shipped": (True, False), "warm": (False, True)}


# -- the first answer --------------------------------------------------------------------------------------------------


def measured(engines: Sequence[str]) -> dict[str, dict[str, float]]:
    """Seconds and CPU seconds of each engine's first answer in this process, and of its second."""
    from sparkcep.session.machine.local import local_session

    spark = local_session("local[2]")
    spark.sql("SELECT id % 3 AS k, count(*) FROM range(1000) GROUP BY 1").collect()
    out: dict[str, dict[str, float]] = {engine: {} for engine in engines}
    for engine, times in out.items():
        for name in ("first", "again"):
            started, cpu = time.perf_counter(), children_seconds()
            assert spark.sql(QUERIES[engine]).collect()
            times[name], times[f"{name}_cpu"] = time.perf_counter() - started, children_seconds() - cpu
    return out


def _copied(folder: Path, shipped: Path | None, compiled: bool = False) -> Path:
    """The package as it is installed, with nothing compiled or with what was compiled here."""
    from sparkcep.exec.kernel_cache.places import places

    shutil.copytree(PACKAGE, folder / "sparkcep", ignore=shutil.ignore_patterns("__pycache__", "shipped"))
    if compiled:
        for place in reversed(places().read):
            kept = folder / "sparkcep" / "exec" / "kernels" / "__pycache__"
            shutil.copytree(place, kept, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.pyc", "*.lock"))
    if shipped is not None:
        shutil.copytree(shipped, folder / "sparkcep" / "exec" / "kernel_cache" / "shipped")
    return folder


def _child(argument: str, packages: Path, **environ: str) -> Any:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "SPARKCEP_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.cold", argument], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True,
        env={**inherited, "PYTHONPATH": f"{packages}:{ROOT}", "PYTHONSAFEPATH": "1", "PYSPARK_PYTHON": sys.executable,
             **environ},
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def first_answers(shipped: Path) -> Mapping[str, Mapping[str, Mapping[str, float]]]:
    out: dict[str, dict[str, Mapping[str, float]]] = {engine: {} for engine in QUERIES}
    for engines in SESSIONS:
        for condition, (ships, warmed) in CONDITIONS.items():
            with tempfile.TemporaryDirectory() as name:
                packages = _copied(Path(name), shipped if ships else None, warmed)
                home = packages / "home"
                home.mkdir()
                for engine, times in _child(",".join(engines), packages, HOME=str(home)).items():
                    out[engine][condition] = times
                    print(engine, condition, times, flush=True)
    return out


# -- the speed of machine code -----------------------------------------------------------------------------------------


def workloads() -> Mapping[str, Callable[[], object]]:
    """Work of each engine's kernels on prepared batches, some hundredths of a second each."""
    import numpy as np
    import pyarrow as pa

    from benchmarks import repair, runs, trends, uncertain
    from sparkcep.exec.batch import Batch
    from sparkcep.exec.conditions.condition_set import ConditionSet
    from sparkcep.exec.engines.non_answers.matcher import NonAnswers
    from sparkcep.exec.engines.non_answers.spec import Bound
    from sparkcep.exec.engines.rows.matcher import Matcher
    from sparkcep.exec.engines.rows.program import compile_pattern
    from sparkcep.exec.engines.rows.spec import MatchSpec
    from sparkcep.exec.engines.runs.matcher import RunMatcher
    from sparkcep.exec.engines.trends.matcher import TrendMatcher
    from sparkcep.expr.nodes import Call, Load, NavigationSlot
    from sparkcep.expr.types import BIGINT
    from sparkcep.pattern import Concatenation, Quantified, Variable
    from sparkcep.query import RowsPerMatch, Selection, SkipMode

    rng = np.random.default_rng(3)
    count = 1_000_000
    # A B+ C, B above A's value.
    navigation = (NavigationSlot(0, False, 0, 0, 0), NavigationSlot(1, False, 0, 0, 0))
    conditions = ConditionSet(
        {1: Call("<", (Load(0), Load(1)))}, navigation, (BIGINT,), (frozenset([0]), frozenset([1]))
    )
    pattern = Concatenation((Variable("A"), Quantified(Variable("B"), 1, None), Variable("C")))
    rows = Matcher(
        MatchSpec(
            program=compile_pattern(pattern), condition_bits={0: 0, 2: 1}, mask_words=1, use_within=False,
            rows_per_match=RowsPerMatch.ONE, skip=SkipMode.PAST_LAST_ROW, skip_labels=frozenset(), skip_target="",
            slots=(), slot_registers=(), every_row=False, conditions=conditions, ansi=True, limit_steps=10**12,
            limit_rows=10**9,
        )
    )  # fmt: skip
    values = Batch(
        np.arange(0, count + 1, 1000), [pa.array(rng.integers(0, 4, count))], [pa.array(rng.integers(0, 100, count))]
    )
    run = runs.spec(runs.TEMPLATE, Selection.ANY)
    stream = runs.batch(runs.stream(1000, 8, rng), 1000)
    matchers = {"runs": RunMatcher(run), "collapsed": RunMatcher(replace(run, collapsed=True))}
    ordered = trends.plan(trends.A_PLUS, (trends.APPROXIMATE,), (trends.falls("v"),))
    n = 100_000
    falling = trends.batch(ordered, np.ones(n, np.int64), rng.integers(0, 1_000_000, n))
    trend = TrendMatcher(ordered.engine.spec)
    imprecise = uncertain.matcher(uncertain.sequence(3), Selection.ANY, 100)
    pieces = list(uncertain.pieces(uncertain.stream(3, 50_000), 10))
    answers = NonAnswers(repair.repair_spec(5, (Bound(0, 1, None, 8), Bound(1, 2, 1, None))))
    cases = repair.batch_of(*repair.cases(5, 20, 5_000, rng))
    return {
        "rows": lambda: rows.match(values),
        **{name: lambda made=made: [None for _ in made.pieces(stream)] for name, made in matchers.items()},
        "trends": lambda: trend.aggregate(falling),
        "uncertain": lambda: [imprecise.match(piece) for piece in pieces],
        "non-answers": lambda: answers.explain(cases),
    }


def speeds(shipped: Path) -> Mapping[str, Mapping[str, float]]:
    """Median CPU seconds of each workload with native and with portable machine code, processes in turn."""
    took: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        packages = _copied(Path(name), shipped, compiled=True)
        for _ in range(ROUNDS):
            for choice in ("native", "portable"):
                for engine, seconds in _child("speed", packages, SPARKCEP_KERNELS=choice).items():
                    took.setdefault(engine, {}).setdefault(choice, []).append(seconds)
    return {e: {c: statistics.median(s) for c, s in by.items()} for e, by in took.items()}


# -- the page ----------------------------------------------------------------------------------------------------------


def page(found: Mapping[str, Any]) -> str:
    lines = [
        "# First answers", "",
        "Seconds of a pattern query from its text to its rows, the first one of its engine on a machine, in a Spark "
        "session that has run another query; *rows* and *non-answers* are the first of their sessions and start the "
        "workers. *nothing*: no kernel is compiled, and a process beside Spark begins; *shipped*: with the kernels "
        "that a wheel brings; *warm*: all compiled before, for this processor. CPU seconds are of the driver, its JVM, "
        "the workers and the compiler.",
        "",
        "| engine | nothing | CPU | shipped | CPU | warm | CPU | shipped above warm | CPU |",
        "|--|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]  # fmt: skip
    for engine, by in found["answers"].items():
        cells = [f"{by[c][key]:.1f}" for c in CONDITIONS for key in ("first", "first_cpu")]
        cells += [f"{by['shipped'][key] - by['warm'][key]:+.1f}" for key in ("first", "first_cpu")]
        lines.append(f"| {engine} | {' | '.join(cells)} |")
    lines += [
        "", f"Shipped kernels: {found['megabytes']:.1f} MB on disk, {found['zipped megabytes']:.1f} MB in a wheel, for "
        "each Python, system and kind of machine.",
    ]  # fmt: skip
    if found["speed"]:
        lines += [
            "", "CPU seconds of the kernels on prepared batches, medians of five processes each, in turn:", "",
            "| engine | native | portable | portable / native |", "|--|--:|--:|--:|",
            *(f"| {e} | {s['native']:.3f} | {s['portable']:.3f} | {s['portable'] / s['native']:.2f} |"
              for e, s in found["speed"].items()),
        ]  # fmt: skip
    low, high = min(found["load"]), max(found["load"])
    lines += ["", f"{found['versions']}, {found['cores']} cores under a load of {low:.0f} to {high:.0f}."]
    return "\n".join(lines) + "\n"


def main(quick: bool = False) -> None:
    from importlib.metadata import version

    found: dict[str, Any] = {
        "versions": f"Python {sys.version.split()[0]}, Numba {version('numba')}", "cores": os.cpu_count(),
        "load": [os.getloadavg()[0]],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        shipped = Path(name)
        for options in ([], ["--into", name]):
            subprocess.run([sys.executable, "-m", "sparkcep", "warmup", *options], check=True, cwd=ROOT)
        archive = Path(shutil.make_archive(f"{name}-kernels", "zip", name))
        found["zipped megabytes"] = archive.stat().st_size / 1e6
        archive.unlink()
        found["megabytes"] = sum(f.stat().st_size for f in shipped.rglob("*") if f.is_file()) / 1e6
        found["answers"] = first_answers(shipped)
        found["load"].append(os.getloadavg()[0])
        found["speed"] = {} if quick else speeds(shipped)
    found["load"].append(os.getloadavg()[0])
    print(page(found))
    if not quick:
        (RESULTS / "cold.md").write_text(page(found))
        (RESULTS / "cold.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "speed":
        print(json.dumps({name: cpu_seconds(work, 3) for name, work in workloads().items()}))
    else:
        print(json.dumps(measured(sys.argv[1].split(","))))
