"""The streaming part of a plan: how rows reach the operator, what it keeps, when it decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkcep.exec.ordering import SortField
from sparkcep.exec.streaming.blobs import BUCKET, ROW, TIME, WANTED
from sparkcep.exec.streaming.state import STATE_SINCE
from sparkcep.exec.streaming.step import StreamPlan
from sparkcep.pattern import Anchor, walk
from sparkcep.planner.engines.trends.sql import TrendSql
from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.measures import MeasureSql
from sparkcep.planner.plan import AnyPlan, StreamInput, StreamNeeds
from sparkcep.planner.streaming.meaning import StreamSource, prepared_sql, stream_meaning, unguarded
from sparkcep.planner.streaming.refusals import check_operator, check_plan
from sparkcep.query import PREFIX, Events, Matches, MatchNumber, Navigation, PatternQuery, RowExpression
from sparkcep.settings import STREAM_BUCKETS, Settings


def streamed(plan: AnyPlan, settings: Settings, source: StreamSource) -> AnyPlan:
    """A plan over a stream.

    Args:
        source: what beside the plan says what the query is.

    Raises:
        PatternAnalysisError: CEP_STREAMING_UNSUPPORTED.
    """
    query, needs = plan.query, plan.engine.stream_needs
    check_plan(plan, needs)
    check_operator(query, settings)
    for_ever = remembers(query, needs)
    keys = [text for text, _ in plan.input.keys]
    # Trends of one group are added up across its partitions.
    groups = tuple(plan.output.group_keys) if isinstance(plan.output, TrendSql) else None
    bucketed = keys if groups is None else [keys[k] for k in groups]
    items = bucket_items(plan.input, bucketed, settings.stream_buckets)
    prepared = plan.input.select(items)
    rest = [plan.output.sql(), str(settings.ansi), settings.time_zone]
    first_formats = [[STATE_SINCE, sql, *rest] for sql in (unguarded(prepared, plan.input), prepared)]
    stream = StreamPlan(
        order=row_order(plan.input),
        meaning=stream_meaning(source, prepared_sql(plan.input), settings, first_formats),
        remembers=for_ever,
        most_rows=settings.limit_stream_rows if query.within is None else 0,
        collected=tuple(plan.output.collected) if isinstance(plan.output, MeasureSql) else (),
        last_only=not query.rows_per_match.is_all,
        groups=groups,
        late_rows=settings.stream_late_rows,
    )
    found = StreamInput(
        stream, rows_sql(plan.input, items, settings), decided(query, needs), kept(query, needs, for_ever, settings),
        operator=settings.stream_operator, end=end_column(plan) if needs.by_last else "",
        history=settings.stream_history, lookback="" if for_ever else lookback(query, needs),
    )  # fmt: skip
    reason = f"the input is a stream; {settings.stream_buckets} buckets, {STREAM_BUCKETS.key}"
    return replace(plan, input=replace(plan.input, layout="stream", layout_reason=reason), stream=found)


def bucket_items(given: InputPlan, keys: Sequence[str], buckets: int) -> list[str]:
    """The columns of a stream's prepared rows, among them each row's time and its partition's bucket."""
    time = given.query.order_by[0].expression
    hashed = f"CAST(pmod(xxhash64({', '.join(keys)}), {buckets}) AS INT)" if keys else "0"
    masks = [f"{sql} AS {PREFIX}m{w}" for w, sql in enumerate(given.mask_sql(shifted=True))]
    items = [*given.key_items(), *given.field_items(), *masks, f"{time} AS {TIME}", f"{hashed} AS {BUCKET}"]
    # A WHERE would be pushed below the watermark, which then would not see the rows that are left out.
    wanted = [f"({text})" for text in (*given.filters, given.query.partition_predicate) if text]
    items.append(f"{' AND '.join(wanted) or 'true'} AS {WANTED}")
    return items


def rows_sql(given: InputPlan, items: Sequence[str], settings: Settings) -> str:
    """The statement over ``{SOURCE}`` that prepares rows; with the input's row as it is where late ones are wanted."""
    return given.select([*items, f"struct(*) AS {ROW}"] if settings.stream_late_rows else items)


def row_order(given: InputPlan) -> tuple[SortField, ...]:
    """What rows of a partition are sorted by: ORDER BY, then what breaks ties."""
    keys = given.query.order_by
    ties = (SortField(n) for n in range(len(keys), given.fields.sort_fields))
    return (*(SortField(n, key.ascending, key.nulls_first) for n, key in enumerate(keys)), *ties)


def remembers(query: PatternQuery, needs: StreamNeeds) -> bool:
    """Whether the output counts matches or rows of a partition, or only its first row or match is of interest."""
    if query.trends:
        return False
    if any(isinstance(node, Anchor) and node.at_start for node in walk(query.pattern)):
        return True
    if query.matches is Matches.FIRST and query.is_block:
        return True
    numbered = any(isinstance(s, MatchNumber | Events) for m in query.measures for s in m.expression.slots)
    return numbered or needs.numbered


def end_column(plan: AnyPlan) -> str:
    """The operator's output column that carries the watermark on, of matches that their last event decides: their end.

    Other matches come later than the watermark passes their last event: what follows would drop them as late.
    """
    measures = plan.output
    if not isinstance(measures, MeasureSql):
        return ""
    last = Navigation(RowExpression((plan.query.order_by[0].expression,)), None, False, 0, 0, False)
    return next((f"{PREFIX}g{number}" for slot, number in measures.direct.items() if slot == last), "")


def lookback(query: PatternQuery, needs: StreamNeeds) -> str:
    """How long before a moment rows can matter to what is decided after it, as an interval; empty where any row can, as
    where a partition's counters are remembered.

    That is WITHIN where matches do not depend on each other and their output looks at no rows before them, twice WITHIN
    where a leading negation looks back from a match's first event.
    """
    if query.within is None or not needs.lookback:
        return ""
    return query.within if needs.lookback == 1 else f"{needs.lookback} * {query.within}"


def decided(query: PatternQuery, needs: StreamNeeds) -> str:
    """For EXPLAIN: as soon as what the output is emitted."""
    if needs.decided:
        return needs.decided
    if query.within is None:
        return "a match is emitted when no row to come can change it"
    latest = "at latest when the watermark reaches its first row + WITHIN"
    return f"a match is emitted when no row to come can change it, {latest}"


def kept(query: PatternQuery, needs: StreamNeeds, for_ever: bool, settings: Settings) -> str:
    """For EXPLAIN: which rows are kept between micro-batches, and how long. ``for_ever``: see :func:`remembers`."""
    if needs.kept:
        what = f"rows until {needs.kept} ({query.within} long)"
    elif query.within is None:
        what = f"rows that are still to be decided, at most {settings.limit_stream_rows:,} of a partition"
    else:
        what = f"rows until the watermark passes them by WITHIN {query.within}, or what they may be part of is decided"
    if needs.longer:
        what += f"; {needs.longer}"
    if for_ever:
        what += "; of each partition its keys and counters for ever (match numbers, positions, ^, FIRST)"
    return what
