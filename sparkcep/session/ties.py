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
    behind = [t for t in fields.texts[: fields.sort_fields] if t not in order and t != query.tiebreak]
    others = ", then ".join(_shown(t) for t in behind) or "nothing, since the pattern reads no other column,"
    decides = f"{others} decides their order"
    if query.tiebreak is not None:
        decides = f"{_shown(query.tiebreak)} decides their order"
        decides += f", and for {undecided:,} of them {others}" if undecided else ""
    same = f"the same {', '.join(map(_shown, order))}" if order else "no ORDER BY and the same partition"
    verb = "has" if rows == 1 else "have"
    return f"{rows:,} rows {verb} {same} as another row of their partition; {decides}"


def _shown(text: str) -> str:
    return unescape(text).strip("`")
