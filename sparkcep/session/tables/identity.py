"""Which match a row is of, whenever and wherever it is found."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StructType

from sparkcep.planner.engines.shared.output import AS_JSON
from sparkcep.query import PREFIX, quote
from sparkcep.session.tables.storage import CASE, MATCH_ID, RULE

#: The digest of a row's columns, for comparison.
ROW = PREFIX + "row"


def identified(
    frame: DataFrame, names: Sequence[str], keys: Sequence[str], digest: str, rule: str = "", match_id: str = ""
) -> DataFrame:
    """A query's rows with CASE, RULE where they are of rules, MATCH_ID and ROW.

    A match is known by what it is, not by where it was found: its number in its case and the positions of its events
    are left out, as they change with what comes before it. Rows that are the same are counted.

    Args:
        names: the query's columns. keys: columns with the case's keys. digest: of the query.
        rule: a column with the rule's name. match_id: one that says which match of the rule it is; empty for none.
    """
    types = frame.schema
    content = [_without_position(quote(n), types[n].dataType).alias(n) for n in names if n != "match_number"]
    case = case_of([F.col(quote(key)) for key in keys]) if keys else F.lit("")
    content_json = F.to_json(F.struct(*content), AS_JSON) if content else F.lit("")
    rules = [F.col(quote(rule)).alias(RULE)] if rule else []
    known_by = F.col(quote(match_id)) if match_id else F.md5(F.concat(F.lit(digest), case, *rules, content_json))
    own = [F.col(quote(n)) for n in names]
    rows = frame.select(*own, case.alias(CASE), *rules, known_by.alias(MATCH_ID), row_digest(names).alias(ROW))
    number = F.row_number().over(Window.partitionBy(MATCH_ID).orderBy(ROW))
    again = F.md5(F.concat(MATCH_ID, number.cast("string")))
    return rows.withColumn(MATCH_ID, F.when(number == 1, F.col(MATCH_ID)).otherwise(again))


def row_digest(names: Sequence[str]) -> Column:
    """A digest of all of a row's values."""
    return F.md5(F.to_json(F.struct(*(F.col(quote(n)).alias(n) for n in names)), AS_JSON))


def case_of(keys: Sequence[Column]) -> Column:
    """A case's keys as one text."""
    return F.to_json(F.struct(*(key.alias(str(k)) for k, key in enumerate(keys))), AS_JSON)


def _without_position(name: str, type_: DataType) -> Column:
    """A column; of one that holds events, without their positions in the case."""
    column = F.col(name)
    if isinstance(type_, ArrayType) and isinstance(type_.elementType, StructType):
        others = [n for n in type_.elementType.names if n != "position"]
        if others and len(others) < len(type_.elementType.names):
            return F.transform(column, lambda event: F.struct(*(event[n].alias(n) for n in others)))
    return column
