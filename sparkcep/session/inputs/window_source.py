"""A SELECT whose windows have patterns: what its FROM and WHERE give, by which names, and what its windows read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from sparkcep.errors import PatternAnalysisError, near_hint
from sparkcep.query import PREFIX, folded, quote
from sparkcep.session.messages.spark_errors import outer_reference
from sparkcep.session.planning import OccurrencePlanner
from sparkcep.sql.rewriter import InputSql
from sparkcep.sql.statement import PatternOccurrence, Statement, WindowedSelect
from sparkcep.sql.token_text import Range
from sparkcep.sql.windows.parser import WindowSyntax
from sparkcep.sql.windows.sides import UsedSide, alone_at, by_schema, used_sides, variables_of

#: How columns are named that the user has no name for.
OWN = PREFIX + "column"


@dataclass(frozen=True, slots=True)
class WindowedInput:
    """The rows that the windows of a SELECT see.

    Args:
        text: the query that reads them. frame: its rows.
        sides: columns with those of one relation of FROM each, a struct by the relation's name, so that `l.v` is read.
        shown: names that Spark shows for columns which the query had to name otherwise.
        names: of items of the SELECT list that get theirs from their text.
        computed: where text begins that a column stands for, and the token behind it.
        notes: what EXPLAIN says.
    """

    text: InputSql
    frame: DataFrame
    sides: tuple[str, ...] = ()
    shown: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[Range, str] = field(default_factory=dict)
    computed: Mapping[int, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SelectReader:
    """Reads a SELECT with windows: its relations, their columns, and queries over them. ``windows``: what each holds,
    by where it stands."""

    planner: OccurrencePlanner
    form: PatternOccurrence
    windows: Mapping[int, WindowSyntax]

    @property
    def windowed(self) -> WindowedSelect:
        """The SELECT."""
        assert self.form.windowed is not None
        return self.form.windowed

    def fold(self, name: str) -> str:
        """A name as names are compared."""
        return folded(name, self.planner.settings.case_sensitive)

    def text(self, low: int, high: int) -> str:
        """A range of tokens as the rewriter leaves it."""
        return self.planner.rewriter.tokens_text(low, high)

    @property
    def source(self) -> str:
        """FROM, without the word, and WHERE."""
        return self.text(self.windowed.source + 1, self.windowed.source_end)

    def query(self, items: Iterable[str], source: str = "") -> str:
        """SELECT of items over FROM and WHERE, or over another source."""
        return self.planner.rewriter.query_over(self.form, source or self.source, ", ".join(items))

    def columns(self, items: str = "*") -> list[str]:
        """Names of columns of FROM."""
        return self.planner.analyzer.run(self.query([items])).columns

    def all_columns(self) -> list[str]:
        """Names of all columns of FROM, as a star has them.

        Raises:
            PatternAnalysisError: CEP_CORRELATED_INPUT, CEP_RESERVED_COLUMN.
        """
        try:
            columns = self.columns()
        except AnalysisException as error:
            raise outer_reference(self.planner.statement, self.form, error) or error from None
        for name in columns:
            if name.casefold().startswith(PREFIX):
                raise self.error("CEP_RESERVED_COLUMN", f"Column {name} has the reserved prefix {PREFIX}.", None)
        return columns

    def error(self, error_class: str, message: str, token: int | None, hint: str = "") -> PatternAnalysisError:
        """A refusal with a place; the caller raises it."""
        s = self.planner.statement
        position = self.form.start if token is None else s.tokens[token].start
        return PatternAnalysisError(error_class, message, text=s.text, position=position, hint=hint or None)

    def sides(self, top: Iterable[str], without: Iterable[int] = ()) -> dict[str, tuple[UsedSide, list[str]]]:
        """Relations of FROM by which the SELECT names columns, with the columns that it names.

        Args:
            top: names that need no relation's. without: tokens that do not count.

        Raises:
            PatternAnalysisError: CEP_WINDOW_QUERY, CEP_UNRESOLVED_COLUMN.
        """
        s, taken = self.planner.statement, {self.fold(c) for c in top}
        without = frozenset(without)
        if (schema := by_schema(s, self.windowed, without)) is not None:
            name = self.planner.statement.text[s.tokens[schema].start : s.tokens[schema + 4].end]
            raise self.error(
                "CEP_WINDOW_QUERY",
                f"Beside a window with a pattern, {name} cannot name its table by the schema.",
                schema,
                f"give the table an alias: {s.tokens[schema].text}.{s.tokens[schema + 2].text} AS t",
            )
        variables = frozenset[str]().union(*map(variables_of, self.windows.values()))
        found: dict[str, tuple[UsedSide, list[str]]] = {}
        for side in used_sides(s, self.windowed, self.fold, without).values():
            name = s.tokens[side.token].text
            try:
                own = self.columns(f"{quote(name)}.*")
            except AnalysisException:  # a name of something else, or a relation that its join does not give
                continue
            if self.fold(name) in taken:
                if self.is_struct(name, own):
                    continue
                raise self.error(
                    "CEP_WINDOW_QUERY",
                    f"{name} is a relation of FROM and a column.",
                    side.token,
                    "give the relation another alias",
                )
            known = {self.fold(c) for c in own}
            for k in side.outside:
                if self.fold(s.tokens[k].text) not in known and name.upper() not in variables:
                    raise self.error(
                        "CEP_UNRESOLVED_COLUMN",
                        f"{name} has no column {s.tokens[k].text}.",
                        k,
                        near_hint(s.tokens[k].text, own, f"its columns are {', '.join(own)}"),
                    )
            if (alone := alone_at(s, self.windowed, name, self.fold, without)) is not None:
                raise self.error("CEP_UNRESOLVED_COLUMN", f"{name} is a relation, not a column.", alone, f"{name}.*")
            named = own if side.star else [c for c in own if self.fold(c) in side.fields]
            if named:
                found[name] = side, named
        return found

    def is_struct(self, name: str, columns: list[str]) -> bool:
        """Whether a column that has a relation's name is a struct with the same fields."""
        rows = self.query(["*"])
        try:
            return self.planner.analyzer.run(f"SELECT {quote(name)}.* FROM ({rows})").columns == columns
        except AnalysisException:
            return False

    def struct(self, name: str, side: UsedSide, columns: Iterable[str]) -> str:
        """Columns of a relation as a struct."""
        own = [f"{quote(name)}.*"] if side.star else [f"{quote(name)}.{quote(c)}" for c in columns]
        return f"struct({', '.join(own)})"

    def named(self, query: str, names: Iterable[str], items: str = "*") -> InputSql:
        """A query's rows with other names, one for each of its columns, of which the outer query may take some."""
        return InputSql(f"SELECT {items} FROM ({query}) AS {PREFIX}rows({', '.join(map(quote, names))})")


def is_star(s: Statement, low: int) -> bool:
    """Whether an item of a SELECT list is a star, of all columns or of a relation's."""
    while s.operator(low + 1) == ".":
        low += 2
    return s.operator(low) == "*"
