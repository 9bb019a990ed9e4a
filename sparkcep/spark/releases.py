"""What releases of Spark lack or read otherwise: the one place that asks."""

from __future__ import annotations

import functools
import logging
import re
from typing import TYPE_CHECKING

import pyspark

from sparkcep.errors import SparkCepError, warn
from sparkcep.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

#: The first release that serves, and the first that no test has run with.
TESTED = ((3, 5), (4, 4))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version)[:2])


#: Of PySpark.
RELEASE = _numbers(pyspark.__version__)


@functools.cache
def check_release() -> None:
    """Warn, once, of a release that is newer than those that were tested.

    Raises:
        SparkCepError: CEP_SPARK_RELEASE, of one that is too old.
    """
    (oldest, limit), found = TESTED, pyspark.__version__
    if oldest > RELEASE:
        raise SparkCepError(
            "CEP_SPARK_RELEASE", f"PySpark {found} is too old for pattern queries.", hint="pip install 'pyspark>=3.5'"
        )
    if limit <= RELEASE:
        warn(f"sparkcep {__version__} was not tested with PySpark {found}; there may be a newer sparkcep.")


def lacking() -> list[str]:
    """What patterns cannot have with this release, and why."""
    found = {
        "patterns take the rows layout, and register_aggregate is refused": no_arrow_functions(),
        "CREATE PATTERN FUNCTION is refused": no_function_analysis(),
        "input of patterns cannot depend on the query around": no_star_except(),
        "streams have no operator transform": no_transform_with_state(),
    }
    return [f"{what}, since {why}" for what, why in found.items() if why]


def no_arrow_functions() -> str:
    """Why there are no functions over Arrow arrays, which came with Spark 4.1; empty where there are."""
    from pyspark.sql import functions

    lacks = not hasattr(functions, "arrow_udf")
    return f"PySpark {pyspark.__version__} has no functions over Arrow arrays" if lacks else ""


def no_function_analysis() -> str:
    """Why a table function cannot have columns that depend on its input's, as since Spark 4.0; empty where it can."""
    from pyspark.sql import udtf

    lacks = not hasattr(udtf, "AnalyzeArgument")
    return f"columns of PySpark {pyspark.__version__}'s table functions do not depend on their input" if lacks else ""


def no_star_except() -> str:
    """Why there is no `SELECT * EXCEPT (x)`, which came with Spark 4.0; empty where there is."""
    return "" if RELEASE >= (4, 0) else f"PySpark {pyspark.__version__} has no SELECT * EXCEPT"


def no_transform_with_state() -> str:
    """Why there is no transformWithState of rows, which came with Spark 4.1; empty where there is."""
    from pyspark.sql import GroupedData

    return "" if hasattr(GroupedData, "transformWithState") else f"PySpark {pyspark.__version__} does not have it"


@functools.lru_cache(maxsize=1024)
def parse_type(ddl: str) -> DataType:
    """Spark's type of a text like `array<int>`, asked once: nobody may change what it gives."""
    from pyspark.sql import types

    if hasattr(types.DataType, "fromDDL"):
        return types.DataType.fromDDL(ddl)
    return types._parse_datatype_string(ddl)  # before Spark 4.0


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """An Arrow table as rows of Spark."""
    if RELEASE >= (4, 0):
        return spark.createDataFrame(table)
    from pyspark.sql.pandas.types import from_arrow_schema

    # Pandas would make doubles of integers that may be NULL.
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return spark.createDataFrame(list(rows), from_arrow_schema(table.schema))


def dataset_class() -> str:
    """The name of the JVM's Dataset: since Spark 4.0 that of a classic session has a package of its own."""
    return f"org.apache.spark.sql.{'classic.' * (RELEASE >= (4, 0))}Dataset"


def joins_literals(spark: SparkSession) -> bool:
    """Whether `'it''s'` is two literals next to each other, `its`, as before Spark 4.1."""
    return () < _numbers(spark.version) < (4, 1)


def error_logger(kind: str) -> logging.Logger:
    """PySpark's own that prints an error as JSON before it is raised, which it does since Spark 4.0.

    Args:
        kind: what the error is of, SQL or DataFrame.
    """
    name = f"{kind}QueryContextLogger"
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        return logging.getLogger(name)
    return PySparkLogger.getLogger(name)


def is_client_alone() -> bool:
    """Whether PySpark is installed without a JVM, as a client of Spark Connect."""
    try:
        from pyspark.util import is_remote_only  # since Spark 4.0
    except ImportError:
        return False
    return bool(is_remote_only())
