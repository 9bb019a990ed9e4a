"""Users' aggregates: Python functions over Arrow arrays, for conditions and measures of one session."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sparkcep.errors import SparkCepError
from sparkcep.expr.types import parse_type
from sparkcep.query import OwnAggregate
from sparkcep.releases import no_arrow_functions
from sparkcep.settings import Settings
from sparkcep.spark_plan import is_remote
from sparkcep.sql.match_functions import AGGREGATES, NAVIGATION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType

#: By session and name.
_REGISTERED: dict[str, dict[str, OwnAggregate]] = {}
_lock = threading.Lock()
_RESULTS = ("int", "double", "float", "decimal", "boolean", "string")
_TAKEN = AGGREGATES | {name.lower() for name in NAVIGATION} | {"classifier", "match_number"}


def register_aggregate(
    spark: SparkSession, name: str, function: Callable[..., Any], returns: str | DataType = "double"
) -> None:
    """Make a Python function an aggregate of a session: in conditions and outputs of patterns, and in any other query.

    A later function of a name takes the place of an earlier one. Plans in use keep the function they were made with.

    Args:
        name: by which SQL calls it; case does not count.
        function: takes one ``pyarrow.Array`` for each argument, of the rows in order with NULLs (of none, where there
            are no rows), and gives a value of type ``returns``, or None. It depends on nothing else, and is sent to
            the workers with what it needs of the module it is defined in.
        returns: Spark's type of the result: a number, BOOLEAN or STRING.

    Raises:
        SparkCepError: CEP_OWN_AGGREGATE, a name that cannot be called or is taken, a type that is no result, or a
            release of Spark without functions over Arrow arrays.
    """
    if why := no_arrow_functions():
        raise SparkCepError(
            "CEP_OWN_AGGREGATE", f"{name} cannot be registered: {why}.", hint="Spark 4.1 and later have them"
        )
    from pyspark import cloudpickle
    from pyspark.sql.functions import lit
    from pyspark.sql.pandas.functions import ArrowUDFType, arrow_udf

    folded = name.lower()
    if folded in _TAKEN:
        raise SparkCepError("CEP_OWN_AGGREGATE", f"{name} is a function already.", hint="give it another name")
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", folded):
        raise SparkCepError(
            "CEP_OWN_AGGREGATE", f"{name!r} is no name of an aggregate.", hint="letters, digits and underscores"
        )
    type_ = spark.range(0).select(lit(None).cast(returns)).schema[0].dataType
    if parse_type(type_.simpleString()).kind not in _RESULTS:
        raise SparkCepError(
            "CEP_OWN_AGGREGATE", f"An aggregate cannot give {type_.simpleString()}.",
            hint="it gives a number, a BOOLEAN or a STRING",
        )  # fmt: skip
    own = OwnAggregate(folded, type_.simpleString(), bytes(cloudpickle.dumps(function)))  # type: ignore[no-untyped-call]

    def of_chosen(chosen: Any, *arguments: Any) -> Any:
        return function(*(argument.filter(chosen) for argument in arguments))

    udf: Any = arrow_udf  # whose types name no function of any number of arguments
    for called, body in ((folded, function), (own.sql_name, of_chosen)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it would rather have type hints
            spark.udf.register(called, udf(body, type_, ArrowUDFType.GROUPED_AGG))
    with _lock:
        _REGISTERED.setdefault(_identity(spark), {})[folded] = own


def _identity(spark: SparkSession) -> str:
    """What tells sessions apart: for one of them Python may have several objects, that of foreachBatch among them."""
    if is_remote(spark):
        return str(spark.session_id)  # type: ignore[attr-defined]
    with suppress(Exception):
        return str(spark._jsparkSession.sessionUUID())
    return str(id(spark))


def with_aggregates(spark: SparkSession, given: Settings) -> Settings:
    """A session's settings with its aggregates."""
    if not _REGISTERED:
        return given
    return replace(given, own_aggregates=tuple(_REGISTERED.get(_identity(spark), {}).values()))
