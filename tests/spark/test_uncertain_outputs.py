"""Imprecise times: everything that shows a Kleene variable's events shows them in one order, that of the match."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import pytest
from pyspark.sql import SparkSession

from ..conftest import some

pytestmark = [pytest.mark.full]

CASES = 120
CONDITIONS = ("TRUE", "b[i].v > b[i-1].v", "b[i].v <> c.v AND count(b[].v) >= 2")
SELECTIONS = ("SKIP TILL NEXT MATCH", "SKIP TILL ANY MATCH")


def random_log(seed: int) -> list[tuple[int, int, str, int, int, int]]:
    """(case, row, type, value, lower, upper); the bounds order events any way against their rows."""
    draw = random.Random(seed)
    out = []
    for case in range(CASES):
        types = ["A", *draw.choices("BBBC", k=draw.randint(2, 4)), "C"]
        for row, type_ in enumerate(types):
            low = draw.randint(0, 8) if type_ == "B" else (0 if type_ == "A" else draw.randint(7, 12))
            out.append((case, row, type_, draw.randint(0, 3), low, low + draw.choice([0, 0, 1, 2])))
    return out


@pytest.mark.parametrize(
    ("selection", "layout"),
    some(product(SELECTIONS, ["lists", "rows"]), [(SELECTIONS[0], "lists"), (SELECTIONS[1], "rows")]),
)
def test_all_outputs_have_the_order_of_the_match(spark: SparkSession, selection: str, layout: str) -> None:
    rows = random_log(len(selection) + len(layout))
    columns = "k INT, row INT, e STRING, v INT, low INT, high INT"
    spark.createDataFrame(rows, columns).createOrReplaceTempView("uo_log")
    bounds = {(k, row): (low, high) for k, row, _, _, low, high in rows}
    spark.conf.set("spark.sparkcep.exec.layout", layout)
    try:
        for condition in CONDITIONS:
            block = f"""FROM uo_log PARTITION BY k ORDER BY row EVENT TYPE e PATTERN SEQ(A a, B+ b[], C c)
                WHERE {condition} UNCERTAINTY (low, high) EVENT SELECTION {selection}"""
            shown = spark.sql(f"""{block} RETURN k, collect_list(b[].row) AS ids, array_agg(b[].row) AS aggregated,
                b[] AS whole, b[1].row AS one, b[b.LEN].row AS last_one,
                listagg(CAST(b[].row AS STRING), ',') AS text, c.row AS c""").collect()
            against = 0
            for m in shown:
                ids = m.ids
                assert m.aggregated == ids == [e.row for e in m.whole]
                assert (m.one, m.last_one) == (ids[0], ids[-1])
                assert m.text == ",".join(map(str, ids))
                lows = [bounds[m.k, row][0] for row in ids]
                highs = [bounds[m.k, row][1] for row in ids]
                if selection == SELECTIONS[0] or "i-1" in condition:  # a sequence: some world has this order
                    assert all(max(lows[: n + 1]) < highs[n + 1] for n in range(len(ids) - 1)), (ids, lows, highs)
                if "i-1" in condition:
                    assert [e.v for e in m.whole] == sorted({e.v for e in m.whole})
                against += ids != sorted(ids)
            assert against > 5, "no bounds order events against their rows"
            events = spark.sql(f"""SELECT k, transform(filter(events, e -> e.variable = 'b'), e -> e.position) AS ids,
                events[size(events) - 1].position AS c, round(confidence, 9) AS p FROM ({block})""").collect()
            returned = Counter((m.k, tuple(m.ids), m.c, round(m.confidence, 9)) for m in shown)
            assert Counter((m.k, tuple(m.ids), m.c, m.p) for m in events) == returned
    finally:
        spark.conf.unset("spark.sparkcep.exec.layout")
