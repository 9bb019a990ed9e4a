"""Every public module, class, function, method and property says what its name cannot."""

from __future__ import annotations

import ast
import doctest
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import sparkcep

ROOT = Path(sparkcep.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


def undocumented(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, int]]:
    """Public definitions without a docstring, with their lines; what a function defines inside is its own affair."""
    for node in body:
        if isinstance(node, (ast.If, ast.Try)):
            blocks = [node.body, node.orelse]
            if isinstance(node, ast.Try):
                blocks += [node.finalbody, *(handler.body for handler in node.handlers)]
            for block in blocks:
                yield from undocumented(block, prefix)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) or node.name.startswith("_"):
            continue
        if not (ast.get_docstring(node) or "").strip() and not is_overload(node):
            yield prefix + node.name, node.lineno
        if isinstance(node, ast.ClassDef):
            yield from undocumented(node.body, f"{prefix}{node.name}.")


def is_overload(node: ast.stmt) -> bool:
    """Whether it only states a type of what is defined, and documented, behind it."""
    return isinstance(node, ast.FunctionDef) and any(ast.unparse(d).endswith("overload") for d in node.decorator_list)


def test_public_definitions_have_docstrings() -> None:
    assert len(FILES) > 300
    missing: list[str] = []
    for path in FILES:
        tree = ast.parse(path.read_text())
        name = path.relative_to(ROOT)
        if tree.body and ast.get_docstring(tree) is None:
            missing.append(f"{name}: the module")
        missing += [f"{name}:{line}: {definition}" for definition, line in undocumented(tree.body)]
    assert not missing, f"{len(missing)} without a docstring:\n" + "\n".join(missing)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("def f(): pass", ["f"]),
        ("def f(): 'Says.'", []),
        ("def f(): ' '", ["f"]),
        ("def _f(): pass", []),
        ("class A:\n  'Says.'\n  def f(self): pass\n  def _g(self): pass\n  def __len__(self): pass", ["A.f"]),
        ("class A:\n  @property\n  def f(self): pass", ["A", "A.f"]),
        ("class _A:\n  def f(self): pass", []),
        ("def f():\n  'Says.'\n  def g(): pass", []),
        ("if x:\n  def f(): pass\nelse:\n  async def g(): pass", ["f", "g"]),
        ("try:\n  def f(): pass\nexcept E:\n  class B: pass", ["f", "B"]),
        ("@overload\ndef f(x: int) -> int: ...\ndef f(x):\n  'Says.'", []),
    ],
)
def test_what_counts(text: str, names: list[str]) -> None:
    assert [name for name, _ in undocumented(ast.parse(text).body)] == names


#: Modules whose examples ask a Spark session.
WITH_SESSION = {"sparkcep", "sparkcep.index", "sparkcep.index.reader", "sparkcep.pictures"}


def with_examples() -> list[str]:
    """Modules that show what they do."""
    paths = [path.relative_to(ROOT.parent).with_suffix("") for path in FILES if ">>> " in path.read_text()]
    return [".".join(path.parts).removesuffix(".__init__") for path in paths]


@pytest.mark.parametrize("name", sorted({*with_examples()} - WITH_SESSION))
def test_examples_show_what_is_so(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted and not found.failed
