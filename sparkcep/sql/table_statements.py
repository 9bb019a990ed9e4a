"""Statements about pattern tables: recognised by a cheap test, read by recursive descent."""

from __future__ import annotations

from dataclasses import dataclass, field

from sparkcep.errors import PatternParseError
from sparkcep.sql.command_reader import CommandReader
from sparkcep.sql.lexicon import Token, tokenize

_VERBS = frozenset("CREATE REFRESH OPTIMIZE SHOW DESCRIBE DESC DROP VACUUM".split())
_GRAMMAR = {
    "CREATE": "CREATE [OR REFRESH | OR REPLACE] PATTERN TABLE [IF NOT EXISTS] name [COMMENT '...'] AS query",
    "REFRESH": "REFRESH PATTERN TABLE name [FULL]",
    "OPTIMIZE": "OPTIMIZE PATTERN TABLE name",
    "SHOW": "SHOW PATTERN TABLES",
    "DESCRIBE": "DESCRIBE PATTERN TABLE [EXTENDED] name",
    "DROP": "DROP PATTERN TABLE [IF EXISTS] name",
    "VACUUM": "VACUUM PATTERN TABLE name [RETAIN n HOURS]",
}


@dataclass(slots=True)
class TableStatement:
    """A statement as read. ``query``: the text behind AS; ``existing``: what becomes of a table that is there: REFRESH,
    REPLACE, or empty. ``places``: character offsets of what an error may blame."""

    verb: str
    name: str = ""
    query: str = ""
    existing: str = ""
    comment: str = ""
    full: bool = False
    extended: bool = False
    if_exists: bool = False
    retain_hours: float = 168
    places: dict[str, int] = field(default_factory=dict)


def mentions_table(text: str) -> bool:
    """Whether the text can be one of these statements. If not, it is never tokenised."""
    low = text.lower()
    at = low.find("pattern")
    return at >= 0 and low.find("table", at) >= 0


def read_table_statement(text: str) -> TableStatement | None:
    """Read a statement about pattern tables; None: it is another statement.

    Raises:
        PatternParseError: CEP_SYNTAX_ERROR, with the form of the statement as hint.
    """
    try:
        tokens = tokenize(text)
    except PatternParseError:
        return None  # Spark says better what is wrong with a statement that may be its own
    words = [token.upper for token in tokens[:5]]
    existing = words[2] if words[:2] == ["CREATE", "OR"] and words[2:3] in (["REFRESH"], ["REPLACE"]) else ""
    at = 3 if existing else 1
    if not words or words[0] not in _VERBS or words[at : at + 1] != ["PATTERN"]:
        return None
    return _Reader(text, tokens, existing).statement() if words[at + 1 : at + 2] in (["TABLE"], ["TABLES"]) else None


class _Reader(CommandReader):
    def __init__(self, text: str, tokens: tuple[Token, ...], existing: str) -> None:
        super().__init__(text, tokens, _GRAMMAR)
        self.at = 4 if existing else 2
        self.out = TableStatement(self.verb, existing=existing, places=self.places)

    def statement(self) -> TableStatement:
        self.expect("TABLES" if self.verb == "SHOW" else "TABLE")
        if self.verb != "SHOW":
            getattr(self, f"read_{self.verb.lower()}", self.table_name)()
        self.end()
        return self.out

    def table_name(self) -> None:
        self.place("name")
        parts = [self.name("the pattern table's name")]
        while self.take("."):
            parts.append(self.name("a name"))
        self.out.name = ".".join(parts)

    def read_create(self) -> None:
        self.out.if_exists = not self.out.existing and self.take("IF", "NOT", "EXISTS")
        self.table_name()
        if self.take("COMMENT"):
            token = self.peek()
            if token is None or token.kind != "string":
                raise self.error("a string is expected")
            self.at, self.out.comment = self.at + 1, token.text
        self.expect("AS")
        token = self.peek()
        if token is None:
            raise self.error("a query with a pattern is expected")
        self.place("query")
        self.out.query = self.text[token.start : self.tokens[-1].end]
        self.at = len(self.tokens)

    def read_refresh(self) -> None:
        self.table_name()
        self.out.full = self.take("FULL")

    def read_describe(self) -> None:
        self.out.extended = self.is_extended()
        self.table_name()

    def read_drop(self) -> None:
        self.out.if_exists = self.take("IF", "EXISTS")
        self.table_name()

    def read_vacuum(self) -> None:
        self.table_name()
        self.out.retain_hours = self.hours()
