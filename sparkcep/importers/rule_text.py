"""The text of a rule that an importer writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sparkcep.sql.rule_sets.metadata import LISTS


@dataclass(frozen=True, slots=True)
class ImportedRule:
    """``body``: the block. ``metadata``: lines of the comment above it, of which lists have several values.
    ``warnings``: what the rule does otherwise than the one it was made from."""

    name: str
    body: str
    metadata: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def text(self) -> str:
        """The text of the rule's file."""
        lines = []
        for key, value in self.metadata.items():
            items = [value] if isinstance(value, str) else map(str, value)
            said = ", ".join(_line(item.replace(",", " ") if key in LISTS else item) for item in items)
            lines += [f"-- {key}: {said}"] if said else []
        lines += [f"-- Not as in the original: {_line(warning)}." for warning in self.warnings]
        return "\n".join([*lines, self.body, ""])


def block(keys: Sequence[str], pattern: str, conditions: Sequence[str], behind: Sequence[str]) -> str:
    """The text of a block. ``behind``: clauses behind WHERE."""
    lines = [f"PARTITION BY {', '.join(keys)}"] if keys else []
    lines.append(f"PATTERN {pattern}")
    lines += ["WHERE " + "\n  AND ".join(conditions)] if conditions else []
    return "\n".join([*lines, *behind])


def _line(text: str) -> str:
    return " ".join(text.split()).rstrip("\\")  # behind a backslash Spark goes on with the comment
