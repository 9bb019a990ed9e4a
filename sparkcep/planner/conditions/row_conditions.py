"""Match-independent conditions: what Spark can decide from the row being tested and its neighbours in the partition.

The row counts as already mapped to the variable, so `B.x` and `x` in B's own condition are the row's own x.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sqlglot import exp

from sparkcep.planner.fields import Fields
from sparkcep.query import PREFIX, Navigation, RowMarker, Scalar, quote, string_literal, unescape
from sparkcep.spark.repeatable import DRAWN
from sparkcep.sql.lexicon import parse_expression, tokenize

#: What may divide by zero, cannot be converted or is not there, with ANSI mode at least: operators, and functions too.
FAILING_OPERATORS = frozenset("/ % DIV [ CAST ::".split())
_MAY_FAIL = FAILING_OPERATORS.union(
    "MOD PMOD ELEMENT_AT DATE TIMESTAMP TO_DATE TO_TIMESTAMP TO_TIMESTAMP_NTZ TO_TIMESTAMP_LTZ "
    "UNIX_TIMESTAMP TO_UNIX_TIMESTAMP TO_NUMBER MAKE_DATE MAKE_TIMESTAMP MAKE_INTERVAL MAKE_DT_INTERVAL NEXT_DAY "
    "TINYINT SMALLINT INT INTEGER BIGINT FLOAT DOUBLE DECIMAL BOOLEAN BINARY CONV SEQUENCE ASSERT_TRUE RAISE_ERROR "
    "FROM_JSON PARSE_JSON PARSE_URL UNHEX TO_BINARY DATEDIFF DATE_ADD DATE_SUB ADD_MONTHS DATE_TRUNC YEAR MONTH DAY "
    "HOUR".split()
)


@dataclass(frozen=True, slots=True)
class Shift:
    """PREV or NEXT inside a match-independent condition: an expression of the row ``offset`` further on."""

    expression: str
    offset: int


@dataclass(frozen=True, slots=True)
class RowCondition:
    """A match-independent conjunct: text of the row's columns with shifts between."""

    pieces: tuple[str | Shift, ...]
    position: int = field(default=0, compare=False)

    @property
    def shifts(self) -> tuple[Shift, ...]:
        """Its PREV and NEXT, in order; such a condition needs the neighbours of a row."""
        return tuple(p for p in self.pieces if isinstance(p, Shift))

    def sql(self) -> str:
        """Text for the rows layout, where shifts are window functions over the named window."""
        out = []
        for p in self.pieces:
            if isinstance(p, str):
                out.append(p)
            elif p.offset == 0:
                out.append(f"({p.expression})")
            else:
                function = "lag" if p.offset < 0 else "lead"
                out.append(f"{function}({p.expression}, {abs(p.offset)}) OVER {PREFIX}w")
        return "".join(out)

    def describe(self) -> str:
        """Text for EXPLAIN."""
        return unescape(
            "".join(
                p if isinstance(p, str) else f"{'PREV' if p.offset < 0 else 'NEXT'}({p.expression}, {abs(p.offset)})"
                for p in self.pieces
            )
        )


def row_condition(scalar: Scalar, variable: str) -> RowCondition | None:
    """The conjunct as a match-independent condition of ``variable``, or None if it depends on the match."""
    pieces: list[str | Shift] = []
    for piece in scalar.pieces:
        if isinstance(piece, str):
            pieces.append(piece)
            continue
        if not isinstance(piece, Navigation) or piece.from_first or piece.logical:
            return None
        if piece.variables is not None and variable not in piece.variables:
            return None
        if RowMarker.MATCH_NUMBER in piece.argument.markers or (piece.argument.markers and piece.physical):
            return None
        label = string_literal(variable)
        text = "".join(p if isinstance(p, str) else label for p in piece.argument.pieces)
        if piece.physical:
            pieces.append(Shift(text, piece.physical))
        else:
            pieces.append(text if re.fullmatch(r"\w+|`[^`]+`", text) else f"({text})")
    if [p.strip().upper() for p in pieces if isinstance(p, str)] == ["NULL"]:
        pieces = ["false"]  # Spark wants a boolean where a condition stands
    return RowCondition(tuple(pieces), scalar.position)


def tests_by_name(conditions: Mapping[int, Sequence[RowCondition]], names: Sequence[str]) -> dict[str, str]:
    """What a row must satisfy by itself, without its neighbours, to be taken by a variable or component, by its name.

    Args:
        conditions: by place in ``names``.
    """
    out = {}
    for place, own in conditions.items():
        alone = all_of([c.sql() for c in own if not c.shifts])
        if alone and 0 <= place < len(names):
            out[names[place]] = alone
    return out


def all_of(texts: Sequence[str]) -> str:
    """SQL of conditions that hold together; empty for none.

    What may fail is evaluated only where the conditions before it hold. AND does not say so: Spark evaluates an
    expression that stands in several of them once for each row, before all. So it stands in CASE, and the conditions
    before it in front as well, where a source can use them.

    >>> all_of(["type = 'B'", "a / b > 1"])
    "(type = 'B') AND (CASE WHEN (type = 'B') THEN (a / b > 1) END)"
    """
    first = next((n for n, text in enumerate(texts) if n and may_fail(text)), len(texts))
    before = " AND ".join(f"({text})" for text in texts[:first])
    return f"{before} AND {guarded([before, *texts[first:]])}" if first < len(texts) else before


def guarded(texts: Sequence[str]) -> str:
    """SQL of conditions each of which is evaluated only where those before it hold."""
    *before, last = texts
    out = f"({last})"
    for text in reversed(before):
        out = f"(CASE WHEN {text} THEN {out} END)"
    return out


def may_fail(text: str) -> bool:
    """Whether Spark may raise an error where it evaluates an expression over some row.

    >>> may_fail("price / units"), may_fail("int(note)"), may_fail("upper(note) || 'x'")
    (True, True, False)
    """
    return any(token.upper in _MAY_FAIL for token in tokenize(text))


def is_drawn(text: str) -> bool:
    """Whether an expression may have another value each time that it is evaluated.

    >>> is_drawn("rand() < 0.5"), is_drawn("random > 1")
    (True, False)
    """
    tokens = tokenize(text)
    return any(t.text.lower() in DRAWN and behind.upper == "(" for t, behind in pairwise(tokens))


def lambda_text(condition: RowCondition, fields: Fields, rows: str, row: str, index: str) -> str | None:
    """The condition as the body of a lambda over a list of structs, for the lists layout.

    Columns become fields of ``row``, shifts become neighbours in ``rows``. None where columns cannot be told for sure
    (a subquery, or syntax that the parser does not know).
    """
    text, spans = "", []
    for p in condition.pieces:
        if isinstance(p, Shift):
            spans.append((len(text), p))
            text += f" {PREFIX}shift "
        else:
            text += unescape(p)
    tree = parse_expression(text)
    if tree is None or tree.find(exp.Select, exp.Placeholder, exp.Parameter):
        return None
    edits: list[tuple[int, int, str]] = []
    shifts = iter(p for _, p in spans)
    columns = sorted((c for c in tree.find_all(exp.Column)), key=lambda c: c.parts[0].meta.get("start", -1))
    for column in columns:
        first = column.parts[0]
        start, end = first.meta.get("start"), first.meta.get("end")
        if start is None or end is None:
            return None
        if first.name == PREFIX + "shift":
            shift = next(shifts)
            field_name = fields.name(fields.add(shift.expression))
            # A far offset would overflow the index; out of range is NULL either way.
            edits.append((start, end + 1, f"get({rows}, try_add({index}, {shift.offset})).{field_name}"))
        else:
            of = fields.column_of(quote(first.name))
            if of is None:
                return None
            edits.append((start, end + 1, f"{row}.{fields.name(fields.add(quote(of)))}"))
    if sum(e[2].startswith("get(") for e in edits) != len(spans):
        return None
    for start, end, new in reversed(edits):
        text = text[:start] + new + text[end:]
    return text.replace("{", "{{").replace("}", "}}")
