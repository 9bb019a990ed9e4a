"""pattern_stream_state: what a stream keeps for its patterns, as a relation."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from sparkcep.exec.streaming.blobs import BUCKET
from sparkcep.exec.streaming.figures import FIGURES, state_figures
from sparkcep.exec.streaming.history import STATE, WAKE
from sparkcep.session.functions.call_arguments import CallArguments
from sparkcep.session.messages.printed import is_sparks, short_message
from sparkcep.spark.shipping import shipped

_WITH_STATE = "applyInPandasWithState"
#: Of a transformWithState, what its properties say of a variable with the name that ours has.
_VALUE = '"stateName":"state"'


def run_table_function(arguments: CallArguments) -> tuple[DataFrame, str]:
    """The rows of a call, one for each bucket, as of the last micro-batch that is done; and how they were found.

    Raises:
        SparkCepError: CEP_TABLE_FUNCTION_ARGUMENT, there is no checkpoint of a pattern.
    """
    spark, path = arguments.spark, arguments.value("checkpoint")
    hint = "name the checkpointLocation of a streaming query with a pattern that has done a micro-batch"
    if not isinstance(path, str):
        raise arguments.bad("checkpoint", f"The checkpoint is {path!r}; it must be a path.", hint)
    try:
        operators = spark.read.format("state-metadata").load(path).collect()
        states = [own for operator in operators if (own := _states(spark, path, operator)) is not None]
    except Exception as error:
        if not is_sparks(error):
            raise
        message = short_message(error).split("\n")[0].rstrip(".")
        raise arguments.bad("checkpoint", f"Spark reads no state at {path!r}: {message}.", hint) from None
    if not states:
        raise arguments.bad("checkpoint", f"There is no state of a pattern at {path!r}.", hint)
    found = reduce(DataFrame.unionAll, states)
    return found.mapInArrow(
        shipped(state_figures, "sparkcep_state"), from_arrow_schema(FIGURES)
    ), f"state of the stream at {path}"


def _states(spark: SparkSession, path: str, operator: Row) -> DataFrame | None:
    """(operator, bucket, state, when it wakes) of a stateful operator, as Spark describes it; None: it is not ours."""

    def read(**options: str) -> DataFrame:
        return spark.read.format("statestore").options(operatorId=str(operator.operatorId), **options).load(path)

    with_state = operator.operatorName == _WITH_STATE
    if not with_state and _VALUE not in (operator.operatorProperties or ""):
        return None
    rows = read() if with_state else read(stateVarName="state")
    if BUCKET not in rows.select("key.*").columns:
        return None
    if with_state:
        state, wake = "value.groupState.state", "timestamp_millis(nullif(value.timeoutTimestamp, -1))"
    else:
        timers = read(readRegisteredTimers="true").groupBy("key").agg(F.min("expiration_timestamp_ms").alias(WAKE))
        rows, state, wake = rows.join(timers, "key", "left"), "value.state", f"timestamp_millis({WAKE})"
    items = f"{operator.operatorId} AS operator", f"key.{BUCKET}", f"{state} AS {STATE}", f"{wake} AS {WAKE}"
    return rows.selectExpr(*items)
