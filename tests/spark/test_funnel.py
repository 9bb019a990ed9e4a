"""Levels of funnels beside a search through all chains of events."""

from __future__ import annotations

import random
from itertools import combinations, combinations_with_replacement
from typing import Any

import pytest
from pyspark.sql import SparkSession

WITHIN = 4
#: Steps that an event may fit: of one type each, or of overlapping conditions.
STEPS = {
    "ARRAY('a', 'b', 'c')": [lambda e: e == "a", lambda e: e == "b", lambda e: e == "c"],
    "ARRAY(e <> 'x', e IN ('a', 'b') AS two, 'a')": [lambda e: e != "x", lambda e: e in "ab", lambda e: e == "a"],
}
Case = list[tuple[int, str]]


def completions(case: Case, steps: Any, mode: str, within: float) -> list[int | None]:
    """For each level the first time at which some chain of events reaches it."""
    out: list[int | None] = []
    indices = range(len(case))
    for level in range(1, len(steps) + 1):
        ends_at = []
        if mode == "any_order":
            for start, _ in case:
                ends = [[t for t, e in case if start <= t <= start + within and s(e)] for s in steps[:level]]
                ends_at += [max(map(min, ends))] if all(ends) else []
        else:
            chains = combinations_with_replacement if mode == "in_order" else combinations
            for chain in chains(indices, level):
                if mode == "strict_order" and chain[-1] - chain[0] != level - 1:
                    continue
                fits = all(s(case[i][1]) for s, i in zip(steps, chain, strict=False))
                if fits and case[chain[-1]][0] <= case[chain[0]][0] + within:
                    ends_at.append(case[chain[-1]][0])
        out.append(min(ends_at, default=None))
    return out


@pytest.mark.parametrize("mode", ["in_order", "strict_once", "strict_order", "any_order"])
def test_levels_equal_a_search(spark: SparkSession, mode: str) -> None:
    chosen = random.Random(mode)
    cases: list[Case] = []
    for _ in range(150):
        cases.append(sorted((chosen.randrange(12), chosen.choice("abcx")) for _ in range(chosen.randrange(1, 8))))
    rows = [(n, t, e) for n, case in enumerate(cases) for t, e in case]
    spark.createDataFrame(rows, "c int, t int, e string").createOrReplaceTempView("funnel_log")
    log = "TABLE(funnel_log) PARTITION BY c ORDER BY t EVENT TYPE e"
    for text, steps in STEPS.items():
        for within in (WITHIN, None):
            limit = f", within => {within}" if within is not None else ""
            query = f"SELECT c, level, reached FROM funnel({log}, {text}{limit}, mode => '{mode}') ORDER BY c"
            found = spark.sql(query).collect()
            expected = []
            for row in found:
                times = completions(cases[row.c], steps, mode, 99 if within is None else within)
                expected.append(sum(t is not None for t in times))
                assert row.level == expected[-1], (cases[row.c], row)
                assert row.reached == sorted(row.reached) and len(row.reached) == row.level
                assert not row.level or row.reached[-1] == times[row.level - 1], (cases[row.c], row)
            assert len(set(expected)) == 4
    counted = spark.sql(f"SELECT * FROM funnel_steps({log}, {text}, mode => '{mode}') ORDER BY step")
    assert [r.cases for r in counted.collect()] == [sum(x > n for x in expected) for n in range(3)]
