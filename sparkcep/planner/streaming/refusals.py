"""What a pattern cannot have over a stream, said when the statement is analysed."""

from __future__ import annotations

from collections.abc import Collection

from sparkcep.errors import PatternAnalysisError, SparkCepError, streaming_unsupported
from sparkcep.planner.fields import Fields
from sparkcep.planner.plan import AnyPlan, StreamNeeds
from sparkcep.query import PatternQuery, Selection, SortKey
from sparkcep.settings import LIMIT_STREAM_ROWS, STREAM_HISTORY, STREAM_OPERATOR, Settings
from sparkcep.spark.releases import no_transform_with_state


def unsupported(query: PatternQuery, what: str, hint: str = "", position: int = -1) -> PatternAnalysisError:
    """CEP_STREAMING_UNSUPPORTED at a part of the query; the caller raises it."""
    return streaming_unsupported(what, query.text or None, query.start if position < 0 else position, hint)


def check_query(query: PatternQuery, settings: Settings, watermarked: Collection[str]) -> None:
    """Refuse what is never decided, or kept for ever.

    Args:
        watermarked: the input's columns that have a watermark.

    Raises:
        PatternAnalysisError: CEP_STREAMING_UNSUPPORTED, CEP_STREAMING_WATERMARK, CEP_STREAMING_WITHIN.
    """
    if query.groups:
        raise unsupported(query, "GROUPS", position=query.groups_position)
    if query.non_answers is not None:
        raise unsupported(query, "EXPLAIN NON ANSWERS: that something is missing is known at the end")
    if query.omit_censored:
        raise unsupported(query, "OMIT CENSORED MATCHES", "leave it out: nothing undecided is emitted",
                          query.censored_position)  # fmt: skip
    check_order(query, settings, watermarked)
    if query.within is not None:
        return
    if query.trends:
        raise _within(query, "Aggregates over a stream need WITHIN, which says when a window closes.",
                      "add WITHIN, and SLIDE for windows that overlap")  # fmt: skip
    if query.is_block or query.selection is not Selection.STRICT:
        raise _within(query, "A pattern over a stream needs WITHIN: without it all events would be kept for ever.",
                      "add WITHIN")  # fmt: skip
    if not settings.limit_stream_rows:
        raise _within(
            query, "MATCH_RECOGNIZE over a stream needs WITHIN: without it undecided rows may be kept for ever.",
            f"add WITHIN, or set {LIMIT_STREAM_ROWS.key} to the most rows that are kept of a partition",
        )  # fmt: skip


def check_operator(query: PatternQuery, settings: Settings) -> None:
    """Refuse what :func:`operator_refusal` names.

    Raises:
        PatternAnalysisError: CEP_STREAMING_UNSUPPORTED.
    """
    if (found := operator_refusal(settings)) is not None:
        raise unsupported(query, *found)


def operator_refusal(settings: Settings) -> tuple[str, str] | None:
    """transformWithState where the state store cannot serve it, and what needs it where it does not run; with a hint.
    None where nothing speaks against Spark's operator."""
    if settings.stream_operator == "transform" and (why := no_transform_with_state()):
        return f"{STREAM_OPERATOR.key} = transform, as {why}", f"RESET {STREAM_OPERATOR.key}"
    if settings.stream_operator == "transform" and "RocksDB" not in settings.state_store:
        return (
            f"{STREAM_OPERATOR.key} = transform without the RocksDB state store",
            "SET spark.sql.streaming.stateStore.providerClass = "
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
    if settings.stream_history and settings.stream_operator != "transform":
        return (
            f"{STREAM_HISTORY.key} with {STREAM_OPERATOR.key} = {settings.stream_operator}",
            f"SET {STREAM_OPERATOR.key} = transform, which can start with a state",
        )
    return None


def check_order(query: PatternQuery, settings: Settings, watermarked: Collection[str]) -> None:
    """The watermark must say up to where all rows of a partition have come.

    Raises:
        PatternAnalysisError: CEP_STREAMING_WATERMARK.
    """
    fields = Fields(query.columns, settings.case_sensitive)
    first = query.order_by[0] if query.order_by else None
    if (error := order_refusal(first, fields, watermarked)) is not None:
        raise error.placed(
            query.text or None, first.position if first is not None and first.position > 0 else query.start
        )


def order_refusal(first: SortKey | None, fields: Fields, watermarked: Collection[str]) -> SparkCepError | None:
    """CEP_STREAMING_WATERMARK without a place, where the first ORDER BY key is not the column with the watermark."""
    if first is not None and first.ascending and fields.column_of(first.expression) in watermarked:
        return None
    named = sorted(watermarked)
    hint = (
        f"order by {named[0]}, ascending, before all else"
        if named
        else "give the stream a watermark on the ORDER BY column: "
        "df.withWatermark('ts', '10 minutes'), or FROM STREAM t WATERMARK ts DELAY OF INTERVAL 10 MINUTES"
    )
    return PatternAnalysisError(
        "CEP_STREAMING_WATERMARK",
        "A pattern over a stream needs as its first ORDER BY key, ascending, a column with a watermark.",
        hint=hint,
    )


def _within(query: PatternQuery, sentence: str, hint: str) -> PatternAnalysisError:
    return PatternAnalysisError(
        "CEP_STREAMING_WITHIN", sentence, text=query.text or None, position=query.start, hint=hint
    )


def check_plan(plan: AnyPlan, needs: StreamNeeds) -> None:
    """Refuse what only shows once the pattern is planned: rows behind the match that may never come, the partition's
    end.

    Raises:
        PatternAnalysisError: CEP_STREAMING_UNSUPPORTED.
    """
    query = plan.query
    if needs.refused is not None:
        raise unsupported(query, *needs.refused)
    types, fields = plan.input.column_types, plan.input.fields
    keys = [("a PARTITION BY", name) for _, name in plan.input.keys]
    keys += [("an ORDER BY", fields.column_of(k.expression) or "") for k in query.order_by]
    for clause, name in keys:
        if "collate" in types.get(name, ""):
            raise unsupported(query, f"{clause} column with a collation", "cast the column to STRING in a subquery")
