"""How long matches wait between their events: the distribution for each pair of events that follow each other."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

from sparkcep.data.discovery import seconds_of
from sparkcep.data.roles import TEMPORAL
from sparkcep.pictures.colors import BLUE, GREY, PALE_BLUE, SOFT, TEXT
from sparkcep.pictures.durations import half_and_most, in_words
from sparkcep.pictures.matched_events import events_of_matches, labels
from sparkcep.pictures.picture import Picture
from sparkcep.pictures.timeline_marks import unit_of
from sparkcep.session.originals import plain_sql
from sparkcep.session.statement import run_statement

_ROW = 34
#: Shares of the waits that are drawn: the line's ends, the box's ends, the tick.
_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
#: Seconds at which a logarithmic axis has a tick.
_TICKS = (0.001, 0.01, 0.1, 1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400)
#: From this ratio of the longest wait to the shortest the axis is logarithmic.
_WIDE = 100


def waits_picture(spark: SparkSession, query: str, args: Any, kwargs: dict[str, Any]) -> Picture:
    """See :func:`sparkcep.pictures.waits`."""
    frame, run = run_statement(spark, plain_sql(spark), query, args, kwargs)
    rows, keys, type_ = events_of_matches(frame, None, "picture of waits", "a pattern block without RETURN")
    clock, at = type_ in TEMPORAL, F.expr(seconds_of("time", type_))
    match = Window.partitionBy(*(f"key{i}" for i in range(len(keys))), "match").orderBy("n")
    pairs = rows.select(
        F.lag("variable").over(match).alias("a"), F.col("variable").alias("b"), "n",
        (at - F.lag(at).over(match)).alias("wait"),
    ).where("wait IS NOT NULL")  # fmt: skip
    found = (
        pairs.groupBy("a", "b")
        .agg(F.count("*").alias("many"), F.expr(f"percentile(wait, array{_SHARES})").alias("q"), F.avg("n").alias("n"))
        .orderBy("n", "a", "b")
        .collect()
    )
    names = labels(run)
    low, high = min((r.q[0] for r in found), default=0), max((r.q[-1] for r in found), default=1)
    logarithmic = low > 0 and high / low > _WIDE
    unit, length = unit_of([r.q[4] for r in found]) if clock and not logarithmic else ("", 1.0)
    ticks = [s for s in _TICKS if low / 3 <= s <= high * 3] if clock and logarithmic else []
    values = []
    for row in found:
        values.append({
            "step": f"{names.get(row.a, row.a)} → {names.get(row.b, row.b)}",
            "text": f"{half_and_most(row.q[2], row.q[4], clock)} ({row.many:,})",
            **{f"q{n}": q / length for n, q in enumerate(row.q)},
        })  # fmt: skip
    scale: dict[str, Any] = {"type": "log"} if logarithmic else {"zero": low >= 0}
    axis: dict[str, Any] = {"grid": True, "tickCount": 6, "labelOverlap": True}
    if ticks:
        axis |= {"values": ticks, "labelExpr": f"({json.dumps({s: in_words(s) for s in ticks})})[datum.value]"}
    x = {"type": "quantitative", "scale": scale, "axis": axis, "title": "logarithmic" if logarithmic else unit or None}
    return Picture(_drawn(values, x, sum(r.many for r in found)))


def _drawn(values: list[dict[str, Any]], x: dict[str, Any], many: int) -> dict[str, Any]:
    y = {"field": "step", "type": "nominal", "sort": None, "title": None,
         "scale": {"domain": [v["step"] for v in values]}}  # fmt: skip
    height = _ROW * max(1, len(values))
    return {
        "usermeta": {"name": "waits", "height": height + 130},
        "title": {"text": f"{many:,} wait{'s' * (many != 1)} between the events of matches",
                  "subtitle": ["line: 10% to 90% of the waits; box: the middle half; tick: half of them are shorter"]},
        "width": 620,
        "height": height,
        "data": {"values": values},
        "encoding": {"y": y, "tooltip": [{"field": "step", "type": "nominal"}, {"field": "text", "type": "nominal"}]},
        "layer": [
            {"mark": {"type": "rule", "color": GREY}, "encoding": {"x": {"field": "q0", **x}, "x2": {"field": "q4"}}},
            {"mark": {"type": "bar", "height": 14, "color": PALE_BLUE, "stroke": BLUE, "strokeWidth": 1},
             "encoding": {"x": {"field": "q1", **x}, "x2": {"field": "q3"}}},
            {"mark": {"type": "tick", "thickness": 3, "size": 14, "color": TEXT},
             "encoding": {"x": {"field": "q2", **x}}},
            {"mark": {"type": "text", "align": "left", "dx": 12, "fontSize": 10, "color": SOFT},
             "encoding": {"x": {"value": 620}, "text": {"field": "text", "type": "nominal"}}},
        ],
    }  # fmt: skip
