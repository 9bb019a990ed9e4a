"""What rules return of their matches, computed by the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from sparkcep.exec.arrays import Ints, int32, struct_lists
from sparkcep.exec.conditions import columns as columnwise
from sparkcep.exec.conditions.python_values import python_values
from sparkcep.exec.engines.shared.rows import SharedRows
from sparkcep.exec.engines.shared.rule import Matches
from sparkcep.exec.engines.shared.spec import RuleItems
from sparkcep.exec.statuses import interpreted
from sparkcep.expr.types import Type
from sparkcep.expr.typing_pass import Typing

#: Members of a returned value beside the number of its name ``n``, with Spark types: text as it is, numbers of floating
#: point, microseconds of a TIMESTAMP and of an interval, which Spark writes as text.
MEMBERS = {"s": "string", "d": "double", "f": "float", "t": "bigint", "v": "bigint"}
_ARROW = {"s": pa.string(), "d": pa.float64(), "f": pa.float32(), "t": pa.int64(), "v": pa.int64()}
#: The type of what a match returns, as Spark writes it.
TYPE = f"array<struct<n:int,{','.join(f'{name}:{type_}' for name, type_ in MEMBERS.items())}>>"
_MEMBER_OF = {"double": "d", "float": "f", "timestamp": "t", "interval": "v"}


class ItemEvaluator:
    """Evaluates one rule's items."""

    def __init__(self, items: RuleItems, ansi: bool) -> None:
        self.items = items
        typing = Typing(items.slots, items.column_types, ansi)
        self.evaluators = [columnwise.evaluator(typing.typed(tree)) for tree in items.trees]

    def values(self, rows: SharedRows, matches: Matches) -> pa.Array:
        """For each match the list of its items.

        Raises:
            SparkCepError: ARITHMETIC_OVERFLOW, DIVIDE_BY_ZERO, CEP_CONDITION_FAILED.
        """
        items = self.items
        needed, at = np.unique(matches.row, return_inverse=True)
        taken = pa.array(needed)
        columns = [python_values(rows.batch.columns[c].take(taken)) for c in items.columns]
        code, places = matches.code.tolist(), at.tolist()
        registers = [
            [[places[e] for e in range(low, high) if code[e] in of] for of in items.registers]
            for low, high in zip(matches.starts.tolist(), matches.ends.tolist(), strict=True)
        ]
        inputs = columnwise.Matches(columnwise.Values(columns, rows=len(needed)), registers, matches.number.tolist())
        with interpreted():
            out = [columnwise.values(evaluate, inputs) for evaluate in self.evaluators]
        return self.listed(out, len(matches.ends))

    def listed(self, out: Sequence[Sequence[Any]], matches: int) -> pa.Array:
        """Values by item and match as a list of structs for each match."""
        items = len(out)
        members: dict[str, list[Any]] = {name: [None] * (items * matches) for name in MEMBERS}
        for place, (values, kind) in enumerate(zip(out, self.items.kinds, strict=True)):
            member = _MEMBER_OF.get(kind.kind, "s")
            members[member][place::items] = [None if v is None else written(v, kind) for v in values]
        numbers = np.tile(np.array(self.items.names, np.int32), matches)
        return item_lists(np.arange(1, matches + 1) * items, numbers, members)


def item_lists(ends: Ints, numbers: Any, members: dict[str, list[Any]]) -> pa.Array:
    """Lists of returned values."""
    columns = {"n": int32(numbers)} | {name: pa.array(values, _ARROW[name]) for name, values in members.items()}
    return struct_lists(ends, columns)


def no_items(matches: int) -> pa.Array:
    """An empty list for each match."""
    return item_lists(np.zeros(matches, np.int64), np.zeros(0, np.int32), {name: [] for name in MEMBERS})


def written(value: Any, kind: Type) -> Any:
    """A value as its member has it; what is text is as Spark's cast to STRING writes it."""
    match kind.kind:
        case "double" | "float":
            return float(value)
        case "timestamp" | "interval":
            return microseconds(value, kind)
        case "boolean":
            return "true" if value else "false"
        case "decimal":
            return f"{Decimal(value).quantize(Decimal(1).scaleb(-kind.scale)):f}"
        case "timestamp_ntz":
            text = value.isoformat(" ")
            return text.rstrip("0") if "." in text else text
        case _:
            return str(value)


def microseconds(value: Any, kind: Type) -> int:
    """A point in time since 1970, or a difference of two."""
    number: int = pa.scalar(value, pa.duration("us") if kind.kind == "interval" else pa.timestamp("us", "UTC")).value
    return number
