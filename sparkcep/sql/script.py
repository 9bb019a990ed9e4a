"""Statements of a text: what stands between semicolons, with SQL scripts (BEGIN ... END) whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sparkcep.sql.lexicon import Token

#: Control statements of a script, each closed by END and its own word.
_CONTROLS = frozenset({"IF", "WHILE", "LOOP", "REPEAT", "FOR", "CASE"})
#: Words behind which, inside of the control statement named, another statement begins.
_LEADS_TO_STATEMENT = {
    "THEN": frozenset({"IF", "CASE"}), "ELSE": frozenset({"IF", "CASE"}), "DO": frozenset({"WHILE", "FOR"}),
}  # fmt: skip
#: A CASE that is an expression: it stands within a statement and ends with END alone.
_EXPRESSION = "CASE expression"


def split_statements(text: str) -> list[str]:
    """Statements between top-level semicolons; strings, comments and SQL scripts are respected.

    >>> split_statements("SELECT ';'; BEGIN SELECT 1; SELECT 2; END; SELECT 3")
    ["SELECT ';'", 'BEGIN SELECT 1; SELECT 2; END', 'SELECT 3']
    """
    from sparkcep.sql.lexicon import tokenize

    tokens = tokenize(text)
    out: list[str] = []
    start = first = 0
    while first < len(tokens):
        end, _ = statement_end(tokens, first)
        stop = tokens[end].start if end < len(tokens) else len(text)
        if end > first:
            out.append(text[start:stop].strip())
        start = tokens[end].end if end < len(tokens) else len(text)
        first = end + 1
    return out


def is_complete(text: str) -> bool:
    """Whether a text ends with the semicolon of its last statement: none that a string, comment or script holds."""
    from sparkcep.errors import SparkCepError
    from sparkcep.sql.lexicon import tokenize

    try:
        tokens = tokenize(text)
    except SparkCepError:  # an open string or comment
        return False
    first, closed = 0, False
    while first < len(tokens):
        end, whole = statement_end(tokens, first)
        closed = whole and end < len(tokens)
        first = end + 1
    return closed


def statement_end(tokens: Sequence[Token], first: int) -> tuple[int, bool]:
    """Index of the semicolon that ends the statement at ``first`` (the number of tokens where there is none), and
    whether every block that the statement opens is closed before it."""
    script = _Script(tokens, first)
    for i in range(first, len(tokens)):
        if tokens[i].kind == "op" and tokens[i].upper == ";":
            script.semicolon()
            if not script.open:
                return i, True
        else:
            script.take(i)
    return len(tokens), not script.open


class _Script:
    """The blocks that are open while a statement is read.

    ``open``: their words, outermost first. ``begins``: the next token begins a statement. ``head``: the word that the
    statement begins with.

    BEGIN, END, IF, REPEAT and the like are no reserved words: they also name columns and functions. So a block opens
    and closes only where a statement may begin; END within a statement can only belong to a CASE expression.
    """

    def __init__(self, tokens: Sequence[Token], first: int) -> None:
        self.tokens = tokens
        self.open: list[str] = []
        self.begins = True
        self.head = ""
        self.skip = first

    def take(self, i: int) -> None:
        """Read the token at ``i``."""
        if i < self.skip:
            return
        word = self.tokens[i].upper if self.tokens[i].kind == "word" else ""
        begins, self.begins = self.begins, False
        if begins:
            if self.label(i):
                self.begins, self.skip = True, i + 2
                return
            self.head = word
        innermost = self.open[-1] if self.open else ""
        if innermost == _EXPRESSION or not begins:
            self.inside(i, word, innermost)
        elif word == "BEGIN":
            self.opened("BEGIN")
        elif word == "END" and self.open:
            self.closed(i)
        elif word in _CONTROLS and self.open:
            # The conditions of IF, WHILE and CASE, and the query of FOR, come before their first statement.
            self.open.append(word)
            self.begins = word in ("LOOP", "REPEAT")
        elif word in _LEADS_TO_STATEMENT and innermost in _LEADS_TO_STATEMENT[word]:
            self.begins = True  # ELSE behind a semicolon

    def semicolon(self) -> None:
        """The end of a statement, and so of what looked like an expression in it: CASE may be a name."""
        while self.open and self.open[-1] == _EXPRESSION:
            self.open.pop()
        self.begins = True

    def inside(self, i: int, word: str, innermost: str) -> None:
        """A token that does not begin a statement."""
        named = i > 0 and self.tokens[i - 1].upper == "."
        if not self.open and not self.opens_late(i, word):
            return
        if word == "CASE" and not named:
            self.open.append(_EXPRESSION)
        elif word == "END" and innermost == _EXPRESSION and not named:
            self.open.pop()
        elif word == "END" and innermost == "REPEAT" and self.head == "UNTIL":
            self.closed(i)
        elif word == "BEGIN" and self.opens_late(i, word):
            self.opened("BEGIN")
        elif innermost in _LEADS_TO_STATEMENT.get(word, ()):
            self.begins = True

    def opens_late(self, i: int, word: str) -> bool:
        """BEGIN behind DECLARE ... HANDLER FOR ..., and behind CREATE PROCEDURE ... AS."""
        if word != "BEGIN":
            return False
        if self.head == "DECLARE":
            return bool(self.open)
        if self.head != "CREATE" or self.tokens[i - 1].upper != "AS":
            return False
        return any(t.upper == "PROCEDURE" for t in self.tokens[max(0, i - 200) : i])

    def opened(self, word: str) -> None:
        self.open.append(word)
        self.begins = True

    def closed(self, i: int) -> None:
        """END of the innermost block: with its word, and the label, up to the semicolon."""
        self.open.pop()
        self.head = "END"
        following = self.tokens[i + 1].upper if i + 1 < len(self.tokens) else ""
        if following in _CONTROLS:
            self.skip = i + 2

    def label(self, i: int) -> bool:
        """Whether ``name:`` stands here."""
        after = i + 1
        return after < len(self.tokens) and self.tokens[i].kind in ("word", "quoted") and self.tokens[after].text == ":"
