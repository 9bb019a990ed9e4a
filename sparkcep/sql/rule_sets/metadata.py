"""What a rule says of itself in the comment above it: `-- title: Brute force`, a line for each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sparkcep.errors import PatternAnalysisError
from sparkcep.sql.rule_sets.rule import Rule

#: Columns of a catalogue of rules, which ``Metadata.row`` gives.
CATALOGUE = (
    "rule STRING, title STRING, id STRING, level STRING, tags ARRAY<STRING>, references ARRAY<STRING>, owner STRING, "
    "enabled BOOLEAN, suppress STRING, text STRING"
)
#: Keys that may have several values, in one line or in several.
LISTS = ("tags", "references")
_KEYS = ("title", "id", "level", *LISTS, "owner", "enabled", "suppress")
#: Blanks and comments, which a rule begins with.
_COMMENT = re.compile(r"\s+|--(?P<line>[^\n]*)|/\*.*?\*/", re.DOTALL)
_LINE = re.compile(rf"\s*(?P<key>{'|'.join(_KEYS)})\s*:\s*(?P<value>.*?)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Metadata:
    """``title``, ``id``, ``level``, ``owner``, ``suppress``: texts, None where the comment has no such line.
    ``enabled``: whether the rule runs. ``place``: where the value of ``suppress`` begins in the rule's text."""

    title: str | None = None
    id: str | None = None
    level: str | None = None
    tags: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    owner: str | None = None
    enabled: bool = True
    suppress: str | None = None
    place: int = 0

    def row(self, rule: Rule) -> tuple[object, ...]:
        """Values of :data:`CATALOGUE`."""
        lists = list(self.tags), list(self.references)
        said = self.title, self.id, self.level, *lists, self.owner, self.enabled, self.suppress
        return rule.name, *said, rule.text


def read_metadata(rule: Rule) -> Metadata:
    """The lines above a rule; all other comments are none of its business.

    Raises:
        PatternAnalysisError: CEP_RULE_METADATA, two lines say the same, or `enabled` is neither true nor false.
    """
    texts: dict[str, str] = {}
    lists: dict[str, tuple[str, ...]] = {}
    place = 0
    for key, value, at in _lines(rule.text):
        if key in LISTS:
            items = value.removeprefix("[").removesuffix("]").split(",")
            lists[key] = (*lists.get(key, ()), *(item.strip(" \t'\"") for item in items if item.strip()))
            continue
        if key in texts:
            raise _refused(rule, f"The rule has two lines that say its {key}.", at, "leave one of them")
        texts[key] = value
        place = at if key == "suppress" else place
        if key == "enabled" and value.lower() not in ("true", "false"):
            raise _refused(rule, f"A rule is enabled or not; {value!r} is neither.", at, "-- enabled: false")
    enabled = texts.pop("enabled", "true").lower() == "true"
    return Metadata(**texts, **lists, enabled=enabled, place=place)  # type: ignore[arg-type]


def _lines(text: str) -> Iterator[tuple[str, str, int]]:
    """Keys and values in the comments that a text begins with, and where each value begins."""
    at = 0
    while (comment := _COMMENT.match(text, at)) is not None:
        at = comment.end()
        if (line := _LINE.fullmatch(comment["line"] or "")) is not None:
            yield line["key"].lower(), line["value"], comment.start("line") + line.start("value")


def _refused(rule: Rule, sentence: str, place: int, hint: str) -> PatternAnalysisError:
    """CEP_RULE_METADATA; the caller raises it."""
    return PatternAnalysisError("CEP_RULE_METADATA", sentence, text=rule.text, position=place, hint=hint)
