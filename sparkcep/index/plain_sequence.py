"""A plain sequence of event types as text: words with blanks between them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sparkcep.errors import PatternIndexError

_TOKEN = re.compile(r"""\s*(?:"((?:[^"]|"")*)"|'((?:[^']|'')*)'|`((?:[^`]|``)*)`|([^\s"'`]+))(?=\s|$)""")
_OPERATOR = re.compile(r"[+*?!~|&()\[\]{}<>,;^$∧∨¬∼]")
_WORDS = ("SEQ", "AND", "OR", "NOT")


@dataclass(frozen=True, slots=True)
class EventType:
    """A type and the offset of its text."""

    name: str
    offset: int


def read_plain_sequence(text: str) -> list[EventType]:
    """Event types of ``'A B "Send Fine"'``; names with blanks or a pattern's operators stand in quotes or backticks.

    Raises:
        PatternIndexError: CEP_PLAIN_SEQUENCE; it blames ``pattern:`` and an offset.
    """
    out: list[EventType] = []
    at = 0
    while text[at:].strip():
        offset = at + len(text[at:]) - len(text[at:].lstrip())
        found = _TOKEN.match(text, at)
        if found is None:
            raise _error(offset, "A quote is not closed, or no blank follows it.", "write 'A \"Send Fine\" B'")
        at = found.end()
        double, single, back, word = found.groups()
        if word is not None:
            operator = _OPERATOR.search(word)
            if operator is not None:
                raise _error(
                    offset + operator.start(),
                    f"{operator[0]} cannot be part of a plain sequence of event types.",
                    f"write 'A B C'; write a name that contains it in quotes, \"{word}\"",
                )
            if word in _WORDS:
                raise _error(
                    offset, f"{word} cannot be part of a plain sequence of event types.",
                    f"write 'A B C'; write an event type of this name in quotes, \"{word}\"",
                )  # fmt: skip
            name = word
        elif double is not None:
            name = double.replace('""', '"')
        else:
            name = single.replace("''", "'") if single is not None else back.replace("``", "`")
        out.append(EventType(name, offset))
    return out


def _error(offset: int, message: str, hint: str) -> PatternIndexError:
    return PatternIndexError("CEP_PLAIN_SEQUENCE", message, blame=f"pattern:{offset}", hint=hint)
