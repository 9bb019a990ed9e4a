"""Lengths of time in words."""

from __future__ import annotations

#: Units of time as SQL names them, and their seconds.
UNITS = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86400}
_UNITS = (("days", 86400), ("h", 3600), ("min", 60), ("s", 1))


def in_words(seconds: float) -> str:
    """A length of time by its two largest units.

    >>> in_words(1_587_600)
    '18 days 9 h'
    >>> in_words(3_599.9)
    '1 h'
    >>> in_words(0.25)
    '0.25 s'
    """
    if seconds < 0:
        return "-" + in_words(-seconds)
    if seconds < 9.95:
        return f"{seconds:.3g} s"
    for place, (_, length) in enumerate(_UNITS[:-1]):
        smaller = _UNITS[place + 1][1]
        whole = round(seconds / smaller) * smaller  # 59.7 minutes are an hour
        if whole >= length:
            return _pair(place, whole)
    return f"{seconds:.0f} s"


def length(value: float, clock: bool) -> str:
    """A length of time, in seconds of a clock or in the units of a numeric time."""
    return in_words(value) if clock else f"{value:,.4g}"


def half_and_most(median: float, p90: float, clock: bool) -> str:
    """Two shares of lengths of time in words."""
    return f"half within {length(median, clock)}, 90% within {length(p90, clock)}"


def _pair(place: int, seconds: float) -> str:
    (name, length), (small_name, small) = _UNITS[place], _UNITS[place + 1]
    many, rest = divmod(int(seconds), length)
    first = f"{many:,} {'day' if name == 'days' and many == 1 else name}"
    return first if rest < small else f"{first} {rest // small} {small_name}"
