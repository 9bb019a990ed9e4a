"""Where the nodes and edges of a directed graph are drawn: in layers downwards (Sugiyama, Tagawa, Toda 1981).

Units are pixels, y grows downwards. Frequent edges decide: they lead down, and the most frequent way is straight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

#: Of a box; between layers; between what stands in one; for the text on an edge.
HEIGHT, STEP, _BETWEEN, _TEXT = 34, 54, 24, 84
#: An edge decides about layers from this part of its ends' most frequent edges on.
_OFTEN = 5
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Edge:
    """From a node to a node, so often."""

    before: str
    after: str
    many: int


@dataclass(frozen=True, slots=True)
class Graph:
    """``nodes``: the middle of each. ``paths``: points of each edge, in the order of the edges."""

    nodes: dict[str, Point]
    paths: list[list[Point]]


def layered(edges: Sequence[Edge], widths: Mapping[str, float], first: str, last: str) -> Graph:
    """Place a graph.

    Args:
        widths: of each node's box. first, last: nodes with a layer of their own, at the top and at the bottom.
    """
    layer = layers(
        [e for e in edges if first != e.before and last != e.after], [n for n in widths if n not in (first, last)]
    )
    layer |= {first: 0, last: max(layer.values(), default=0) + 1}
    weight = dict.fromkeys(widths, 0)
    for edge in edges:
        weight[edge.after] += edge.many
        weight[edge.before] += edge.many
    # An edge past a layer is a node of it without a box.
    rows: list[list[str]] = [[] for _ in range(layer[last] + 1)]
    for name in widths:
        rows[layer[name]].append(name)
    chains: list[list[str]] = []
    for number, edge in enumerate(edges):
        between = range(layer[edge.before] + 1, layer[edge.after])
        inner = [f"\0{number} {k}" for k in between]
        for k, name in zip(between, inner, strict=True):
            rows[k].append(name)
            weight[name] = 2 * edge.many
        chains.append([edge.before, *inner, edge.after])
    loops = {e.before for e in edges if e.before == e.after}
    rooms = {n: (w / 2, w / 2 + (_TEXT + 30) * (n in loops)) for n, w in widths.items()}
    x = _places(rows, chains, weight, rooms)
    y = {name: n * (HEIGHT + STEP) for n, row in enumerate(rows) for name in row}
    return Graph({n: (x[n], y[n]) for n in widths}, [_path(chain, x, y, widths) for chain in chains])


def layers(edges: Sequence[Edge], nodes: Sequence[str]) -> dict[str, int]:
    """A layer for each node, from 1: behind the layers of the nodes that lead to it.

    The most frequent edges come first; one that would close a circle leads back.

    >>> layers([Edge("a", "b", 5), Edge("b", "c", 5), Edge("c", "a", 2), Edge("a", "c", 3)], ["a", "b", "c"])
    {'a': 1, 'b': 2, 'c': 3}
    """
    inner = [e for e in edges if e.before != e.after]
    into, out_of = dict.fromkeys(nodes, 0), dict.fromkeys(nodes, 0)
    for edge in inner:
        into[edge.after] = max(into[edge.after], edge.many)
        out_of[edge.before] = max(out_of[edge.before], edge.many)
    ahead: dict[str, set[str]] = {n: set() for n in nodes}

    def leads(start: str, to: str) -> bool:
        return start == to or any(leads(n, to) for n in ahead[start])

    for edge in sorted(inner, key=lambda e: -e.many):
        often = _OFTEN * edge.many >= min(into[edge.after], out_of[edge.before])
        if often and not leads(edge.after, edge.before):
            ahead[edge.before].add(edge.after)
    layer = dict.fromkeys(nodes, 1)
    for _ in nodes:
        for node, later in ahead.items():
            for after in later:
                layer[after] = max(layer[after], layer[node] + 1)
    return layer


def _places(
    rows: Sequence[list[str]],
    chains: Sequence[Sequence[str]],
    weight: Mapping[str, int],
    rooms: Mapping[str, tuple[float, float]],
) -> dict[str, float]:
    """Where each node is across its layer: in the order of its neighbours, the heaviest in the middle.

    ``rooms``: what a box needs left and right of its middle; an edge that passes needs room for its text.
    """
    near: dict[str, list[str]] = {n: [] for row in rows for n in row}
    for chain in chains:
        for one, other in pairwise(chain):
            if one != other:
                near[one].append(other)
                near[other].append(one)
    x: dict[str, float] = {}
    passing = (4.0, float(_TEXT))
    for sweep in range(4):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            heaviest = max(row, key=lambda n: weight[n], default="")

            def wanted(name: str, middle: str = heaviest) -> float:
                known = [(x[n], weight[n]) for n in near[name] if n in x and name != middle]
                return sum(place * w for place, w in known) / max(1, sum(w for _, w in known))

            row.sort(key=lambda n: (wanted(n), -weight[n]))
            place = 0.0
            for one, other in pairwise([row[0], *row]):
                if one != other:
                    place += rooms.get(one, passing)[1] + rooms.get(other, passing)[0] + _BETWEEN
                x[other] = place
            middle = x[heaviest]
            for name in row:
                x[name] -= middle
    return x


def _path(
    chain: Sequence[str], x: Mapping[str, float], y: Mapping[str, float], widths: Mapping[str, float]
) -> list[Point]:
    """Points of an edge: curves downwards, an arc back and a loop at the right."""
    before, after = chain[0], chain[-1]
    if before == after:
        right, up, down = x[before] + widths[before] / 2, y[before] - 8, y[before] + 8
        return _curve((right, up), (right + 30, up - 6), (right + 30, down + 6), (right + 3, down))
    if y[after] <= y[before]:
        start = (x[before] + widths[before] / 2, y[before])
        end = (x[after] + widths[after] / 2 + 3, y[after])
        right = max(start[0], end[0]) + 30 + 0.12 * (y[before] - y[after])
        return _curve(start, (right, y[before]), (right, y[after]), end)
    stops = [(x[before], y[before] + HEIGHT / 2)]
    stops += [(x[name], y[name]) for name in chain[1:-1]]
    stops.append((x[after], y[after] - HEIGHT / 2 - 4))
    out: list[Point] = []
    for (x1, y1), (x2, y2) in pairwise(stops):
        bend = (y2 - y1) / 2
        out += _curve((x1, y1), (x1, y1 + bend), (x2, y2 - bend), (x2, y2))[bool(out) :]
    return out


def _curve(a: Point, b: Point, c: Point, d: Point) -> list[Point]:
    """Points of a cubic Bezier curve."""
    out = []
    for n in range(17):
        t = n / 16
        k = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
        out.append((
            sum(w * p[0] for w, p in zip(k, (a, b, c, d), strict=True)),
            sum(w * p[1] for w, p in zip(k, (a, b, c, d), strict=True)),
        ))  # fmt: skip
    return out
