"""Sigma's .yml files, whose correlations may name rules of other files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from sigma.collection import SigmaCollection
from sigma.correlations import SigmaCorrelationRule, SigmaRuleReference
from sigma.exceptions import SigmaError
from sigma.processing.pipeline import ProcessingPipeline
from yaml import YAMLError

from sparkcep.importers.event_schema import EventSchema
from sparkcep.importers.folder import Source, files_in
from sparkcep.importers.problems import NotImported
from sparkcep.importers.rule_text import ImportedRule
from sparkcep.importers.sigma.rule import AnyRule, import_sigma


def sigma_source(folder: Path, pipeline: Path | None) -> Source:
    """A folder of Sigma's files. Rules that a correlation names are left out, unless it says `generate`.

    Args:
        pipeline: a file of pySigma's that says how fields are called in the log.

    Raises:
        SparkCepError: CEP_RULES.
    """
    mapped = None if pipeline is None else ProcessingPipeline.from_yaml(pipeline.read_text("utf-8"))
    files = {file: _read(file, mapped) for file in files_in(folder, (".yml", ".yaml"))}
    readable = [rules for rules in files.values() if not isinstance(rules, str)]
    everywhere = _collection([rule for rules in readable for rule in rules])
    needed = {id(rule) for rules in readable for rule in _needed(rules, everywhere)}
    taken: set[str] = set()

    def name(rule: AnyRule, file: Path, number: int) -> str:
        of_file = file.stem if number == 1 else f"{file.stem}_{number}"
        found = rule.name if rule.name and rule.name.casefold() not in taken else of_file
        taken.add(found.casefold())
        return found

    def read(file: Path, schema: EventSchema) -> list[Callable[[], ImportedRule]]:
        found = files[file]
        if isinstance(found, str):
            raise NotImported(found)
        shown = [rule for rule in found if id(rule) not in needed]
        return [partial(import_sigma, name(rule, file, n), rule, schema) for n, rule in enumerate(shown, 1)]

    return Source(list(files), read)


def _read(file: Path, pipeline: ProcessingPipeline | None) -> list[AnyRule] | str:
    """The rules of a file, with fields as the log calls them; or what is wrong with it."""
    try:
        rules = SigmaCollection.from_yaml(file.read_text("utf-8"), resolve_references=False).rules
        if pipeline is not None:
            for rule in rules:
                pipeline.apply(rule)
    except (SigmaError, YAMLError, OSError, UnicodeDecodeError) as error:
        return " ".join(str(error).split())
    return rules


def _collection(rules: list[AnyRule]) -> SigmaCollection:
    return SigmaCollection(list(rules), resolve_references=False)


def _needed(rules: list[AnyRule], everywhere: SigmaCollection) -> Iterator[AnyRule]:
    """The rules that a file's correlations name, which are found on the way, if they are not to come out as well."""
    own = _collection(rules)
    for rule in rules:
        if isinstance(rule, SigmaCorrelationRule):
            for reference in rule.rules or ():
                _resolve(reference, own, everywhere)
                if not rule.generate and hasattr(reference, "rule"):
                    yield reference.rule


def _resolve(reference: SigmaRuleReference, *collections: SigmaCollection) -> None:
    """Find the rule that a correlation names, in its own file first; it stays as it is where there is none."""
    for collection in collections:
        with suppress(SigmaError):
            reference.resolve(collection)
            return
