"""A folder of another system's rules, as a folder of rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparkcep.errors import SparkCepError
from sparkcep.importers.event_schema import EventSchema
from sparkcep.importers.problems import NotImported
from sparkcep.importers.rule_text import ImportedRule

#: Gives the rules of a file; see :func:`sparkcep.importers.eql.files.import_file`.
ReadFile = Callable[[Path, EventSchema], Sequence[ImportedRule]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a rule in a ``file``: the rule, or why there is none."""

    file: Path
    rule: ImportedRule | None
    refused: str = ""


def import_folder(folder: Path, suffixes: Sequence[str], read: ReadFile, schema: EventSchema) -> list[Outcome]:
    """Import the files of a folder and those in it, in the order of their names.

    Args:
        suffixes: of the files. read: one of them.

    Raises:
        SparkCepError: CEP_RULES, there is no such folder, or no such file in it.
    """
    if not folder.is_dir():
        raise SparkCepError("CEP_RULES", f"There is not a folder {folder}.")
    files = sorted(file for file in folder.rglob("*") if file.suffix in suffixes and file.is_file())
    if not files:
        raise SparkCepError("CEP_RULES", f"There is no file in {folder} that ends with {' or '.join(suffixes)}.")
    out: list[Outcome] = []
    names: set[str] = set()
    for file in files:
        try:
            rules = read(file, schema)
        except NotImported as why:
            out.append(Outcome(file, None, str(why)))
            continue
        except SparkCepError as error:
            out.append(Outcome(file, None, str(error)))
            continue
        for rule in rules:
            is_new = rule.name.casefold() not in names
            names.add(rule.name.casefold())
            out.append(Outcome(file, rule if is_new else None, "" if is_new else f"another rule is called {rule.name}"))
    return out
