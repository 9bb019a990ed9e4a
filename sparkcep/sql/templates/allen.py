"""Relations between intervals (Allen 1983), each as a pattern block over pairs of intervals of one case."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sparkcep.sql.templates.template import Arguments, Log, Template

#: Relation, meaning, its definition by start and end.
_RELATIONS = (
    ("before", "a ends before b starts", "a.end < b.start"),
    ("after", "a starts after b ends", "b.end < a.start"),
    ("meets", "a ends when b starts", "a.end = b.start"),
    ("met_by", "a starts when b ends", "b.end = a.start"),
    ("overlaps", "a starts first, and ends within b", "a.start < b.start AND b.start < a.end AND a.end < b.end"),
    ("overlapped_by", "b starts first, and ends within a", "b.start < a.start AND a.start < b.end AND b.end < a.end"),
    ("starts", "both start together, a ends first", "a.start = b.start AND a.end < b.end"),
    ("started_by", "both start together, b ends first", "a.start = b.start AND b.end < a.end"),
    ("during", "a lies within b", "b.start < a.start AND a.end < b.end"),
    ("contains", "b lies within a", "a.start < b.start AND b.end < a.end"),
    ("finishes", "both end together, b starts first", "b.start < a.start AND a.end = b.end"),
    ("finished_by", "both end together, a starts first", "a.start < b.start AND a.end = b.end"),
    ("equals", "both start and end together", "a.start = b.start AND a.end = b.end"),
)
#: Relations in which b starts first.
_INVERSE = ("after", "met_by", "overlapped_by", "during", "finishes")
_TOGETHER = ("starts", "started_by", "equals")


@dataclass(frozen=True, slots=True)
class _Block:
    """SQL of a relation."""

    relation: str
    condition: str

    def __call__(self, log: Log, arguments: Arguments) -> str:
        a, b = f"{arguments.a} a", f"{arguments.b} b"
        if self.relation in _TOGETHER:
            pattern = f"PERMUTE({a}, {b})"
        else:
            pattern = f"SEQ({b}, {a})" if self.relation in _INVERSE else f"SEQ({a}, {b})"
        columns = {"start": log.time, "end": arguments.end}
        condition = re.sub(r"\b(start|end)\b", lambda m: columns[m[0]], self.condition)
        keys = "".join(f"{key}, " for key in log.partition_by)
        partition = f"PARTITION BY {', '.join(log.partition_by)} " if log.partition_by else ""
        time, end = log.time, arguments.end
        return (
            f"(FROM {log.relation} {partition}ORDER BY {', '.join(log.order_by)} EVENT TYPE {log.event}\n"
            f"  PATTERN {pattern}\n"
            f"  WHERE a.{time} < a.{end} AND b.{time} < b.{end} AND {condition}\n"
            "  EVENT SELECTION SKIP TILL ANY MATCH\n"
            f"  RETURN {keys}a.{time} AS a_start, a.{end} AS a_end, b.{time} AS b_start, b.{end} AS b_end)"
        )


ALLEN: Sequence[Template] = tuple(
    Template(f"allen_{name}", ("log", "a", "b", "end"), meaning, condition, _Block(name, condition))
    for name, meaning, condition in _RELATIONS
)
