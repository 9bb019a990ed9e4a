"""A planned pattern as a graph: components, quantifiers, negations, the strategy, the conditions."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from sparkcep.pictures.colors import BLUE, GREY, PALE_BLUE, PALE_GREY, PALE_RED, PAPER, RED, SOFT, TEXT
from sparkcep.pictures.layout import LINE, SMALL_LINE, Drawing, Named, draw_pattern
from sparkcep.pictures.picture import Picture
from sparkcep.planner.plan import AnyPlan
from sparkcep.query import PREFIX, Condition, PatternQuery, Selection, pattern_proper, unescape
from sparkcep.session.relations import Relation

_FILL = {"component": PALE_BLUE, "negated": PALE_RED, "anchor": PALE_GREY, "start": TEXT, "end": PAPER,
         "frame": "#ffffff00", "forbidden": "#ffffff00"}  # fmt: skip
_STROKE = {"component": BLUE, "negated": RED, "anchor": GREY, "start": TEXT, "end": TEXT, "frame": GREY,
           "forbidden": RED}  # fmt: skip
_COLOR = {"step": TEXT, "path": TEXT, "back": BLUE, "past": GREY, "guard": RED}
#: How a line says what may lie between two events.
_DASH = {Selection.STRICT: [1, 0], Selection.NEXT: [7, 3], Selection.ANY: [2, 3], Selection.BY_STEP: [7, 3]}
_SAYS = {
    Selection.STRICT: "solid line: nothing lies between two events (STRICT CONTIGUITY)",
    Selection.NEXT: "dashed line: the next event that fits; others may lie between (SKIP TILL NEXT MATCH)",
    Selection.ANY: "dotted line: any later event that fits (SKIP TILL ANY MATCH)",
}
_WRAP, _MAX_LINES = 90, 16


def pattern_picture(relations: Sequence[Relation]) -> Picture:
    """The patterns of a statement, one below the other."""
    charts = [_chart(r.plan) for r in relations]
    height = sum(c["height"] + 24 * (1 + len(c["title"]["subtitle"])) for c in charts)
    meta = {"usermeta": {"name": "pattern", "height": height}}
    return Picture({**meta, **charts[0]} if len(charts) == 1 else {**meta, "vconcat": charts, "spacing": 30})


def _chart(plan: AnyPlan) -> dict[str, Any]:
    query = plan.bound
    names = _names(query)
    drawing = draw_pattern(pattern_proper(query), names)
    lines = [*_clauses(query), _SAYS.get(query.selection, query.strategy), *_conditions(query)]
    wrapped = [w for line in lines for w in textwrap.wrap(_shown(line), _WRAP, subsequent_indent="    ")]
    if len(wrapped) > _MAX_LINES:
        wrapped = [*wrapped[: _MAX_LINES - 1], "..."]
    return {
        "title": {"text": _shown(_title(query)), "subtitle": wrapped},
        "width": round(drawing.width),
        "height": round(drawing.height),
        "layer": _layers(drawing, query.selection),
    }


def _shown(text: str) -> str:
    return " ".join(unescape(text).replace(PREFIX, "_").split())


def _title(query: PatternQuery) -> str:
    if not query.is_block:
        return f"Pattern: {query.rows_per_match.value}, AFTER MATCH {query.skip.text()}"
    if query.trends:
        return "Pattern: aggregates over trends"
    return f"Pattern: {query.which}{', COLLAPSED' if query.collapsed else ''}"


def _clauses(query: PatternQuery) -> list[str]:
    out = []
    if query.partition_by:
        out.append("PARTITION BY " + ", ".join(k.expression.strip() for k in query.partition_by))
    if query.order_by:
        out.append("ORDER BY " + ", ".join(k.expression.strip() for k in query.order_by))
    if query.within is not None:
        slide = f" SLIDE {query.slide}" if query.slide else ""
        out.append(f"WITHIN {query.within}{slide}")
    return [", ".join(out)] if out else []


def _conditions(query: PatternQuery) -> list[str]:
    """The user's own text of DEFINE, or of WHERE."""
    out = [f"[{e.expression.text.strip()}]" for e in query.equivalences]
    return out + list(dict.fromkeys(_source(c, query) for c in query.conditions if c.source))


def _source(condition: Condition, query: PatternQuery) -> str:
    """A clause's conditions need their variable before them."""
    return condition.source if query.is_block else f"{condition.decided_by[0]} AS {condition.source}"


def _conditions_by(query: PatternQuery) -> dict[str, list[str]]:
    """Sentences by component; a clause's conjuncts have one source."""
    out: dict[str, dict[str, None]] = {}
    for condition in query.conditions:
        for key in condition.decided_by if condition.source else ():
            moment = f" ({condition.at.value})" if query.is_block else ""
            out.setdefault(key, {})[condition.source + moment] = None
    return {key: list(sources) for key, sources in out.items()}


def _names(query: PatternQuery) -> dict[str, Named]:
    conditions = _conditions_by(query)
    out = {}
    for component in query.components:
        name, types = component.variable, " | ".join(component.types)
        if query.is_block and query.event_type and not types:
            types = "ANY"
        note = " AND ".join(_shown(c) for c in conditions.get(component.key, ())) or "no condition"
        out[component.key] = Named(_wrapped(name), "" if types == name else _wrapped(types), note)
    return out


def _wrapped(text: str) -> str:
    """In lines that a box has room for; a word that is longer is broken."""
    return "\n".join(textwrap.wrap(text, 28)) or text


# -- marks -------------------------------------------------------------------------------------------------------------


def _layers(drawing: Drawing, selection: Selection) -> list[dict[str, Any]]:
    x = {"field": "x", "type": "quantitative", "axis": None, "scale": {"domain": [0, drawing.width], "nice": False}}
    y = {"field": "y", "type": "quantitative", "axis": None,
         "scale": {"domain": [0, drawing.height], "nice": False, "reverse": True}}  # fmt: skip
    layers: list[dict[str, Any]] = []

    def add(values: list[dict[str, Any]], mark: dict[str, Any], **encoding: Any) -> None:
        if values:
            encoding = {"x": x, "y": y, **encoding}
            layers.append({"data": {"values": values}, "mark": mark, "encoding": encoding})

    order = {"order": {"field": "n", "type": "quantitative"}, "detail": {"field": "line", "type": "nominal"}}
    for kind, color in _COLOR.items():
        points = [{"x": px, "y": py, "line": k, "n": n} for k, line in enumerate(drawing.lines) if line.kind == kind
                  for n, (px, py) in enumerate(line.points)]  # fmt: skip
        dash = _DASH[selection] if kind == "step" else [4, 3] if kind == "guard" else [1, 0]
        add(points, {"type": "line", "color": color, "strokeWidth": 1.5, "strokeDash": dash}, **order)
    for kind, color in _COLOR.items():
        ends = [line.points for line in drawing.lines if line.arrow and line.kind == kind]
        heads = [{"x": p[-1][0] - 4, "y": p[-1][1]} for p in ends]
        mark = {"type": "point", "shape": "triangle-right", "filled": True, "size": 50, "opacity": 1}
        # A line back ends where the one from before does: its head would hide that one's.
        add([] if kind == "back" else heads, {**mark, "color": color})
        tops = [{"x": (p[4][0] + p[5][0]) / 2, "y": p[4][1]} for p in ends] if kind == "back" else []
        add(tops, {**mark, "shape": "triangle-left", "color": color})
    for kind in dict.fromkeys(b.kind for b in drawing.boxes):
        shapes = [
            {"x": b.x, "x2": b.x + b.width, "y": b.y, "y2": b.y + b.height, "name": b.label.name, "type": b.label.types,
             "condition": b.label.note}
            for b in drawing.boxes if b.kind == kind
        ]  # fmt: skip
        mark = {"type": "rect", "fill": _FILL[kind], "stroke": _STROKE[kind], "strokeWidth": 1.5, "opacity": 1,
                "cornerRadius": 8 if kind in ("start", "end") else 5}  # fmt: skip
        if kind in ("frame", "forbidden"):
            mark["strokeDash"] = [4, 3]
        tips = [{"field": f, "type": "nominal"} for f in ("name", "type", "condition")]
        more = {"tooltip": tips} if kind in ("component", "negated") else {}
        add(shapes, mark, x2={"field": "x2"}, y2={"field": "y2"}, **more)
    named = [b for b in drawing.boxes if b.label.name]
    text = {"text": {"field": "t", "type": "nominal"}}
    first: list[dict[str, Any]] = []
    second: list[dict[str, Any]] = []
    for box in named:
        y_of, middle = box.y + 7.0, box.x + box.width / 2
        for lines, height, texts in ((box.label.name, LINE, first), (box.label.types, SMALL_LINE, second)):
            for line in lines.splitlines():
                texts.append({"x": middle, "y": y_of + height / 2, "t": line})
                y_of += height
    add(first, {"type": "text", "fontSize": 13, "color": TEXT}, **text)
    add(second, {"type": "text", "fontSize": 10, "color": SOFT}, **text)
    for kind, color in (("quantifier", BLUE), ("forbidden", RED)):
        add([{"x": t.x, "y": t.y, "t": t.text} for t in drawing.texts if t.kind == kind],
            {"type": "text", "fontSize": 10, "color": color}, **text)  # fmt: skip
    return layers
