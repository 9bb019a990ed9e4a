"""Statements about pattern tables."""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.sql.command_reader import Command, CommandReader, command_text

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
class TableStatement(Command):
    """A statement about a table as read. ``query``: the text behind AS; ``existing``: what becomes of a table that is
    there: REFRESH, REPLACE, or empty."""

    query: str = ""
    existing: str = ""
    comment: str = ""


def read_table_statement(text: str) -> TableStatement | None:
    """Read a statement about pattern tables; None: it is another statement.

    Raises:
        PatternParseError: CEP_SYNTAX_ERROR, with the form of the statement as hint.
    """
    found = command_text(text, "TABLE", "TABLES", _VERBS, create_or=("REFRESH", "REPLACE"))
    if found is None:
        return None
    return _Reader(found, TableStatement(found.verb, existing=found.existing)).read("TABLE", "TABLES")


class _Reader(CommandReader[TableStatement]):
    grammar = _GRAMMAR
    what = "the pattern table"

    def read_name(self) -> None:
        super().read_name()
        while self.take("."):
            self.out.name += f".{self.name('a name')}"

    def read_create(self) -> None:
        self.out.if_exists = not self.out.existing and self.take("IF", "NOT", "EXISTS")
        self.read_name()
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
