"""ORDER BY of a SELECT DISTINCT whose windows have patterns and whose FROM joins relations.

Behind DISTINCT Spark knows the columns of the SELECT list alone, by `l.v` and `v` where it is that of `l` under its own
name. Here a relation's columns are read from a struct, so that `l.v` has no relation once it is selected: the list gets
it once more, by a name of ours, which the query around leaves out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pyspark.errors import AnalysisException

from sparkcep.query import PREFIX
from sparkcep.session.inputs.window_source import SelectReader
from sparkcep.spark.releases import no_star_except
from sparkcep.sql.windows.selected import select_items

_ORDERS = ("ORDER", "SORT", "CLUSTER", "DISTRIBUTE")


def order_distinct(reader: SelectReader, sides: Collection[str], source: str) -> None:
    """Note the edits of a SELECT DISTINCT that orders by relations' columns.

    Args:
        sides: relations whose columns are read from structs. source: what stands between FROM and ORDER BY, rendered.
    """
    s, windowed, rewriter = reader.planner.statement, reader.windowed, reader.planner.rewriter
    order = _order_at(reader)
    if s.word(windowed.select + 1) != "DISTINCT" or order is None:
        return
    known: dict[tuple[str, str], str] = {}
    columns: list[str] = []
    for k in _named(reader, order, {reader.fold(side) for side in sides}):
        key = reader.fold(s.tokens[k].text), reader.fold(s.tokens[k + 2].text)
        if key not in known:
            known[key] = ""
            if _is_selected(reader, reader.text(k, k + 3), source):
                known[key] = f"{PREFIX}d{len(columns)}"
                columns.append(f"{reader.text(k, k + 3)} AS {known[key]}")
        if known[key]:
            rewriter.put(k, k + 3, known[key])
    if columns:
        if why := no_star_except():
            raise reader.error(
                "CEP_WINDOW_QUERY", f"ORDER BY after DISTINCT cannot name columns of one side of a join: {why}.", order
            )
        hidden = ", ".join(name for name in known.values() if name)
        select, behind = windowed.select, windowed.source
        rewriter.put(select, select + 2, f"SELECT * EXCEPT ({hidden}) FROM ({reader.text(select, select + 2)}")
        rewriter.put(behind, behind + 1, f", {', '.join(columns)} {reader.text(behind, behind + 1)}")
        rewriter.put(order, order + 1, f") {reader.text(order, order + 1)}")


def _order_at(reader: SelectReader) -> int | None:
    """Where ORDER BY, or the like, begins; None without."""
    s, windowed = reader.planner.statement, reader.windowed
    k = windowed.rows_end if windowed.clause is None else windowed.clause[1]
    return k if k < windowed.end and s.word(k) in _ORDERS and s.word(k + 1) == "BY" else None


def _named(reader: SelectReader, low: int, sides: Collection[str]) -> Iterator[int]:
    """Tokens of relations' names with a column behind them, from a token on, outside of windows with patterns."""
    s, windowed = reader.planner.statement, reader.windowed
    for k in range(low, windowed.end - 2):
        names = all(s.tokens[n].kind in ("word", "quoted") for n in (k, k + 2))
        if (
            not names
            or s.operator(k + 1) != "."
            or s.operator(k - 1) == "."
            or reader.fold(s.tokens[k].text) not in sides
        ):
            continue
        if not any(call.low <= k < call.end for call in windowed.calls):
            yield k


def _is_selected(reader: SelectReader, name: str, source: str) -> bool:
    """Whether Spark finds a column behind the DISTINCT of those items that call no window."""
    s, windowed = reader.planner.statement, reader.windowed
    items = [
        reader.text(low, high)
        for low, high in select_items(s, windowed)
        if not any(s.word(k) == "OVER" for k in range(low, high))
    ]
    if not items:
        return False
    try:
        reader.planner.analyzer.run(reader.query([f"DISTINCT {', '.join(items)}"], f"{source} ORDER BY {name}"))
    except AnalysisException:
        return False
    return True
