"""A Sigma rule as a pattern of one event, a correlation as one of several (Sigma's specification, "Correlation")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sigma.conditions import ConditionOR
from sigma.correlations import (
    SigmaCorrelationCondition,
    SigmaCorrelationConditionOperator,
    SigmaCorrelationRule,
    SigmaCorrelationType,
)
from sigma.exceptions import SigmaError
from sigma.rule import SigmaRule

from sparkcep.importers.event_schema import EventSchema
from sparkcep.importers.problems import NotImported
from sparkcep.importers.rule_text import ImportedRule, block
from sparkcep.importers.sigma.conditions import Conditions, column_of

AnyRule = SigmaRule | SigmaCorrelationRule
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks", "M": "months", "y": "years"}
_LEAST = {SigmaCorrelationConditionOperator.GTE: 0, SigmaCorrelationConditionOperator.GT: 1}


def import_sigma(name: str, rule: AnyRule, schema: EventSchema) -> ImportedRule:
    """A rule from a Sigma rule, or from a correlation whose references are resolved.

    Args:
        name: of the rule. schema: the log's columns.

    Raises:
        NotImported: it has no counterpart.
    """
    importer = _Importer(schema)
    try:
        body = importer.correlation(rule) if isinstance(rule, SigmaCorrelationRule) else importer.detection(rule)
    except SigmaError as error:  # of conditions, which are read where they are asked for
        raise NotImported(" ".join(str(error).split())) from None
    metadata: dict[str, str | list[str]] = {
        "title": rule.title, "id": str(rule.id or ""), "level": str(rule.level or "").lower(),
        "tags": [str(tag) for tag in rule.tags], "references": list(rule.references), "owner": rule.author or "",
    }  # fmt: skip
    return ImportedRule(name, body, metadata, tuple(importer.warnings))


@dataclass(slots=True)
class _Importer:
    schema: EventSchema
    warnings: list[str] = field(default_factory=list)

    def detection(self, rule: SigmaRule) -> str:
        """A pattern of one event."""
        return block([], "SEQ(ANY e)", self.conditions([rule], "e"), [])

    def conditions(self, rules: Sequence[SigmaRule], variable: str) -> list[str]:
        """Conditions on an event that fits one of some rules."""
        trees = [condition.parsed for rule in rules for condition in rule.detection.parsed_condition]
        writer = Conditions(self.schema, variable)
        return writer.conjuncts(trees[0]) if len(trees) == 1 else [writer.condition(ConditionOR(trees))[0]]

    def correlation(self, rule: SigmaCorrelationRule) -> str:
        """A pattern of several events.

        Raises:
            NotImported: see :func:`import_sigma`.
        """
        rules, least = _rules(rule), _least(rule)
        if rule.type in (SigmaCorrelationType.TEMPORAL, SigmaCorrelationType.TEMPORAL_ORDERED):
            return self.temporal(rule, rules, least)
        if len(rule.aliases):
            raise NotImported("aliases in a correlation that counts")
        plain = _plain(rules)
        of_all = self.conditions(plain, "e[i]")
        keys = [self.key(name) for name in rule.group_by or ()]
        given = [f"e[i].{key} IS NOT NULL" for key in keys]
        if rule.type is SigmaCorrelationType.EVENT_COUNT:
            return block(keys, f"SEQ(ANY{{{int(least)}}} e[])", [*of_all, *given], [_within(rule), _EACH])
        return block(keys, "SEQ(ANY+ e[])", [*of_all, *given, self.aggregate(rule)], [_within(rule), _EACH])

    def aggregate(self, rule: SigmaCorrelationRule) -> str:
        """What value_count and value_sum demand of all events.

        Raises:
            NotImported: a type that looks at all events of a time, also at those that lower its value.
        """
        condition = rule.condition
        assert isinstance(condition, SigmaCorrelationCondition)
        fields = [condition.fieldref] if isinstance(condition.fieldref, str) else list(condition.fieldref or ())
        function = {SigmaCorrelationType.VALUE_COUNT: "count(DISTINCT {})", SigmaCorrelationType.VALUE_SUM: "sum({})"}
        if rule.type not in function or len(fields) != 1:
            raise NotImported(f"the type {rule.type.name.lower()}")
        sign = ">=" if condition.op is SigmaCorrelationConditionOperator.GTE else ">"
        return f"{function[rule.type].format(f'e[].{self.key(fields[0])}')} {sign} {condition.count}"

    def temporal(self, rule: SigmaCorrelationRule, rules: Sequence[AnyRule], least: float) -> str:
        """One event of each rule, in their order or in any; several of one that counts events."""
        if least != len(rules):
            raise NotImported("a condition on how many of its rules fit")
        is_ordered = rule.type is SigmaCorrelationType.TEMPORAL_ORDERED
        variables = [f"e{n}" for n in range(1, len(rules) + 1)]
        components, conditions = [], []
        for variable, one in zip(variables, rules, strict=True):
            if isinstance(one, SigmaRule):
                components.append(f"ANY {variable}")
                conditions += self.conditions([one], variable)
            else:
                components.append(f"ANY{{{self.counted(rule, one, is_ordered)}}} {variable}[]")
                conditions += self.conditions(_plain(_rules(one)), f"{variable}[i]")
        aliases = {alias.alias: {r.reference: name for r, name in alias.mapping.items()} for alias in rule.aliases}
        keys = [self.key(name) for name in rule.group_by or () if name not in aliases]
        for name in rule.group_by or ():
            if name in aliases:
                own = [self.key(aliases[name].get(r.reference, name)) for r in rule.rules or ()]
                conditions += [f"{v}.{k} = e1.{own[0]}" for v, k in zip(variables[1:], own[1:], strict=True)]
        first = "e1" if isinstance(rules[0], SigmaRule) else "e1[i]"
        conditions += [f"{first}.{key} IS NOT NULL" for key in keys]
        self.warnings.append("an event that fits two of its rules takes the place of one")
        pattern = f"{'SEQ' if is_ordered else 'PERMUTE'}({', '.join(components)})"
        return block(keys, pattern, conditions, [_within(rule), _EACH])

    def counted(self, rule: SigmaCorrelationRule, inner: SigmaCorrelationRule, is_ordered: bool) -> int:
        """How many events a correlation takes that is part of another one.

        Raises:
            NotImported: it is another one than of events that are counted by the same keys.
        """
        alike = inner.type is SigmaCorrelationType.EVENT_COUNT and inner.group_by == rule.group_by
        if not alike or not is_ordered or len(rule.aliases) or len(inner.aliases):
            raise NotImported("a correlation of correlations")
        if inner.timespan.seconds < rule.timespan.seconds:
            self.warnings.append(f"what {inner.title} counts may take {rule.timespan.spec}, not {inner.timespan.spec}")
        return int(_least(inner))

    def key(self, name: str) -> str:
        """A field that groups or is counted."""
        return column_of(self.schema, name).sql


_EACH = "MATCHES NON OVERLAPPING"


def _rules(rule: SigmaCorrelationRule) -> list[AnyRule]:
    """The rules that a correlation names."""
    missing = [reference.reference for reference in rule.rules or () if not hasattr(reference, "rule")]
    if missing:
        raise NotImported(f"a correlation of {', '.join(missing)}, which is not among the files")
    return [reference.rule for reference in rule.rules or ()]


def _plain(rules: Sequence[AnyRule]) -> list[SigmaRule]:
    if any(isinstance(one, SigmaCorrelationRule) for one in rules):
        raise NotImported("a correlation of correlations")
    return [one for one in rules if isinstance(one, SigmaRule)]


def _least(rule: SigmaCorrelationRule) -> float:
    """The least number that fulfils a correlation's condition."""
    condition = rule.condition
    if not isinstance(condition, SigmaCorrelationCondition):
        raise NotImported("a condition on which of its rules fit")
    if condition.op not in _LEAST:
        raise NotImported(f"a condition {condition.op.name.lower()}, which holds for events that are not there")
    return condition.count + _LEAST[condition.op]


def _within(rule: SigmaCorrelationRule) -> str:
    return f"WITHIN {rule.timespan.count} {_UNITS[rule.timespan.unit]}"
