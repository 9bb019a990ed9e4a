"""Functions of dates."""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Sequence

from sparkcep.expr.functions.function import Implementation, of_types, strict
from sparkcep.expr.local_times import out_of_calendar
from sparkcep.expr.nodes import Call
from sparkcep.expr.numbers import Numbers
from sparkcep.expr.types import BIGINT, INT, Type

_DATE = Type("date")


def _days_later(day: dt.date, days: int) -> dt.date:
    try:
        return day + dt.timedelta(days=days)
    except OverflowError:
        raise out_of_calendar() from None


def _months_later(day: dt.date, months: int) -> dt.date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not dt.MINYEAR <= year <= dt.MAXYEAR:
        raise out_of_calendar()
    return day.replace(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))


def _last_day(day: dt.date) -> dt.date:
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


def _timestampdiff(numbers: Numbers, call: Call, kinds: Sequence[Type]) -> Implementation | None:
    unit = dt.timedelta(microseconds=call.micros)
    return (lambda v, w: abs(v - w) // unit * (1 if v >= w else -1)), BIGINT


DATES = (
    of_types("datediff", ("dd", INT, lambda v, w: (v - w).days), written=(), in_kernel=True),
    strict("timestampdiff", _timestampdiff, "time, time", (2,), written=(), in_kernel=True),
    of_types("date_add", ("di", _DATE, _days_later), written=("date_add", "dateadd")),
    of_types("date_sub", ("di", _DATE, lambda v, n: _days_later(v, -n))),
    of_types("add_months", ("di", _DATE, _months_later)),
    of_types("last_day", ("d", _DATE, _last_day)),
    of_types("year", ("d", INT, lambda v: v.year)),
    of_types("quarter", ("d", INT, lambda v: (v.month + 2) // 3)),
    of_types("month", ("d", INT, lambda v: v.month)),
    of_types("day", ("d", INT, lambda v: v.day), written=("day", "dayofmonth")),
    of_types("weekday", ("d", INT, dt.date.weekday)),
    of_types("dayofweek", ("d", INT, lambda v: v.isoweekday() % 7 + 1)),
    of_types("dayofyear", ("d", INT, lambda v: v.timetuple().tm_yday)),
    of_types("weekofyear", ("d", INT, lambda v: v.isocalendar().week)),
)
