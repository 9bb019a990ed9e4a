"""What a package index will show: addresses, and a README whose links lead somewhere."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import sparkcep

ROOT = Path(__file__).parents[1]


def test_links_of_the_readme() -> None:
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    readme = (ROOT / "README.md").read_text()
    links = [m[2] for m in module._RELATIVE.finditer(readme)]
    missing = [link for link in links if not (ROOT / link.partition("#")[0]).exists()]
    assert links
    assert not missing
    shown = module.absolute(readme, "https://example.org/o/n", "1.2.3")
    assert not module._RELATIVE.search(shown)
    assert "](https://example.org/o/n/blob/v1.2.3/docs/language.md)" in shown


def test_one_version() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert cited[1] == sparkcep.__version__


def test_what_all_brings() -> None:
    """Extras that others are made of exist."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {n for items in extras.values() for item in items for m in re.findall(r"sparkcep\[([\w,]+)\]", item)
             for n in m.split(",")}  # fmt: skip
    assert named <= set(extras)
