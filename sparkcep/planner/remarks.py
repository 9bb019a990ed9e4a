"""What is legal in a query and probably not what was meant, as far as the query and its input's size tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from sparkcep.pattern import variables
from sparkcep.planner.conditions.contradictions import contradiction
from sparkcep.planner.plan import AnyPlan
from sparkcep.query import PatternQuery, unescape
from sparkcep.sql.lexicon import tokenize

#: So many rows without PARTITION BY are pointed out.
MANY_ROWS = 10_000
#: Of what it knows nothing about, Spark's estimate is larger than this.
UNKNOWN_ROWS = 1e13
#: Bytes of a value by its type's first word, as Spark estimates relations; of others, 8.
_BYTES = {"tinyint": 1, "boolean": 1, "smallint": 2, "int": 4, "float": 4, "date": 4, "string": 20, "binary": 100}
_NEVER_TRUE = frozenset("= == <> != < <= > >=".split())


def remarks(plan: AnyPlan, time_zone: str, size: Callable[[], float], types: Sequence[str]) -> tuple[str, ...]:
    """Sentences about a query.

    Args:
        time_zone: of the session. size: bytes of the input by Spark's estimate. types: of the input's columns.
    """
    query = plan.bound
    found = [contradiction(plan, time_zone), *query.remarks, *_null_comparisons(query), _without_conditions(query)]
    if not (query.partition_by or query.groups or query.streaming):
        found.append(_one_partition(rows_of(size(), types)))
    # A condition on a bare column is one of each component.
    return tuple(dict.fromkeys(sentence for sentence in found if sentence))


def _without_conditions(query: PatternQuery) -> str:
    names = variables(query.pattern)
    if query.is_block or query.conditions or query.event_type or query.window or len(names) < 2:
        return ""
    return (
        f"every row can be each of {', '.join(names)}: the pattern has no DEFINE, nor an EVENT TYPE whose values "
        "their names are"
    )


def rows_of(size: float, types: Sequence[str]) -> float:
    """About how many rows of some types a relation has, by its bytes.

    >>> rows_of(3_200, ["int", "string", "decimal(10,2)"])
    100.0
    """
    return size / max(1, sum(_BYTES.get(t.partition("(")[0], 8) for t in types))


def _one_partition(rows: float) -> str:
    if not MANY_ROWS <= rows < UNKNOWN_ROWS:
        return ""
    return (
        f"There is no PARTITION BY: all rows, about {float(f'{rows:.2g}'):,.0f}, are one partition, and a match may "
        "have events of several cases; if the log has cases, write PARTITION BY case"
    )


def _null_comparisons(query: PatternQuery) -> Iterator[str]:
    """A sentence for each condition that compares with NULL."""
    for condition in query.conditions:
        written = unescape(condition.source).strip()
        if "null" not in written.lower():
            continue
        tokens = tokenize(written)
        for before, behind in pairwise(tokens):
            sides = {before.upper, behind.upper} if "op" in (before.kind, behind.kind) else set()
            if "NULL" in sides and sides & _NEVER_TRUE:
                yield f"{written}: a comparison with NULL is never true; write IS NULL or IS NOT NULL"
                break
