"""What a template is, and the log that it is applied to."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Log:
    """A log as SQL. ``relation``: a table's name or a query in parentheses; the others are columns: of the case, of the
    order (with ASC and NULLS as they may be), and of the event type. ``formatted``: whether Spark formats the text.
    ``start``: where the relation begins in the statement."""

    relation: str
    partition_by: tuple[str, ...]
    order_by: tuple[str, ...]
    event: str
    formatted: bool = False
    start: int = 0

    def at_most(self, n: int) -> str:
        """The quantifier of up to ``n`` times."""
        return f"{{{{0,{n}}}}}" if self.formatted else f"{{0,{n}}}"

    @property
    def order_columns(self) -> tuple[str, ...]:
        """The columns of the order."""
        return tuple(map(column_of, self.order_by))

    @property
    def time(self) -> str:
        """The first column of the order."""
        return self.order_columns[0]


def column_of(item: str) -> str:
    """The column of a key, without ASC and NULLS; in backticks it may have blanks.

    >>> column_of("ts NULLS LAST"), column_of("`the time` ASC")
    ('ts', '`the time`')
    """
    found = re.match(r"`(?:[^`]|``)*`|\S+", item)
    assert found is not None
    return found[0]


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """A step of a funnel. ``condition``: on one event, or an event type as a string literal (``is_type``). ``name``: a
    string literal."""

    condition: str
    is_type: bool
    name: str


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a call beside its log: event types as string literals, a number, a column; of a funnel its steps, an
    interval and how it counts."""

    a: str = ""
    b: str = ""
    n: int = 1
    end: str = ""
    steps: tuple[FunnelStep, ...] = ()
    within: str = ""
    mode: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """A template.

    Args:
        name: of the table function.
        parameters: names of its arguments, in order. optional: those with a default.
        meaning: one sentence. formula: its definition. least: the smallest number that it takes for n.
        sql: the relation that it stands for. activation: what a constraint says something about.
    """

    name: str
    parameters: tuple[str, ...]
    meaning: str
    formula: str
    sql: Callable[[Log, Arguments], str]
    optional: tuple[str, ...] = ()
    least: int = 1
    activation: str = ""
