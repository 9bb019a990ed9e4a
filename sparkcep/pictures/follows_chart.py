"""The directly-follows graph: which event types follow each other in a case, how often, and after how long.

Of other types than the most frequent ones nothing is drawn: what follows over them counts as following directly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from sparkcep.data.discovery import seconds_of
from sparkcep.data.roles import TEMPORAL
from sparkcep.errors import SparkCepError, near_hint
from sparkcep.pictures.colors import BLUE, GREY, PALE_BLUE, PALE_GREY, SOFT, TEXT
from sparkcep.pictures.durations import length
from sparkcep.pictures.layered import HEIGHT, Edge, layered
from sparkcep.pictures.matched_events import events_of_matches, labels, needs
from sparkcep.pictures.picture import Picture
from sparkcep.query import in_backticks
from sparkcep.session.originals import plain_sql
from sparkcep.session.statement import run_statement
from sparkcep.sql.log_columns import READ, names_of, roles_of

START, END = "(start)", "(end)"
#: Pixels of a letter.
_LETTER = 7.2
_SMALL = 6
#: Letters of a type that are shown.
_LETTERS = 36
#: An edge is drawn from this part of the most frequent one's events on.
_RARE = 100
_HINT = (
    'name the columns, case="order_id", time="at", event="activity", or leave out RETURN of a pattern block for the '
    "graph of its matches"
)


@dataclass(frozen=True, slots=True)
class Followed:
    """``after`` follows ``before`` directly ``many`` times; ``wait``: median, in seconds or units of the time."""

    before: str
    after: str
    many: int
    wait: float | None


def follows_picture(
    spark: SparkSession, query: str, args: Any, kwargs: dict[str, Any], columns: Mapping[str, Any], types: int
) -> Picture:
    """See :func:`sparkcep.pictures.directly_follows`."""
    if types < 1:
        raise SparkCepError("CEP_PICTURE", f"types is {types}; at least one is drawn.")
    if re.fullmatch(r"[\w.`]+", query.strip()):  # a table's name
        query = f"SELECT * FROM {query}"
    frame, run = run_statement(spark, plain_sql(spark), query, args, kwargs)
    if not any(v is not None for v in columns.values()):  # a log that sparkcep has read says what its columns are
        said = roles_of(frame.schema.fields)
        if READ + "time" in said and READ + "event" in said and "match_number" not in frame.columns:
            roles = {role: names_of(said.get(READ + role, "")) for role in ("case", "time", "event")}
            columns = {"case": roles["case"], "time": roles["time"][0], "event": roles["event"][0]}
    if any(v is not None for v in columns.values()):
        events, type_ = _named(frame, columns)
    else:
        rows, keys, type_ = events_of_matches(frame, None, "directly-follows graph", _HINT)
        names = labels(run)
        named = F.create_map(*(F.lit(x) for pair in names.items() for x in pair)) if names else None
        event = F.col("variable") if named is None else F.coalesce(named[F.col("variable")], F.col("variable"))
        case = [f"key{i}" for i in range(len(keys))] + ["match"]
        events = rows.select(*case, "time", F.col("n").alias("tie"), event.alias("event"))
    events = events.withColumn("time", F.expr(seconds_of("time", type_)))
    return Picture(_drawn(*_counted(events, types), type_ in TEMPORAL))


def _named(frame: DataFrame, columns: Mapping[str, Any]) -> tuple[DataFrame, str]:
    """A log's events, from columns that the user names: the case's, time, tie, event."""
    types = {f.name: f.dataType.simpleString() for f in frame.schema.fields}
    case = [columns["case"]] if isinstance(columns["case"], str) else list(columns["case"] or ())
    for name in (*case, columns["time"], columns["event"]):
        if name not in types:
            hint = near_hint(str(name), list(types), _HINT)
            raise needs("directly-follows graph", f"the column {name}" if name else "time= and event=", hint)
    own = [F.col(in_backticks(c)).alias(f"key{n}") for n, c in enumerate(case)]
    time, event = F.col(in_backticks(columns["time"])), F.col(in_backticks(columns["event"])).cast("string")
    named = F.coalesce(event, F.lit("NULL")).alias("event")
    return frame.select(*own, time.alias("time"), event.alias("tie"), named), types[columns["time"]]


def _counted(events: DataFrame, types: int) -> tuple[dict[str, int], list[Followed], int]:
    """Events of the most frequent types, which of them follow each other, and the number of cases."""
    case = [c for c in events.columns if c not in ("time", "tie", "event")]
    events = events.where("time IS NOT NULL")
    common = events.groupBy("event").count().orderBy(F.desc("count"), "event").limit(types).collect()
    kept = [r.event for r in common]
    some = events.where(F.col("event").isin(kept))
    order = Window.partitionBy(*case).orderBy("time", "tie")
    steps = some.select(
        *case, "event", "time", F.lag("event").over(order).alias("before"), F.lag("time").over(order).alias("since"),
        F.lead("event").over(order).alias("next"),
    )  # fmt: skip
    inner = steps.groupBy("before", "event").agg(
        F.count("*").alias("many"), F.expr("percentile(time - since, 0.5)").alias("wait"),
        F.count_if(F.col("next").isNull()).alias("last"),
    )  # fmt: skip
    rows = inner.orderBy("before", "event").collect()
    edges = [Followed(START if r.before is None else r.before, r.event, r.many, r.wait) for r in rows]
    ends: dict[str, int] = {}
    for row in rows:
        ends[row.event] = ends.get(row.event, 0) + row["last"]
    counts = {r.event: r["count"] for r in common}
    edges += [Followed(event, END, many, None) for event, many in ends.items() if many]
    cases = sum(e.many for e in edges if e.before == START)
    return counts, edges, cases


def _frequent(edges: Sequence[Followed]) -> list[Followed]:
    """Without rare edges; each type keeps those by which most events come to it and leave it."""
    most = max((e.many for e in edges), default=0)
    best: set[Followed] = set()
    for end in ("before", "after"):
        for name in {getattr(e, end) for e in edges}:
            best.add(max((e for e in edges if getattr(e, end) == name), key=lambda e: e.many))
    return [e for e in edges if e in best or _RARE * e.many >= most]


def _drawn(counts: Mapping[str, int], edges: Sequence[Followed], cases: int, clock: bool) -> dict[str, Any]:
    every, edges = len(edges), _frequent(edges)
    wide = {e: max(60.0, _LETTER * min(len(e), _LETTERS) + 24) for e in counts} | {START: 56.0, END: 56.0}
    graph = layered([Edge(e.before, e.after, e.many) for e in edges], wide, START, END)
    most = max((e.many for e in edges), default=1)
    lines: list[dict[str, Any]] = []
    heads: list[dict[str, Any]] = []
    texts: list[dict[str, Any]] = []

    def is_free(x: float, y: float, text: str) -> bool:
        """Whether a text behind a place covers neither another one nor a box."""
        left, right = x + 5, x + 5 + _SMALL * len(text)
        boxes = ((bx - wide[e] / 2, bx + wide[e] / 2, by, HEIGHT / 2 + 7) for e, (bx, by) in graph.nodes.items())
        others = ((t["x"], t["x"] + _SMALL * len(t["t"]), t["y"], 11) for t in texts)
        return all(right < low or high < left or abs(y - at) >= near for low, high, at, near in (*boxes, *others))

    for number, (edge, points) in enumerate(zip(edges, graph.paths, strict=True)):
        outer = edge.before == START or edge.after == END
        wait = "" if edge.wait is None or outer else length(edge.wait, clock)
        said = {"edge": number, "from": edge.before, "to": edge.after, "times": edge.many, "median": wait,
                "width": 1 + 5 * edge.many / most, "ends": outer}  # fmt: skip
        lines += [{**said, "x": px, "y": py, "n": n} for n, (px, py) in enumerate(points)]
        (x1, y1), (x2, y2) = points[-2:]
        heads.append({**said, "x": x2, "y": y2, "angle": math.degrees(math.atan2(y2 - y1, x2 - x1))})
        if not outer:
            text = f"{edge.many:,}" + (f" · {wait}" if wait else "")
            middle = len(points) // 2
            nearest = sorted(range(len(points)), key=lambda n: abs(n - middle))
            px, py = points[next((n for n in nearest if is_free(*points[n], text)), middle)]
            while not is_free(px, py, text):
                py += 4
            texts.append({"x": px + 5, "y": py, "t": text})
    # Space for a text behind the last line.
    across = [v["x"] for v in lines] + [x + sign * wide[e] / 2 for e, (x, _) in graph.nodes.items() for sign in (1, -1)]
    down = [y for _, y in graph.nodes.values()]
    size = (min(across) - 8, max(across) + 90, min(down) - 24, max(down) + 24)
    return _spec(counts, graph.nodes, wide, (lines, heads, texts), size, cases, every - len(edges))


def _spec(
    counts: Mapping[str, int], boxes: Mapping[str, tuple[float, float]], wide: Mapping[str, float],
    marks: tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]],
    size: tuple[float, float, float, float], cases: int, left_out: int,
) -> dict[str, Any]:  # fmt: skip
    (lines, heads, texts), (left, right, low, high) = marks, size
    x = {"field": "x", "type": "quantitative", "axis": None, "scale": {"domain": [left, right], "nice": False}}
    y = {"field": "y", "type": "quantitative", "axis": None,
         "scale": {"domain": [low, high], "nice": False, "reverse": True}}  # fmt: skip
    shapes = [
        {"x": px - wide[e] / 2, "x2": px + wide[e] / 2, "y": py - HEIGHT / 2, "y2": py + HEIGHT / 2, "type": e,
         "events": counts.get(e), "outer": e in (START, END) and e not in counts}
        for e, (px, py) in boxes.items()
    ]  # fmt: skip
    named = [{"x": px, "y": py - (6 if e in counts else 0), "t": e if len(e) <= _LETTERS else e[: _LETTERS - 1] + "…"}
             for e, (px, py) in boxes.items()]  # fmt: skip
    many = [{"x": px, "y": py + 8, "t": f"{counts[e]:,}"} for e, (px, py) in boxes.items() if e in counts]
    tips = [{"field": f, "type": "nominal"} for f in ("from", "to", "times", "median")]
    text = {"text": {"field": "t", "type": "nominal"}}

    def layer(values: list[dict[str, Any]], mark: dict[str, Any], **encoding: Any) -> dict[str, Any]:
        return {"data": {"values": values}, "mark": mark, "encoding": {"x": x, "y": y, **encoding}}

    said = "on a line: how often, and the median time between the two events"
    color = {"condition": {"test": "datum.ends", "value": GREY}, "value": BLUE}
    box = {"type": "rect", "cornerRadius": 6, "strokeWidth": 1.5}
    return {
        "usermeta": {"name": "directly_follows", "height": round(high - low) + 110},
        "title": {"text": f"What follows what: {cases:,} case{'s' * (cases != 1)}",
                  "subtitle": [said + f"; {left_out} rare ones are left out" * (left_out > 0)]},
        "width": round(right - left),
        "height": round(high - low),
        "layer": [
            layer(lines, {"type": "line", "opacity": 0.75}, order={"field": "n", "type": "quantitative"},
                  detail={"field": "edge", "type": "nominal"}, tooltip=tips, color=color,
                  strokeWidth={"field": "width", "type": "quantitative", "scale": None, "legend": None}),
            layer(heads, {"type": "point", "shape": "triangle-right", "filled": True, "size": 60, "opacity": 1},
                  tooltip=tips, color=color, angle={"field": "angle", "type": "quantitative", "scale": None}),
            layer([s for s in shapes if not s["outer"]], {**box, "fill": PALE_BLUE, "stroke": BLUE, "opacity": 1},
                  x2={"field": "x2"}, y2={"field": "y2"},
                  tooltip=[{"field": f, "type": "nominal"} for f in ("type", "events")]),
            layer([s for s in shapes if s["outer"]], {**box, "fill": PALE_GREY, "stroke": GREY, "opacity": 1},
                  x2={"field": "x2"}, y2={"field": "y2"}),
            layer(named, {"type": "text", "fontSize": 12, "color": TEXT}, **text),
            layer(many, {"type": "text", "fontSize": 10, "color": SOFT}, **text),
            layer(texts, {"type": "text", "align": "left", "fontSize": 10, "color": TEXT}, **text),
        ],
    }  # fmt: skip
