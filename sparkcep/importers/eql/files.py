"""EQL queries in files: `.eql`, the query alone, and `.toml`, as Elastic publishes its detection rules."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sparkcep.importers.eql.rule import import_eql
from sparkcep.importers.event_schema import EventSchema
from sparkcep.importers.folder import Source, files_in
from sparkcep.importers.problems import NotImported
from sparkcep.importers.rule_text import ImportedRule


def eql_source(folder: Path, *, every_start: bool) -> Source:
    """A folder of EQL; see :func:`import_eql`.

    Raises:
        SparkCepError: CEP_RULES.
    """
    return Source(files_in(folder, (".eql", ".toml")), partial(read_file, every_start=every_start))


def read_file(file: Path, schema: EventSchema, *, every_start: bool) -> list[Callable[[], ImportedRule]]:
    """What makes the rule of a file; nothing where it holds a rule of another language.

    Args:
        schema, every_start: see :func:`import_eql`.

    Raises:
        NotImported: the file cannot be read.
    """
    try:
        text = file.read_text("utf-8-sig")
        rule = {"language": "eql", "query": text} if file.suffix == ".eql" else tomllib.loads(text).get("rule", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise NotImported(f"a file that cannot be read: {error}") from None
    if not isinstance(rule, dict) or not isinstance(rule.get("query", ""), str):
        raise NotImported("a file without a rule")

    def make() -> ImportedRule:
        imported = import_eql(file.stem, rule.get("query", ""), schema, every_start=every_start)
        return replace(imported, metadata=_metadata(rule))

    return [make] if rule.get("language") == "eql" else []


def _metadata(rule: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """What Elastic's rule says of itself; tactics and techniques of MITRE ATT&CK as Sigma's tags spell them."""
    tags: list[object] = []
    for threat in _tables(rule.get("threat")):
        tags += [tactic.get("name") for tactic in _tables([threat.get("tactic")])]
        for technique in _tables(threat.get("technique")):
            tags += [technique.get("id"), *(sub.get("id") for sub in _tables(technique.get("subtechnique")))]
    author, references = rule.get("author", ""), rule.get("references", [])
    return {
        "title": str(rule.get("name", "")),
        "id": str(rule.get("rule_id", "")),
        "level": str(rule.get("severity", "")),
        "tags": [f"attack.{str(tag).lower().replace(' ', '_')}" for tag in dict.fromkeys(tags) if tag],
        "references": references if isinstance(references, list) else str(references),
        "owner": ", ".join(map(str, author)) if isinstance(author, list) else str(author),
    }


def _tables(value: object) -> list[dict[str, Any]]:
    """The tables of a list, if it is one."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
