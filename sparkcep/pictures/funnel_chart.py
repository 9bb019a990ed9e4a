"""A funnel: the cases that reach each step, with what is lost on the way and how long it takes."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from sparkcep.pictures.colors import BLUE, SOFT, TEXT, TRACK
from sparkcep.pictures.durations import half_and_most
from sparkcep.pictures.intervals import seconds
from sparkcep.pictures.matched_events import needs
from sparkcep.pictures.picture import Picture
from sparkcep.session.originals import plain_sql
from sparkcep.session.statement import run_statement

_ROW = 46
_COLUMNS = ("step", "name", "cases", "median_wait", "p90_wait")


def funnel_picture(spark: SparkSession, query: str, args: Any, kwargs: dict[str, Any]) -> Picture:
    """See :func:`sparkcep.pictures.funnel`."""
    frame, _ = run_statement(spark, plain_sql(spark), query, args, kwargs)
    types = dict(frame.dtypes)
    if missing := [c for c in _COLUMNS if c not in types]:
        hint = "SELECT * FROM funnel_steps(TABLE(log), steps => ARRAY('visit', 'order', 'pay'))"
        raise needs("funnel", " and ".join(missing), hint)
    clock = types["median_wait"].startswith("interval")
    waits = [seconds(F.col(c), types[c]).alias(c) for c in ("median_wait", "p90_wait")]
    rows = frame.select("step", "name", "cases", *waits).orderBy("step").collect()
    values = [_bar(row, rows[n - 1] if n else None, rows[0].cases, clock) for n, row in enumerate(rows)]
    whole = max([1, *(v["cases"] for v in values)])
    names = [v["label"] for v in values]
    y = {"field": "label", "type": "nominal", "sort": None, "title": None, "scale": {"domain": names},
         "axis": {"ticks": False, "domain": False, "labelPadding": 8}}  # fmt: skip
    # Space for the text behind the longest bar.
    x = {"type": "quantitative", "axis": None, "scale": {"domain": [0, whole * 1.75], "nice": False}}
    text = {"type": "text", "align": "left", "dx": 8}
    beside = {"x": {"field": "whole", **x}}
    return Picture(
        {
            "usermeta": {"name": "funnel", "height": _ROW * max(1, len(values)) + 90},
            "title": {"text": _title(values), "subtitle": ["each bar: the cases that reach the step"]},
            "width": 620,
            "height": _ROW * max(1, len(values)),
            "data": {"values": [{**v, "whole": whole} for v in values]},
            "encoding": {"y": y},
            "layer": [
                {"mark": {"type": "bar", "color": TRACK, "height": 30}, "encoding": beside},
                {"mark": {"type": "bar", "color": BLUE, "height": 30}, "encoding": {"x": {"field": "cases", **x}}},
                {"mark": {**text, "dy": -7, "color": TEXT},
                 "encoding": {**beside, "text": {"field": "text", "type": "nominal"}}},
                {"mark": {**text, "dy": 8, "fontSize": 10, "color": SOFT},
                 "encoding": {**beside, "text": {"field": "lost", "type": "nominal"}}},
            ],
        }
    )  # fmt: skip


def _title(values: list[dict[str, Any]]) -> str:
    if not values or not values[0]["cases"]:
        return "Funnel: no case reaches the first step"
    return f"Funnel: {values[-1]['cases'] / values[0]['cases']:.1%} of {values[0]['cases']:,} cases reach the last step"


def _bar(row: Any, before: Any, first: int, clock: bool) -> dict[str, Any]:
    share = f" ({row.cases / first:.1%})" if first else ""
    text = f"{row.cases:,} case{'s' * (row.cases != 1)}{share}"
    lost = ""
    if before is not None and before.cases:
        gone = before.cases - row.cases
        lost = f"{gone:,} lost ({gone / before.cases:.1%})"
        if row.median_wait is not None:
            lost += f"; {half_and_most(row.median_wait, row.p90_wait, clock)}"
    return {"label": f"{row.step}. {row.name}", "cases": row.cases, "text": text, "lost": lost}
