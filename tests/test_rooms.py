"""The arrows between the rooms (docs/architecture.md): who may import whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import sparkcep

ROOT = Path(sparkcep.__file__).parent
#: Of each place: what no module in it may import, also not inside of functions or for types alone.
FORBIDDEN = {
    "pattern.py": ("sparkcep", "pyspark", "sqlglot"),
    "query": ("sparkcep.sql", "sparkcep.planner", "sparkcep.exec", "sparkcep.index", "pyspark", "sqlglot"),
    "expr": (
        "sparkcep.sql",
        "sparkcep.planner",
        "sparkcep.session",
        "sparkcep.index",
        "sparkcep.cli",
        "pyspark",
        "sqlglot",
    ),
    "sql": ("sparkcep.planner", "sparkcep.exec", "sparkcep.index", "sparkcep.session", "sparkcep.cli", "pyspark"),
    "planner": ("sparkcep.session", "sparkcep.index", "sparkcep.cli", "pyspark"),
    "exec": ("sparkcep.sql", "sparkcep.planner", "sparkcep.session", "sparkcep.index", "sparkcep.cli", "sqlglot"),
    "exec/kernels": ("pyspark", "pyarrow", "sparkcep.errors"),
    "lineage": ("sparkcep.planner", "sparkcep.session", "sparkcep.cli"),
    "spark": tuple(f"sparkcep.{room}" for room in ("sql", "planner", "exec", "index", "session", "lineage", "cli")),
    "pictures": ("sparkcep.exec", "sparkcep.cli", "sqlglot"),
    "pictures/layout.py": ("sparkcep.planner", "sparkcep.session", "sparkcep.index", "pyspark"),
    "index": ("sparkcep.sql", "sparkcep.session", "sparkcep.cli", "sqlglot"),
    "session": ("sparkcep.cli", "sparkcep.data"),
    "importers": ("sparkcep.planner", "sparkcep.exec", "sparkcep.index", "sparkcep.session", "sparkcep.cli", "pyspark"),
    "data": ("sparkcep.cli", "sparkcep.planner", "sparkcep.exec", "sparkcep.index"),
}


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Modules that a file imports, with lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, node.lineno
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


@pytest.mark.parametrize("place", FORBIDDEN)
def test_arrows(place: str) -> None:
    files = sorted((ROOT / place).rglob("*.py")) if (ROOT / place).is_dir() else [ROOT / place]
    assert files
    wrong = {
        f"{file.relative_to(ROOT)}:{line} imports {module}"
        for file in files
        for module, line in imported(file)
        if any(module == f or module.startswith(f + ".") for f in FORBIDDEN[place])
    }
    assert not wrong, "\n".join(sorted(wrong))


def graph_of(names: dict[str, Path]) -> dict[str, set[str]]:
    """Which of some modules each imports."""
    return {name: {m for m, _ in imported(path) if m in names and m != name} for name, path in names.items()}


def reached(graph: dict[str, set[str]], start: str) -> set[str]:
    """The modules that one imports, and those import."""
    seen: set[str] = set()
    todo = [start]
    while todo:
        for found in graph[todo.pop()] - seen:
            seen.add(found)
            todo.append(found)
    return seen


NAMES = {
    ".".join(p.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): p for p in ROOT.rglob("*.py")
}


def test_no_circle_of_imports() -> None:
    """Not even inside of functions or for types alone: what two modules share stands in a third."""
    # A package is imported with each of its modules, which says nothing about what these need of it.
    graph = {name: {m for m in found if not name.startswith(m + ".")} for name, found in graph_of(NAMES).items()}
    for found in graph.values():
        found -= {m for m in found if any(other.startswith(m + ".") for other in found)}
    assert sorted(name for name in graph if name in reached(graph, name)) == []


def test_no_module_needs_the_facade_that_imports_it() -> None:
    users = {
        name
        for name, path in NAMES.items()
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Import) and any(alias.name == "sparkcep" for alias in node.names))
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "sparkcep"
            and any(f"sparkcep.{alias.name}" not in NAMES for alias in node.names)
        )
    }
    assert sorted(users & reached(graph_of(NAMES), "sparkcep")) == []


def test_what_is_imported_from_the_package_exists() -> None:
    """Of the dbt plugin, benchmarks and tools too, which import late or are not run by the tests."""
    missing = {
        f"{file.relative_to(ROOT.parent)}:{node.lineno} imports {node.module}"
        for folder in ("sparkcep", "dbt_sparkcep", "benchmarks", "docs_tools", "tests")
        for file in (ROOT.parent / folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sparkcep.") and node.module not in NAMES
    }
    assert not missing, "\n".join(sorted(missing))


def test_the_top_of_the_package_is_small() -> None:
    assert len(list(ROOT.glob("*.py"))) <= 8
