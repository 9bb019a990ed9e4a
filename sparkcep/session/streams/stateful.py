"""Statements over streams that make Spark run a stateful operator more than once."""

from __future__ import annotations

import re
from collections import Counter

from sparkcep.errors import PatternAnalysisError, streaming_unsupported
from sparkcep.settings import STREAM_OPERATOR

_OPERATOR = re.compile(r"FlatMapGroupsInPandasWithState|TransformWithState")
_DEFINITION = re.compile(r"CTERelationDef (\d+)")
_REFERENCE = re.compile(r"CTERelationRef (\d+)")


def second_pattern(text: str, position: int) -> PatternAnalysisError:
    """CEP_STREAMING_UNSUPPORTED, at the second pattern of a statement: Spark would refuse the query when it is started;
    the caller raises it."""
    return streaming_unsupported(
        "a second pattern beside it in one query, as Spark runs one applyInPandasWithState", text, position,
        f"SET {STREAM_OPERATOR.key} = transform, which Spark runs more than once; or start a query for each pattern, "
        "or make them rules of one pattern_rules(...)",
    )  # fmt: skip


def check_readers(plans: str, text: str, position: int) -> None:
    """Refuse what :func:`read_twice` finds.

    Raises:
        PatternAnalysisError: CEP_STREAMING_UNSUPPORTED.
    """
    if read_twice(plans):
        raise streaming_unsupported(
            "two readers of the name that WITH gives it, as Spark loses the second one's rows", text, position,
            "write the matches to a table, and read that as a stream; or write the pattern twice",
        )  # fmt: skip


def read_twice(plans: str) -> bool:
    """Whether what a stateful operator gives is read more than once by the name that a WITH list gives it.

    Spark 4.3 then copies the operator, and the copies behind the first give no rows.

    Args:
        plans: as EXPLAIN EXTENDED prints them.

    >>> plan = '''== Analyzed Logical Plan ==
    ... ~WithCTE
    ... :- ~CTERelationDef 3, false
    ... :  +- ~FlatMapGroupsInPandasWithState stream()
    ... +- ~Union false, false
    ...    :- ~CTERelationRef 3, true
    ...    +- ~CTERelationRef 3, true
    ... == Optimized Logical Plan =='''
    >>> read_twice(plan), read_twice(plan.replace("+- ~CTERelationRef 3", "+- ~CTERelationRef 4"))
    (True, False)
    """
    analyzed = plans.partition("== Analyzed Logical Plan ==")[2].partition("\n== ")[0].splitlines()
    depths = [len(line) - len(line.lstrip(" :+~-")) for line in analyzed]
    bodies: dict[str, str] = {}
    for n, line in enumerate(analyzed):
        if found := _DEFINITION.search(line):
            end = next((k for k in range(n + 1, len(analyzed)) if depths[k] <= depths[n]), len(analyzed))
            bodies[found[1]] = "\n".join(analyzed[n + 1 : end])
    stateful = {name for name, body in bodies.items() if _OPERATOR.search(body)}
    while more := {n for n, body in bodies.items() if stateful.intersection(_REFERENCE.findall(body))} - stateful:
        stateful |= more
    times = Counter(_REFERENCE.findall("\n".join(analyzed)))
    return any(times[name] > 1 for name in stateful)
