"""The package's sources as its loader gives them, from a folder or a zip."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources.abc import Traversable


def sources(folder: Traversable, below: str = "") -> Iterator[tuple[str, bytes]]:
    """Modules in a folder and below it: path, with slashes, and content; in no order."""
    for entry in folder.iterdir():
        if entry.name.endswith(".py"):
            yield below + entry.name, entry.read_bytes()
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from sources(entry, f"{below}{entry.name}/")
