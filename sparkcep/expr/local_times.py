"""Arithmetic and comparisons of points in time as the interpreter does them, in a session's time zone.

Spark subtracts timestamps by the clock of the session, adds whole days by that clock and what is left by the instant,
and takes a date among timestamps as its first moment there.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
import zoneinfo
from collections.abc import Callable
from typing import Any

from sparkcep.expr.types import DAYS, TIMES, NotCompilable, Type

INTERVAL = Type("interval")
#: A function of the two operands, which are not NULL, and its result's type.
Operation = tuple[Callable[[Any, Any], Any], Type]

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d\d?)(?::(\d\d?))?(?::(\d\d?))?")


def out_of_calendar() -> ValueError:
    """Of a date or time that Spark has and Python has not; the caller raises it."""
    return ValueError("a date or time before 0001-01-01 or after 9999-12-31, UTC")


@functools.lru_cache
def zone_of(name: str) -> dt.tzinfo:
    """The time zone that a session names.

    Raises:
        NotCompilable: none that this machine knows.

    >>> zone_of("GMT+5:30").utcoffset(None), zone_of("Europe/Berlin")
    (datetime.timedelta(seconds=19800), zoneinfo.ZoneInfo(key='Europe/Berlin'))
    """
    if found := _OFFSET.fullmatch(name):
        hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
        offset = dt.timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return dt.timezone(-offset if found[1] == "-" else offset)
    try:
        return dt.UTC if name == "Z" else zoneinfo.ZoneInfo(name)
    except (ValueError, OSError):
        raise NotCompilable(f"times in the time zone {name}") from None


def operation(name: str, x: Type, y: Type, zone: str) -> Operation | None:
    """`+` or `-` of points in time, day-time intervals and whole days; None where these are not the operands.

    Raises:
        NotCompilable: a time zone that is not known here.
    """
    if name == "-" and x.kind in TIMES and y.kind in TIMES and not x.kind == y.kind == "date":
        # A date among timestamps is one itself; else all are as the clock shows them.
        instants = "timestamp" in (x.kind, y.kind)
        of, to = (_clock(kind, zone, instants) for kind in (x, y))
        return (lambda u, v: of(u) - to(v)), INTERVAL
    if name == "+" and y.kind in TIMES:
        turned = operation(name, y, x, zone)
        return None if turned is None else ((lambda u, v: turned[0](v, u)), turned[1])
    if x.kind not in TIMES or name not in ("+", "-"):
        return None
    sign = 1 if name == "+" else -1
    if x.kind == "date" and y.kind == "int" and y.size <= 32:
        return (lambda u, v: _within(lambda: u + sign * dt.timedelta(days=v))), x
    if y.kind != "interval":
        return None
    if x.kind == "date" and y == DAYS:
        return (lambda u, v: _within(lambda: u + sign * v)), x
    if x.kind == "timestamp_ntz":
        return (lambda u, v: _within(lambda: u + sign * v)), x
    instant, own = instant_of(x, zone), zone_of(zone)
    return (lambda u, v: _within(lambda: later(instant(u), sign * v, own))), Type("timestamp")


def common_moment(x: Type, y: Type, zone: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]] | None:
    """What makes points in time of two types such that compare as Spark compares them; None for other types.

    Raises:
        NotCompilable: a time zone that is not known here.
    """
    if x.kind == y.kind or x.kind not in TIMES or y.kind not in TIMES:
        return None
    if "timestamp" in (x.kind, y.kind):
        return instant_of(x, zone), instant_of(y, zone)
    return _midnight if x.kind == "date" else _same, _midnight if y.kind == "date" else _same


def instant_of(kind: Type, zone: str) -> Callable[[Any], Any]:
    """What makes an instant of a point in time: of a local time that there is not, as much later as clocks skip.

    Raises:
        NotCompilable: a time zone that is not known here.
    """
    own = zone_of(zone)
    if kind.kind == "timestamp":
        return _same
    if kind.kind == "date":
        return lambda value: _resolved(_midnight(value), own)
    return lambda value: _resolved(value, own)


def later(instant: dt.datetime, by: dt.timedelta, zone: dt.tzinfo) -> dt.datetime:
    """A day-time interval later: whole days by the clock, then the rest by the instant.

    >>> berlin = zone_of("Europe/Berlin")
    >>> before = dt.datetime(2026, 3, 28, 20, tzinfo=dt.UTC)
    >>> later(before, dt.timedelta(days=1), berlin) - before, later(before, dt.timedelta(hours=24), berlin) - before
    (datetime.timedelta(seconds=82800), datetime.timedelta(seconds=82800))
    """
    micros = by // dt.timedelta(microseconds=1)
    days = abs(micros) // 86_400_000_000 * (1 if micros >= 0 else -1)
    if not days:
        return instant + by
    here = instant.astimezone(zone)
    first = (here.replace(tzinfo=None) + dt.timedelta(days=days)).replace(tzinfo=zone, fold=0)
    second = first.replace(fold=1)
    offsets = [moment.utcoffset() or dt.timedelta(0) for moment in (first, second)]
    # Of a time that clocks show twice it is the second one where that has the offset of before.
    moved = second if offsets[0] > offsets[1] == here.utcoffset() else first
    return moved.astimezone(dt.UTC) + (by - dt.timedelta(days=days))


def _resolved(value: dt.datetime, zone: dt.tzinfo) -> dt.datetime:
    return value.replace(tzinfo=zone).astimezone(dt.UTC)


def _clock(kind: Type, zone: str, instants: bool) -> Callable[[Any], Any]:
    """What makes of a point in time what the session's clock shows. ``instants``: a date is a timestamp first."""
    if kind.kind == "timestamp_ntz":
        return _same
    if kind.kind == "date" and not instants:
        return _midnight
    instant, own = instant_of(kind, zone), zone_of(zone)
    return lambda value: instant(value).astimezone(own).replace(tzinfo=None)


def _midnight(value: dt.date) -> dt.datetime:
    return dt.datetime(value.year, value.month, value.day)


def _same(value: Any) -> Any:
    return value


def _within(sum_: Callable[[], Any]) -> Any:
    """A sum, unless Python has no such point in time.

    Raises:
        ValueError: it has not.
    """
    try:
        return sum_()
    except OverflowError:
        raise out_of_calendar() from None
