"""Bind blocks without Spark, and write what they mean as short texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkcep import settings
from sparkcep.query import Aggregate, Condition, MatchNumber, PatternQuery, Scalar, Slot, TestedAt
from sparkcep.sql.block.binder import bind_block
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.rewriter import Rewriter
from sparkcep.sql.statement import OccurrenceKind

COLUMNS = (
    "ts kind tag_id type from to site symbol volume price job_id task_id period size val taskId nodeId value company "
    "sector job mapper cpu load vehicle segment speed x y"
).split()
LOG = {"spark.sparkcep.log.time": "ts", "spark.sparkcep.log.event": "kind"}


def bind(
    text: str,
    columns: Sequence[str] = COLUMNS,
    log: Mapping[str, str] = LOG,
    properties: Mapping[str, str] | None = None,
    time_type: str = "timestamp",
    indexed: Mapping[str, str] | None = None,
) -> PatternQuery:
    """The last block of a statement."""
    statement = read_statement(text)
    form = statement.forms[-1]
    assert form.kind is OccurrenceKind.BLOCK
    rewriter = Rewriter(statement)
    return bind_block(
        statement,
        form,
        columns,
        rewriter.qualifiers(form),
        rewriter.render,
        settings.read(log.get),
        "",
        lambda relation: properties or {},
        lambda expression: time_type,
        lambda: indexed or {},
    )


def slot_text(slot: Slot) -> str:
    """`<last b.val>`, `<last-2 b.val each>`, `<avg b.val before>`"""
    assert not isinstance(slot, MatchNumber)
    names = "|".join(slot.variables or ("*",))
    each = " each" if slot.each else ""
    if isinstance(slot, Aggregate):
        arguments = "" if slot.star else "." + ",".join(a.text for a in slot.arguments)
        return f"<{slot.function} {names}{arguments}{' before' if slot.before else ''}{each}>"
    name = ("first" if slot.from_first else "last") + (f"-{slot.logical}" if slot.logical else "")
    return f"<{name} {names}.{slot.argument.text}{each}>"


def scalar_text(scalar: Scalar) -> str:
    return "".join(p if isinstance(p, str) else slot_text(p) for p in scalar.pieces)


def condition_text(condition: Condition) -> str:
    """The condition and when it is tested: `... @ b needs a min 2 first after c each a`."""
    at = {TestedAt.TAKE: "@", TestedAt.LEAVE: "@leave", TestedAt.PASS: "@without"}[condition.at]
    parts = [scalar_text(condition.scalar), at]
    parts.append("|".join(condition.decided_by))
    if condition.required:
        parts.append("needs " + ",".join("|".join(keys) for keys in condition.required))
    if condition.awaited:
        parts.append("awaits " + ",".join("|".join(keys) for keys in condition.awaited))
    if condition.minimum > 1:
        parts.append(f"min {condition.minimum}")
    if condition.first_only:
        parts.append("first")
    if condition.after:
        parts.append("after " + "|".join(condition.after))
    if condition.each:
        parts.append("each " + "|".join(condition.each))
    return " ".join(parts)


def conditions(query: PatternQuery) -> list[str]:
    return [condition_text(c) for c in query.conditions]


def equivalences(query: PatternQuery) -> list[str]:
    return ["|".join(e.components) + ("." if e.components else "") + e.expression.text for e in query.equivalences]


def returns(query: PatternQuery) -> list[str]:
    return [f"{m.name}: {scalar_text(m.expression)}" for m in query.measures if query.has_return]
