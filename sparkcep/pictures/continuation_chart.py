"""What follows a sequence, as bars: completions, and how long they take on average."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from sparkcep import index
from sparkcep.pictures.colors import BLUE, TEXT
from sparkcep.pictures.durations import in_words
from sparkcep.pictures.intervals import seconds
from sparkcep.pictures.picture import Picture

_ROW = 26
_MODES = {
    "accurate": "accurate",
    "fast": "fast, the numbers are upper bounds",
    "hybrid": "hybrid, of the types with the best upper bounds",
}


def continuations_picture(spark: SparkSession, log: str, pattern: str, mode: str, k: int) -> Picture:
    """See :func:`sparkcep.pictures.continuations`."""
    frame = index.pattern_continuations(spark, log, pattern, mode=mode, k=k)
    type_ = dict(frame.dtypes)["average_duration"]
    clock, average = "interval" in type_, seconds(F.col("average_duration"), type_)
    found = frame.select("next_event", "completions", "support", average.alias("average")).collect()
    # The bars say how many; the table's score would sort them by what is not drawn.
    found = sorted(found, key=lambda r: (-r.completions, r.average or 0, r.next_event))
    values = [_bar(n, r.next_event, r.completions, r.support, r.average, clock) for n, r in enumerate(found)]
    most = max((v["completions"] for v in values), default=1)
    y = {
        "field": "next",
        "type": "nominal",
        "sort": None,
        "scale": {"domain": [v["next"] for v in values]},
        "title": None,
    }
    # Space for the text behind the longest bar.
    scale = {"domain": [0, most * 1.9], "nice": False}
    x = {"field": "completions", "type": "quantitative", "axis": None, "scale": scale}
    exact = _MODES[mode.lower()]
    return Picture(
        {
            "usermeta": {"name": "continuations", "height": _ROW * max(1, len(values)) + 100},
            "title": {
                "text": f"What comes after {pattern}: completions",
                "subtitle": [f"most completions first; {exact}"],
            },
            "width": 560,
            "height": _ROW * max(1, len(values)),
            "data": {"values": values},
            "encoding": {"y": y, "x": x},
            "layer": [
                {"mark": {"type": "bar", "color": BLUE, "height": 16}},
                {
                    "mark": {"type": "text", "align": "left", "dx": 6, "fontSize": 10, "color": TEXT},
                    "encoding": {"text": {"field": "text", "type": "nominal"}},
                },
            ],
        }
    )


def _bar(n: int, event: str, completions: int, support: int, average: float | None, clock: bool) -> dict[str, Any]:
    lasting = "" if average is None else f", {in_words(average) if clock else f'{average:,.1f}'} on average"
    text = f"{completions:,} in {support:,} case{'s' * (support != 1)}{lasting}"
    return {"n": n, "next": event, "completions": completions, "cases": support, "average": average, "text": text}
