"""Statements about pattern indexes: recognised by a cheap test, read by recursive descent."""

from __future__ import annotations

from dataclasses import dataclass, field

from sparkcep.errors import PatternParseError
from sparkcep.sql.command_reader import CommandReader
from sparkcep.sql.lexicon import Token, tokenize

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
class IndexStatement:
    """A statement as read. ``places``: character offsets of what an error may blame."""

    verb: str
    name: str = ""
    source: tuple[str, ...] = ()
    columns: dict[str, str] = field(default_factory=dict)
    include: tuple[str, ...] = ()
    kind: str = "siesta"
    options: dict[str, str] = field(default_factory=dict)
    full: bool = False
    extended: bool = False
    if_exists: bool = False
    retain_hours: float = 168
    places: dict[str, int] = field(default_factory=dict)


def mentions_index(text: str) -> bool:
    """Whether the text can be one of these statements. If not, it is never tokenised."""
    low = text.lower()
    at = low.find("pattern")
    return at >= 0 and low.find("index", at) >= 0


def read_index_statement(text: str) -> IndexStatement | None:
    """Read a statement about pattern indexes; None: it is another statement.

    Raises:
        PatternParseError: CEP_SYNTAX_ERROR, with the form of the statement as hint.
    """
    try:
        tokens = tokenize(text)
    except PatternParseError:
        return None  # Spark says better what is wrong with a statement that may be its own
    if len(tokens) < 3 or tokens[0].upper not in _VERBS or tokens[1].upper != "PATTERN":
        return None
    if tokens[2].upper not in ("INDEX", "INDEXES"):
        return None
    return _Reader(text, tokens).statement()


class _Reader(CommandReader):
    def __init__(self, text: str, tokens: tuple[Token, ...]) -> None:
        super().__init__(text, tokens, _GRAMMAR)
        self.out = IndexStatement(self.verb, places=self.places, options=self.options)

    def statement(self) -> IndexStatement:
        self.expect("INDEXES" if self.verb == "SHOW" else "INDEX")
        getattr(self, f"read_{self.verb.lower()}")()
        self.end()
        return self.out

    def index_name(self) -> None:
        self.place("name")
        self.out.name = self.name("the index's name")

    def read_create(self) -> None:
        self.out.if_exists = self.take("IF", "NOT", "EXISTS")
        self.index_name()
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

    def read_refresh(self) -> None:
        self.index_name()
        self.out.full = self.take("FULL")

    def read_optimize(self) -> None:
        self.index_name()

    def read_show(self) -> None:
        if self.take("ON"):
            self.source()

    def read_describe(self) -> None:
        self.out.extended = self.is_extended()
        self.index_name()

    def read_alter(self) -> None:
        self.index_name()
        self.expect("SET")
        self.read_options()

    def read_drop(self) -> None:
        self.out.if_exists = self.take("IF", "EXISTS")
        self.index_name()

    def read_vacuum(self) -> None:
        self.index_name()
        self.out.retain_hours = self.hours()

    def read_analyze(self) -> None:
        self.index_name()

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
