"""The marks of a timeline: a row a case, a line a match, and the events on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sparkcep.pictures.colors import DOT, GREY, GRID, SOFT, TEXT
from sparkcep.pictures.durations import UNITS, in_words

#: Pixels: between the lines of one case, between cases, of the plot's width, and of a letter of a case's name.
_LINE, _BETWEEN, _WIDTH, _LETTER = 16, 10, 640, 6.6
#: Letters of a case's name that are shown.
_NAME = 28
#: How much longer all matches together may take than the longest of them, so that they can be told apart on one axis.
_SPREAD = 12
Event = Mapping[str, Any]


def chart(
    taken: Sequence[Event],
    others: Sequence[Event],
    keys: Sequence[str],
    is_time: bool,
    labels: Mapping[str, str],
    since_start: bool | None,
    more: bool = False,
) -> dict[str, Any]:
    """A Vega-Lite specification.

    Args:
        taken: events of matches, with case0 ..., match, variable and time. others: all events of their cases.
        keys: names of the case's columns. is_time: whether times are a clock's, as texts.
        labels: what the legend calls a variable.
        since_start: time since a match's first event; None: where else matches would be dots on a long axis.
        more: there are more matches than these.
    """
    matches = _grouped(taken, lambda e: (case_of(e, keys), e["match"]))
    cases = _grouped(others, lambda e: case_of(e, keys))
    if since_start is None:
        since_start = _is_scattered(matches.values(), is_time)
    places, rows, height = _places(list(matches), cases)
    bars, points, grey = [], [], []
    for (case, number), events in matches.items():
        start = min(e["time"] for e in events)

        def at(event: Event, start: Any = start) -> Any:
            return _since(event["time"], start, is_time) if since_start else event["time"]

        row = {"case": case_name(case), "match": number, "y": places[case, number]}
        bars.append({**row, "from": min(map(at, events)), "to": max(map(at, events)),
                     "lasts": _lasting(events, is_time)})  # fmt: skip
        points += [
            {**row, "time": at(e), "variable": labels.get(e["variable"], e["variable"]) or "none"} for e in events
        ]
        grey += [{**row, "time": at(e), "event": e["event"]} for e in cases.get(case, ())]
    temporal = is_time and not since_start
    unit, title = "", f"time, from {min(b['from'] for b in bars)[:10]} on" if temporal and bars else "time"
    if since_start:
        unit, length = unit_of([b["to"] for b in bars]) if is_time else ("", 1)
        for value in (*points, *grey):
            value["time"] /= length
        for bar in bars:
            bar["from"], bar["to"] = bar["from"] / length, bar["to"] / length
        title = f"{unit} since the first event".strip()
    domain = _domain(bars, temporal)
    # Other events may be years away from the match.
    grey = [g for g in grey if not domain or domain[0] <= g["time"] <= domain[1]]
    return _drawn(bars, points, grey, rows, height, title, temporal, keys, more)


def case_of(event: Event, keys: Sequence[str]) -> tuple[Any, ...]:
    """The values of an event's case."""
    return tuple(event[f"case{i}"] for i in range(len(keys)))


def case_name(case: Sequence[Any]) -> str:
    """The values of a case in words."""
    return ", ".join("NULL" if v is None else str(v) for v in case)


def _grouped(events: Iterable[Event], key: Any) -> dict[Any, list[Event]]:
    out: dict[Any, list[Event]] = {}
    for event in events:
        out.setdefault(key(event), []).append(event)
    return out


def _places(
    matches: Sequence[tuple[tuple[Any, ...], Any]], cases: Mapping[Any, Any]
) -> tuple[dict[tuple[Any, Any], float], list[dict[str, Any]], float]:
    """Heights of matches, rows of cases, and the height of all: matches of one case are below each other."""
    places: dict[tuple[Any, Any], float] = {}
    rows: list[dict[str, Any]] = []
    y = 0.0
    for case, numbers in _grouped_pairs(matches).items():
        top = y
        y += _BETWEEN / 2
        for number in numbers:
            places[case, number] = y + _LINE / 2
            y += _LINE
        y += _BETWEEN / 2
        name = case_name(case)
        shown = name if len(name) <= _NAME else name[: _NAME - 1] + "…"
        rows.append({"name": name, "shown": shown, "y": (top + y) / 2, "bottom": y, "matches": len(numbers)})
    return places, rows, max(y, _LINE + _BETWEEN)


def _grouped_pairs(matches: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    out: dict[Any, list[Any]] = {}
    for case, number in matches:
        out.setdefault(case, []).append(number)
    return out


def _is_scattered(matches: Iterable[Sequence[Event]], is_time: bool) -> bool:
    """Whether matches would be dots on an axis that holds all of them."""
    spans = [(min(e["time"] for e in m), max(e["time"] for e in m)) for m in matches]
    if len(spans) < 2:
        return False
    longest = max(_since(high, low, is_time) for low, high in spans)
    whole = _since(max(h for _, h in spans), min(low for low, _ in spans), is_time)
    return longest > 0 and whole > _SPREAD * longest


def _lasting(events: Sequence[Event], is_time: bool) -> str:
    length = _since(max(e["time"] for e in events), min(e["time"] for e in events), is_time)
    return in_words(length) if is_time else f"{length:,.6g}"


def _domain(bars: Sequence[Mapping[str, Any]], temporal: bool) -> list[Any]:
    """From the first match to the last, and a little more."""
    if not bars:
        return []
    low, high = min(b["from"] for b in bars), max(b["to"] for b in bars)
    if temporal:
        first, last = datetime.fromisoformat(low), datetime.fromisoformat(high)
        pad = max((last - first) * 0.04, timedelta(milliseconds=1))
        return [(first - pad).isoformat(timespec="milliseconds"), (last + pad).isoformat(timespec="milliseconds")]
    more = (high - low) * 0.04 or 1
    return [low - more, high + more]


def _drawn(
    bars: list[dict[str, Any]], points: list[dict[str, Any]], grey: list[dict[str, Any]], rows: list[dict[str, Any]],
    height: float, title: str, temporal: bool, keys: Sequence[str], more: bool,
) -> dict[str, Any]:  # fmt: skip
    kind = "temporal" if temporal else "quantitative"
    # The domain is that of what is drawn.
    scale = {"nice": False, "padding": 14, **({} if temporal else {"zero": False})}
    x = {"type": kind, "title": title, "scale": scale,
         "axis": {"grid": True, "labelOverlap": True, "labelSeparation": 12, "labelFlush": True,
                  "tickCount": 7}}  # fmt: skip
    y_scale = {"domain": [0, height], "nice": False, "reverse": True}
    y = {"field": "y", "type": "quantitative", "axis": None, "scale": y_scale}
    case = {"field": "case", "type": "nominal", "title": ", ".join(keys) or "case"}
    number = {"field": "match", "type": "nominal"}
    layers: list[dict[str, Any]] = [
        {"data": {"values": rows[:-1]}, "mark": {"type": "rule", "color": GRID},
         "encoding": {"y": {**y, "field": "bottom"}}}
    ] if len(rows) > 1 else []  # fmt: skip
    if grey:
        tips = [case, {"field": "event", "type": "nominal"}, {"field": "time", "type": kind, **_digits(temporal)}]
        mark = {"type": "point", "filled": True, "color": DOT, "size": 26, "opacity": 1}
        layers.append({"data": {"values": grey}, "mark": mark,
                       "encoding": {"x": {"field": "time", **x}, "y": y, "tooltip": tips}})  # fmt: skip
    tips = [case, number, {"field": "lasts", "type": "nominal"}]
    layers.append({"data": {"values": bars}, "mark": {"type": "rule", "color": GREY, "strokeWidth": 2},
                   "encoding": {"x": {"field": "from", **x}, "x2": {"field": "to"}, "y": y,
                                "tooltip": tips}})  # fmt: skip
    names = list(dict.fromkeys(p["variable"] for p in points))
    color = {"field": "variable", "type": "nominal", "scale": {"domain": names}, "title": None,
             "legend": {"orient": "top", "direction": "horizontal", "columns": 3, "symbolOpacity": 1}}  # fmt: skip
    tips = [
        case,
        number,
        {"field": "variable", "type": "nominal"},
        {"field": "time", "type": kind, **_digits(temporal)},
    ]
    layers.append({"data": {"values": points}, "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
                   "encoding": {"x": {"field": "time", **x}, "y": y, "color": color, "tooltip": tips}})  # fmt: skip
    # Names are texts of their own: an axis would give each line one.
    layers.append({"data": {"values": rows},
                   "mark": {"type": "text", "align": "right", "baseline": "middle", "color": TEXT, "fontSize": 11},
                   "encoding": {"x": {"value": -8}, "y": y, "text": {"field": "shown", "type": "nominal"},
                                "tooltip": [{"field": "name", "type": "nominal"}]}})  # fmt: skip
    count = len(bars)
    said = f"{'the first ' * more}{count} match{'es' * (count != 1)}" if count else "no match"
    if rows and keys:
        said += f" in {len(rows)} case{'s' * (len(rows) != 1)}"
    lines = [f"each row is a case ({', '.join(keys)}), each line a match"] if keys else ["each line is a match"]
    lines += ["grey dots: other events of the case"] if grey else []
    return {
        "usermeta": {"name": "timeline", "height": round(height) + 130},
        "title": {"text": f"Matches over time: {said}", "subtitle": lines, "subtitleColor": SOFT},
        "width": _WIDTH,
        "height": round(height),
        "layer": layers,
    }


def _digits(temporal: bool) -> dict[str, str]:
    return {"format": "%Y-%m-%d %H:%M:%S"} if temporal else {"format": ",.4~g"}


def unit_of(seconds: Sequence[float]) -> tuple[str, float]:
    """The largest unit in which the longest time is more than two."""
    most = max((abs(s) for s in seconds), default=0)
    return next(((u, n) for u, n in reversed(UNITS.items()) if most > 2 * n), ("seconds", 1))


def _since(time: Any, start: Any, is_time: bool) -> float:
    if not is_time:
        return float(time - start)
    return (datetime.fromisoformat(time) - datetime.fromisoformat(start)).total_seconds()
