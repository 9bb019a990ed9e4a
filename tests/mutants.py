"""How many random faults do the tests find? Each is a changed comparison, constant or branch in a copy of the project.

python -m tests.mutants 200 SEED    prints what no test finds, and at the end how many were found, by folder

Faults go through the tests that are fastest for their folder first; what these miss goes through slower ones.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[1]
TIER = "not long and not full and not compiled"
#: Tests by the folder of a fault, the fastest first; those of SQL, which need Spark, last.
TEXTS = "tests/plans tests/planner tests/parsing"
STAGES = {
    "sparkcep/planner": [TEXTS, "tests/sql"],
    "sparkcep/sql": [TEXTS, "tests/sql"],
    "sparkcep/exec/engines": ["tests/exec", TEXTS, "tests/sql"],
}
#: Seconds after which a test counts as one that fails: it hangs.
MOST = 60

_OPERATORS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """A place in a file, and what stands there instead."""

    file: Path
    line: int
    start: int
    end: int
    was: str
    now: str

    def applied(self, text: str) -> str:
        return text[: self.start] + self.now + text[self.end :]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.was} -> {self.now}"


def faults(file: Path) -> Iterator[Fault]:
    """All faults that a file can have."""
    text = (ROOT / file).read_text()
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line.encode()))
    octets = text.encode()
    for node, changed in _changes(ast.parse(text)):
        low, high = lines[node.lineno - 1] + node.col_offset, lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        start, end = len(octets[:low].decode()), len(octets[:high].decode())
        yield Fault(file, node.lineno, start, end, text[start:end], f"({ast.unparse(changed)})")  # type: ignore[attr-defined]


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Expressions below a node, and what they become."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        operator = _OPERATORS[type(node.ops[0])]()
        yield node, ast.Compare(node.left, [operator], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield node, ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.If | ast.IfExp | ast.While):
        yield node.test, ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield node, ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield node, ast.Constant(node.value + 1)
    # Types and decorators run nothing that a test could find; the places of what f-strings hold are not known.
    skipped = {"annotation", "returns", "decorator_list"}
    for name, value in ast.iter_fields(node):
        if name in skipped or isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _changes(child)


def drawn(count: int, seed: str) -> list[Fault]:
    """Random faults of all folders."""
    found = [
        fault for folder in STAGES for file in sorted((ROOT / folder).rglob("*.py"))
        for fault in faults(file.relative_to(ROOT))
    ]  # fmt: skip
    return Random(seed).sample(found, count)


def stages_of(fault: Fault) -> list[str]:
    return next(stages for folder, stages in STAGES.items() if str(fault.file).startswith(folder))


def fail(copy: Path, tests: str) -> bool:
    """Whether tests fail over the copy, or do not end."""
    environment = {
        **os.environ, "PYTHONPATH": str(copy), "NUMBA_DISABLE_JIT": "1", "SPARKCEP_TEST_CODEGEN": "off",
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:warnings", "--timeout", str(MOST), "-m", TIER]
    command = [sys.executable, "-m", "pytest", *options, *tests.split()]
    try:
        done = subprocess.run(command, check=False, cwd=copy, env=environment, capture_output=True, timeout=15 * MOST)
    except subprocess.TimeoutExpired:  # while tests are collected
        return True
    return done.returncode != 0


def fail_with(fault: Fault, copy: Path, tests: str) -> bool:
    """Whether tests fail over the copy once it has the fault."""
    file = copy / fault.file
    text = file.read_text()
    file.write_text(fault.applied(text))
    try:
        return fail(copy, tests)
    finally:
        file.write_text(text)


def main() -> None:
    count, seed = int(sys.argv[1]), sys.argv[2]
    results: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "__pycache__", "benchmarks", "site"))
        for tests in sorted({tests for stages in STAGES.values() for tests in stages}):
            if fail(copy, tests):
                sys.exit(f"{tests} fail without a fault")
        left = [(fault, stages_of(fault)) for fault in drawn(count, seed)]
        # What no test of a stage finds goes on to the next one, once all have been through this one.
        while left:
            missed = []
            for fault, (tests, *slower) in left:
                started = time.monotonic()
                found = fail_with(fault, copy, tests)
                print(
                    f"{time.monotonic() - started:.0f} s {tests} {'found' if found else 'MISSED'} {fault}", flush=True
                )
                if found or not slower:
                    results[str(fault.file.parent), f"found by {tests}" if found else "not found"] += 1
                else:
                    missed.append((fault, slower))
            left = missed
    for (where, what), n in sorted(results.items()):
        print(f"{where}: {n} {what}")
    print(f"{count - sum(n for (_, what), n in results.items() if what == 'not found')} of {count} found")


if __name__ == "__main__":
    main()
