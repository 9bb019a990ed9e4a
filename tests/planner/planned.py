"""A statement's plan without a session: columns and their types are given, and nothing else is known of the input."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sparkcep.planner.choice import make_plan
from sparkcep.planner.fields import Fields
from sparkcep.planner.plan import AnyPlan, Decision
from sparkcep.planner.sampling import Sample
from sparkcep.query import PatternQuery
from sparkcep.settings import Settings, read
from sparkcep.sql.block.binder import bind_block
from sparkcep.sql.clause.binder import bind
from sparkcep.sql.clause.parser import parse_clause
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.outer import wanted_names
from sparkcep.sql.rewriter import Rewriter
from sparkcep.sql.statement import OccurrenceKind

#: An event log: who, when, what, and a number.
LOG = {"case_id": "string", "ts": "timestamp", "pos": "bigint", "type": "string", "x": "double"}


def bound(text: str, columns: Sequence[str], settings: Settings) -> PatternQuery:
    """The query of the first pattern in a statement."""
    statement = read_statement(text)
    form = statement.forms[0]
    rewriter = Rewriter(statement)
    names = rewriter.qualifiers(form)
    if form.kind is OccurrenceKind.BLOCK:
        query = bind_block(statement, form, columns, names, rewriter.render, settings)
    else:
        clause = parse_clause(statement, form.body)
        query = bind(statement, clause, form.body, columns, names, rewriter.render, settings)
    return replace(query, wanted=wanted_names(statement, form)) if settings.column_pruning else query


def planned(
    text: str,
    columns: Mapping[str, str] = LOG,
    *,
    types: Mapping[str, str] = {},
    sample: Sample | None = None,
    conf: Mapping[str, str] = {},
) -> AnyPlan:
    """The plan of a statement with one pattern.

    Args:
        columns: names and Spark types of the input's columns.
        types: of expressions over them, by their text, which Spark is asked for.
        sample: of a large input's rows; None: the input is small.
        conf: settings that are not as by default.
    """
    settings = read(conf.get)
    query = bound(text, list(columns), settings)
    fields = Fields(query.columns, settings.case_sensitive)

    def analyze(items: Sequence[str]) -> list[tuple[str, str]]:
        found = []
        for item in items:
            column = fields.column_of(item)
            moved = re.match(r"\(*(\w+)\) [+-] \(", item)  # a key and WITHIN's end for it
            cast = re.fullmatch(r"CAST\(.* AS (\w+)\)", item)
            unit = re.fullmatch(r"\(?INTERVAL \d+ (\w+)\)?", item)
            length = f"interval {unit[1].lower()}" if unit else ""
            # Whether Spark takes an expression inside a lambda function: it does.
            taken = "array<boolean>" if item.startswith("transform(array(") else length
            own = columns[moved[1]] if moved else cast[1] if cast else types.get(item, taken)
            assert column is not None or own, f"the type of {item} is not given"
            found.append((column, columns[column]) if column is not None else (item, own))
        return found

    return make_plan(query, settings, analyze, lambda tests, keys, filters: sample, list(columns.values()))


def decision(plan: AnyPlan, rule: str) -> Decision:
    """What a rule decided."""
    return next(d for d in plan.decisions if d.rule == rule)
