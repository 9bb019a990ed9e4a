"""What windows with patterns read where their SELECT joins relations: a subquery of its FROM and WHERE."""

from __future__ import annotations

from collections import Counter

from pyspark.errors import AnalysisException

from sparkcep.query import quote
from sparkcep.session.inputs.window_order import order_distinct
from sparkcep.session.inputs.window_source import OWN, SelectReader, WindowedInput, is_star
from sparkcep.spark.exceptions import condition_of
from sparkcep.sql.correlation import is_name
from sparkcep.sql.rewriter import InputSql
from sparkcep.sql.token_text import Range
from sparkcep.sql.windows.selected import expression_end, select_items
from sparkcep.sql.windows.sides import in_several


def joined_rows(reader: SelectReader) -> WindowedInput:
    """The rows of FROM and WHERE: columns by their names, and once more by those relations that they are read by.

    Raises:
        PatternAnalysisError: CEP_DUPLICATE_COLUMN.
    """
    s = reader.planner.statement
    columns = reader.all_columns()
    sides = reader.sides(columns)
    count = Counter(map(reader.fold, columns))
    several = in_several(s, reader.windows.values(), [name for name, n in count.items() if n > 1], reader.fold)
    if several is not None:
        name = s.tokens[several].text
        raise reader.error(
            "CEP_DUPLICATE_COLUMN",
            f"Several relations of FROM have a column {name}.",
            several,
            f"write the name of one before it, as in t.{name}",
        )
    names = [f"{OWN}{n}" if count[reader.fold(c)] > 1 else c for n, c in enumerate(columns)]
    shown = {own: c for own, c in zip(names, columns, strict=True) if own != c}
    structs = [f"{reader.struct(name, *side)} AS {quote(name)}" for name, side in sides.items()]
    query = reader.query(["*", *structs])
    text = reader.named(query, [*names, *sides]) if shown else InputSql(query)
    frame = reader.planner.analyzer.analyzed(text.text)
    names_of = _item_names(reader)
    order_distinct(reader, sides, reader.source)
    return WindowedInput(
        text, frame, tuple(sides), shown, names_of, notes=("windows see the rows of FROM as a subquery gives them",)
    )


def _item_names(reader: SelectReader) -> dict[Range, str]:
    """Items of the SELECT list with the names that Spark makes of their text: of `l.v + 1` it leaves `l` out.

    Raises:
        PatternAnalysisError: CEP_WINDOW_QUERY.
    """
    s, windowed = reader.planner.statement, reader.windowed
    unnamed = [
        (low, high)
        for low, high in select_items(s, windowed)
        if any(s.operator(k) == "." for k in range(low, high))
        and expression_end(s, low, high) == high
        and not is_name(s, low, high)
        and not is_star(s, low)
        and not any(low <= c.low < high for c in windowed.calls)
    ]
    if not unnamed:
        return {}
    try:
        names = reader.columns(", ".join(reader.text(*span) for span in unnamed))
    except AnalysisException as error:
        if not condition_of(error).startswith("UNRESOLVED_COLUMN"):
            raise
        names = []
    if len(names) != len(unnamed):
        raise reader.error(
            "CEP_WINDOW_QUERY",
            "The name of this column depends on more than FROM.",
            unnamed[0][0],
            "give it one: AS name",
        )
    return dict(zip(unnamed, names, strict=True))
