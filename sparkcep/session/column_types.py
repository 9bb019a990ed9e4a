"""Types of an input's columns, as planners know them."""

from __future__ import annotations

from pyspark.sql.types import StructType

from sparkcep.settings import Settings
from sparkcep.spark.plan import CHAR_METADATA


def column_types(schema: StructType, settings: Settings) -> list[str]:
    """Spark's types of columns by name; that of a CHAR column is `char(n)` where comparisons fill it up."""
    declared = [str((f.metadata or {}).get(CHAR_METADATA, "")) for f in schema.fields]
    return [
        char if char.startswith("char(") and settings.char_padding else f.dataType.simpleString()
        for char, f in zip(declared, schema.fields, strict=True)
    ]
