"""The lists layout for several patterns: one sorted list per partition, which goes to Python once for all of them."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from sparkcep.exec.engines.shared.rows import SharedRows
from sparkcep.exec.layouts.body import Body
from sparkcep.exec.layouts.lists import as_lists, list_batch, list_function, list_inputs
from sparkcep.exec.layouts.output import ROWS, list_members, list_rows, list_type
from sparkcep.exec.layouts.parts import Part, cut, in_shared_rows
from sparkcep.exec.reports import REPORTED
from sparkcep.exec.shape import OperatorColumns
from sparkcep.query import ERROR, PREFIX


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
    types = ",".join(f"p{n}:{list_type(members)}" for n, members in enumerate(body.members))
    keys = [f"{PREFIX}k{i}" for i in range(given.shape.keys)]
    found = list_function(body.run, f"struct<{types}>", repeats=False)
    frame = df.select(*keys, ROWS, found(*map(F.expr, list_inputs(given.shape))).alias(REPORTED))
    lists = [f"{REPORTED}.found.p{n}" for n in range(len(given.parts))]
    out = [list_rows(own, part.output()) for own, part in zip(lists, given.parts, strict=True)]
    some = " OR ".join(f"size({own}) > 0" for own in lists)
    return frame.where(f"{REPORTED}.error IS NOT NULL OR {some}").selectExpr(
        *keys, *(f"{sql} AS {part_name(n)}" for n, sql in enumerate(out)), f"{REPORTED}.error AS {ERROR}"
    )


def part_rows(number: int) -> str:
    """SQL over :func:`match_shared`'s columns: the array of a part's output rows. An error is raised here, where rows
    are read, and not where they are found: Spark tells of several tasks that fail in one stage by a name of its own."""
    return f"CASE WHEN {ERROR} IS NULL THEN coalesce({part_name(number)}, array()) ELSE raise_error({ERROR}) END"


class SharedBody:
    """Body of the Arrow UDF."""

    def __init__(self, given: SharedLists) -> None:
        self.given = given
        self.bodies = [Body(part.engine, part.shape, part.spec) for part in given.parts]
        #: Names and Spark types of what goes back for each output row of each part.
        self.members = [list_members(part.output()) for part in given.parts]

    def __reduce__(self) -> tuple[type, tuple[SharedLists]]:
        return type(self), (self.given,)

    def run(self, *lists: pa.Array) -> pa.Array:
        """List columns of a batch of partitions to a struct of lists of output rows, one for each part."""
        rows = SharedRows(list_batch(lists, self.given.shape), self.given.order)
        out = []
        for part, body, members in zip(self.given.parts, self.bodies, self.members, strict=True):
            own = cut(part, rows)
            table = in_shared_rows(body.columns, body.matcher.match(own.batch), own, rows)
            out.append(as_lists(table, len(lists[0]), members))
        return pa.StructArray.from_arrays(out, names=[f"p{n}" for n in range(len(out))])
