"""Commands about pattern indexes and pattern tables, recognised by a cheap test and read by recursive descent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from sparkcep.errors import PatternParseError
from sparkcep.sql.lexicon import Token, tokenize


@dataclass(slots=True)
class Command:
    """A command as read. ``places``: character offsets of what an error may blame."""

    verb: str
    name: str = ""
    full: bool = False
    extended: bool = False
    if_exists: bool = False
    retain_hours: float = 168
    places: dict[str, int] = field(default_factory=dict)


C = TypeVar("C", bound=Command)


@dataclass(frozen=True, slots=True)
class CommandText:
    """The text of a command: its tokens, the place of the noun in them, and REFRESH or REPLACE of CREATE OR."""

    text: str
    tokens: tuple[Token, ...]
    noun: int
    existing: str = ""

    @property
    def verb(self) -> str:
        """What it does, without abbreviation."""
        verb = self.tokens[0].upper
        return "DESCRIBE" if verb == "DESC" else verb


def mentions(text: str, noun: str) -> bool:
    """Whether a text can be a command about a noun. If not, it is never tokenised."""
    low = text.lower()
    at = low.find("pattern")
    return at >= 0 and low.find(noun.lower(), at) >= 0


def command_text(
    text: str, noun: str, plural: str, verbs: Collection[str], create_or: Collection[str] = ()
) -> CommandText | None:
    """A text that is a command about a noun; None: it is another statement.

    Args:
        noun, plural: of what the command is about, upper case. verbs: also behind DESC for DESCRIBE. create_or: words
            that may follow CREATE OR.
    """
    if not mentions(text, noun):
        return None
    try:
        tokens = tokenize(text)
    except PatternParseError:
        return None  # Spark says better what is wrong with a statement that may be its own
    words = [token.upper for token in tokens[:5]]
    existing = words[2] if words[:2] == ["CREATE", "OR"] and set(words[2:3]) & set(create_or) else ""
    place = 4 if existing else 2
    known = set(words[:1]) & set(verbs)
    if not known or words[place - 1 : place] != ["PATTERN"] or words[place : place + 1] not in ([noun], [plural]):
        return None
    return CommandText(text, tokens, place, existing)


class CommandReader(Generic[C]):
    """Reads a command's tokens from the noun on into ``out``.

    ``grammar``: the form of a statement by its verb, for hints. ``what``: the command is about, with an article.
    """

    grammar: Mapping[str, str] = {}
    what = ""

    def __init__(self, command: CommandText, out: C) -> None:
        end = len(command.tokens)
        while command.tokens[end - 1].upper == ";":
            end -= 1
        self.text = command.text
        self.tokens = command.tokens[:end]
        self.verb = command.verb
        self.at = command.noun
        self.out = out
        self.places = out.places

    def read(self, noun: str, plural: str) -> C:
        """The whole command.

        Raises:
            PatternParseError: CEP_SYNTAX_ERROR, with the form of the statement as hint.
        """
        self.expect(plural if self.verb == "SHOW" else noun)
        getattr(self, f"read_{self.verb.lower()}")()
        if self.peek() is not None:
            raise self.error("the statement should end here")
        return self.out

    # -- commands ------------------------------------------------------------------------------------------------------

    def read_name(self) -> None:
        """The name of what the command is about."""
        self.place("name")
        self.out.name = self.name(f"{self.what}'s name")

    def read_show(self) -> None:
        """SHOW has no name."""

    def read_refresh(self) -> None:
        """REFRESH ... [FULL]."""
        self.read_name()
        self.out.full = self.take("FULL")

    def read_optimize(self) -> None:
        """OPTIMIZE ..."""
        self.read_name()

    def read_describe(self) -> None:
        """DESCRIBE ... [EXTENDED], which may be a name, as in Spark."""
        self.out.extended = self.is_word("EXTENDED") and self.peek(1) is not None and self.take("EXTENDED")
        self.read_name()

    def read_drop(self) -> None:
        """DROP ... [IF EXISTS]."""
        self.out.if_exists = self.take("IF", "EXISTS")
        self.read_name()

    def read_vacuum(self) -> None:
        """VACUUM ... [RETAIN n HOURS]."""
        self.read_name()
        if not self.take("RETAIN"):
            return
        self.place("retain")
        token = self.peek()
        if token is None or token.kind != "number" or not token.text.replace(".", "", 1).isdigit():
            raise self.error("a number of hours is expected")
        self.at += 1
        self.out.retain_hours = float(token.text)
        if not (self.take("HOURS") or self.take("HOUR")):
            raise self.error("HOURS is expected")

    # -- tokens --------------------------------------------------------------------------------------------------------

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
