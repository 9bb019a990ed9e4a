"""A rule set over a stream: one operator with one state, in which rules know where they were left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from sparkcep.exec.streaming.meaning import text_digest
from sparkcep.exec.streaming.rule_names import RuleNames
from sparkcep.exec.streaming.state import STATE_SINCE
from sparkcep.exec.streaming.step import StreamPlan
from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.plan import AnyPlan, StreamInput
from sparkcep.planner.streaming.meaning import StreamSource, stream_meaning
from sparkcep.planner.streaming.plan import bucket_items, decided, row_order, rows_sql
from sparkcep.query import PREFIX
from sparkcep.settings import Settings


def stream_input(
    given: InputPlan, plans: Sequence[AnyPlan], rules: Mapping[str, str], settings: Settings, log: StreamSource,
    event_id: str = "",
) -> StreamInput:  # fmt: skip
    """How the rows of a set's log reach its operator, and what that keeps.

    Args:
        plans: of the rules in it. rules: what beside the log says what each of them is, by name. log: what says what
            the log is. event_id: the expression that tells events apart; empty for none.
    """
    query = given.query
    items = bucket_items(given, [text for text, _ in given.keys], settings.stream_buckets)
    keys = [text for text, _ in given.keys] + [k.text for k in query.order_by]
    of_events = [settings.log_event, *([event_id] if event_id else [])]
    first_format = [
        STATE_SINCE, "rules", *keys, str(settings.stream_buckets), str(settings.ansi), settings.time_zone, *of_events
    ]  # fmt: skip
    meaning = stream_meaning(log, [*keys, *of_events], settings, [first_format])
    names = RuleNames(
        {n: text_digest(given.replaced.get(n, text)) for n, text in enumerate(given.fields.texts)},
        tuple(text_digest(" AND ".join(c.sql() for c in given.tests[n])) for n in sorted(given.tests)),
        tuple(text_digest(rule) for rule in rules.values()),
        tuple(rules),
    )
    stream = StreamPlan(
        order=row_order(given), meaning=meaning, remembers=True, late_rows=settings.stream_late_rows, rules=names
    )
    needs = [plan.engine.stream_needs for plan in plans]
    return StreamInput(
        stream, rows_sql(given, items, settings), _decided(plans), _kept(plans), operator=settings.stream_operator,
        end=f"{PREFIX}end" if all(n.by_last for n in needs) else "", history=settings.stream_history,
    )  # fmt: skip


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
