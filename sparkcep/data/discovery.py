"""A log at a glance: cases, event types, variants, what directly follows what, and patterns that are worth a try."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparkcep.data.roles import TEMPORAL
from sparkcep.query import in_backticks, plain_literal, string_literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Events of a case from which variants are not listed: each case would be one, and a long one.
LONG_CASE = 5_000
#: Types whose order is looked at for proposals, by how many cases have them.
PAIRED = 15


@dataclass(frozen=True, slots=True)
class LogColumns:
    """The columns of a log; ``case`` empty: the whole log is one case."""

    case: tuple[str, ...]
    time: str
    event: str
    tiebreak: str | None = None


@dataclass(frozen=True, slots=True)
class EventType:
    """``repeated``: cases that have it more than once."""

    name: str
    events: int
    cases: int
    repeated: int


@dataclass(frozen=True, slots=True)
class Follows:
    """One type directly after another in a case. Times between in seconds, or in the units of a numeric time."""

    event: str
    next: str
    events: int
    cases: int
    least: float
    median: float
    most: float
    p90: float


@dataclass(frozen=True, slots=True)
class Proposal:
    """A question in words, the pattern block that answers it, and how many cases it finds (None: not counted)."""

    question: str
    block: str
    cases: int | None


@dataclass(frozen=True, slots=True)
class Discovered:
    """``clock``: times are those of a clock, durations seconds. ``tied``: events that have the time of another event of
    their case; ``undecided``: those that the tiebreak does not tell apart. ``variants`` None: cases are too long."""

    events: int
    cases: int
    first: str
    last: str
    clock: bool
    longest: int
    without_time: int
    tied: int
    undecided: int
    median_duration: float
    p90_duration: float
    most_duration: float
    types: Sequence[EventType]
    variants: Sequence[tuple[Sequence[str], int]] | None
    variant_count: int
    follows: Sequence[Follows]
    proposals: Sequence[Proposal]


#: Words that are no names where they stand without backticks, as Spark and blocks read them.
_NO_NAMES = frozenset(
    """ALL AND AS BETWEEN BY CASE CURRENT_PATH DISTINCT DIV ELSE ESCAPE FALSE ILIKE IN IS LIKE NOT NULL OF OR THEN TRUE
    WHEN""".split()
)


def quoted(name: str) -> str:
    """The name of a column or a view, in backticks where these are needed."""
    is_plain = re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) and name.upper() not in _NO_NAMES
    return name if is_plain else in_backticks(name)


def seconds_of(time: str, type_: str) -> str:
    """SQL of a time's seconds since 1970, or of a number as it is."""
    return f"unix_micros(CAST({time} AS TIMESTAMP)) / 1e6D" if type_ in TEMPORAL else f"CAST({time} AS DOUBLE)"


def discover(frame: DataFrame, columns: LogColumns, name: str = "log", variants: int = 10) -> Discovered:
    """Look at a log.

    Args:
        frame: its events. columns: which are what. name: of the log in proposals. variants: how many are listed.
    """
    type_ = dict(frame.dtypes)[columns.time]
    clock = type_ in TEMPORAL
    at = quoted(columns.time)
    seconds = seconds_of(at, type_)
    case = f"struct({', '.join(map(quoted, columns.case))})" if columns.case else "0"
    tie = quoted(columns.tiebreak) if columns.tiebreak else "0"
    base = frame.selectExpr(
        f"{case} AS c", f"{at} AS o", f"{seconds} AS t", f"{tie} AS b", f"CAST({quoted(columns.event)} AS STRING) AS e"
    )
    spark = frame.sparkSession

    def rows(text: str) -> list[Any]:
        return spark.sql(text, log=base).collect()

    (total,) = rows(
        "SELECT sum(n) AS events, count(*) AS cases, CAST(min(f) AS STRING) AS first, CAST(max(l) AS STRING) AS last, "
        "max(n) AS longest, sum(missing) AS missing, percentile(d, 0.5) AS median, percentile(d, 0.9) AS p90, "
        "max(d) AS most FROM (SELECT c, count(*) AS n, min(o) AS f, max(o) AS l, count_if(o IS NULL) AS missing, "
        "max(t) - min(t) AS d FROM {log} GROUP BY c)"
    )
    if not total.cases:
        return Discovered(0, 0, "", "", clock, 0, 0, 0, 0, 0, 0, 0, (), (), 0, (), ())
    (tied,) = rows(
        "SELECT coalesce(sum(n), 0) AS all, coalesce(sum(k), 0) AS still FROM (SELECT sum(n) AS n, "
        "sum(n) FILTER (WHERE n > 1) AS k FROM (SELECT c, o, b, count(*) AS n FROM {log} GROUP BY c, o, b) "
        "GROUP BY c, o HAVING sum(n) > 1)"
    )
    types = [
        EventType("NULL" if r.e is None else r.e, r.events, r.cases, r.repeated)
        for r in rows(
            "SELECT e, sum(n) AS events, count(*) AS cases, count_if(n > 1) AS repeated "
            "FROM (SELECT c, e, count(*) AS n FROM {log} GROUP BY c, e) GROUP BY e ORDER BY events DESC, e"
        )
    ]
    follows = [
        Follows("NULL" if r.e is None else r.e, "NULL" if r.x is None else r.x, *r[2:])
        for r in rows(
            "SELECT e, x, count(*) AS events, count(DISTINCT c) AS cases, min(d), percentile(d, 0.5), max(d), "
            "percentile(d, 0.9) FROM (SELECT c, e, lead(e) OVER w AS x, (lead(t) OVER w) - t AS d, lead(c) OVER w AS y "
            "FROM {log} WINDOW w AS (PARTITION BY c ORDER BY o, b, e)) WHERE y IS NOT NULL AND d IS NOT NULL "
            "GROUP BY e, x ORDER BY events DESC, e, x"
        )
    ]
    listed: list[tuple[Sequence[str], int]] | None = None
    count = 0
    if total.longest <= LONG_CASE:
        found = rows(
            "SELECT v, count(*) AS cases, count(*) OVER () AS variants FROM (SELECT transform(array_sort("
            "collect_list(struct(o, b, e))), x -> coalesce(x.e, 'NULL')) AS v FROM {log} GROUP BY c) GROUP BY v "
            f"ORDER BY cases DESC, v LIMIT {variants}"
        )
        listed = [(r.v, r.cases) for r in found]
        count = found[0].variants if found else 0
    proposed = _proposals(columns, name, clock, types, follows, lambda names: _later(rows, names))
    return Discovered(
        total.events, total.cases, total.first or "", total.last or "", clock, total.longest, total.missing, tied[0],
        tied[1], total.median or 0, total.p90 or 0, total.most or 0, types, listed, count, follows, proposed,
    )  # fmt: skip


def _later(rows: Any, names: Sequence[str]) -> Mapping[tuple[str, str], int]:
    """Of pairs of types: the cases where the first one's last event has a later one of the second type."""
    some = ", ".join(map(string_literal, names))
    found = rows(
        "WITH ends AS (SELECT c, e, max(n) AS l FROM (SELECT c, e, row_number() OVER (PARTITION BY c ORDER BY o, b, e) "
        f"AS n FROM {{log}}) WHERE e IN ({some}) GROUP BY c, e) SELECT a.e, z.e, count(*) FROM ends a JOIN ends z "
        "ON a.c = z.c AND z.l > a.l GROUP BY a.e, z.e"
    )
    return {(a, z): n for a, z, n in found}


def _proposals(
    columns: LogColumns, name: str, clock: bool, types: Sequence[EventType], follows: Sequence[Follows], later: Any
) -> list[Proposal]:
    """A slow step, a repetition and an absence, as far as the log has them; else what follows most often."""
    known = [t for t in types if t.name != "NULL"]
    out = []
    slow = max(
        (f for f in follows if f.event != f.next and "NULL" not in (f.event, f.next) and 0 < f.p90 < f.most),
        key=lambda f: f.events * f.median + f.p90 / 1e9, default=None,
    )  # fmt: skip
    name = quoted(name)
    case = "".join(f"a.{quoted(c)}, " for c in columns.case)
    at = quoted(columns.time)
    if slow is not None:
        limit, words = _interval(slow.p90) if clock else (f"{slow.p90:g}", f"{slow.p90:g}")
        out.append(Proposal(
            f"{slow.next} directly after {slow.event}, but more than {words} later (the slowest tenth)",
            f"FROM {name} PATTERN SEQ({plain_literal(slow.event)} a, {plain_literal(slow.next)} b)\n"
            f"WHERE strict_contiguity(a, b) {{ b.{at} > a.{at} + {limit} }}\n"
            f"RETURN {case}a.{at} AS started, b.{at} AS ended", None,
        ))  # fmt: skip
    again = max((t for t in known if t.repeated), key=lambda t: t.repeated, default=None)
    if again is not None:
        out.append(Proposal(
            f"{again.name} more than once in a case",
            f"FROM {name} PATTERN SEQ({plain_literal(again.name)} a, {plain_literal(again.name)} b)\n"
            f"MATCHES FIRST\nRETURN {case}a.{at} AS first, b.{at} AS again", again.repeated,
        ))  # fmt: skip
    missing = _absence(known, later([t.name for t in sorted(known, key=lambda t: -t.cases)[:PAIRED]]) if known else {})
    if missing is not None:
        a, b, cases = missing
        out.append(Proposal(
            f"{a} without a later {b}, which usually follows",
            f"FROM {name} PATTERN SEQ({plain_literal(a)} a, NOT {plain_literal(b)} b)\n"
            f"MATCHES FIRST\nRETURN {case}a.{at} AS since", cases,
        ))  # fmt: skip
    for pair in follows:
        if len(out) >= 3:
            break
        if "NULL" in (pair.event, pair.next) or pair.event == pair.next:  # the repetition is proposed above
            continue
        out.append(Proposal(
            f"{pair.event}, then {pair.next}, with anything between",
            f"FROM {name} PATTERN SEQ({plain_literal(pair.event)} a, {plain_literal(pair.next)} b)\n"
            f"RETURN {case}a.{at} AS started, b.{at} AS ended", None,
        ))  # fmt: skip
    return out[:3]


def _absence(types: Sequence[EventType], later: Mapping[tuple[str, str], int]) -> tuple[str, str, int] | None:
    """The pair of types whose first one is most often followed by the other, but not always; and how often not."""
    cases = {t.name: t.cases for t in types}
    found = [
        (held / cases[a], cases[a], a, b)
        for (a, b), held in later.items()
        if a != b and cases[a] > held >= cases[a] / 2
    ]
    if not found:
        return None
    share, whole, a, b = max(found, key=lambda f: (f[0] * f[1], f[2], f[3]))
    return a, b, whole - round(share * whole)


def _interval(seconds: float) -> tuple[str, str]:
    """A bound as an INTERVAL literal and in words."""
    for unit, length in (("DAY", 86400), ("HOUR", 3600), ("MINUTE", 60)):
        if seconds >= 2 * length:  # never more than the bound, past which there may be nothing
            return f"INTERVAL {int(seconds / length)} {unit}", f"{int(seconds / length)} {unit.lower()}s"
    whole = int(seconds)
    return f"INTERVAL {whole} SECOND", f"{whole} second{'s' * (whole != 1)}"
