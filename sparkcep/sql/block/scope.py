"""The names that a block's expressions may use, and the mentions of pattern variables in them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sparkcep.query import Component, OwnAggregate, RowExpression
from sparkcep.sql.lexicon import Token
from sparkcep.sql.scope import InputNames
from sparkcep.sql.statement import Statement

#: The variable of references to columns that are the same in all events of a match.
ANY_EVENT = ""


class Index(enum.Enum):
    """Which of a variable's events a reference means."""

    PLAIN = "v"
    EACH = "v[i]"
    BACK = "v[i-k]"
    FIRST = "v[1]"
    LAST = "v[v.LEN]"
    ALL = "v[]"
    BEFORE = "v[..i-1]"
    UP_TO = "v[..i]"

    @property
    def moves(self) -> bool:
        """Whether i stands in it."""
        return self in (Index.EACH, Index.BACK, Index.BEFORE, Index.UP_TO)

    @property
    def is_range(self) -> bool:
        """Whether it means several events, which only an aggregate can take."""
        return self in (Index.ALL, Index.BEFORE, Index.UP_TO)


@dataclass(frozen=True, slots=True)
class Call:
    """An aggregate over a variable's events; ``star``: count(*) of them, without arguments."""

    function: str
    arguments: tuple[RowExpression, ...]
    distinct: bool
    star: bool
    filter: RowExpression | None
    own_aggregate: OwnAggregate | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """One mention of a variable: ``expression`` over the event that ``index`` says, or ``call`` over its events.

    ``offset``: the k of `v[i-k]`. ``next``: `NEXT(v).x`. ``whole``: written as v[] or v[v.LEN], of the variable as a
    whole.
    """

    variable: str
    index: Index
    token: Token
    expression: RowExpression
    offset: int = 0
    call: Call | None = None
    next: bool = False
    whole: bool = False


Part = str | Reference


@dataclass(slots=True)
class BlockScope(InputNames):
    """Names that a block's expressions may use. ``order_key`` is the text of the first ORDER BY key.

    ``qualifiers``: the input relation's own names, folded. ``render``: text of a span with nested forms replaced.
    ``closers``: index of each bracket to that of the one that closes it. ``own_aggregates``: users' functions by name.
    ``constants``: where text begins that a column of the input stands for which has one value in a partition, and the
    token behind it.
    """

    statement: Statement
    components: tuple[Component, ...]
    qualifiers: frozenset[str]
    columns: tuple[str, ...]
    case_sensitive: bool
    render: Callable[[int, int], str]
    closers: dict[int, int]
    order_key: str = ""
    own_aggregates: Mapping[str, OwnAggregate] = field(default_factory=dict)
    constants: Mapping[int, int] = field(default_factory=dict)

    @property
    def variables(self) -> tuple[str, ...]:
        """In the order of the pattern, each once."""
        return tuple(dict.fromkeys(c.variable for c in self.components))

    def variable(self, token: Token) -> str | None:
        """The variable of a name: spelt the same, else the only one that differs in case alone."""
        if token.kind not in ("word", "quoted"):
            return None
        if token.text in self.variables:
            return token.text
        alike = [v for v in self.variables if v.casefold() == token.text.casefold()]
        return alike[0] if len(alike) == 1 else None
