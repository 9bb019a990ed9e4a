"""The tree of an EQL query, after Elastic's EQL syntax reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A field by the ``parts`` of its name. ``optional``: written with ``?``, so that it may be missing."""

    parts: tuple[str, ...]
    optional: bool
    position: int

    @property
    def name(self) -> str:
        """The name with dots."""
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class Literal:
    """A string, a number, a boolean or null."""

    value: str | int | float | bool | None
    position: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function's call; ``ignores_case``: with ``~`` behind its name."""

    function: str
    ignores_case: bool
    arguments: tuple[Expression, ...]
    position: int


@dataclass(frozen=True, slots=True)
class Operation:
    """A comparison (``==``, ``<``) or arithmetic (``+``, ``%``); of a sign, ``left`` is 0."""

    operator: str
    left: Expression
    right: Expression
    position: int


@dataclass(frozen=True, slots=True)
class Lookup:
    """``left`` beside some values, one of which is to fit: by ``like``, ``regex`` or ``in``. ``:`` is ``like~``."""

    operator: str
    ignores_case: bool
    left: Expression
    values: tuple[Expression, ...]
    position: int


@dataclass(frozen=True, slots=True)
class Not:
    """A negation."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Logical:
    """``and`` or ``or`` of two expressions or more."""

    operator: str
    operands: tuple[Expression, ...]


Expression = Field | Literal | Call | Operation | Lookup | Not | Logical


@dataclass(frozen=True, slots=True)
class EventQuery:
    """``category where condition``; the category is None for ``any``."""

    category: str | None
    condition: Expression


@dataclass(frozen=True, slots=True)
class Step:
    """One item of a sequence. ``missing``: `![...]`. ``runs``: how many events of it."""

    event: EventQuery
    by: tuple[Expression, ...]
    runs: int
    missing: bool


@dataclass(frozen=True, slots=True)
class Sequence:
    """``maxspan``: a number and its unit. ``is_sample``: `sample by`, whose events come in any order."""

    by: tuple[Expression, ...]
    maxspan: tuple[int, str] | None
    steps: tuple[Step, ...]
    until: Step | None
    is_sample: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query; ``pipes``: their texts."""

    body: EventQuery | Sequence
    pipes: tuple[str, ...]


def fields_in(node: Expression) -> Iterator[Field]:
    """The fields of an expression, from left to right."""
    match node:
        case Field():
            yield node
        case Literal():
            return
        case Call(arguments=inner) | Logical(operands=inner):
            for operand in inner:
                yield from fields_in(operand)
        case Operation(left=left, right=right):
            yield from fields_in(left)
            yield from fields_in(right)
        case Lookup(left=left, values=values):
            for operand in (left, *values):
                yield from fields_in(operand)
        case Not(operand=operand):
            yield from fields_in(operand)
