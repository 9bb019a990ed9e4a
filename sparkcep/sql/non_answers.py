"""Read the arguments of EXPLAIN NON ANSWERS, by place or by name."""

from __future__ import annotations

from collections.abc import Sequence

from sparkcep.sql.statement import Statement
from sparkcep.sql.token_text import Range

HINT = "EXPLAIN NON ANSWERS (k => 4, uncertainty => INTERVAL 1 MINUTE, step => INTERVAL 1 MINUTE)"
TAKES = "EXPLAIN NON ANSWERS takes (k, uncertainty, step)."
_NAMES = ("K", "UNCERTAINTY", "STEP")


class WrongArgument(Exception):
    """``at``: the token at fault, -1: the whole list."""

    def __init__(self, at: int = -1) -> None:
        self.at = at


def in_order(statement: Statement, parts: Sequence[Range]) -> list[Range]:
    """The values of k, uncertainty and step among the arguments.

    Raises:
        WrongArgument: an argument that is none, or twice, or missing.
    """
    found: dict[str, Range] = {}
    for n, (low, high) in enumerate(parts):
        name = _NAMES[n] if n < len(_NAMES) else ""
        begin = low
        if statement.operator(low + 1) == "=>":
            name, begin = statement.word(low), low + 2
        if name not in _NAMES or name in found or begin >= high:
            raise WrongArgument(low)
        found[name] = (begin, high)
    if len(found) < len(_NAMES):
        raise WrongArgument
    return [found[name] for name in _NAMES]
