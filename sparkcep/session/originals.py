"""What the hook in ``spark.sql`` has replaced, and what statements have made that it must know."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkcep.session.analyzer import SqlMethod

#: Session classes whose ``sql`` is wrapped, with the method they had before.
ORIGINALS: dict[type, SqlMethod] = {}
#: Names of the pattern functions that statements have made, in small letters.
FUNCTIONS: set[str] = set()


def plain_sql(spark: SparkSession) -> SqlMethod:
    """The session's own ``sql``, whether or not it is wrapped."""
    for cls in type(spark).__mro__:
        if cls in ORIGINALS:
            return functools.partial(ORIGINALS[cls], spark)
    return spark.sql
