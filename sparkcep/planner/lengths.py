"""Lengths of time, and of other sort keys, that are known when a query is planned: the kernel adds them."""

from __future__ import annotations

import datetime
import functools
import re
import zoneinfo

from sparkcep.expr.types import parse_type

_MICROSECONDS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 7 * 86_400_000_000,
}
DAY = _MICROSECONDS["DAY"]
_INTERVAL = re.compile(r"\s*INTERVAL\s+(.*?)\s*", re.IGNORECASE | re.DOTALL)
_DECIMAL = re.compile(r"\s*(\d*)\.(\d*)(?:BD)?\s*", re.IGNORECASE)
_PAIR = re.compile(r"(\d+)\s+([a-z]+)(?:\s+|$)", re.IGNORECASE)


def fixed_distance(within: str, type_: str) -> int | None:
    """How far from its start row a match may reach, in the kernel's units of a key, or None if rows differ.

    Days are days for a date; microseconds for timestamps. A timestamp plus a day or more is local time's business: the
    day on which clocks change is not 24 hours long.

    >>> fixed_distance("INTERVAL '1' MINUTE", "timestamp"), fixed_distance("INTERVAL 1 DAY", "timestamp")
    (60000000, None)
    >>> fixed_distance("INTERVAL 1 HOUR 30 MINUTES", "timestamp_ntz"), fixed_distance("7", "bigint")
    (5400000000, 7)
    >>> fixed_distance("7.0", "bigint"), fixed_distance("7.5", "bigint")
    (7, None)
    """
    if type_ in ("bigint", "date") and re.fullmatch(r"\s*\d{1,18}L?\s*", within, re.IGNORECASE):
        return int(within.strip().rstrip("Ll"))
    decimal = _DECIMAL.fullmatch(within)
    if type_ == "bigint" and decimal and 0 < len(decimal[1]) <= 18:
        return None if decimal[2].strip("0") else int(decimal[1])
    found = _INTERVAL.fullmatch(within)
    if found is None or type_ not in ("date", "timestamp", "timestamp_ntz"):
        return None
    body = found[1]
    quoted = re.fullmatch(r"'\s*([^']*?)\s*'", body)
    # INTERVAL '5' MINUTE, INTERVAL 5 MINUTE and INTERVAL '5 minutes' say the same.
    body = quoted[1] if quoted else re.sub(r"'\s*(\d+)\s*'", r"\1", body)
    total = at = 0
    while at < len(body):
        pair = _PAIR.match(body, at)
        unit = _MICROSECONDS.get(pair[2].upper().removesuffix("S")) if pair else None
        if pair is None or unit is None:
            return None
        total += int(pair[1]) * unit
        at = pair.end()
    if at == 0 or total >= 2**62 or (type_ == "timestamp" and total >= DAY):
        return None
    if type_ == "date":
        return total // DAY if total % DAY == 0 else None
    return total


def is_fixed_zone(name: str) -> bool:
    """Whether clocks of a time zone never change.

    >>> is_fixed_zone("UTC"), is_fixed_zone("+05:30"), is_fixed_zone("Europe/Berlin"), is_fixed_zone("")
    (True, True, False, False)
    """
    return bool(
        re.fullmatch(r"(?:Etc/)?(?:UTC|GMT|UCT|Z|Zulu|Universal|Greenwich)|(?:UTC|GMT)?[+-]\d\d?(?::?\d\d)?", name)
    )


def least_and_most(within: str, time_zone: str) -> tuple[int, int] | None:
    """The least and the greatest length, in microseconds, of an interval that is added to a TIMESTAMP: a day is as long
    as clocks make it. None where it differs from row to row, or is of months.

    >>> least_and_most("INTERVAL 2 DAYS", "UTC"), least_and_most("INTERVAL 1 HOUR", "Europe/Berlin")
    ((172800000000, 172800000000), (3600000000, 3600000000))
    >>> [length / 3_600_000_000 for length in least_and_most("INTERVAL 1 DAY", "America/New_York")]
    [23.0, 25.0]
    """
    length = fixed_distance(within, "timestamp_ntz")
    if length is None:
        return None
    off = clock_changes(time_zone) if length >= DAY else 0
    return length - off, length + off


@functools.lru_cache
def clock_changes(time_zone: str) -> int:
    """By how much, in microseconds, the clocks of a zone have differed in two centuries: so much longer or shorter are
    days than 24 hours, however many. A day, where the zone is not known."""
    if is_fixed_zone(time_zone):
        return 0
    try:
        zone = zoneinfo.ZoneInfo(time_zone)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return DAY
    times = (datetime.datetime(y, m, d, tzinfo=zone) for y in range(1900, 2100) for m in range(1, 13) for d in (1, 16))
    offsets = [t.utcoffset() or datetime.timedelta() for t in times]
    return (max(offsets) - min(offsets)) // datetime.timedelta(microseconds=1)


def whole_within(within: str, type_: str) -> str | None:
    """WITHIN for an integral key where it is a decimal of at most 18 digits: no integer lies between n and n.5.

    >>> whole_within("10.5", "decimal(3,1)"), whole_within("w", "decimal(9,2)"), whole_within("w", "decimal(20,2)")
    ('10', 'CAST(floor(w) AS BIGINT)', None)
    """
    kind = parse_type(type_)
    if kind.kind != "decimal" or kind.size > 18:
        return None
    return whole_literal(within) or f"CAST(floor({within}) AS BIGINT)"


def whole_literal(within: str) -> str | None:
    """A decimal literal without its fraction."""
    found = _DECIMAL.fullmatch(within)
    return found and (found[1] or "0")


def kernel_units(key: str, type_: str) -> str:
    """A WITHIN key as BIGINT in the kernel's units."""
    if type_ == "date":
        return f"CAST(unix_date({key}) AS BIGINT)"
    if type_ == "timestamp":
        return f"unix_micros({key})"
    if type_ == "timestamp_ntz":
        # Through the parts of a local time: a cast to TIMESTAMP would ask the session's time zone.
        seconds = f"(unix_date(CAST({key} AS DATE)) * 86400L + hour({key}) * 3600L + minute({key}) * 60L)"
        return f"({seconds} * 1000000L + CAST(extract(SECOND FROM {key}) * 1000000 AS BIGINT))"
    return f"({key})"
