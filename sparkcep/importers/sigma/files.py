"""Sigma's .yml files, whose correlations may name rules of other files."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from sigma.collection import SigmaCollection
from sigma.correlations import SigmaCorrelationRule, SigmaRuleReference
from sigma.exceptions import SigmaError
from sigma.processing.pipeline import ProcessingPipeline
from sigma.rule import SigmaRule
from yaml import YAMLError

from sparkcep.importers.event_schema import EventSchema
from sparkcep.importers.folder import Source, files_in
from sparkcep.importers.problems import NotImported
from sparkcep.importers.rule_text import ImportedRule
from sparkcep.importers.sigma.rule import import_sigma


def sigma_source(folder: Path, pipeline: Path | None) -> Source:
    """A folder of Sigma's files. Rules that a correlation names are left out, unless it says `generate`.

    Args:
        pipeline: a file of pySigma's that says how fields are called in the log.

    Raises:
        SparkCepError: CEP_RULES.
    """
    mapped = None if pipeline is None else ProcessingPipeline.from_yaml(pipeline.read_text("utf-8"))
    files: dict[Path, list[SigmaRule | SigmaCorrelationRule] | str] = {}
    for file in files_in(folder, (".yml", ".yaml")):
        try:
            rules = SigmaCollection.from_yaml(file.read_text("utf-8"), resolve_references=False).rules
            if mapped is not None:
                for rule in rules:
                    mapped.apply(rule)
            files[file] = list(rules)
        except (SigmaError, YAMLError, OSError, UnicodeDecodeError) as error:
            files[file] = " ".join(str(error).split())
    known = [rule for rules in files.values() if not isinstance(rules, str) for rule in rules]
    collection = SigmaCollection(list(known), resolve_references=False)
    needed: set[int] = set()
    for rules in (rules for rules in files.values() if not isinstance(rules, str)):
        own = SigmaCollection(list(rules), resolve_references=False)
        for rule in (rule for rule in rules if isinstance(rule, SigmaCorrelationRule)):
            for reference in rule.rules or ():
                _resolve(reference, own, collection)
            needed |= set() if rule.generate else {id(r.rule) for r in rule.rules or () if hasattr(r, "rule")}
    taken: set[str] = set()

    def name(rule: SigmaRule | SigmaCorrelationRule, file: Path, number: int) -> str:
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


def _resolve(reference: SigmaRuleReference, *collections: SigmaCollection) -> None:
    """Find the rule that a correlation names, in its own file first; it stays as it is where there is none."""
    for collection in collections:
        with suppress(SigmaError):
            reference.resolve(collection)
            return
