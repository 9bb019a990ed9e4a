"""Statements of commands read by recursive descent: what those about indexes and those about tables share."""

from __future__ import annotations

from collections.abc import Mapping

from sparkcep.errors import PatternParseError
from sparkcep.sql.lexicon import Token


class CommandReader:
    """A command's tokens behind its verb.

    ``grammar``: the form of a statement by its verb, for hints. ``places``: gets character offsets of what an error may
    blame. ``options``: gets what WITH says.
    """

    def __init__(self, text: str, tokens: tuple[Token, ...], grammar: Mapping[str, str]) -> None:
        self.text = text
        end = len(tokens)
        while tokens[end - 1].upper == ";":
            end -= 1
        self.tokens = tokens[:end]
        verb = tokens[0].upper
        self.verb = "DESCRIBE" if verb == "DESC" else verb
        self.grammar = grammar
        self.at = 2
        self.places: dict[str, int] = {}
        self.options: dict[str, str] = {}

    def peek(self, ahead: int = 0) -> Token | None:
        """A token that comes next; None behind the last."""
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else None

    def is_word(self, word: str, ahead: int = 0) -> bool:
        """Whether a word comes next."""
        token = self.peek(ahead)
        return token is not None and token.upper == word

    def take(self, *words: str) -> bool:
        """Step over words if they come next."""
        if all(self.is_word(w, k) for k, w in enumerate(words)):
            self.at += len(words)
            return True
        return False

    def expect(self, word: str) -> None:
        """Step over a word, which must come next."""
        if not self.take(word):
            raise self.error(f"{word} is expected")

    def error(self, what: str, position: int | None = None) -> PatternParseError:
        """CEP_SYNTAX_ERROR with what comes next and the form of the statement; the caller raises it."""
        token = self.peek()
        if position is None:
            position = token.start if token else len(self.text.rstrip())
        found = f", not {self.text[token.start : token.end]}" if token and position == token.start else ""
        return PatternParseError(
            "CEP_SYNTAX_ERROR", f"{what}{found}.", text=self.text, position=position, hint=self.grammar[self.verb]
        )

    def name(self, what: str) -> str:
        """A name; ``what`` it is of."""
        token = self.peek()
        if token is None or token.kind not in ("word", "quoted"):
            raise self.error(f"{what} is expected")
        self.at += 1
        return token.text

    def place(self, *keys: str) -> None:
        """Note the place of what comes next."""
        token = self.peek()
        for key in keys:
            self.places[key] = token.start if token else len(self.text.rstrip())

    def hours(self) -> float:
        """RETAIN n HOURS, or a week."""
        if not self.take("RETAIN"):
            return 168
        self.place("retain")
        token = self.peek()
        if token is None or token.kind != "number" or not token.text.replace(".", "", 1).isdigit():
            raise self.error("a number of hours is expected")
        self.at += 1
        if not (self.take("HOURS") or self.take("HOUR")):
            raise self.error("HOURS is expected")
        return float(token.text)

    def is_extended(self) -> bool:
        """Whether EXTENDED comes next, which may be a name, as in Spark."""
        return self.is_word("EXTENDED") and self.peek(1) is not None and self.take("EXTENDED")

    def end(self) -> None:
        """See that the statement ends here."""
        if self.peek() is not None:
            raise self.error("the statement should end here")

    def read_options(self) -> None:
        """`(option = value, ...)`."""
        self.expect("(")
        while True:
            token = self.peek()
            name = self.name("an option")
            assert token is not None
            key = f"option:{name.lower()}"
            if key in self.places:
                raise self.error(f"{name} is given twice", token.start)
            self.places[key] = token.start
            self.expect("=")
            self.options[name] = self.value()
            if self.take(")"):
                break
            if not self.take(","):
                raise self.error("a comma or ) is expected")

    def value(self) -> str:
        """The value of an option."""
        token = self.peek()
        if token is None or token.kind not in ("string", "number", "word"):
            raise self.error("a string or a number is expected")
        self.at += 1
        return token.text
