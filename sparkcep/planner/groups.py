"""GROUPS: an input in which the partition is a group of cases (GROUPS of SIESTA's query template)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import GROUP_ID, PREFIX, SOURCE, PatternQuery, quote, string_literal

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_PLAIN = ("string", "date", "timestamp", "timestamp_ntz", "boolean", "float", "double")
_GROUP, _FIRST, _LAST = PREFIX + "group", PREFIX + "first", PREFIX + "last"


def merge_groups(query: PatternQuery, case_type: str, columns: Sequence[str]) -> str:
    """SQL that reads each event once for each group that its case is in, with the group's number as ``group_id``.

    Args:
        case_type: Spark's name of the case's type.
        columns: the input's columns.

    Raises:
        PatternAnalysisError: CEP_GROUPS: no single case, a type that cannot be listed, a range of cases that are not
            whole numbers.
    """
    if query.case is None:
        raise _error(query, "GROUPS merges cases, so it needs one PARTITION BY key.", "PARTITION BY case_id")
    integral = case_type in _INTEGERS or (case_type.startswith("decimal(") and case_type.endswith(",0)"))
    if integral:
        table, condition = _of_numbers(query, case_type)
    else:
        table, condition = _of_names(query, case_type)
    shown = ", ".join([*(quote(c) for c in columns), f"{_GROUP} AS {GROUP_ID}"])
    return f"SELECT {shown} FROM {{{SOURCE}}} JOIN {table} ON ({query.case.expression}) {condition}"


def _of_numbers(query: PatternQuery, case_type: str) -> tuple[str, str]:
    rows = []
    for number, members in enumerate(query.groups, 1):
        wrong = next((m for m in members if isinstance(m, str) and not m.strip().isdigit()), None)
        if wrong is not None:
            raise _error(
                query, f"{wrong!r} is not a case number; {_case(query)} is {case_type}.", "GROUPS [(1-3,8),(5-7)]"
            )
        rows += [(number, first, last) for first, last in _runs(int(m) for m in members)]
    values = ", ".join(f"({number}, {first}L, {last}L)" for number, first, last in rows)
    # An equality can be a hash join.
    single = all(first == last for _, first, last in rows)
    return f"(VALUES {values}) AS {PREFIX}groups ({_GROUP}, {_FIRST}, {_LAST})", (
        f"= {_FIRST}" if single else f"BETWEEN {_FIRST} AND {_LAST}"
    )


def _of_names(query: PatternQuery, case_type: str) -> tuple[str, str]:
    if query.range_position >= 0:
        raise _error(
            query, f"A range needs cases that are whole numbers; {_case(query)} is {case_type}.",
            "list the cases: GROUPS [('a','b'),('c')]", query.range_position,
        )  # fmt: skip
    if case_type not in _PLAIN and not case_type.startswith(("decimal(", "varchar(", "char(")):
        raise _error(query, f"Cases of type {case_type} cannot be listed.", "partition by a column of a plain type")
    pairs = ((number, str(m)) for number, members in enumerate(query.groups, 1) for m in members)
    values = ", ".join(f"({number}, {string_literal(name)})" for number, name in dict.fromkeys(pairs))
    # Two texts may be one value: an event is in a group once.
    made = f"SELECT DISTINCT {_GROUP}, CAST({_FIRST} AS {case_type}) AS {_FIRST}"
    return f"({made} FROM VALUES {values} AS {PREFIX}listed ({_GROUP}, {_FIRST}))", f"= {_FIRST}"


def _runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers as ranges without gaps."""
    out: list[tuple[int, int]] = []
    for n in sorted(set(numbers)):
        if out and out[-1][1] == n - 1:
            out[-1] = out[-1][0], n
        else:
            out.append((n, n))
    return out


def _case(query: PatternQuery) -> str:
    return query.case.expression.strip("`") if query.case is not None else ""


def _error(query: PatternQuery, message: str, hint: str, position: int | None = None) -> PatternAnalysisError:
    return PatternAnalysisError(
        "CEP_GROUPS", message, text=query.text or None, hint=hint,
        position=query.groups_position if position is None else position,
    )  # fmt: skip
