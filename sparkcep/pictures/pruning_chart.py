"""What is left of a log on the way to a pattern's matches: cases and events after each step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sparkcep.pictures.colors import BLUE, TEXT, TRACK
from sparkcep.pictures.picture import Picture
from sparkcep.query import PREFIX
from sparkcep.session.relations import Relation, counted, prepared
from sparkcep.session.statement import StatementExecution

_ROW = 34
#: Share of the width that a bar has at least: two pixels.
_LEAST = 0.006


@dataclass(frozen=True, slots=True)
class Step:
    """``events`` None: not counted at this step."""

    label: str
    cases: int
    events: int | None = None


def pruning_picture(run: StatementExecution) -> Picture:
    """What is left in a statement's patterns, one below the other."""
    charts = [_chart(steps_of(run, r), r) for r in run.relations]
    meta = {"usermeta": {"name": "pruning", "height": sum(c["height"] + 90 for c in charts)}}
    return Picture({**meta, **charts[0]} if len(charts) == 1 else {**meta, "vconcat": charts})


def steps_of(run: StatementExecution, relation: Relation) -> list[Step]:
    """Counts of one pattern, by running it."""
    plan = relation.plan
    pruning = relation.pruning
    out = [Step("the log", *counted(run.analyzer, plan, relation.given))]
    out += [Step(f"index: {step.types} ({step.rule})", step.cases) for step in pruning.steps]
    if pruning.frame is not None:
        out.append(Step("read through the index", *counted(run.analyzer, plan, relation.source)))
    frame = prepared(run.analyzer, plan, relation.source)
    first = f"{PREFIX}m0"
    if f"{PREFIX}rows" in frame.columns:
        found = frame.selectExpr("count(*)", f"coalesce(sum(size({PREFIX}rows)), 0)").collect()[0]
        out.append(Step("reach the matcher", *found))
    elif first in frame.columns and plan.input.shape.ranges is None:
        # The first row of each partition has its mask inverted (InputPlan.rows_sql).
        found = frame.selectExpr(f"count_if({first} < 0)", "count(*)").collect()[0]
        out.append(Step("reach the matcher", *found))
    if plan.fold is not None:
        found_keys = ", ".join(f"{PREFIX}k{i}" for i in range(len(plan.input.keys)))
        text = f"SELECT count(DISTINCT struct({found_keys})) FROM ({plan.fold.rows_of_matches()})"
        (cases,) = run.analyzer.run(text, relation.source).collect()[0]
    else:
        matched = run.analyzer.matched[relation.name]
        names = [n for n in matched.columns if n.startswith(f"{PREFIX}k") and n[len(PREFIX) + 1 :].isdigit()]
        every = f"count(DISTINCT struct({', '.join(names)}))" if names else "CAST(count(*) > 0 AS INT)"
        (cases,) = matched.selectExpr(every).collect()[0]
    out.append(Step("in the result", cases))
    return out


def _chart(steps: list[Step], relation: Relation) -> dict[str, Any]:
    whole = max(1, steps[0].cases)
    values = []
    for n, step in enumerate(steps):
        events = "" if step.events is None else f" · {step.events:,} event{'s' * (step.events != 1)}"
        share = step.cases / whole
        shown = f"{share:.0%}" if share >= 0.1 or share == 0 else f"{100 * share:.2g} %".replace(" %", "%")
        text = f"{step.cases:,} case{'s' * (step.cases != 1)} ({shown}){events}"
        values.append({"n": n, "step": f"{n + 1}. {step.label}", "cases": step.cases, "text": text,
                       "whole": whole, "bar": max(step.cases, _LEAST * whole) if step.cases else 0})  # fmt: skip
    # Layers would not agree about an order by a field.
    y = {"field": "step", "type": "nominal", "sort": None, "title": None,
         "scale": {"domain": [v["step"] for v in values]},
         "axis": {"ticks": False, "domain": False, "labelPadding": 8}}  # fmt: skip
    # Space for the text behind the longest bar.
    scale = {"domain": [0, whole * 1.9], "nice": False}
    x = {"field": "bar", "type": "quantitative", "axis": None, "scale": scale}
    # The whole log, behind: what is left of it is seen where it is hardly anything.
    track = {**x, "field": "whole"}
    lines = relation.pruning.lines
    return {
        "title": {"text": "Cases left after each step", "subtitle": [f"Index: {lines[0]}"] if lines else []},
        "width": 620,
        "height": _ROW * len(values),
        "data": {"values": values},
        "encoding": {"y": y, "x": x},
        "layer": [
            {"mark": {"type": "bar", "color": TRACK, "height": 22}, "encoding": {"x": track}},
            {"mark": {"type": "bar", "color": BLUE, "height": 22}},
            {
                "mark": {"type": "text", "align": "left", "dx": 6, "color": TEXT},
                "encoding": {"x": track, "text": {"field": "text", "type": "nominal"}},
            },
        ],
    }
