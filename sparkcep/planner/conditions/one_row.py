"""Operators over one row of the match, inside conditions that look at several: Spark computes them as columns."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from sparkcep.expr.nodes import Call, Constant, Expression, Load, NavigationSlot
from sparkcep.expr.types import NotCompilable
from sparkcep.planner.conditions.collector import Collector, at_same_row, navigation_of, text_of
from sparkcep.query import string_literal

#: Operators that only Spark has, as SQL writes them.
SPARKS_OWN = {
    "rlike": "{} RLIKE {}", "ilike": "{} ILIKE {}", "&": "{} & {}", "|": "{} | {}", "^": "{} ^ {}", "~": "~ {}",
    "<<": "{} << {}", ">>": "{} >> {}", "cast": "CAST({} AS {to})", "try_cast": "TRY_CAST({} AS {to})",
}  # fmt: skip
_CASTS = {f"cast_{type_.lower()}": f"CAST({{}} AS {type_})" for type_ in ("DOUBLE", "FLOAT", "BIGINT", "INT", "STRING")}
#: What the kernel has no instruction for, or not for all types; NULL where an operand is.
_LIFTED = {"like": "{} LIKE {}", "concat": "concat({})", **_CASTS, **SPARKS_OWN}
#: What may stand below them, and is then Spark's too.
_BELOW = {name: f"{{}} {name} {{}}" for name in ("+", "-", "*", "/", "%", "div")} | {"negate": "- {}"}
_FORMS = _LIFTED | _BELOW


def of_one_row(node: Expression, owner: Collector) -> Expression:
    """An expression whose operators that Spark alone has, over values of one row, have become columns of that row.

    Where the row does not exist, its columns are NULL, as the operators over them would be.

    Raises:
        NotCompilable: such an operator over several rows.
    """
    if not isinstance(node, Call):
        return node
    if node.name in _LIFTED and (column := column_of(node, owner)) is not None:
        return column
    if node.name in SPARKS_OWN:
        instead = "; TRY_CAST can be" if node.name == "cast" else ""
        raise NotCompilable(f"{no_such_operator(node.name, node.to)} over several rows of the match{instead}")
    return replace(node, arguments=tuple(of_one_row(argument, owner) for argument in node.arguments))


def column_of(node: Expression, owner: Collector, form: str = "{}") -> Load | None:
    """An expression over one row as a column of that row; None: it is over several rows, none, or of other functions.

    ``form``: of the column's text, with the expression as `{}`.
    """
    slots = _slots(node, owner)
    if not slots or len({replace(slot, column=0) for slot in slots}) > 1:
        return None
    text = form.replace("{}", _sql(node, owner))
    if not slots[0].physical:
        text = owner.guarded(text, owner.variables(slots[0].register))
    return at_same_row(slots[0], text, owner)


def no_such_operator(name: str, type_: str) -> str:
    """How an error names an operator that only Spark has. ``type_``: what it casts to."""
    return f"CAST to {type_}" if type_ else f"the operator {name.upper()}"


def _slots(node: Expression, owner: Collector) -> list[NavigationSlot] | None:
    """The navigations that an expression reads; None where it is of more than columns, literals and such operators."""
    if isinstance(node, Constant):
        return []
    if isinstance(node, Load):
        slot = navigation_of(node, owner)
        return None if slot is None else [slot]
    if not isinstance(node, Call) or node.name not in _FORMS:
        return None
    found = [_slots(argument, owner) for argument in node.arguments]
    return None if None in found else [slot for slots in found for slot in slots or ()]


def _sql(node: Expression, owner: Collector) -> str:
    if isinstance(node, Constant):
        return literal_text(node).replace("{", "{{").replace("}", "}}")
    if (slot := navigation_of(node, owner)) is not None:
        return f"({text_of(slot, owner)})"
    assert isinstance(node, Call)
    parts = [_sql(argument, owner) for argument in node.arguments]
    form = _FORMS[node.name]
    if node.name == "concat":
        return form.format(", ".join(parts))
    if node.name in _CASTS and node.safe:
        return f"(TRY_{form.format(*parts)})"
    escape = f" ESCAPE {string_literal(node.escape)}" if node.escape else ""
    return f"({form.format(*parts, to=node.to)}{escape})"


def literal_text(constant: Constant) -> str:
    """A literal as SQL writes it."""
    value = constant.value
    if isinstance(value, str):
        return string_literal(value)
    if isinstance(value, float):
        return f"{value!r}D"
    if isinstance(value, Decimal):
        return f"{value:f}BD"
    return "NULL" if value is None else f"{value}L" if constant.type.size == 64 else str(value)
