"""Random windows with patterns, as SQL over many small partitions, have what the definition says of each row."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from sparkcep.pattern import Pattern, render, variables
from sparkcep.query import SkipMode

from ..exec.reference_windows import reference_windows
from ..exec.strategies import patterns

PARTITIONS = 40


@dataclass(frozen=True)
class Seen:
    """What an expression over a match sees: the path of (variable, row), the frame, and the partition's values."""

    path: list[tuple[str, int]]
    first: int
    last: int
    x: list[int | None]

    def rows(self, name: str | None = None) -> list[int]:
        return [row for of, row in self.path if name in (None, of)]

    def at(self, row: int | None) -> int | None:
        """The value of a row that may lie outside of the frame, or nowhere."""
        return self.x[row] if row is not None and self.first <= row <= self.last else None

    def moved(self, rows: list[int], place: int, by: int = 0) -> int | None:
        """The row beside the first (0) or last (-1) of some rows, where the frame has it."""
        if not rows:
            return None
        row = rows[place] + by
        return row if self.first <= row <= self.last else None

    def label(self, row: int | None) -> str | None:
        return next((name for name, of in self.path if of == row), None)


def below(a: Any, b: Any) -> bool:
    return a is not None and b is not None and a < b


def total(values: list[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None


#: Conditions of a variable, and what they say of its row, the path's last.
CONDITIONS: dict[str, Callable[[Seen], bool]] = {
    "true": lambda s: True,
    "x > 1": lambda s: below(1, s.at(s.rows()[-1])),
    "x <= PREV(x)": lambda s: below(s.at(s.rows()[-1]), None if (p := s.at(s.rows()[-1] - 1)) is None else p + 1),
    "x < NEXT(x)": lambda s: below(s.at(s.rows()[-1]), s.at(s.rows()[-1] + 1)),
    "NEXT(x) IS NULL": lambda s: s.at(s.rows()[-1] + 1) is None,
    "PREV(x, 2) IS NULL": lambda s: s.at(s.rows()[-1] - 2) is None,
    "x >= FIRST(x)": lambda s: below(s.at(s.rows()[0]), None if (v := s.at(s.rows()[-1])) is None else v + 1),
    "x > A.x OR count(A.x) = 0": lambda s: (
        below(s.at(s.moved(s.rows("A"), -1)), s.at(s.rows()[-1]))
        or all(s.x[row] is None for row in s.rows("A"))
    ),
    "PREV(A.x) < x": lambda s: below(s.at(s.moved(s.rows("A"), -1, -1)), s.at(s.rows()[-1])),
    "NEXT(FIRST(A.x), 2) IS NOT NULL": lambda s: s.at(s.moved(s.rows("A"), 0, 2)) is not None,
    "PREV(FIRST(x)) IS NULL": lambda s: s.at(s.moved(s.rows(), 0, -1)) is None,
    "count(*) <= 2": lambda s: len(s.rows()) <= 2,
    "sum(x) < 4": lambda s: below(total([s.x[row] for row in s.rows()]), 4),
}  # fmt: skip
#: Measures; ids are rows.
MEASURES: dict[str, Callable[[Seen], Any]] = {
    "count(*)": lambda s: len(s.path),
    "'matched'": lambda s: "matched",
    "FIRST(id)": lambda s: s.moved(s.rows(), 0),
    "LAST(id, 1)": lambda s: s.rows()[-2] if len(s.path) > 1 else None,
    "PREV(FIRST(id))": lambda s: s.moved(s.rows(), 0, -1),
    "NEXT(id, 2)": lambda s: s.moved(s.rows(), -1, 2),
    "CLASSIFIER()": lambda s: s.path[-1][0] if s.path else None,
    "PREV(CLASSIFIER())": lambda s: s.label(s.moved(s.rows(), -1, -1)),
    "sum(x)": lambda s: total([s.x[row] for row in s.rows()]),
    "count(A.*)": lambda s: len(s.rows("A")),
    "NEXT(A.id)": lambda s: s.moved(s.rows("A"), -1, 1),
    "PREV(A.id, 2)": lambda s: s.moved(s.rows("A"), -1, -2),
}
#: Functions over the window, of the rows of the match.
FUNCTIONS: dict[str, Callable[[list[int], list[int | None]], Any]] = {
    "count(*)": lambda rows, x: len(rows),
    "array_agg(id)": lambda rows, x: rows,
    "sum(x)": lambda rows, x: total([x[row] for row in rows]),
    "first_value(x)": lambda rows, x: x[rows[0]] if rows else None,
    "nth_value(id, 2)": lambda rows, x: rows[1] if len(rows) > 1 else None,
    "last_value(x) IGNORE NULLS": lambda rows, x: next((x[r] for r in reversed(rows) if x[r] is not None), None),
}
FRAMES: dict[str, Callable[[int, int], int]] = {
    "UNBOUNDED FOLLOWING": lambda row, n: 10**6,
    "CURRENT ROW": lambda row, n: row,
    "1 FOLLOWING": lambda row, n: row + 1,
    "3 FOLLOWING": lambda row, n: row + 3,
    "n FOLLOWING": lambda row, n: row + n,
}
SKIPS = {"PAST LAST ROW": SkipMode.PAST_LAST_ROW, "TO NEXT ROW": SkipMode.TO_NEXT_ROW}


@dataclass(frozen=True)
class Drawn:
    """A random window: PARTITION BY p unless the only partition is asked for."""

    pattern: Pattern
    conditions: dict[str, str]
    frame: str
    skip: str
    seek: bool

    def sql(self, partition: str) -> str:
        own = [m for m in MEASURES if "A." not in m or "A" in variables(self.pattern)]
        measures = ", ".join(f"{text} AS m{n}" for n, text in enumerate(own))
        define = ", ".join(f"{name} AS {text}" for name, text in self.conditions.items())
        return (
            f"({partition} ORDER BY id MEASURES {measures} ROWS BETWEEN CURRENT ROW AND {self.frame} "
            f"AFTER MATCH SKIP {self.skip} {'SEEK' if self.seek else ''} PATTERN ({render(self.pattern)}) "
            f"DEFINE {define})"
        )

    def names(self) -> list[str]:
        own = [m for m in MEASURES if "A." not in m or "A" in variables(self.pattern)]
        return [f"m{n}" for n in range(len(own))]

    def expected(self, x: list[int | None], ns: list[int]) -> list[list[Any]]:
        """Of each row the measures, then the functions."""
        ends = [min(FRAMES[self.frame](row, n), len(x) - 1) for row, n in enumerate(ns)]

        def condition(text: str):
            return lambda path, first, last: CONDITIONS[text](Seen([p[:2] for p in path], first, last, x))

        conditions = {name: condition(text) for name, text in self.conditions.items()}
        found = reference_windows(self.pattern, ends, conditions, SKIPS[self.skip], (), self.seek)
        own = [m for m in MEASURES if "A." not in m or "A" in variables(self.pattern)]
        out = []
        for row, path in enumerate(found):
            seen = Seen([p[:2] for p in path or ()], row, ends[row], x)
            measures = [None if path is None else MEASURES[m](seen) for m in own]
            out.append([*measures, *(f(seen.rows(), x) for f in FUNCTIONS.values())])
        return out


@st.composite
def windows(draw: st.DrawFn) -> Drawn:
    pattern = draw(patterns(anchors=False).filter(variables))
    names = variables(pattern)
    texts = [c for c in CONDITIONS if "A." not in c or "A" in names]
    conditions = {name: draw(st.sampled_from(texts)) for name in names}
    return Drawn(
        pattern, conditions, draw(st.sampled_from(list(FRAMES))), draw(st.sampled_from(list(SKIPS))),
        draw(st.booleans()),
    )  # fmt: skip


@pytest.mark.full
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(windows(), min_size=2, max_size=2), st.booleans(), st.integers(0, 10**6))
def test_windows(spark: SparkSession, drawn: list[Drawn], alone: bool, seed: int) -> None:
    chance = random.Random(seed)
    logs = [
        [(chance.choice([None, 0, 1, 1, 2, 3]), chance.randrange(4)) for _ in range(chance.randrange(1, 8))]
        for _ in range(1 if alone else PARTITIONS)
    ]
    rows = [(p, k, x, n) for p, log in enumerate(logs) for k, (x, n) in enumerate(log)]
    chance.shuffle(rows)
    spark.createDataFrame(rows, "p INT, id INT, x INT, n INT").createOrReplaceTempView("drawn_windows")
    calls = [f"{m} OVER w{k}" for k, w in enumerate(drawn) for m in (*w.names(), *FUNCTIONS)]
    # Columns by window, measures before functions.
    clause = ", ".join(f"w{k} AS {w.sql('' if alone else 'PARTITION BY p')}" for k, w in enumerate(drawn))
    found = {
        (p, k): [list(v) if isinstance(v, list) else v for v in values]
        for p, k, *values in spark.sql(f"SELECT p, id, {', '.join(calls)} FROM drawn_windows WINDOW {clause}").collect()
    }
    expected = {}
    for p, log in enumerate(logs):
        answers = [w.expected([x for x, _ in log], [n for _, n in log]) for w in drawn]
        for k in range(len(log)):
            expected[p, k] = [value for answer in answers for value in answer[k]]
    assert found == expected
