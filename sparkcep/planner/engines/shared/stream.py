"""A rule set over a stream: one operator with one state, in which rules know where they were left."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from sparkcep.exec.ordering import SortField
from sparkcep.exec.streaming.blobs import ROW
from sparkcep.exec.streaming.rule_names import RuleNames
from sparkcep.exec.streaming.state import STATE_SINCE
from sparkcep.exec.streaming.step import StreamPlan
from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.plan import AnyPlan, StreamInput
from sparkcep.planner.streaming.meaning import StreamSource, stream_meaning
from sparkcep.planner.streaming.plan import bucket_items, decided
from sparkcep.query import PREFIX
from sparkcep.settings import Settings


def stream_input(
    given: InputPlan, plans: Sequence[AnyPlan], rules: Sequence[str], settings: Settings, log: StreamSource
) -> StreamInput:
    """How the rows of a set's log reach its operator, and what that keeps.

    Args:
        plans: of the rules in it. rules: what beside the log says what each of them is. log: what says what the log is.
    """
    query = given.query
    items = bucket_items(given, [text for text, _ in given.keys], settings.stream_buckets)
    if settings.stream_late_rows:
        items.append(f"struct(*) AS {ROW}")
    order = [SortField(n, k.ascending, k.nulls_first) for n, k in enumerate(query.order_by)]
    order += [SortField(n) for n in range(len(query.order_by), given.fields.sort_fields)]
    keys = [text for text, _ in given.keys] + [k.text for k in query.order_by]
    first_format = [
        STATE_SINCE, "rules", *keys, str(settings.stream_buckets), str(settings.ansi), settings.time_zone,
        settings.log_event,
    ]  # fmt: skip
    meaning = stream_meaning(log, [*keys, settings.log_event], settings, [first_format])
    names = RuleNames(
        {n: _digest(given.replaced.get(n, text)) for n, text in enumerate(given.fields.texts)},
        tuple(_digest(" AND ".join(c.sql() for c in given.tests[n])) for n in sorted(given.tests)),
        tuple(_digest(rule) for rule in rules),
    )
    stream = StreamPlan(
        order=tuple(order), meaning=meaning, remembers=True, late_rows=settings.stream_late_rows,
        rules=names,
    )  # fmt: skip
    needs = [plan.engine.stream_needs for plan in plans]
    return StreamInput(
        stream, given.select(items), _decided(plans), _kept(plans), operator=settings.stream_operator,
        end=f"{PREFIX}end" if all(n.by_last for n in needs) else "", history=settings.stream_history,
    )  # fmt: skip


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _decided(plans: Sequence[AnyPlan]) -> str:
    """For EXPLAIN: when the rules' matches are emitted."""
    counts = Counter(decided(plan.query, plan.engine.stream_needs) for plan in plans)
    return "; ".join(f"{many} {'rule' if many == 1 else 'rules'}: {how}" for how, many in counts.items())


def _kept(plans: Sequence[AnyPlan]) -> str:
    """For EXPLAIN: which rows are kept, and how long."""
    longest = dict.fromkeys(plan.query.within or "" for plan in plans)
    some = ", ".join(list(longest)[:5]) + (", ..." if len(longest) > 5 else "")
    return (
        f"rows once for all rules, until the watermark passes them by each rule's WITHIN ({some}); of each partition "
        "its keys and counters for ever (match numbers, positions)"
    )
