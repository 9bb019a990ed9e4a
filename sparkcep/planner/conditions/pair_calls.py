"""Calls over two rows of a partition that Spark does not evaluate in a lambda function, as those of SQL and Python
functions: before matching, each row meets every row of its partition, and gets back an array of what came out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sparkcep.query import PREFIX, WHOLE
from sparkcep.settings import LIMIT_PAIRS

_PAIR = PREFIX + "pair"
_NAMED = re.compile(rf"\b{_PAIR}(\d+)\b")
_ROW, _AT, _ALL = _PAIR + "_row", _PAIR + "_at", _PAIR + "_all"
#: How a call names the other row.
OTHER = PREFIX + "q"
#: A row's place in its partition, from 1, where rows have met.
PLACE = _PAIR + "_place"


@dataclass(frozen=True, slots=True)
class PairCall:
    """A call over two rows, as SQL for Spark to format.

    ``call`` reads the columns of one row, and ``arguments`` of the other as fields a0, a1, ... of ``OTHER``.
    ``one_row``: the same over one row twice. ``own``, ``other``: what the rows must satisfy by themselves; empty:
    nothing. ``limit``: rows of a partition.
    """

    call: str
    one_row: str
    arguments: tuple[str, ...]
    own: str
    other: str
    limit: int


def pair_column(number: int) -> str:
    """The column with an array of a call's values, one for each row of the partition."""
    return f"{_PAIR}{number}"


def over_one_row(text: str, calls: Sequence[PairCall]) -> str:
    """A row expression with values of the same types, which needs no pairs."""
    return _NAMED.sub(lambda m: f"array({calls[int(m[1])].one_row})", text)


def listed(members: Sequence[str]) -> str:
    """SQL of an array of structs, one for each row of the partition."""
    return f"collect_list(struct({', '.join(members)})) OVER {WHOLE}"


def within_limit(text: str, limit: int) -> str:
    """SQL that is an error where a partition has more rows."""
    message = f"[CEP_PAIR_LIMIT] A partition has more than {limit} rows ({LIMIT_PAIRS.key})."
    message += "\\nHint: partition by more columns, filter the input, compare rows side by side (A B, or PREV), "
    message += "or raise the limit"
    return f"CASE WHEN count(1) OVER {WHOLE} <= {limit} THEN {text} ELSE raise_error('{message}') END"


def whole(window: str) -> str:
    """The window over a whole partition, from its partitioning and order."""
    return f"{WHOLE} AS ({window} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"


def met(source: str, keys: Sequence[str], window: str, calls: Sequence[PairCall]) -> str:
    """Rows of a relation with their ``PLACE`` and the :func:`pair_column` of each call, as a relation.

    Args:
        source: what stands behind FROM. keys, window: the partitioning, and it with a total order.
    """
    named = [f"({key}) AS {_PAIR}_key{i}" for i, key in enumerate(keys)]
    groups = ", ".join([*(f"{_PAIR}_key{i}" for i in range(len(keys))), PLACE])
    of_other, own, values = [], [], []
    for n, call in enumerate(calls):
        members, tests = [f"{text} AS a{k}" for k, text in enumerate(call.arguments)], []
        if call.own:
            own.append(f"({call.own}) AS {_PAIR}_own{n}")
            tests.append(f"{_PAIR}_own{n}")
        if call.other:
            members.append(f"({call.other}) AS able")
            tests.append(f"{OTHER}{n}.able")
        of_other.append(f"struct({', '.join(members)}) AS c{n}")
        value = call.call.replace(f"{OTHER}.", f"{OTHER}{n}.")
        values.append(f"CASE WHEN {' AND '.join(tests)} THEN {value} END" if tests else value)
    placed = ", ".join([*named, *own, f"row_number() OVER {PREFIX}w AS {PLACE}"])
    others = ", ".join(f"{OTHER}.c{n} AS {OTHER}{n}" for n in range(len(calls)))
    found = ", ".join(f"{value} AS v{n}" for n, value in enumerate(values))
    back = ", ".join(f"v{n}" for n in range(len(calls)))
    arrays = ", ".join(f"transform({_ALL}, e -> e.v{n}) AS {pair_column(n)}" for n in range(len(calls)))
    return (
        f"(SELECT {_ROW}.*, {PLACE}, {arrays} FROM ("
        f"SELECT {groups}, first({_ROW}) AS {_ROW}, sort_array(collect_list(struct({_AT}, {back}))) AS {_ALL} FROM ("
        f"SELECT {groups}, {_ROW}, {_AT}, {found} FROM ("
        f"SELECT *, {others} FROM ("
        f"SELECT *, posexplode({_ALL}) AS ({_AT}, {OTHER}) FROM ("
        f"SELECT *, {placed}, {within_limit(listed(of_other), calls[0].limit)} AS {_ALL} FROM ("
        f"SELECT *, struct(*) AS {_ROW} FROM {source}) WINDOW {PREFIX}w AS ({window}), {whole(window)}"
        f")))) GROUP BY {groups}))"
    )
