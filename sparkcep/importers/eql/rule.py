"""An EQL query as a pattern block, a rule of a set.

EQL keeps one open sequence for each step and key ("If two pending sequences are in the same state at the same time, the
most recent sequence overwrites the older one", Elastic's EQL syntax reference): of several first events before a second
one the last counts, as MATCHES LATEST or `!step` between them says.
"""

from __future__ import annotations

from collections.abc import Sequence as Several
from dataclasses import dataclass, field

from sparkcep.importers.eql.conditions import Conditions
from sparkcep.importers.eql.nodes import EventQuery, Expression, Field, Query, Sequence, Step
from sparkcep.importers.eql.parser import read_eql
from sparkcep.importers.event_schema import EventSchema
from sparkcep.importers.problems import NotImported
from sparkcep.importers.rule_text import ImportedRule, block
from sparkcep.importers.truths import NEVER

_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds", "ms": "milliseconds", "micros": "microseconds"}


def import_eql(rule: str, text: str, schema: EventSchema, *, every_start: bool = False) -> ImportedRule:
    """A rule from an EQL query.

    Args:
        rule: its name. schema: the log's columns. every_start: give a match for each event that can begin one, not for
            the last one only.

    Raises:
        PatternParseError: CEP_EQL_SYNTAX.
        NotImported: it has no counterpart.
    """
    return _Importer(schema, read_eql(text), every_start).rule(rule)


@dataclass(slots=True)
class _Importer:
    schema: EventSchema
    query: Query
    every_start: bool
    warnings: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)

    def rule(self, rule: str) -> ImportedRule:
        """See :func:`import_eql`."""
        body = self.query.body
        for pipe in self.query.pipes:
            if not pipe.startswith(("head", "tail")):
                raise NotImported(f"the pipe {pipe}")
            self.warnings.append(f"all matches come out, without the pipe {pipe}")
        if isinstance(body, EventQuery):
            text = self.block([], f"SEQ({self.needed(body, 'e')})", [])
        else:
            text = self.sample(body) if body.is_sample else self.sequence(body)
        return ImportedRule(rule, text, {}, tuple(self.warnings))

    def block(self, keys: Several[Expression], pattern: str, behind: Several[str]) -> str:
        """A block with the conditions that were noted."""
        return block([self.key(key)[0] for key in keys], pattern, self.conditions, behind)

    def component(self, event: EventQuery, variable: str, runs: int = 1) -> str:
        """A component, whose conditions are noted; empty where no event fits it."""
        conditions = Conditions(self.schema, variable if runs == 1 else f"{variable}[i]").conjuncts(event.condition)
        if NEVER in conditions:
            return ""
        self.conditions += conditions
        type_ = "ANY" if event.category is None else _event_type(event.category)
        return f"{type_} {variable}" if runs == 1 else f"{type_}{{{runs}}} {variable}[]"

    def needed(self, event: EventQuery, variable: str, runs: int = 1) -> str:
        """A component that a match must have."""
        found = self.component(event, variable, runs)
        if not found:
            raise NotImported("a condition that no event fits")
        return found

    # -- sequences -------------------------------------------------------------------------------------------------

    def sequence(self, body: Sequence) -> str:
        """A sequence's block."""
        steps = body.steps
        if all(step.missing for step in steps):
            raise NotImported("a sequence of nothing but missing events")
        if any(step.missing for step in steps) and body.maxspan is None:
            raise NotImported("missing events without maxspan")
        if any(step.missing and step.runs > 1 for step in steps):
            raise NotImported("runs of missing events")
        shared = len({tuple(map(_spelled, step.by)) for step in steps}) == 1
        keys = (*body.by, *steps[0].by) if shared else body.by
        own = [() if shared else step.by for step in steps]
        if len({len(by) for by in own}) > 1:
            raise NotImported("steps with different numbers of keys")
        if any(own) and any(step.runs > 1 for step in steps):
            raise NotImported("runs of a step with a key of its own")
        first = next(n for n, step in enumerate(steps) if not step.missing)
        pattern, latest = self.steps(steps, own, first)
        start = _nth(first, steps[first].runs)
        self.require(start, (*keys, *own[first]))
        behind = [f"WITHIN {self.span(*body.maxspan)}"] if body.maxspan is not None else []
        if body.until is not None:
            if not shared or list(map(_spelled, body.until.by)) != list(map(_spelled, steps[0].by)):
                raise NotImported("until with keys of its own")
            if first or steps[0].runs > 1 or steps[-1].missing:
                raise NotImported("until of a sequence that begins with runs, or begins or ends with a missing event")
            ends = self.component(body.until.event, "ends")
            behind += [f"UNTIL {ends}"] if ends else []
        behind += ["MATCHES LATEST"] if latest else []
        return self.block(keys, f"SEQ({', '.join(pattern)})", behind)

    def steps(self, steps: Several[Step], keys: Several[Several[Expression]], first: int) -> tuple[list[str], bool]:
        """The pattern's items, and whether LATEST says that the last event of several that begin a sequence counts.
        Where it cannot, the first step stands once more, negated, in front of the second."""
        present = [n for n, step in enumerate(steps) if not step.missing]
        start = _nth(first, steps[first].runs)
        out: list[str] = []
        second = 0
        for n, step in enumerate(steps):
            if step.missing and not (missing := self.component(step.event, f"e{n + 1}")):
                continue
            second = len(out) if n in present[:2] else second
            out.append(f"!{missing}" if step.missing else self.needed(step.event, f"e{n + 1}", step.runs))
            if n != first:
                self.join(start, keys[first], _nth(n, step.runs), keys[n])
        if self.every_start or len(present) < 2:
            return out, False
        is_plain = len(present) == len(steps) or len(present) == 2
        if first == 0 and is_plain and not any(keys) and all(step.runs == 1 for step in steps):
            types = [steps[n].event.category for n in present]
            if len(present) == 2 or (len(present) == 3 and None not in types and len(set(types)) == 3):
                return out, True
        if len(present) > 2:
            self.warnings.append("each event that can begin the sequence gives a match, not only the last one")
            return out, False
        out.insert(second, f"!{self.component(steps[first].event, 'later')}")
        self.join(start, keys[first], "later", keys[first])
        return out, False

    def join(self, first: str, keys: Several[Expression], other: str, others: Several[Expression]) -> None:
        """Equality of the keys of two steps."""
        for one, two in zip(keys, others, strict=True):
            (left, may_lack), (right, too) = self.key(one), self.key(two)
            self.conditions.append(f"{other}.{right} {'<=>' if may_lack and too else '='} {first}.{left}")

    def require(self, variable: str, keys: Several[Expression]) -> None:
        """Keys of an event that may not be NULL."""
        known = map(self.key, keys)
        self.conditions += [f"{variable}.{key} IS NOT NULL" for key, optional in known if not optional]

    def key(self, node: Expression) -> tuple[str, bool]:
        """A key's column, and whether it may be NULL."""
        if not isinstance(node, Field):
            raise NotImported("a key that is computed")
        column = self.schema.existing(node.parts)
        if column.is_array or column.kind == "struct":
            raise NotImported(f"the key {node.name}, a list or a struct")
        return column.sql, node.optional

    def span(self, number: int, unit: str) -> str:
        if unit == "nanos":
            raise NotImported("maxspan in nanoseconds")
        return f"{number} {_UNITS[unit]}"

    def sample(self, body: Sequence) -> str:
        """Events in any order, once for each key."""
        if any(step.missing or step.runs > 1 or step.by for step in body.steps) or not body.by:
            raise NotImported("a sample of other things than single events with the keys of all")
        self.warnings.append("a sample gives its first events")
        items = [self.needed(step.event, f"e{n}") for n, step in enumerate(body.steps, 1)]
        self.require("e1", body.by)
        return self.block(body.by, f"PERMUTE({', '.join(items)})", ["MATCHES FIRST"])


def _spelled(key: Expression) -> object:
    return (key.name, key.optional) if isinstance(key, Field) else key


def _nth(step: int, runs: int) -> str:
    """The variable of a step."""
    return f"e{step + 1}" if runs == 1 else f"e{step + 1}[i]"


def _event_type(category: str) -> str:
    is_word = category.isascii() and category.isidentifier() and category.upper() not in ("ANY", "SEQ", "PERMUTE")
    return category if is_word else '"' + category.replace('"', '""') + '"'
