"""Which columns are a log's case and event type, by what is in them, where names do not say it or say it wrongly.

A case repeats, and its events lie close together in time; an event type has few values, of which a case has several.
What fits several columns is not guessed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from sparkcep.data.discovery import seconds_of
from sparkcep.data.roles import INTEGRAL, Column, Guess
from sparkcep.query import in_backticks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Columns that are looked at, those with the most values first: each costs an aggregate.
_LOOKED_AT = 12
#: Fewer rows tell nothing.
_FEWEST = 20
#: Of the log's time, the most that a case may last on average; and the fewest events that it has.
_LONGEST, _EVENTS = 0.25, 1.2
#: Types that a case has on average, at least, and values of an event type at most.
_TYPES, _VALUES = 1.05, 1000
#: Candidates that are shown.
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Candidate:
    """A column that might be the case. ``events``: of a case, on average; ``lasts``: which share of the log's time."""

    column: str
    cases: int
    events: float
    lasts: float

    @property
    def fits(self) -> bool:
        """Whether its values are like cases."""
        return self.cases > 1 and self.events >= _EVENTS and self.lasts <= _LONGEST

    @property
    def described(self) -> str:
        """What its values would be as cases."""
        cases = f"{self.cases:,} case{'s' * (self.cases != 1)} of {self.events:.1f} events"
        return f"{cases}, which last {self.lasts:.0%} of the log's time on average"

    def __str__(self) -> str:
        return f"{self.column} ({self.described})"


def by_content(frame: DataFrame, roles: Mapping[str, Guess], columns: Sequence[Column]) -> dict[str, Guess]:
    """The guesses, with case and event type by content where their names do not tell or cannot be right.

    Args:
        frame: the log, as it is read. columns: of the log, as a sample shows them.
    """
    out = dict(roles)
    time = roles["time"].column
    types = dict(frame.dtypes)
    texts = [c for c in columns if types.get(c.name) == "string" or types.get(c.name) in INTEGRAL]
    if time is None or not texts or max(c.rows for c in texts) < _FEWEST:
        return out
    if not out["case"].named:
        seconds = seconds_of(in_backticks(time), types[time])
        out["case"] = _case(frame, out["case"], _left(texts, out, "case"), seconds)
    cases = out["case"].columns
    if cases and out["event"].column is None:
        out["event"] = _event(frame, out["event"], _left(texts, out, "event"), cases)
    return out


def _left(columns: Sequence[Column], roles: Mapping[str, Guess], role: str) -> list[Column]:
    """Columns that no other role has."""
    taken = {name for other, guess in roles.items() if other != role for name in guess.columns}
    return [column for column in columns if column.name not in taken]


def _case(frame: DataFrame, guess: Guess, columns: Sequence[Column], seconds: str) -> Guess:
    known: dict[str, Candidate] = {}
    if any(c.name == guess.column for c in columns):
        found = known[str(guess.column)] = _candidate(frame, str(guess.column), seconds)
        if found.cases > 1 and found.events >= _EVENTS:
            return guess
    looked_at = sorted((c for c in columns if c.distinct > 1), key=lambda c: -c.distinct)[:_LOOKED_AT]
    candidates = [known.get(c.name) or _candidate(frame, c.name, seconds) for c in looked_at]
    fit = _told_apart(frame, [c for c in candidates if c.fits])
    if len(fit) == 1:
        return Guess("case", fit[0].column, f"its values are like cases: {fit[0].described}")
    best = sorted(candidates, key=lambda c: (not c.fits, c.lasts))[:_SHOWN]
    if not best:
        return replace(guess, column=None)
    why = "several columns may be the case" if len(fit) > 1 else "no column looks like a case"
    return Guess("case", None, f"{why}: {', '.join(map(str, best))}")


def _candidate(frame: DataFrame, column: str, seconds: str) -> Candidate:
    grouped = frame.selectExpr(f"{in_backticks(column)} AS c", f"{seconds} AS t").where("c IS NOT NULL").groupBy("c")
    ends = grouped.agg(F.count("*").alias("n"), F.min("t").alias("f"), F.max("t").alias("l"))
    cases, events, lasts, span = ends.selectExpr("count(*)", "avg(n)", "avg(l - f)", "max(l) - min(f)").collect()[0]
    return Candidate(column, cases, events or 0.0, (lasts or 0.0) / span if span else 0.0)


def _told_apart(frame: DataFrame, fit: Sequence[Candidate]) -> list[Candidate]:
    """Candidates without those whose cases are the same as an earlier one's."""
    out: list[Candidate] = []
    for one in fit:
        same = (
            other for other in out
            if other.cases == one.cases and _pairs(frame, [other.column, one.column]) == one.cases
        )  # fmt: skip
        if next(same, None) is None:
            out.append(one)
    return out


def _pairs(frame: DataFrame, columns: Collection[str]) -> int:
    names = list(map(in_backticks, columns))
    return frame.select(*names).where(" AND ".join(f"{n} IS NOT NULL" for n in names)).distinct().count()


def _event(frame: DataFrame, guess: Guess, columns: Sequence[Column], cases: Sequence[str]) -> Guess:
    """Of texts with few values, the only one that changes within cases."""
    few = [c.name for c in columns if c.type == "string" and 1 < c.distinct <= min(_VALUES, c.rows / 5)][:_LOOKED_AT]
    if not few:
        return guess
    items = [f"count(DISTINCT {in_backticks(n)}) AS n{k}" for k, n in enumerate(few)]
    by = list(map(in_backticks, cases))
    known = " AND ".join(f"{column} IS NOT NULL" for column in by)
    text = f"SELECT {', '.join(items)} FROM {{log}} WHERE {known} GROUP BY {', '.join(by)}"
    within = frame.sparkSession.sql(text, log=frame).selectExpr(*(f"avg(n{k})" for k in range(len(few)))).collect()[0]
    changing = [name for name, number in zip(few, within, strict=True) if number is not None and number >= _TYPES]
    if len(changing) == 1:
        return Guess("event", changing[0], "it has few values, of which a case has several")
    return guess
