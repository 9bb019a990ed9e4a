"""Constraints on time and on positions that no match can meet, whatever the log: SIESTA's consistency check of a query.

`(time, atleast, 10 minutes, 1, 2)` under WITHIN 5 minutes, `b.ts < a.ts` behind a. Each constraint bounds a difference
of two values; together they cannot be met where some of them add up to a value being less than itself (Dechter, Meiri
and Pearl, Temporal Constraint Networks, 1991). Nothing is asked of the log.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sparkcep.pattern import Pattern, Variable, flattened, walk
from sparkcep.planner.conditions.differences import Difference, TimeUnits, difference
from sparkcep.planner.lengths import is_fixed_zone
from sparkcep.planner.plan import AnyPlan
from sparkcep.query import unescape

_KINDS = ("int", "decimal", "date", "timestamp", "timestamp_ntz")
_CLOCKS = ("timestamp", "timestamp_ntz")


@dataclass(frozen=True, slots=True)
class Most:
    """``value of second - value of first <= most``. ``source``: the user's text, empty for the pattern's order."""

    first: str
    second: str
    most: int
    source: str = ""


def contradiction(plan: AnyPlan, time_zone: str) -> str:
    """A sentence about constraints that exclude each other, empty where none are known to.

    Looked at are the variables that every match takes exactly once.

    Args:
        time_zone: of the session, which tells how long a day is.
    """
    query = plan.bound
    if query.trends or query.uncertainty is not None or query.non_answers is not None or not query.order_by:
        return ""
    key = query.order_by[0]
    fields = plan.input.fields
    column = fields.column_of(key.expression)
    order = _singles(query.pattern)
    if column is None or not key.ascending or not order:
        return ""
    units = TimeUnits(plan.input.column_types[column], is_fixed_zone(time_zone))
    if units.kind.kind not in _KINDS:
        return ""
    bare = None if query.is_block else key.expression
    found = [
        (d, unescape(c.source).strip() or "a condition")
        for c in query.conditions
        if (d := difference(c, lambda text: fields.column_of(text) == column, units, bare)) is not None
    ]
    times = [m for d, source in found if not d.gap for m in _most(d, source)]
    if query.within is not None and len(order) > 1:
        seconds = units.kind.kind in _CLOCKS and re.fullmatch(r"\d+(\.\d+)?", query.within.strip())
        length = units.count(f"INTERVAL {query.within} SECOND" if seconds else query.within)
        if length is not None:
            times.append(Most(order[0], order[-1], length.__floor__(), f"WITHIN {unescape(query.within).strip()}"))
    gaps = [m for d, source in found if d.gap for m in _most(d, source)]
    for bounds, step in ((times, int(query.strict_time)), (gaps, 1)):
        in_order = [Most(b, a, -step) for a, b in pairwise(order)]
        if cycle := excluded([*bounds, *in_order], order):
            sources = {b.source for b in cycle}
            written = dict.fromkeys(b.source for b in bounds if b.source in sources)  # as they are written
            return _sentence(list(written), ordered="" in sources)
    return ""


def _singles(pattern: Pattern) -> list[str]:
    """Variables that each match takes once, in order."""
    named = Counter(node.name for node in walk(pattern) if isinstance(node, Variable))
    return [item.name for item in flattened(pattern) if isinstance(item, Variable) and named[item.name] == 1]


def _most(d: Difference, source: str) -> Iterator[Most]:
    if d.most is not None:
        yield Most(d.first, d.second, d.most, source)
    if d.least is not None:
        yield Most(d.second, d.first, -d.least, source)


def excluded(bounds: Sequence[Most], names: Sequence[str]) -> list[Most]:
    """Bounds that exclude each other: a cycle whose sum is below zero; empty where there is none.

    Args:
        names: of the values; bounds of others are left alone.

    >>> [b.source for b in excluded([Most("a", "b", 5, "within 5"), Most("b", "a", -6, "atleast 6")], ["a", "b"])]
    ['within 5', 'atleast 6']
    >>> excluded([Most("a", "b", 6), Most("b", "a", -6)], ["a", "b"])
    []
    """
    known = [b for b in bounds if b.first in names and b.second in names]
    far = dict.fromkeys(names, 0)
    by: dict[str, Most] = {}
    last = ""
    for _ in range(len(names) + 1):  # Bellman and Ford: what still falls then has a cycle behind it
        last = ""
        for bound in known:
            if far[bound.first] + bound.most < far[bound.second]:
                far[bound.second] = far[bound.first] + bound.most
                by[bound.second] = bound
                last = bound.second
        if not last:
            return []
    for _ in names:
        last = by[last].first
    cycle = [by[last]]
    while cycle[-1].first != last:
        cycle.append(by[cycle[-1].first])
    cycle.reverse()
    return cycle


def _sentence(sources: Sequence[str], ordered: bool) -> str:
    if len(sources) == 1:
        return f"no match is possible: {sources[0]} contradicts {'the order of the pattern' if ordered else 'itself'}"
    behind = " in the order of the pattern" if ordered else ""
    return f"no match is possible: {', '.join(sources[:-1])} and {sources[-1]} exclude each other{behind}"
