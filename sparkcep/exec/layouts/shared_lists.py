"""The lists layout for several patterns: one sorted list per partition, which goes to Python once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkcep.exec.engine import Matcher, MatchTable
from sparkcep.exec.engines.shared.rows import SharedRows
from sparkcep.exec.layouts.lists import as_lists, list_batch, list_function, list_inputs
from sparkcep.exec.layouts.output import ROWS, list_items, own_types
from sparkcep.exec.layouts.parts import Part, cut, is_plain, matched
from sparkcep.exec.shape import OperatorColumns
from sparkcep.query import ERROR, PREFIX

_FOUND = PREFIX + "found"


@dataclass(frozen=True, slots=True)
class SharedLists:
    """Patterns over one list. ``shape``: which of the list's columns go to Python, all as columns; ``order``: those
    with the ORDER BY keys, where a part has ``ties``."""

    parts: tuple[Part, ...]
    shape: OperatorColumns
    order: tuple[int, ...]


def part_name(number: int) -> str:
    """The column with a part's output rows."""
    return f"{PREFIX}part{number}"


def match_shared(df: DataFrame, given: SharedLists) -> DataFrame:
    """Run patterns over one row per partition: ``__cep_k*`` and ``__cep_rows`` in; ``__cep_k*``, for each part an array
    of its output rows, and the error of a batch that failed out. Partitions without any of them are dropped.

    The function is not deterministic in Spark's eyes, so that a WITH list that reads it more than once runs it once.
    """
    body = SharedBody(given)
    members = ",".join(
        f"p{n}:array<struct<{','.join(f'{name}:{type_}' for name, type_ in types.items())}>>"
        for n, types in enumerate(body.members)
    )
    keys = [f"{PREFIX}k{i}" for i in range(given.shape.keys)]
    found = list_function(body.run, f"struct<{members}>", repeats=False)
    frame = df.select(*keys, ROWS, found(*map(F.expr, list_inputs(given.shape))).alias(_FOUND))
    items = []
    for n, part in enumerate(given.parts):
        rows, columns = f"{_FOUND}.found.p{n}", part.output()
        items.append(rows if is_plain(columns) else f"transform({rows}, m -> {list_items(columns)})")
    some = " OR ".join(f"size({_FOUND}.found.p{n}) > 0" for n in range(len(items)))
    return frame.where(f"{_FOUND}.error IS NOT NULL OR {some}").selectExpr(
        *keys, *(f"{sql} AS {part_name(n)}" for n, sql in enumerate(items)), f"{_FOUND}.error AS {ERROR}"
    )


def part_rows(number: int) -> str:
    """SQL over :func:`match_shared`'s columns: the array of a part's output rows. An error is raised here, where rows
    are read, and not where they are found: Spark tells of several tasks that fail in one stage by a name of its own."""
    return f"CASE WHEN {ERROR} IS NULL THEN coalesce({part_name(number)}, array()) ELSE raise_error({ERROR}) END"


class SharedBody:
    """Body of the Arrow UDF. Matchers are made on the executor at the first batch, never pickled."""

    def __init__(self, given: SharedLists) -> None:
        self.given = given
        self._matchers: list[Matcher] | None = None

    def __reduce__(self) -> tuple[type, tuple[SharedLists]]:
        return type(self), (self.given,)

    @property
    def matchers(self) -> list[Matcher]:
        """One for each part."""
        if self._matchers is None:
            self._matchers = [part.engine.matcher(part.spec, part.shape) for part in self.given.parts]
        return self._matchers

    @property
    def members(self) -> list[dict[str, str]]:
        """Names and Spark types of what goes back for each output row of each part."""
        out = []
        for part in self.given.parts:
            columns = part.output()
            prefix = PREFIX if is_plain(columns) else ""
            out.append({prefix + name: type_ for name, type_ in own_types(columns).items()})
        return out

    def run(self, *lists: pa.Array) -> pa.Array:
        """List columns of a batch of partitions to a struct of lists of output rows, one for each part."""
        partitions = len(lists[0])
        rows = SharedRows(list_batch(lists, self.given.shape), self.given.order)
        out = []
        for part, matcher, members in zip(self.given.parts, self.matchers, self.members, strict=True):
            table = part_table(part, matcher, rows)
            columns = {name: table.columns[name.removeprefix(PREFIX)] for name in members}
            out.append(as_lists(table.partition, partitions, columns))
        return pa.StructArray.from_arrays(out, names=[f"p{n}" for n in range(len(out))])


def part_table(part: Part, matcher: Matcher, rows: SharedRows) -> MatchTable:
    """A part's output rows over the shared batch."""
    own = cut(part, rows)
    return matched(part, matcher.match(own.batch), own, rows)


def parts_needed(parts: Sequence[Part]) -> tuple[str, ...]:
    """The groups of kernels that patterns are matched by."""
    return tuple(sorted({name for part in parts for name in part.engine.needs(part.spec, part.shape)}))
