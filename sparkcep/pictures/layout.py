"""Where the parts of a pattern are drawn: a tree becomes boxes, lines and texts on a plane.

As railroad diagrams do: from left to right what follows each other, below each other what is a choice, a line back
for what is repeated, a line past it for what may be left out. A negation hangs below the line it guards.
Units are pixels, y grows downwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sparkcep.pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Conjunction,
    Empty,
    Exclusion,
    Negation,
    Pattern,
    Permutation,
    Quantified,
    Variable,
)

GAP, PAD, CHARACTER, FORK = 36, 12, 8.2, 28
#: Heights of a line of a component's name, and of its types.
LINE, SMALL_LINE = 16, 13
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Named:
    """What a component's box says: its name and its types, in lines, and a note for who points at it."""

    name: str
    types: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Box:
    """``kind``: component, negated, start, end, frame or forbidden (the frame of a negation)."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    label: Named = Named("")


@dataclass(frozen=True, slots=True)
class Line:
    """``kind``: step (an event may lie between), path (none does), back, past or guard; ``arrow`` at its end."""

    points: tuple[Point, ...]
    kind: str
    arrow: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """``kind``: quantifier, or forbidden (at the frame of a negation); its middle is at ``x``."""

    x: float
    y: float
    text: str
    kind: str = "quantifier"


@dataclass(slots=True)
class Drawing:
    """All marks of one pattern on a plane from (0, 0) to (``width``, ``height``), y downwards."""

    boxes: list[Box] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    texts: list[Text] = field(default_factory=list)
    width: float = 0
    height: float = 0


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern before it has a place: ``above`` and ``below`` its line, which goes through it.

    ``opens``: begins with a box, at which an arrow may end.
    """

    width: float
    above: float
    below: float
    draw: Callable[[Drawing, float, float], None]
    opens: bool = False


def draw_pattern(pattern: Pattern, names: Mapping[str, Named], width: float = 900) -> Drawing:
    """Draw a pattern.

    Args:
        names: what the boxes of its variables say. width: a sequence that is wider goes on in another row below.
    """
    rows = _rows(pattern, names, width - 2 * (24 + GAP))
    out = Drawing(width=max(r.width for r in rows) + 2 * (24 + GAP))
    y = rows[0].above + PAD
    out.boxes.append(Box(8, y - 8, 16, 16, "start"))
    out.lines.append(Line(((24, y), (24 + GAP, y)), "path", rows[0].opens))
    rows[0].draw(out, 24 + GAP, y)
    right = 24 + GAP + rows[0].width
    for before, row in pairwise(rows):
        between = y + before.below + PAD
        next_y = between + PAD + row.above
        turns = ((right + 18, y), (right + 18, between), (12, between), (12, next_y))
        out.lines.append(Line(((right, y), *turns, (24 + GAP, next_y)), "step", row.opens))
        y = next_y
        row.draw(out, 24 + GAP, y)
        right = 24 + GAP + row.width
    out.lines.append(Line(((right, y), (right + GAP - 2, y)), "path", True))
    out.boxes.append(Box(right + GAP, y - 8, 16, 16, "end"))
    out.height = y + rows[-1].below + PAD
    return out


def _rows(pattern: Pattern, names: Mapping[str, Named], width: float) -> list[_Part]:
    """The pattern, or the rows of a sequence that is too wide for one."""
    whole = _part(pattern, names, False)
    if whole.width <= width or not isinstance(pattern, Concatenation):
        return [whole]
    rows: list[list[_Part]] = [[]]
    for part in (_part(item, names, False) for item in pattern.items):
        if rows[-1] and sum(p.width + GAP for p in rows[-1]) + part.width > width:
            rows.append([])
        rows[-1].append(part)
    return [_sequence(row, "step") for row in rows]


def quantifier_text(node: Quantified) -> str:
    """A quantifier in words behind its sign."""
    low, high = node.minimum, node.maximum
    words = {(0, None): "* any number", (1, None): "+ one or more", (0, 1): "? optional"}.get((low, high))
    if words is None:
        words = f"{low} times" if low == high else f"{low} or more" if high is None else f"{low} to {high} times"
    return words + ("" if node.greedy else ", as few as possible")


def _part(node: Pattern, names: Mapping[str, Named], forbidden: bool) -> _Part:
    def part(child: Pattern) -> _Part:
        return _part(child, names, forbidden)

    match node:
        case Variable(name=name):
            return _component(names.get(name, Named(name)), "negated" if forbidden else "component")
        case Concatenation(items=items):
            return _sequence([part(i) for i in items], "step")
        case Alternation(items=items):
            return _choice([part(i) for i in items])
        case Quantified(item=item):
            return _repeated(part(item), quantifier_text(node), node.maximum != 1, node.minimum == 0)
        case Negation(item=item):
            return _negated(_part(item, names, True))
        case Permutation(items=items):
            return _framed(_sequence([part(i) for i in items], "none"), "in any order")
        case Conjunction(items=items):
            return _framed(_choice([part(i) for i in items]), "all of")
        case Exclusion(item=item):
            return _framed(part(item), "not in the output")
        case Anchor(at_start=at_start):
            return _component(Named("^" if at_start else "$", "start" if at_start else "end"), "anchor")
        case Empty():
            return _component(Named("()", "no row"), "anchor")


def _component(label: Named, kind: str) -> _Part:
    names, types = label.name.splitlines(), label.types.splitlines()
    letters = max([CHARACTER * len(n) for n in names] + [0.8 * CHARACTER * len(t) for t in types], default=0)
    width = max(44.0, letters + 2 * PAD)
    height = 14 + LINE * len(names) + SMALL_LINE * len(types)

    def draw(out: Drawing, x: float, y: float) -> None:
        out.boxes.append(Box(x, y - height / 2, width, height, kind, label))

    return _Part(width, height / 2, height / 2, draw, True)


def _sequence(parts: Sequence[_Part], kind: str) -> _Part:
    width = sum(p.width for p in parts) + GAP * (len(parts) - 1)

    def draw(out: Drawing, x: float, y: float) -> None:
        for k, part in enumerate(parts):
            if k and kind != "none":
                out.lines.append(Line(((x, y), (x + GAP, y)), kind, part.opens))
            x += GAP * (k > 0)
            part.draw(out, x, y)
            x += part.width

    return _Part(width, max(p.above for p in parts), max(p.below for p in parts), draw, parts[0].opens)


def _choice(parts: Sequence[_Part]) -> _Part:
    """The first branch is on the line, the others below."""
    inner = max(p.width for p in parts)
    places = [0.0]
    for one, other in pairwise(parts):
        places.append(places[-1] + one.below + PAD + other.above)

    def draw(out: Drawing, x: float, y: float) -> None:
        for part, down in zip(parts, places, strict=True):
            left = x + FORK + (inner - part.width) / 2
            right = left + part.width
            out.lines.append(Line((*_bend(x, y, x + FORK, y + down), (left, y + down)), "path", part.opens))
            out.lines.append(
                Line(((right, y + down), *_bend(x + FORK + inner, y + down, x + inner + 2 * FORK, y)), "path")
            )
            part.draw(out, left, y + down)

    return _Part(inner + 2 * FORK, parts[0].above, places[-1] + parts[-1].below, draw)


def _repeated(item: _Part, text: str, back: bool, past: bool) -> _Part:
    side = 18
    width = max(item.width + 2 * side, 0.8 * CHARACTER * len(text))
    rise = item.above + 12
    drop = item.below + 12

    def draw(out: Drawing, x: float, y: float) -> None:
        left = x + (width - item.width) / 2
        right = left + item.width
        out.lines += [Line(((x, y), (left, y)), "path"), Line(((right, y), (x + width, y)), "path")]
        item.draw(out, left, y)
        if back:
            out.lines.append(Line(_around(right, left, y, -rise), "back", True))
        if past:
            out.lines.append(Line(_around(left, right, y, drop), "past"))
        out.texts.append(Text(x + width / 2, y - (rise if back else item.above) - 7, text))

    above = (rise if back else item.above) + 16
    return _Part(width, above, drop + 2 if past else item.below, draw)


def _negated(item: _Part) -> _Part:
    """Hangs below the line, which goes on past it."""
    drop, width = 26, max(item.width + 2 * PAD, 5 * CHARACTER + 2 * PAD)
    height = item.above + item.below + 2 * PAD + 12

    def draw(out: Drawing, x: float, y: float) -> None:
        out.lines.append(Line(((x, y), (x + width, y)), "step"))
        out.lines.append(Line(((x + width / 2, y), (x + width / 2, y + drop)), "guard"))
        out.boxes.append(Box(x, y + drop, width, height, "forbidden", Named("")))
        out.texts.append(Text(x + width / 2, y + drop + 11, "none", "forbidden"))
        item.draw(out, x + (width - item.width) / 2, y + drop + PAD + 12 + item.above)

    return _Part(width, 4, drop + height, draw)


def _framed(item: _Part, text: str) -> _Part:
    width = max(item.width, 0.8 * CHARACTER * len(text)) + 2 * PAD

    def draw(out: Drawing, x: float, y: float) -> None:
        top, bottom = y - item.above - PAD, y + item.below + PAD
        out.boxes.append(Box(x, top, width, bottom - top, "frame", Named("")))
        out.texts.append(Text(x + width / 2, top - 7, text))
        left = x + (width - item.width) / 2
        out.lines += [Line(((x, y), (left, y)), "path"), Line(((left + item.width, y), (x + width, y)), "path")]
        item.draw(out, left, y)

    return _Part(width, item.above + PAD + 16, item.below + PAD, draw)


def _bend(x: float, y: float, to_x: float, to_y: float) -> tuple[Point, ...]:
    """A smooth step from one height to another."""
    steps = 1 if y == to_y else 10
    out = []
    for n in range(steps + 1):
        t = n / steps
        out.append((x + (to_x - x) * t, y + (to_y - y) * t * t * (3 - 2 * t)))
    return tuple(out)


def _around(x: float, to_x: float, y: float, away: float) -> tuple[Point, ...]:
    """From a point on the line around what stands between it and another one."""
    side = 10 if x > to_x else -10
    corner = 6 if x > to_x else -6
    lift = 6 if away > 0 else -6
    return (
        (x, y), (x + side - corner / 2, y), (x + side, y + lift), (x + side, y + away - lift),
        (x + side - corner, y + away), (to_x - side + corner, y + away), (to_x - side, y + away - lift),
        (to_x - side, y + lift), (to_x - side + corner / 2, y), (to_x, y),
    )  # fmt: skip
