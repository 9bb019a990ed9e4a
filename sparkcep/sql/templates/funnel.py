"""Funnels: how far each case comes through a list of steps, and how many cases come that far.

A case's level is found as ClickHouse's windowFunnel finds it: one pass over the case's events in order keeps for each
level the chain of events that reaches it and starts last, since that chain has the most time left. Spark's own
``aggregate`` does it, over a list of the events that fit a step; no pattern is matched. A chain is an array of times.
"""

from __future__ import annotations

from collections.abc import Sequence

from sparkcep.query import PREFIX
from sparkcep.sql.templates.template import Arguments, FunnelStep, Log, Template

#: Ways of counting, the default first.
MODES = ("in_order", "strict_once", "strict_order", "any_order")
_STEPS = f"{PREFIX}steps"


def can_coincide(steps: Sequence[FunnelStep]) -> bool:
    """Whether one event can fit several steps."""
    return not all(s.is_type for s in steps) or len({s.condition for s in steps}) < len(steps)


def levels_of_cases(log: Log, arguments: Arguments) -> str:
    """SQL of ``funnel``: a row for each case with its level and the times at which it reached each level."""
    keys = "".join(f"{key}, " for key in log.partition_by)
    groups = f"\n    GROUP BY {', '.join(log.partition_by)}" if log.partition_by else "\n    HAVING count(*) > 0"
    empty = f"slice(array(min({log.time})), 1, 0)"  # of the time's type: a chain that does not exist
    steps = len(arguments.steps)
    return (
        f"(SELECT {keys}size(reached) AS level, reached FROM (\n"
        f"  SELECT {keys}aggregate(\n"
        f"      {_events(log, arguments)},\n"
        f"      struct(transform(sequence(1, {steps}), i -> {empty}) AS chains, {empty} AS best),\n"
        "      (s, e) -> transform(\n"
        f"        array({_chains(arguments)}),\n"
        f"        c -> struct(c AS chains, {_best(arguments)} AS best))[0],\n"
        "      s -> s.best) AS reached\n"
        f"    FROM (SELECT *, {_fits(log, arguments)} AS {_STEPS} FROM {log.relation}){groups}))"
    )


def cases_of_steps(log: Log, arguments: Arguments) -> str:
    """SQL of ``funnel_steps``: a row for each step."""
    names = ", ".join(s.name for s in arguments.steps)
    wait = "get(reached, n) - get(reached, n - 1)"
    return (
        "(SELECT n + 1 AS step, array(" + names + ")[n] AS name, cases,\n"
        "    cases / nullif(max(cases) OVER (), 0) AS share,\n"
        "    1 - cases / nullif(lag(cases) OVER (ORDER BY n), 0) AS drop_off,\n"
        "    median_wait, p90_wait\n"
        "  FROM (SELECT n, count_if(level > n) AS cases,\n"
        f"      percentile({wait}, 0.5) AS median_wait, percentile({wait}, 0.9) AS p90_wait\n"
        f"    FROM {levels_of_cases(log, arguments)}\n"
        f"    LATERAL VIEW explode(sequence(0, {len(arguments.steps) - 1})) AS n GROUP BY n) ORDER BY step)"
    )


def _fits(log: Log, arguments: Arguments) -> str:
    """The steps that an event fits, counted from 0."""
    conditions = [f"{log.event} = {s.condition}" if s.is_type else s.condition for s in arguments.steps]
    return f"array_compact(array({', '.join(f'IF({c}, {n}, NULL)' for n, c in enumerate(conditions))}))"


def _events(log: Log, arguments: Arguments) -> str:
    """A case's events in order: each with its time ``t`` and the steps ``m`` that it fits."""
    ties = "".join(f"{column} AS o{n}, " for n, column in enumerate(log.order_columns[1:]))
    item = f"struct({log.time} AS t, {ties}{log.event} AS e, {_STEPS} AS m)"
    # An event that fits no step matters where nothing may lie between two steps.
    fitting = "" if arguments.mode == "strict_order" else f" AND size({_STEPS}) > 0"
    listed = f"array_sort(collect_list({item}) FILTER (WHERE {log.time} IS NOT NULL{fitting}))"
    if arguments.mode == "in_order" and can_coincide(arguments.steps):
        # Step by step: what the event has reached by one of its steps counts for the next one.
        return f"flatten(transform({listed}, e -> transform(e.m, k -> struct(e.t AS t, array(k) AS m))))"
    return listed


def _in_time(start: str, arguments: Arguments) -> str:
    return f" AND e.t <= {start} + ({arguments.within})" if arguments.within else ""


def _chains(arguments: Arguments) -> str:
    """The chain of each level after event ``e``, from the chains before it."""
    if arguments.mode == "any_order":  # the last event of each step
        return "transform(s.chains, (c, k) -> IF(array_contains(e.m, k), array(e.t), c))"
    strict = arguments.mode == "strict_order"
    kept, before = "slice(c, 1, 0)" if strict else "c", "s.chains[k - 1]"
    # Of chains that start together, the one that came first.
    later = "" if strict else f" AND (size(c) = 0 OR {before}[0] > c[0])"
    fits = f"size({before}) > 0{_in_time(f'{before}[0]', arguments)}{later}"
    return (
        "transform(s.chains, (c, k) -> CASE\n"
        f"          WHEN NOT array_contains(e.m, k) THEN {kept}\n"
        "          WHEN k = 0 THEN array(e.t)\n"
        f"          WHEN {fits} THEN concat({before}, array(e.t))\n"
        f"          ELSE {kept} END)"
    )


def _best(arguments: Arguments) -> str:
    """The first chain that reached the highest level so far."""
    if arguments.mode != "any_order":
        return "coalesce(try_element_at(filter(c, x -> size(x) > size(s.best)), -1), s.best)"
    steps = "slice(c, 1, n)"
    done = f"forall({steps}, x -> size(x) > 0){_in_time(f'array_min(flatten({steps}))', arguments)}"
    levels = f"filter(sequence(1, {len(arguments.steps)}), n -> {done})"
    reached = f"transform({levels}, n -> array_max(flatten({steps})))"
    return f"array_sort(array(s.best, {reached}), (x, y) -> size(y) - size(x))[0]"


_PARAMETERS, _OPTIONAL = ("log", "steps", "within", "mode"), ("within", "mode")
FUNNEL: Sequence[Template] = (
    Template("funnel", _PARAMETERS, "how far each case came", "", levels_of_cases, _OPTIONAL),
    Template("funnel_steps", _PARAMETERS, "how many cases came to each step", "", cases_of_steps, _OPTIONAL),
)
