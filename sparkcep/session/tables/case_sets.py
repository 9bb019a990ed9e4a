"""What a version knows of the cases that lie in files of the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CaseSet:
    """Cases in a directory. ``files``: those that they lay in; ``by_file``: whether it says which in which."""

    files: tuple[str, ...]
    by_file: bool = False


#: Sets by their directory below `_cases`, the oldest first.
CaseSets = Mapping[str, CaseSet]
