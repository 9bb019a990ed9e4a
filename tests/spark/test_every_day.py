"""The recipes of the tutorial's page on running every day: a random log is replayed day by day, and what the page calls
exact gives, after each day, what a run over the whole log gives; what it does not call so differs on some day."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from docs_tools.pages import DOCS

from ..conftest import some

PAGE = (DOCS / "tutorial" / "5_every_day.md").read_text()
DAYS, CASES, LOGS = 6, 12, range(2)
START = datetime(2026, 3, 1)

Event = tuple[int, int, datetime, str, int]  # order_id, id, at, event, arrived

_ORDER = "PARTITION BY order_id ORDER BY at EVENT TYPE event"
_CLAUSE = f"SELECT * FROM recent MATCH_RECOGNIZE ({_ORDER} MEASURES FIRST(at) AS first_at, collect_list(id) AS ids"


@dataclass(frozen=True)
class Pattern:
    """A query over ``recent``. ``bounded``: whether it has WITHIN, so that time alone may decide what is censored.
    ``by_case``: a case has one match at most, by which it is told."""

    text: str
    bounded: bool = True
    by_case: bool = False

    def without_option(self) -> Pattern:
        return replace(self, text=self.text.replace("OMIT CENSORED MATCHES", ""))


#: By the rows of the page's table.
PATTERNS = {
    "all matches, `AFTER MATCH SKIP TO NEXT ROW`": [
        Pattern(
            f"FROM recent {_ORDER} PATTERN SEQ(a x, b+ y[], c z) WITHIN 2 days "
            "RETURN order_id, x.at AS first_at, concat(array(x.id), collect_list(y[].id), array(z.id)) AS ids"
        ),
        Pattern(
            f"{_CLAUSE} AFTER MATCH SKIP TO NEXT ROW OMIT CENSORED MATCHES PATTERN (a (b | c)+) WITHIN INTERVAL 2 DAYS)"
        ),
        Pattern(
            f"{_CLAUSE} AFTER MATCH SKIP TO NEXT ROW OMIT CENSORED MATCHES "
            "EVENT SELECTION SKIP TILL NEXT MATCH PATTERN (a b+) WITHIN INTERVAL 2 DAYS)"
        ),
    ],
    "the same, with a negation at the end": [
        Pattern(
            f"FROM recent {_ORDER} PATTERN SEQ(a x, !b y) WITHIN 2 days OMIT CENSORED MATCHES "
            "RETURN order_id, x.at AS first_at, array(x.id) AS ids"
        ),
    ],
    "`MATCHES FIRST`, with a negation at the end": [
        Pattern(
            f"FROM recent {_ORDER} PATTERN SEQ(a x, !b y) WITHIN 2 days MATCHES FIRST OMIT CENSORED MATCHES "
            "RETURN order_id, x.at AS first_at, array(x.id) AS ids",
            by_case=True,
        ),
    ],
    "`NON OVERLAPPING`, `AFTER MATCH SKIP PAST LAST ROW`": [
        Pattern(
            f"FROM recent {_ORDER} PATTERN SEQ(a x, b+ y[]) WITHIN 2 days MATCHES NON OVERLAPPING "
            "RETURN order_id, x.at AS first_at, array_append(collect_list(y[].id), x.id) AS ids"
        ),
        Pattern(
            f"{_CLAUSE} AFTER MATCH SKIP PAST LAST ROW OMIT CENSORED MATCHES PATTERN (any{{3}} (b | c)*))",
            bounded=False,
        ),
    ],
}
RECIPES = ("append what is decided", "replace from a time on", "replace cases")


def table() -> dict[tuple[str, str], str]:
    """What the page says of each pattern and recipe."""
    lines = PAGE[PAGE.index("| matches |") :].split("\n\n")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert tuple(cells[0][1:]) == RECIPES
    assert [row[0] for row in cells[2:]] == list(PATTERNS)
    return {(row[0], recipe): said for row in cells[2:] for recipe, said in zip(RECIPES, row[1:], strict=True)}


def recipes() -> dict[str, str]:
    """The statements of the page, by the recipe's name."""
    found = re.findall(r"^\*\*(.*?)\.\*\*.*?^```sql\n(WITH.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert [name.lower() for name, _ in found] == list(RECIPES)
    return {name.lower(): statement.strip().rstrip(";") for name, statement in found}


def log(seed: int, late: bool) -> list[Event]:
    """Events of some cases; of late ones, some arrive a day after they happen."""
    random, out = Random(seed), []
    for day in range(DAYS):
        for _ in range(20):
            at = START + timedelta(days=day, minutes=random.randrange(24 * 60))
            arrived = day + (late and random.random() < 0.4)
            out.append((random.randrange(CASES), len(out), at, random.choice("aabbcx"), arrived))
    return out


def rows(spark: SparkSession, statement: str) -> set[tuple[Any, ...]]:
    found = [(row[0], row[1], tuple(sorted(row[2]))) for row in spark.sql(statement).collect()]
    assert len(found) == len(set(found))
    return set(found)


def days(
    spark: SparkSession, recipe: str, pattern: Pattern, events: list[Event], watermark: bool = False
) -> Iterator[tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]]]:
    """After each day, what the recipe has made and what a run over the whole log gives.

    Args:
        watermark: cut the log a day before its last event, and read from WITHIN before the last one that the run before
            had left in it.
    """
    statement = re.sub(r"(today AS \(\n).*?(\n\))", rf"\1{pattern.text}\2", recipes()[recipe], flags=re.DOTALL)
    assert pattern.text in statement
    if pattern.by_case:
        statement = statement.replace(
            "SELECT * FROM today EXCEPT SELECT * FROM found",
            "SELECT * FROM today WHERE order_id NOT IN (SELECT order_id FROM found)",
        )
    source = "SELECT * FROM every_day_all"
    if watermark:
        source += " WHERE at <= (SELECT max(at) FROM every_day_all) - INTERVAL 1 DAY"
        known_before = "FROM events WHERE arrived < (SELECT max(arrived) FROM events)"
        assert known_before in statement
        earlier = "FROM every_day_all WHERE arrived < (SELECT max(arrived) FROM every_day_all)"
        cut = f"(SELECT max(at) {earlier}) - INTERVAL 1 DAY"
        statement = statement.replace(known_before, f"{earlier} AND at <= {cut}")
    made: set[tuple[Any, ...]] = set()
    for day in range(DAYS):
        known = [event for event in events if event[-1] <= day]
        frame = spark.createDataFrame(known, "order_id INT, id INT, at TIMESTAMP, event STRING, arrived INT")
        frame.createOrReplaceTempView("every_day_all")
        spark.sql(f"CREATE OR REPLACE TEMP VIEW events AS {source}")
        spark.createDataFrame(
            [(*row[:2], list(row[2])) for row in made], "order_id INT, first_at TIMESTAMP, ids ARRAY<INT>"
        ).createOrReplaceTempView("found")
        found = rows(spark, statement)
        made = made | found if recipe == RECIPES[0] else found
        asked = pattern.text, tuple(known), watermark
        if asked not in WHOLE:
            WHOLE[asked] = rows(spark, f"WITH recent AS (SELECT * FROM events) {pattern.text}")
        yield made, WHOLE[asked]


#: What a run over a whole log gives, which does not depend on the recipe.
WHOLE: dict[tuple[str, tuple[Event, ...], bool], set[tuple[Any, ...]]] = {}


def differing(spark: SparkSession, recipe: str, pattern: Pattern, late: bool, **how: bool) -> int:
    """On how many days of some logs the recipe gives something else than a full run."""
    logs = [log(seed, late) for seed in LOGS]
    return sum(made != whole for events in logs for made, whole in days(spark, recipe, pattern, events, **how))


GRID = [(kind, recipe, late) for kind in PATTERNS for recipe in RECIPES for late in (False, True)]
SHORT = [(list(PATTERNS)[1], RECIPES[1], True)]


@pytest.mark.full
@pytest.mark.parametrize(("kind", "recipe", "late"), some(GRID, SHORT))
def test_what_the_page_says(spark: SparkSession, kind: str, recipe: str, late: bool) -> None:
    said = table()[kind, recipe]
    exact = said.startswith("exact") and (not late or "late" in said)
    wrong = []
    for pattern in PATTERNS[kind]:
        plain = recipe == RECIPES[2] and said != "no" and pattern.bounded
        wrong.append(differing(spark, recipe, pattern.without_option() if plain else pattern, late))
    assert (sum(wrong) == 0) is exact, wrong


@pytest.mark.long
@pytest.mark.parametrize("kind", list(PATTERNS)[:3])
def test_a_log_that_is_cut_is_not_late(spark: SparkSession, kind: str) -> None:
    """Append what is decided, of late events that come within a day."""
    for pattern in PATTERNS[kind]:
        assert differing(spark, RECIPES[0], pattern, late=True, watermark=True) == 0


@pytest.mark.long
def test_first_event_and_case_tell_no_match(spark: SparkSession) -> None:
    pattern = PATTERNS[next(iter(PATTERNS))][0]
    off = 0
    for seed in LOGS:
        made: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        for found, whole in days(spark, RECIPES[0], pattern, log(seed, late=False)):
            for row in sorted(found):
                made.setdefault(row[:2], row)
            off += set(made.values()) != whole
    assert off
