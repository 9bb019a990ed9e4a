"""The explorer as HTML that needs no kernel and no script: what an exported notebook shows of it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

#: Of a list, at most so many.
_TYPES = 30


def snapshot(summary: Mapping[str, Any], request: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """HTML of the last state: the log at a glance, the pattern, its SQL and the matches found.

    Args:
        summary, request, answer: as the widget has them.
    """
    css = Path(__file__).with_name("explorer.css").read_text(encoding="utf-8")
    facts = "".join(f"<span>{escape(f)}</span>" for f in summary["facts"])
    columns = summary["columns"]
    named = f"case {columns['case'] or '(none)'}, time {columns['time']}, event type {columns['event']}"
    most = max([1, *(t["events"] for t in summary["types"])])
    types = "".join(
        f'<div class="type"><i style="width: {100 * t["events"] / most:.1f}%"></i><span>{escape(str(t["name"]))}</span>'
        f"<em>{t['events']:,}</em></div>"
        for t in summary["types"][:_TYPES]
    )
    if len(summary["types"]) > _TYPES:
        types += f"<p><em>{len(summary['types']) - _TYPES:,} more</em></p>"
    variants = "".join(
        f"<li><b>{escape(v['share'])}</b> {escape(' › '.join(map(str, v['events'])))}</li>" for v in summary["variants"]
    )
    steps = "".join(
        f'<span class="step {escape(s.get("kind", "once").replace(" ", "-"))}"><b>{escape(str(s["type"]))}</b> '
        f"{escape(s.get('kind', 'once'))}</span>"
        for s in request.get("steps", ())
    )
    pattern = f'<h4>Pattern</h4><div class="pattern">{steps}</div>' if steps else ""
    sql = f'<pre class="sql">{escape(answer["sql"])}</pre>' if answer.get("sql") else ""
    return (
        f'<div class="sparkcep snapshot"><style>{css}</style><p class="facts">{facts}</p>'
        f'<p class="columns">{escape(named)}</p>'
        f'<div class="two"><section><h4>Event types</h4><div class="types">{types}</div></section>'
        f'<section><h4>Most frequent variants</h4><ol class="variants">{variants}</ol></section></div>'
        f"{pattern}{sql}{_result(answer)}</div>"
    )


def _result(answer: Mapping[str, Any]) -> str:
    if answer.get("error"):
        return f'<pre class="error">{escape(answer["error"])}</pre>'
    if "shown" not in answer:
        return ""
    more = f"; the first {len(answer['shown'])} cases" if answer["cases"] > len(answer["shown"]) else ""
    found = f"{_some(answer['matches'], 'match', 'matches')} in {_some(answer['cases'], 'case', 'cases')}"
    cases = []
    for case in answer["shown"]:
        events = "".join(
            f'<span class="event{" taken" if e["taken"] else ""}" title="{escape(str(e["time"]))}">'
            f"{escape('NULL' if e['type'] is None else str(e['type']))}</span>"
            for e in case["events"]
        )
        before = f"<em>{case['before']} before</em>" if case["before"] else ""
        after = f"<em>{case['after']} more</em>" if case["after"] else ""
        since = f"<em>from {escape(str(case['since']))}</em>" if case["since"] else ""
        cases.append(
            f'<div class="case"><span class="name">{escape(case["case"])}{since}</span>'
            f'<span class="events">{before}{events}{after}</span></div>'
        )
    return f'<div class="result"><p><b>{found}</b>{more}</p>{"".join(cases)}</div>'


def _some(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"
