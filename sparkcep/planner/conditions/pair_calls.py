"""Calls over two rows of a partition, which Spark evaluates before matching: a row gets an array with a value for each
row that may be the other one. Calls that Spark does not evaluate in a lambda function, as those of SQL and Python
functions, are made where each row meets those that may be the other one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sparkcep.query import PREFIX, UP_TO, WHOLE
from sparkcep.settings import LIMIT_PAIRS

_PAIR = PREFIX + "pair"
_NAMED = re.compile(rf"\b{_PAIR}(\d+)\b")
_ROW, _AT, _ALL, _SELF, _MET = _PAIR + "_row", _PAIR + "_at", _PAIR + "_all", _PAIR + "_self", _PAIR + "_met"
#: How a call names the other row.
OTHER = PREFIX + "q"
#: A row's place in its partition, from 1, where rows have met.
PLACE = _PAIR + "_place"
#: Its place in the arrays, from 0, where it may be the other one of a call's rows.
PLACE_OF_OTHER = _PAIR + "_other"


@dataclass(frozen=True, slots=True)
class PairCall:
    """A call over two rows, as SQL for Spark to format.

    ``call`` reads the columns of one row, and ``arguments`` of the other as fields a0, a1, ... of ``OTHER``.
    ``one_row``: the same over one row twice. ``one_test``, ``other_test``: what the rows must satisfy by themselves;
    empty: nothing. ``limit``: as many pairs at most as so many rows make with each other.
    """

    call: str
    one_row: str
    arguments: tuple[str, ...]
    one_test: str
    other_test: str
    limit: int


def pair_column(number: int) -> str:
    """The column with an array of a call's values, one for each row that may be the other one."""
    return f"{_PAIR}{number}"


def over_one_row(text: str, calls: Sequence[PairCall]) -> str:
    """A row expression with values of the same types, which needs no pairs."""
    text = _NAMED.sub(lambda m: f"array({calls[int(m[1])].one_row})", text)
    return re.sub(rf"\b{PLACE_OF_OTHER}\b", "0L", text)


def listed(members: Sequence[str], other: str) -> str:
    """SQL of an array of structs, one for each row of the partition that may be the other one.

    Args:
        other: what such a row satisfies; empty: any row may be it.
    """
    struct = f"struct({', '.join(members)})"
    return f"collect_list({f'CASE WHEN {other} THEN {struct} END' if other else struct}) OVER {WHOLE}"


def place_of_other(other: str) -> str:
    """SQL of a row's place in such an array, from 0; NULL of those that are not in it. ``other``: as there."""
    if not other:
        return f"CAST(row_number() OVER {PREFIX}w - 1 AS BIGINT)"
    return f"CASE WHEN {other} THEN count_if({other}) OVER {UP_TO} - 1 END"


def within_limit(text: str, limit: int, one: str, other: str) -> str:
    """SQL that is an error where a partition has more pairs than ``limit`` rows make with each other. ``one``,
    ``other``: what the one row satisfies, and the other one; empty: nothing."""
    message = f"[CEP_PAIR_LIMIT] A partition has more than {limit} x {limit} pairs of rows that a condition asks about "
    message += f"({LIMIT_PAIRS.key}).\\nHint: partition by more columns, filter the input, test the "
    message += "types of both, compare rows side by side (A B, or PREV), or raise the limit"
    counts = " * ".join(f"{f'count_if({test})' if test else 'count(1)'} OVER {WHOLE}" for test in (one, other))
    return f"CASE WHEN {counts} <= {min(limit * limit, 2**63 - 1)}L THEN {text} ELSE raise_error('{message}') END"


def windows_of_pairs(window: str) -> str:
    """The windows over a whole partition and up to a row, from the partitioning and a total order."""
    rows = f"{window} ROWS BETWEEN UNBOUNDED PRECEDING AND"
    return f"{WHOLE} AS ({rows} UNBOUNDED FOLLOWING), {UP_TO} AS ({rows} CURRENT ROW)"


def _any(tests: Sequence[str]) -> str:
    """SQL of alternatives; empty where one of them is nothing."""
    return " OR ".join(f"({test})" for test in dict.fromkeys(tests)) if all(tests) else ""


def met(source: str, keys: Sequence[str], window: str, calls: Sequence[PairCall]) -> str:
    """Rows of a relation with their ``PLACE`` and ``PLACE_OF_OTHER`` and the :func:`pair_column` of each call, as a
    relation.

    Args:
        source: what stands behind FROM. keys, window: the partitioning, and it with a total order.
    """
    named = [f"({key}) AS {_PAIR}_key{i}" for i, key in enumerate(keys)]
    groups = ", ".join([*(f"{_PAIR}_key{i}" for i in range(len(keys))), PLACE])
    any_one, any_other = _any([call.one_test for call in calls]), _any([call.other_test for call in calls])
    of_other, own, values = [], [], []
    for n, call in enumerate(calls):
        members, tests = [f"{text} AS a{k}" for k, text in enumerate(call.arguments)], []
        if call.one_test:
            own.append(f"({call.one_test}) AS {_PAIR}_own{n}")
            tests.append(f"{_PAIR}_own{n}")
        if call.other_test:
            members.append(f"({call.other_test}) AS able")
            tests.append(f"{OTHER}{n}.able")
        of_other.append(f"struct({', '.join(members)}) AS c{n}")
        value = call.call.replace(f"{OTHER}.", f"{OTHER}{n}.")
        values.append(f"CASE WHEN {' AND '.join(tests)} THEN {value} END" if tests else value)
    places = f"row_number() OVER {PREFIX}w AS {PLACE}", f"{place_of_other(any_other)} AS {PLACE_OF_OTHER}"
    placed = ", ".join([*named, *own, *places])
    every = within_limit(listed(of_other, any_other), calls[0].limit, any_one, any_other)
    if any_one:
        every = f"CASE WHEN {any_one} THEN {every} END"
    others = ", ".join(f"{OTHER}.c{n} AS {OTHER}{n}" for n in range(len(calls)))
    found = ", ".join(f"{value} AS v{n}" for n, value in enumerate(values))
    back = ", ".join(f"v{n}" for n in range(len(calls)))
    # A row that need not meet any meets itself, to stay: Spark calls Python functions for whatever stands there.
    entries = f"CASE WHEN {_MET} THEN {_ALL} ELSE array({_SELF}) END"
    arrays = ", ".join(
        f"CASE WHEN {_MET} THEN transform({_ALL}, e -> e.v{n}) END AS {pair_column(n)}" for n in range(len(calls))
    )
    stay = ", ".join(f"first({name}) AS {name}" for name in (_ROW, PLACE_OF_OTHER, _MET))
    return (
        f"(SELECT {_ROW}.*, {PLACE}, {PLACE_OF_OTHER}, {arrays} FROM ("
        f"SELECT {groups}, {stay}, sort_array(collect_list(struct({_AT}, {back}))) AS {_ALL} FROM ("
        f"SELECT {groups}, {_ROW}, {PLACE_OF_OTHER}, {_MET}, {_AT}, {found} FROM ("
        f"SELECT *, {others} FROM ("
        f"SELECT *, posexplode({entries}) AS ({_AT}, {OTHER}) FROM ("
        f"SELECT *, coalesce(size({_ALL}) > 0, false) AS {_MET} FROM ("
        f"SELECT *, {placed}, struct({', '.join(of_other)}) AS {_SELF}, {every} AS {_ALL} FROM ("
        f"SELECT *, struct(*) AS {_ROW} FROM {source}) WINDOW {PREFIX}w AS ({window}), {windows_of_pairs(window)}"
        f"))))) GROUP BY {groups}))"
    )
