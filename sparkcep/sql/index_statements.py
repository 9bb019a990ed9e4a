"""Statements about pattern indexes."""

from __future__ import annotations

from dataclasses import dataclass, field

from sparkcep.sql.command_reader import Command, CommandReader, command_text

_VERBS = frozenset("CREATE REFRESH OPTIMIZE SHOW DESCRIBE DESC ALTER DROP VACUUM ANALYZE".split())
_GRAMMAR = {
    "CREATE": "CREATE PATTERN INDEX [IF NOT EXISTS] name ON table (CASE c, TIME t [, TIEBREAK p], EVENT e) "
    "[INCLUDE (columns)] [USING kind] [WITH (option = value, ...)]",
    "REFRESH": "REFRESH PATTERN INDEX name [FULL]",
    "OPTIMIZE": "OPTIMIZE PATTERN INDEX name",
    "SHOW": "SHOW PATTERN INDEXES [ON table]",
    "DESCRIBE": "DESCRIBE PATTERN INDEX [EXTENDED] name",
    "ALTER": "ALTER PATTERN INDEX name SET (option = value, ...)",
    "DROP": "DROP PATTERN INDEX [IF EXISTS] name",
    "VACUUM": "VACUUM PATTERN INDEX name [RETAIN n HOURS]",
    "ANALYZE": "ANALYZE PATTERN INDEX name",
}
ROLES = ("case", "time", "tiebreak", "event")


@dataclass(slots=True)
class IndexStatement(Command):
    """A statement about an index as read."""

    source: tuple[str, ...] = ()
    columns: dict[str, str] = field(default_factory=dict)
    include: tuple[str, ...] = ()
    kind: str = "siesta"
    options: dict[str, str] = field(default_factory=dict)


def read_index_statement(text: str) -> IndexStatement | None:
    """Read a statement about pattern indexes; None: it is another statement.

    Raises:
        PatternParseError: CEP_SYNTAX_ERROR, with the form of the statement as hint.
    """
    found = command_text(text, "INDEX", "INDEXES", _VERBS)
    return None if found is None else _Reader(found, IndexStatement(found.verb)).read("INDEX", "INDEXES")


class _Reader(CommandReader[IndexStatement]):
    grammar = _GRAMMAR
    what = "the index"

    def read_create(self) -> None:
        self.out.if_exists = self.take("IF", "NOT", "EXISTS")
        self.read_name()
        self.expect("ON")
        self.source()
        self.expect("(")
        self.roles()
        if self.take("INCLUDE"):
            self.place("include")
            self.include()
        if self.take("USING"):
            self.place("using")
            self.out.kind = self.name("siesta, signature or set_containment")
        if self.take("WITH"):
            self.read_options()

    def read_show(self) -> None:
        if self.take("ON"):
            self.source()

    def read_alter(self) -> None:
        self.read_name()
        self.expect("SET")
        self.read_options()

    def read_analyze(self) -> None:
        self.read_name()

    # -- parts ---------------------------------------------------------------------------------------------------------

    def source(self) -> None:
        self.place("source")
        parts = [self.name("a table or format.`path`")]
        while self.take("."):
            parts.append(self.name("a name"))
        self.out.source = tuple(parts)

    def roles(self) -> None:
        opened = self.tokens[self.at - 1].start
        while True:
            token = self.peek()
            role = token.upper.lower() if token else ""
            if role not in ROLES:
                raise self.error("CASE, TIME, TIEBREAK or EVENT is expected")
            if role in self.out.columns:
                raise self.error(f"{role.upper()} is given twice")
            self.at += 1
            self.place(role)
            self.out.columns[role] = self.name("a column")
            if self.take(")"):
                break
            if not self.take(","):
                raise self.error("a comma or ) is expected")
        for role in ("case", "time", "event"):
            if role not in self.out.columns:
                raise self.error(f"{role.upper()} is missing", opened)

    def include(self) -> None:
        self.expect("(")
        columns = []
        while True:
            token = self.peek()
            name = self.name("a column")
            columns.append(name)
            self.places[f"include:{name}"] = token.start if token else 0
            if self.take(")"):
                break
            if not self.take(","):
                raise self.error("a comma or ) is expected")
        self.out.include = tuple(columns)

    def read_options(self) -> None:
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
            self.out.options[name] = self.value()
            if self.take(")"):
                break
            if not self.take(","):
                raise self.error("a comma or ) is expected")

    def value(self) -> str:
        token = self.peek()
        if token is None or token.kind not in ("string", "number", "word"):
            raise self.error("a string or a number is expected")
        self.at += 1
        return token.text
