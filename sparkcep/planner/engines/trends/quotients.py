"""The average of decimals from the sum of their digits and their count, rounded once, as SQL.

Spark's division of decimals keeps 6 digits behind the point where both sides may have 38 before it; so the quotient is
taken by long division, in whole numbers.
"""

from __future__ import annotations

from sparkcep.expr.types import parse_type

#: The type of whole numbers of up to 38 digits.
DIGITS = "decimal(38,0)"
_HALF = "10000000000000000000BD"  # 10^19: two such digits make 38


def quotient_steps(total: str, count: str, type_: str, argument_scale: int, name: str) -> list[dict[str, str]]:
    """Columns as SQL by name, each step over the columns of those before; the last is ``{name}q``.

    Args:
        total: column of the sum of the unscaled values, DECIMAL(38, 0). count: of how many they are; NULL in either
            makes the quotient NULL, as do counts and quotients that leave no room for the average's further digits.
        type_: of the average, a decimal. argument_scale: of the values.
    """
    scale = parse_type(type_).scale
    digits = scale - argument_scale
    more, room = f"1{'0' * digits}BD", f"{'9' * (38 - digits)}BD"
    n, b, a, ra, qa, c, rc, q, rest, x, up = (f"{name}{letter}" for letter in "nbariclkyxu")

    def whole(value: str, divisor: str) -> str:
        """A quotient without a rest; it has at most 19 digits."""
        return f"CAST({value} / {divisor} AS {DIGITS})"

    small = f"{n} < {_HALF}"
    written = f"CAST(CAST({q} * {more} + {x} + {up} AS {DIGITS}) AS STRING)"
    return [
        {n: f"CASE WHEN {count} > 0BD AND {count} < {room} THEN {count} END"},
        {b: f"CASE WHEN {small} THEN {total} % {_HALF} ELSE 0BD END"},
        {a: f"CASE WHEN {small} THEN {whole(f'({total} - {b})', _HALF)} ELSE {total} END"},
        {ra: f"{a} % {n}"},
        {qa: whole(f"({a} - {ra})", n)},
        {c: f"CASE WHEN {small} THEN CAST({ra} * {_HALF} + {b} AS {DIGITS}) ELSE {ra} END"},
        {rc: f"{c} % {n}"},
        {q: f"CASE WHEN {small} THEN CAST({qa} * {_HALF} + {whole(f'({c} - {rc})', n)} AS {DIGITS}) ELSE {qa} END"},
        # The digits behind those of the values; what is left of them rounds, half up.
        {rest: f"{rc} * {more} % {n}"},
        {
            x: whole(f"({rc} * {more} - {rest})", n),
            up: f"CASE WHEN 2BD * abs({rest}) < {n} THEN 0BD WHEN {rest} < 0BD THEN -1BD ELSE 1BD END",
        },
        {f"{name}q": f"CASE WHEN abs({q}) < {room} THEN try_cast(concat({written}, 'E-{scale}') AS {type_}) END"},
    ]
