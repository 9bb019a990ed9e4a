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
from sparkcep.settings import Settings
from sparkcep.spark.plan import is_remote
from sparkcep.spark.releases import no_arrow_functions
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
    """Register a Python function as an aggregate of a session, for patterns (conditions, outputs) and other queries.

    A later function replaces an earlier one of the same name. Plans in use keep the function they were made with.

    Args:
        name: its name in SQL, in upper or lower case.
        function: takes one ``pyarrow.Array`` for each argument, with the values of the rows in order, NULLs included;
            the arrays may be empty. It returns a value of type ``returns``, or None, which depends only on the
            arguments. Workers must be able to import its module, unless that is the running script or notebook.
        returns: Spark type of the result: a number, BOOLEAN or STRING.

    Raises:
        SparkCepError: CEP_OWN_AGGREGATE if the name is not valid or is that of a built-in function, if the type is not
            allowed, or if Spark is older than 4.1.
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
            "CEP_OWN_AGGREGATE",
            f"{name!r} is not a valid name for an aggregate.",
            hint="letters, digits and underscores",
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
