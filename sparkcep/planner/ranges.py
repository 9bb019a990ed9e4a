"""WITHIN bounds that are a fixed distance in the units of the sort key: what the kernel can add by itself."""

from __future__ import annotations

import re

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
_PAIR = re.compile(r"(\d+)\s+([a-z]+)(?:\s+|$)", re.IGNORECASE)


def fixed_distance(within: str, type_: str) -> int | None:
    """How far from its start row a match may reach, in the kernel's units of a key, or None if rows differ.

    Days are days for a date; microseconds for timestamps. A timestamp plus a day or more is local time's business: the
    day on which clocks change is not 24 hours long.

    >>> fixed_distance("INTERVAL '1' MINUTE", "timestamp"), fixed_distance("INTERVAL 1 DAY", "timestamp")
    (60000000, None)
    >>> fixed_distance("INTERVAL 1 HOUR 30 MINUTES", "timestamp_ntz"), fixed_distance("7", "bigint")
    (5400000000, 7)
    """
    if type_ in ("bigint", "date") and re.fullmatch(r"\s*\d{1,18}L?\s*", within, re.IGNORECASE):
        return int(within.strip().rstrip("Ll"))
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
