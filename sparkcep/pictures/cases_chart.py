"""Cases as lanes: every event of a case in order, with the events that matches took framed."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

from sparkcep.errors import SparkCepError
from sparkcep.pictures.colors import GREY, SERIES, SOFT, TEXT
from sparkcep.pictures.matched_events import events_of_matches, first_matches, labels, needs, other_events
from sparkcep.pictures.picture import Picture
from sparkcep.pictures.timeline_marks import case_name, case_of
from sparkcep.session.originals import plain_sql
from sparkcep.session.statement import run_statement

#: Pixels of an event and of a lane; events of a case that are drawn.
_EVENT, _LANE, _MOST = 20, 30, 40
#: Event types with a colour of their own.
_COLORED = 9
_OTHER = "other types"
_HINT = "one pattern block without RETURN, over a log with EVENT TYPE"


def cases_picture(spark: SparkSession, query: str, args: Any, kwargs: dict[str, Any], cases: int) -> Picture:
    """See :func:`sparkcep.pictures.cases`."""
    if cases < 1:
        raise SparkCepError("CEP_PICTURE", f"cases is {cases}; at least one is drawn.")
    frame, run = run_statement(spark, plain_sql(spark), query, args, kwargs)
    rows, keys, _ = events_of_matches(frame, None, "picture of cases", _HINT)
    # Of a long case no more is fetched than is drawn.
    start = F.min("position").over(Window.partitionBy(*(f"key{i}" for i in range(len(keys)))))
    rows = rows.withColumn("start", start).where(F.col("position") < F.col("start") + _MOST)
    taken = [r.asDict() for r in first_matches(rows, keys, [], cases + 1).collect()]
    order = list(dict.fromkeys(case_of(e, keys) for e in taken))
    more = len(order) > cases
    order = order[:cases]
    taken = [e for e in taken if case_of(e, keys) in order]
    names = labels(run)
    variables: dict[tuple[Any, ...], dict[int, str]] = {}
    for event in taken:
        variables.setdefault(case_of(event, keys), {})[event["position"]] = names.get(
            event["variable"], event["variable"]
        )
    firsts = {case: max(0, min(variables[case]) - 3) for case in order}
    marks = []
    drawn = other_events(run, keys, {case: range(first, first + _MOST) for case, first in firsts.items()})
    for event in sorted(drawn, key=lambda e: (order.index(case_of(e, keys)), e["position"])):
        case = case_of(event, keys)
        variable = variables[case].get(event["position"])
        marks.append({
            "case": _name(case), "n": event["position"] - firsts[case], "event": event["event"] or "NULL",
            "time": str(event["time"]), "variable": variable or "", "taken": variable is not None,
        })  # fmt: skip
    if taken and not marks:
        raise needs("picture of cases", "all events of the cases", _HINT)
    return Picture(_drawn(marks, [_name(c) for c in order], keys, more))


def _name(case: tuple[Any, ...]) -> str:
    return case_name(case) or "the log"


def _drawn(marks: list[dict[str, Any]], cases: list[str], keys: list[str], more: bool) -> dict[str, Any]:
    counts: dict[str, int] = {}
    for mark in marks:
        counts[mark["event"]] = counts.get(mark["event"], 0) + 1
    common = sorted(counts, key=lambda e: (-counts[e], e))[:_COLORED]
    for mark in marks:
        mark["type"] = mark["event"] if mark["event"] in common else _OTHER
        mark |= {"x": mark["n"] * _EVENT, "x2": mark["n"] * _EVENT + _EVENT - 3}
    shown = common + [_OTHER] * (len(counts) > len(common))
    width = max([8, *(m["n"] + 1 for m in marks)]) * _EVENT
    height = _LANE * max(1, len(cases))
    x = {"type": "quantitative", "axis": None, "scale": {"domain": [0, width], "nice": False}}
    y = {"field": "case", "type": "nominal", "sort": None, "title": ", ".join(keys) or None,
         "scale": {"domain": cases}, "axis": {"ticks": False, "domain": False, "titlePadding": 12}}  # fmt: skip
    color = {"field": "type", "type": "nominal", "title": None,
             "scale": {"domain": shown, "range": [*SERIES[: len(common)], GREY][: len(shown)]},
             "legend": {"orient": "top", "direction": "horizontal", "columns": 3, "symbolOpacity": 1}}  # fmt: skip
    tips = [{"field": f, "type": "nominal"} for f in ("case", "event", "time", "variable")]
    box = {"type": "bar", "height": 16, "cornerRadius": 3}
    encoding = {"x": {"field": "x", **x}, "x2": {"field": "x2"}, "y": y, "color": color, "tooltip": tips}
    matched = sum(m["taken"] for m in marks)
    return {
        "usermeta": {"name": "cases", "height": height + 150},
        "title": {"text": f"Cases with matches: {'the first ' * more}{len(cases)}",
                  "subtitle": [f"each square is an event, in order; framed: the {matched:,} events that matches took"],
                  "subtitleColor": SOFT},
        "width": width,
        "height": height,
        "data": {"values": marks},
        "layer": [
            {"transform": [{"filter": "!datum.taken"}], "mark": {**box, "opacity": 0.45}, "encoding": encoding},
            {"transform": [{"filter": "datum.taken"}],
             "mark": {**box, "height": 20, "stroke": TEXT, "strokeWidth": 2}, "encoding": encoding},
        ],
    }  # fmt: skip
