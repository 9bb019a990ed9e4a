"""Results as text: a table, Markdown, CSV, JSON. A terminal gets rich's tables, which fit its width."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Rows from which a terminal gets plain lines too: rich looks at each cell.
MANY = 2000


def as_texts(frame: DataFrame) -> DataFrame:
    """All values as Spark casts them to STRING, columns c0, c1 ..."""
    plain = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
    return plain.selectExpr(*(f"CAST(c{i} AS STRING) AS c{i}" for i in range(len(frame.columns))))


def as_json(frame: DataFrame) -> DataFrame:
    """Each row as to_json writes it."""
    return frame.selectExpr("to_json(struct(*), map('ignoreNullFields', 'false')) AS j")


def texts(frame: DataFrame, to_read: bool = False) -> tuple[list[str], list[list[str | None]]]:
    """Column names and rows, values as Spark casts them to STRING.

    Args:
        to_read: with intervals of days to seconds as ``2 days 01:30:05``, for people.
    """
    from pyspark.sql.types import DayTimeIntervalType

    from sparkcep.progress import activity

    with activity("Running the query"):
        rows = [list(r) for r in as_texts(frame).collect()]
    for i, field in enumerate(frame.schema.fields) if to_read else ():
        if isinstance(field.dataType, DayTimeIntervalType):
            for row in rows:
                row[i] = _readable(row[i])
    return list(frame.columns), rows


_INTERVAL = re.compile(r"INTERVAL '(-?)(\d+) (\d+:\d+:[\d.]+)' DAY TO SECOND")


def _readable(value: str | None) -> str | None:
    """An interval of days to seconds with its unit by its number; others, which say their unit, as they are."""
    found = _INTERVAL.fullmatch(value or "")
    if not found:
        return value
    sign, days, rest = found.groups()
    return f"{sign}{rest}" if days == "0" else f"{sign}{days} day{'s' * (days != '1')} {rest}"


def boxed(names: Sequence[str], rows: Sequence[Sequence[str | None]]) -> str:
    """Rows as a table of characters."""
    shown = [list(names), *([("NULL" if v is None else v) for v in r] for r in rows)]
    widths = [max(len(r[i]) for r in shown) for i in range(len(names))]
    line = "+" + "+".join("-" * (w + 2) for w in widths) + "+"
    head, *body = ("|" + "|".join(f" {v:<{w}} " for v, w in zip(r, widths, strict=True)) + "|" for r in shown)
    return "\n".join([line, head, line, *body, *([line] if rows else [])])


def table(names: Sequence[str], rows: Sequence[Sequence[str | None]]) -> str:
    """A table to print: for a terminal in its width, elsewhere as plain lines of any length."""
    if not sys.stdout.isatty() or len(rows) > MANY:
        return boxed(names, rows)
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.ROUNDED, header_style="bold")
    for i, name in enumerate(names):
        numbers = [_is_number(r[i]) for r in rows if r[i] is not None]
        drawn.add_column(Text(name), justify="right" if numbers and all(numbers) else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text("NULL", style="dim") if v is None else Text(v) for v in row))
    console = Console(highlight=False, markup=False, emoji=False)
    with console.capture() as got:
        console.print(drawn)
    return str(got.get()).rstrip("\n")


def _is_number(text: str | None) -> bool:
    try:
        float((text or "").replace(",", "").rstrip("%"))
    except ValueError:
        return False
    return True


def plan_text(statement: str, frame: DataFrame) -> str | None:
    """What EXPLAIN says, lines to print as they are; None where a statement is another."""
    return str(frame.collect()[0][0]) if statement.lstrip()[:7].upper() == "EXPLAIN" else None


def print_table(frame: DataFrame) -> int:
    """Rows in a box of lines, and how many there are."""
    names, rows = texts(frame, to_read=True)
    print(table(names, rows))
    print(f"({len(rows)} row{'' if len(rows) == 1 else 's'})")
    return len(rows)


def print_markdown(frame: DataFrame) -> int:
    """Rows as a table of Markdown."""
    names, rows = texts(frame)

    def line(values: Sequence[str | None]) -> str:
        cells = ("NULL" if v is None else v.replace("|", "\\|").replace("\n", " ") for v in values)
        return "| " + " | ".join(cells) + " |"

    print(line(names))
    print("|" + " --- |" * len(names))
    for row in rows:
        print(line(row))
    return len(rows)


def print_csv(frame: DataFrame) -> int:
    """Rows as CSV, NULL as nothing."""
    names, rows = texts(frame)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([["" if v is None else v for v in r] for r in rows])
    return len(rows)


def print_json(frame: DataFrame) -> int:
    """One array of objects, values as Spark's to_json writes them."""
    from sparkcep.progress import activity

    with activity("Running the query"):
        rows = as_json(frame).collect()
    print("[" + ",\n ".join(r[0] for r in rows) + "]")
    return len(rows)


#: By name; each prints a DataFrame and says how many rows it has.
PRINT: Mapping[str, Callable[[DataFrame], int]] = {
    "table": print_table,
    "json": print_json,
    "csv": print_csv,
    "markdown": print_markdown,
}
