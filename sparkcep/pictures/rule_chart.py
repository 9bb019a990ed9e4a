"""Matches of rules over time: a row for each rule, a cell for each stretch of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sparkcep.data.roles import TEMPORAL
from sparkcep.errors import SparkCepError
from sparkcep.pictures.picture import Picture
from sparkcep.session.originals import plain_sql
from sparkcep.session.statement import run_statement

_ROW = 22
_WIDTH = 620
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")


def rules_picture(spark: SparkSession, query: str, args: Any, kwargs: dict[str, Any], cells: int) -> Picture:
    """See :func:`sparkcep.pictures.rules`."""
    if cells < 1:
        raise SparkCepError("CEP_PICTURE", f"cells is {cells}; at least one is drawn.")
    frame, _ = run_statement(spark, plain_sql(spark), query, args, kwargs)
    found, clock = counted(frame, cells)
    totals: dict[str, int] = {}
    for value in found:
        totals[value["rule"]] = totals.get(value["rule"], 0) + value["matches"]
    order = sorted(totals, key=lambda rule: (-totals[rule], rule))
    for value in found:
        value["label"] = f"{value['rule']} ({totals[value['rule']]:,})"
    labels = [f"{rule} ({totals[rule]:,})" for rule in order]
    kind = "temporal" if clock else "quantitative"
    x: dict[str, Any] = {
        "field": "from",
        "type": kind,
        "title": None if clock else "start_time",
        "axis": {"grid": False},
    }
    if clock:
        x["scale"] = {"type": "utc"}
    matches = sum(totals.values())
    return Picture(
        {
            "usermeta": {"name": "rules", "height": _ROW * max(1, len(order)) + 110},
            "title": {
                "text": f"Matches of {len(order)} rule{'s' * (len(order) != 1)} over time: {matches:,}",
                "subtitle": ["by the start of the match; the number after a rule's name is how many matches it has"],
            },
            "width": _WIDTH,
            "height": _ROW * max(1, len(order)),
            "data": {"values": found},
            "mark": {"type": "rect"},
            "encoding": {
                "y": {"field": "label", "type": "nominal", "sort": labels, "title": None},
                "x": x,
                "x2": {"field": "to"},
                "color": {
                    "field": "matches", "type": "quantitative", "title": "matches",
                    "scale": {"scheme": "blues", "type": "log"},
                },
            },
        }
    )  # fmt: skip


def counted(frame: DataFrame, cells: int) -> tuple[list[dict[str, Any]], bool]:
    """Matches by rule and stretch of time, and whether that is one of a clock.

    Raises:
        SparkCepError: CEP_PICTURE, the result has no columns ``rule`` and ``start_time``.
    """
    types = {f.name: f.dataType.simpleString() for f in frame.schema.fields}
    type_ = types.get("start_time", "")
    if "rule" not in types or type_ not in (*TEMPORAL, *_NUMBERS):
        raise SparkCepError(
            "CEP_PICTURE", "The picture of rules needs rule and start_time, a time or a number, in the result.",
            hint="SELECT rule, start_time FROM pattern_rules(...)",
        )  # fmt: skip
    clock = type_ in TEMPORAL
    at = "unix_micros(CAST(start_time AS TIMESTAMP))" if clock else "CAST(start_time AS DOUBLE)"
    timed = frame.selectExpr("rule", f"{at} AS at").where("at IS NOT NULL")
    low, high = timed.selectExpr("min(at)", "max(at)").collect()[0]
    if low is None:
        return [], clock
    width = (high - low) / cells or 1.0
    cell = f"least({cells - 1}, CAST((at - {low}) / {width!r}D AS INT))"
    rows = timed.selectExpr("rule", f"{cell} AS cell").groupBy("rule", "cell").count().orderBy("rule", "cell").collect()

    def place(number: float) -> Any:
        if not clock:
            return number
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=number)
        return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"

    return [
        {"rule": r[0], "from": place(low + r[1] * width), "to": place(low + (r[1] + 1) * width), "matches": r[2]}
        for r in rows
    ], clock
