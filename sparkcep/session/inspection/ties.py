"""How many rows of a pattern's input their ORDER BY keys do not tell apart, and what decides their order."""

from __future__ import annotations

from sparkcep.query import SOURCE, unescape
from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.session.relations import Relation


def tied_rows(analyzer: SparkAnalyzer, relation: Relation) -> str:
    """A sentence about such rows; empty without any. Costs an aggregate over the input."""
    plan, query = relation.plan, relation.plan.query
    if query.window is not None or plan.engine.name in ("non_answers", "uncertain"):
        return ""
    order = [k.expression for k in query.order_by if k.expression != query.tiebreak]
    keys = ["0", *(text for text, _ in plan.input.keys), *order]
    items = ", ".join([*(f"({text}) AS k{n}" for n, text in enumerate(keys)), f"{query.tiebreak or '0'} AS tie"])
    names = ", ".join(f"k{n}" for n in range(len(keys)))
    rows, undecided = analyzer.run(
        f"{query.with_prefix}SELECT coalesce(sum(n), 0), coalesce(sum(same), 0) FROM ("
        "SELECT sum(n) AS n, sum(n) FILTER (WHERE n > 1) AS same FROM ("
        f"SELECT {names}, tie, count(*) AS n FROM (SELECT {items} FROM {{{SOURCE}}}) GROUP BY {names}, tie) "
        f"GROUP BY {names} HAVING sum(n) > 1)",
        relation.given,
    ).collect()[0]
    if not rows:
        return ""
    fields = plan.input.fields
    known = {fields.column_of(text) or text for text in (*order, query.tiebreak or "")}
    others = [_shown(t) for t in fields.texts[: fields.sort_fields] if (fields.column_of(t) or t) not in known]
    by = ordered_by(query.tiebreak and _shown(query.tiebreak), undecided, ", then ".join(others))
    if not order:
        return f"without ORDER BY, {rows:,} rows of partitions with several rows {by}"
    same = ", ".join(map(_shown, order))
    return f"{rows:,} rows have the same {same} as another row of their partition: they {by}"


def ordered_by(tiebreak: str | None, undecided: int, others: str) -> str:
    """What decides the order of rows of one time.

    Args:
        undecided: how many of them have the same tiebreak too. others: what decides then.

    >>> ordered_by("pos", 2, "activity")
    'are ordered by pos and, 2 of them, by activity'
    """
    if tiebreak is None:
        return f"are ordered by {others}" if others else "look the same to the pattern"
    return f"are ordered by {tiebreak}" + (f" and, {undecided:,} of them, by {others}" if undecided and others else "")


def _shown(text: str) -> str:
    return unescape(text).strip("`")
