"""Results as text: a table of characters, Markdown, CSV, JSON."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def texts(frame: DataFrame) -> tuple[list[str], list[list[str | None]]]:
    """Column names and rows, values as Spark casts them to STRING."""
    names = list(frame.columns)
    plain = frame.toDF(*(f"c{i}" for i in range(len(names))))
    rows = plain.selectExpr(*(f"CAST(c{i} AS STRING) AS c{i}" for i in range(len(names)))).collect()
    return names, [list(r) for r in rows]


def boxed(names: list[str], rows: list[list[str | None]]) -> str:
    """Rows as a table of characters."""
    shown = [names, *([("NULL" if v is None else v) for v in r] for r in rows)]
    widths = [max(len(r[i]) for r in shown) for i in range(len(names))]
    line = "+" + "+".join("-" * (w + 2) for w in widths) + "+"
    head, *body = ("|" + "|".join(f" {v:<{w}} " for v, w in zip(r, widths, strict=True)) + "|" for r in shown)
    return "\n".join([line, head, line, *body, *([line] if rows else [])])


def print_table(frame: DataFrame) -> None:
    """Rows in a box of lines, and how many there are."""
    names, rows = texts(frame)
    print(boxed(names, rows))
    print(f"({len(rows)} row{'' if len(rows) == 1 else 's'})")


def print_markdown(frame: DataFrame) -> None:
    """Rows as a table of Markdown."""
    names, rows = texts(frame)

    def line(values: Sequence[str | None]) -> str:
        cells = ("NULL" if v is None else v.replace("|", "\\|").replace("\n", " ") for v in values)
        return "| " + " | ".join(cells) + " |"

    print(line(names))
    print("|" + " --- |" * len(names))
    for row in rows:
        print(line(row))


def print_csv(frame: DataFrame) -> None:
    """Rows as CSV, NULL as nothing."""
    names, rows = texts(frame)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([["" if v is None else v for v in r] for r in rows])


def print_json(frame: DataFrame) -> None:
    """One array of objects, values as Spark's to_json writes them."""
    rows = frame.selectExpr("to_json(struct(*), map('ignoreNullFields', 'false')) AS j").collect()
    print("[" + ",\n ".join(r[0] for r in rows) + "]")


#: By name; each prints a DataFrame.
PRINT = {"table": print_table, "json": print_json, "csv": print_csv, "markdown": print_markdown}
