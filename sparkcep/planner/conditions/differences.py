"""Conditions that bound the time or the positions between two components, as numbers.

`c.ts <= a.ts + INTERVAL 5 MINUTES`, `c.ts - a.ts < 7`, `(time, within, 60 minutes, 1, 3)`, `(gap, atleast, 3, 1, 2)`:
what EXPLAIN NON ANSWERS has to decide for times that no row has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sparkcep.expr.types import Type, parse_type
from sparkcep.planner.lengths import fixed_distance
from sparkcep.query import POSITION, Condition, Navigation, RowExpression, Slot, TestedAt, unescape

_MARK = "\x00"
_OPERATOR = r"\s*(<=|>=|<|>|==|=)\s*"
_CONSTANT = r"([^\x00()<>=]+?)"
_SIDE = rf"\s*\x00(?:\s*([+-])\s*{_CONSTANT})?\s*"
_SIDES = re.compile(_SIDE + _OPERATOR + _SIDE)
_LESS = re.compile(rf"\s*\(?\s*\x00\s*-\s*\x00\s*\)?{_OPERATOR}{_CONSTANT}\s*")
_MORE = re.compile(rf"\s*{_CONSTANT}{_OPERATOR}\(?\s*\x00\s*-\s*\x00\s*\)?\s*")
_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "==": "=="}


@dataclass(frozen=True, slots=True)
class TimeUnits:
    """How a type of ORDER BY key is counted: ``scale`` units make one of a number. ``fixed_days``: whether a day that
    is added to a TIMESTAMP has 24 hours, since the session's time zone never changes its clocks."""

    type: str
    fixed_days: bool = False

    @property
    def kind(self) -> Type:
        """Spark's type, parsed."""
        return parse_type(self.type)

    @property
    def is_number(self) -> bool:
        """Whether differences are numbers, not intervals."""
        return self.kind.kind in ("int", "decimal")

    @property
    def scale(self) -> int:
        """How many units one is: 10 to the power of a decimal's scale, 1 of any other type."""
        return 10**self.kind.scale if self.kind.kind == "decimal" else 1

    def count(self, text: str, physical: bool = False) -> Fraction | None:
        """A constant in units; None where it is none, or differs from row to row (months; days where clocks change).

        ``physical``: a length of time as such, of which a day has 24 hours.

        >>> TimeUnits("int").count("4"), TimeUnits("decimal(9,2)").count("0.5")
        (Fraction(4, 1), Fraction(50, 1))
        >>> TimeUnits("timestamp").count("INTERVAL 1 DAY"), TimeUnits("date").count("INTERVAL 2 DAYS")
        (None, Fraction(2, 1))
        """
        text = unescape(text).strip()
        if self.is_number:
            found = re.fullmatch(r"[+-]?\s*(\d+\.?\d*|\.\d+)", text)
            return Fraction(text.replace(" ", "")) * self.scale if found else None
        negative = text.startswith("-")
        local = self.type == "timestamp" and not self.fixed_days and not physical
        units = "date" if self.type == "date" else ("timestamp" if local else "timestamp_ntz")
        found_units = fixed_distance(text[1:].strip() if negative else text, units)
        if found_units is None:
            return None
        return Fraction(-found_units if negative else found_units)


@dataclass(frozen=True, slots=True)
class Difference:
    """``least <= value of second - value of first <= most`` of two components; ``gap``: of positions."""

    first: str
    second: str
    least: int | None
    most: int | None
    gap: bool


def difference(
    condition: Condition, is_time: Callable[[str], bool], units: TimeUnits, bare: str | None = None
) -> Difference | None:
    """A condition as a bound between two components, or None.

    Args:
        is_time: whether a row expression is the ORDER BY key.
        bare: in MATCH_RECOGNIZE the key's name, which alone is that of the event tested.
    """
    if condition.at is not TestedAt.TAKE or condition.each or condition.after or condition.minimum > 1:
        return None
    pieces: list[str | Slot] = list(condition.scalar.pieces)
    if bare is not None and len(condition.decided_by) == 1:
        own = Navigation(RowExpression((bare,)), condition.decided_by, False, 0, 0, True)
        name = re.compile(rf"(?<![\w.`'\"])`?{re.escape(bare.strip('`'))}`?(?![\w.(`'\"])", re.IGNORECASE)
        pieces = [q for p in pieces for q in (_split(p, name, own) if isinstance(p, str) else [p])]
    slots = [p for p in pieces if not isinstance(p, str)]
    text = "".join(p if isinstance(p, str) else _MARK for p in pieces).strip()
    if len(slots) != 2:
        return None
    names = []
    gaps = set()
    for s in slots:
        if not isinstance(s, Navigation) or s.physical or s.logical or s.each or s.argument.markers:
            return None
        if s.variables is None or len(s.variables) != 1:
            return None
        names.append(s.variables[0])
        gaps.add(s.argument.text.strip() == POSITION)
        if not gaps <= {True} and not is_time(s.argument.text):
            return None
    if len(gaps) > 1 or names[0] == names[1]:
        return None
    gap = gaps.pop()
    read = _read(text, TimeUnits("bigint") if gap else units)
    if read is None:
        return None
    operator, distance = read  # value of names[0] - value of names[1] OPERATOR distance
    least, most = _interval(operator, distance)
    return Difference(names[1], names[0], least, most, gap)


def _split(text: str, name: re.Pattern[str], slot: Navigation) -> list[str | Slot]:
    """Text with the slot in the place of a name."""
    out: list[str | Slot] = []
    at = 0
    for found in name.finditer(text):
        out += [text[at : found.start()], slot]
        at = found.end()
    return [*out, text[at:]]


def _read(text: str, units: TimeUnits) -> tuple[str, Fraction] | None:
    if text.startswith("(") and text.endswith(")") and text.count("(") == 1:
        text = text[1:-1]
    if found := _SIDES.fullmatch(text):
        left, right = Fraction(0), Fraction(0)
        if found[2] is not None:
            value = units.count(found[2])
            if value is None:
                return None
            left = value if found[1] == "+" else -value
        if found[5] is not None:
            value = units.count(found[5])
            if value is None:
                return None
            right = value if found[4] == "+" else -value
        return found[3], right - left
    if found := _LESS.fullmatch(text):
        value = units.count(found[2], physical=True)
        return None if value is None else (found[1], value)
    if found := _MORE.fullmatch(text):
        value = units.count(found[1], physical=True)
        return None if value is None else (_FLIPPED[found[2]], value)
    return None


def _interval(operator: str, distance: Fraction) -> tuple[int | None, int | None]:
    """Whole numbers d with `d OPERATOR distance`, as least and most."""
    if operator == "<=":
        return None, math.floor(distance)
    if operator == "<":
        return None, math.ceil(distance) - 1
    if operator == ">=":
        return math.ceil(distance), None
    if operator == ">":
        return math.floor(distance) + 1, None
    return math.ceil(distance), math.floor(distance)


def names_any(text: str, words: frozenset[str]) -> bool:
    """Whether SQL text names one of some columns, by their folded names."""
    found = {w.casefold() for w in re.findall(r"\w+", text)}
    found |= {w.replace("``", "`").casefold() for w in re.findall(r"`((?:[^`]|``)+)`", text)}
    return bool(found & words)
