"""A folder of another system's rules, as a folder of rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparkcep.errors import SparkCepError
from sparkcep.importers.event_schema import EventSchema
from sparkcep.importers.problems import NotImported
from sparkcep.importers.rule_text import ImportedRule

#: Gives what makes each rule of a file; both may raise NotImported, or an error of the file's text.
ReadFile = Callable[[Path, EventSchema], Sequence[Callable[[], ImportedRule]]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a rule in a ``file``: the rule, or why there is none."""

    file: Path
    rule: ImportedRule | None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """Files to import, in their order, and what reads one of them."""

    files: Sequence[Path]
    read: ReadFile


def files_in(folder: Path, suffixes: Sequence[str]) -> list[Path]:
    """Files of a folder and those in it, in the order of their names.

    Raises:
        SparkCepError: CEP_RULES, there is no such folder, or no file in it with one of the suffixes.
    """
    if not folder.is_dir():
        raise SparkCepError("CEP_RULES", f"There is not a folder {folder}.")
    files = sorted(file for file in folder.rglob("*") if file.suffix in suffixes and file.is_file())
    if not files:
        raise SparkCepError("CEP_RULES", f"There is no file in {folder} that ends with {' or '.join(suffixes)}.")
    return files


def import_folder(source: Source, schema: EventSchema) -> list[Outcome]:
    """Import all rules."""
    out: list[Outcome] = []
    names: set[str] = set()
    for file in source.files:
        for rule in _rules(file, source.read, schema):
            if isinstance(rule, str):
                out.append(Outcome(file, None, rule))
            elif rule.name.casefold() in names:
                out.append(Outcome(file, None, f"another rule is called {rule.name}"))
            else:
                names.add(rule.name.casefold())
                out.append(Outcome(file, rule))
    return out


def _rules(file: Path, read: ReadFile, schema: EventSchema) -> Iterator[ImportedRule | str]:
    """Rules of a file, or why they are none."""
    try:
        makers = read(file, schema)
    except (NotImported, SparkCepError) as error:
        yield str(error)
        return
    for make in makers:
        try:
            yield make()
        except (NotImported, SparkCepError) as error:
            yield str(error)
        except RecursionError:
            yield "a condition that is nested too deeply"
