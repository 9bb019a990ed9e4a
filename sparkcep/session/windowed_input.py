"""What windows with patterns read where their SELECT joins relations or groups rows: a subquery of its FROM, WHERE,
GROUP BY and HAVING, as the user would write it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from sparkcep.errors import PatternAnalysisError, near_name
from sparkcep.planner.fields import quote
from sparkcep.query import PREFIX
from sparkcep.session.planning import OccurrencePlanner
from sparkcep.session.spark_errors import outer_reference
from sparkcep.sql.correlation import is_name
from sparkcep.sql.rewriter import InputSql
from sparkcep.sql.scalars import is_aggregate
from sparkcep.sql.statement import PatternOccurrence, Statement, WindowedSelect
from sparkcep.sql.windows.grouping import GroupedParts, grouped_by, plain_names, same_text
from sparkcep.sql.windows.parser import WindowSyntax
from sparkcep.sql.windows.selected import expression_end, plain_windows, select_items
from sparkcep.sql.windows.sides import UsedSide, alone_at, by_schema, in_several, used_sides, variables_of

Range = tuple[int, int]
#: How columns are named that the user has no name for.
_OWN = PREFIX + "column"


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


@dataclass(slots=True)
class _Column:
    """A column of the subquery: its expression, the name that the windows know it by, and its place in the text."""

    sql: str
    name: str
    spans: list[Range] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Reader:
    planner: OccurrencePlanner
    form: PatternOccurrence
    windows: Mapping[int, WindowSyntax]

    @property
    def windowed(self) -> WindowedSelect:
        assert self.form.windowed is not None
        return self.form.windowed

    def fold(self, name: str) -> str:
        return name if self.planner.settings.case_sensitive else name.casefold()

    def text(self, low: int, high: int) -> str:
        return self.planner.rewriter.tokens_text(low, high)

    @property
    def source(self) -> str:
        """FROM, without the word, and WHERE."""
        return self.text(self.windowed.source + 1, self.windowed.source_end)

    def query(self, items: Iterable[str], source: str = "") -> str:
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
                    near = near_name(s.tokens[k].text, own)
                    raise self.error(
                        "CEP_UNRESOLVED_COLUMN",
                        f"{name} has no column {s.tokens[k].text}.",
                        k,
                        f"did you mean {near}?" if near else f"its columns are {', '.join(own)}",
                    )
            if (alone := alone_at(s, self.windowed, name, self.fold, without)) is not None:
                raise self.error("CEP_UNRESOLVED_COLUMN", f"{name} is a relation, not a column.", alone, f"{name}.*")
            named = own if side.star else [c for c in own if self.fold(c) in side.fields]
            if named:
                found[name] = side, named
        return found

    def is_struct(self, name: str, own: list[str]) -> bool:
        """Whether a column that has a relation's name is a struct with the same fields."""
        rows = self.query(["*"])
        try:
            return self.planner.analyzer.run(f"SELECT {quote(name)}.* FROM ({rows})").columns == own
        except AnalysisException:
            return False

    def struct(self, name: str, side: UsedSide, columns: Iterable[str]) -> str:
        own = [f"{quote(name)}.*"] if side.star else [f"{quote(name)}.{quote(c)}" for c in columns]
        return f"struct({', '.join(own)})"

    def named(self, query: str, names: Iterable[str], items: str = "*") -> InputSql:
        """A query's rows with other names, one for each of its columns, of which the outer query may take some."""
        return InputSql(f"SELECT {items} FROM ({query}) AS {PREFIX}rows({', '.join(map(quote, names))})")


def windowed_input(
    planner: OccurrencePlanner, form: PatternOccurrence, windows: Mapping[int, WindowSyntax]
) -> WindowedInput:
    """What the windows of a SELECT see, where it joins relations or groups rows. What of the text its columns stand for
    reads so from now on.

    Raises:
        PatternAnalysisError: CEP_WINDOW_QUERY, CEP_UNRESOLVED_COLUMN, CEP_CORRELATED_INPUT, CEP_RESERVED_COLUMN.
    """
    assert form.windowed is not None
    reader = _Reader(planner, form, windows)
    return _joined(reader) if form.windowed.grouped is None else _Grouping(reader).read()


# -- joins -----------------------------------------------------------------------------------------------------------


def _joined(reader: _Reader) -> WindowedInput:
    """The rows of FROM and WHERE: columns by their names, and once more by those relations that they are read by.

    Raises:
        PatternAnalysisError: CEP_DUPLICATE_COLUMN.
    """
    s = reader.planner.statement
    columns = reader.all_columns()
    sides = reader.sides(columns)
    count = Counter(map(reader.fold, columns))
    several = in_several(s, reader.windows.values(), [name for name, n in count.items() if n > 1], reader.fold)
    if several is not None:
        name = s.tokens[several].text
        raise reader.error(
            "CEP_DUPLICATE_COLUMN",
            f"Several relations of FROM have a column {name}.",
            several,
            f"write the name of one before it, as in t.{name}",
        )
    names = [f"{_OWN}{n}" if count[reader.fold(c)] > 1 else c for n, c in enumerate(columns)]
    shown = {own: c for own, c in zip(names, columns, strict=True) if own != c}
    structs = [f"{reader.struct(name, *side)} AS {quote(name)}" for name, side in sides.items()]
    query = reader.query(["*", *structs])
    text = reader.named(query, [*names, *sides]) if shown else InputSql(query)
    frame = reader.planner.analyzer.analyzed(text.text)
    names_of = _item_names(reader)
    return WindowedInput(
        text, frame, tuple(sides), shown, names_of, notes=("windows see the rows of FROM as a subquery gives them",)
    )


def _item_names(reader: _Reader) -> dict[Range, str]:
    """Items of the SELECT list with the names that Spark makes of their text: of `l.v + 1` it leaves `l` out.

    Raises:
        PatternAnalysisError: CEP_WINDOW_QUERY.
    """
    s, windowed = reader.planner.statement, reader.windowed
    unnamed = [
        (low, high)
        for low, high in select_items(s, windowed)
        if any(s.operator(k) == "." for k in range(low, high))
        and expression_end(s, low, high) == high
        and not is_name(s, low, high)
        and not _is_star(s, low)
        and not any(low <= c.low < high for c in windowed.calls)
    ]
    if not unnamed:
        return {}
    try:
        names = reader.columns(", ".join(reader.text(*span) for span in unnamed))
    except AnalysisException as error:
        if not (error.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
            raise
        names = []
    if len(names) != len(unnamed):
        raise reader.error(
            "CEP_WINDOW_QUERY",
            "The name of this column depends on more than FROM.",
            unnamed[0][0],
            "give it one: AS name",
        )
    return dict(zip(unnamed, names, strict=True))


def _is_star(s: Statement, low: int) -> bool:
    """Whether an item of a SELECT list is a star, of all columns or of a relation's."""
    while s.operator(low + 1) == ".":
        low += 2
    return s.operator(low) == "*"


# -- groups ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Grouping:
    """Reads the rows that GROUP BY and HAVING give: items of the SELECT list that no window is called in, grouped
    columns by their names, and a column for each other part of the text that they compute."""

    reader: _Reader
    columns: list[_Column] = field(default_factory=list)

    @property
    def s(self) -> Statement:
        return self.reader.planner.statement

    def read(self) -> WindowedInput:
        """The rows, and the text's edits.

        Raises:
            PatternAnalysisError: see :func:`windowed_input`.
        """
        reader, s, windowed = self.reader, self.s, self.reader.windowed
        every = {reader.fold(c) for c in reader.all_columns()}
        items = list(select_items(s, windowed))
        self.check_items(items)
        by_all = self.by_all(items)
        elements = [self.element(span, items) for span in grouped_by(s, windowed)] if by_all is None else by_all
        visible = self.visible(elements, every)
        parts = self.parts(elements, every, visible, items)
        self.add_items(items, every)
        for found in visible.values():
            single = len({same_text(s, *span) for span in found}) == 1
            for span in found[:1] if single else found:
                self.add(reader.text(*span), s.tokens[span[1] - 1].text if single else "")
        covered = {k for low, high in [*parts, *(i for i in items if not self.is_called(i))] for k in range(low, high)}
        sides = reader.sides([c.name for c in self.columns], covered)
        known = {name: (side, [c for c in own if reader.fold(c) in visible]) for name, (side, own) in sides.items()}
        for name, (side, own) in known.items():
            if own:
                side.star = False
                self.add(reader.struct(name, side, own), name)
        texts: dict[tuple[str, ...], _Column] = {}
        for low, high in parts:
            key = same_text(s, low, high)
            if key not in texts:
                texts[key] = self.add(reader.text(low, high))
            texts[key].spans.append((low, high))
        source = self.source(by_all)
        query = reader.query([c.sql for c in self.columns], source)
        names = self.names(query, [c.sql for c in self.columns[: len(items)]], source)
        empty = {n for n, span in enumerate(items) if self.is_called(span)}
        filled = [quote(c.name) for n, c in enumerate(self.columns) if n not in empty]
        text = reader.named(query, [c.name for c in self.columns], ", ".join(filled) or "1")
        frame = reader.planner.analyzer.analyzed(text.text)
        self.edit(items, names)
        computed = dict(parts)
        return WindowedInput(text, frame, computed=computed, notes=("windows see the groups as a subquery gives them",))

    def add(self, sql: str, name: str = "") -> _Column:
        """Another column of the subquery, with a name of ours where the user has none for it."""
        own = f"{_OWN}{len(self.columns)}"
        column = _Column(f"{sql} AS {own}", name or own)
        self.columns.append(column)
        return column

    def is_called(self, span: Range) -> bool:
        """Whether a window with a pattern is called in a range of tokens."""
        return any(span[0] <= c.low < span[1] for c in self.reader.windowed.calls)

    def check_items(self, items: list[Range]) -> None:
        """Refuse a star, whose columns nobody knows before.

        Raises:
            PatternAnalysisError: CEP_WINDOW_QUERY.
        """
        for low, _ in items:
            if _is_star(self.s, low):
                raise self.reader.error(
                    "CEP_WINDOW_QUERY",
                    "A star cannot stand beside GROUP BY and a window with a pattern.",
                    low,
                    "name its columns",
                )

    def element(self, span: Range, items: list[Range]) -> Range:
        """An expression of GROUP BY, or the item of the SELECT list whose number stands there.

        Raises:
            PatternAnalysisError: CEP_WINDOW_QUERY.
        """
        low, high = span
        token = self.s.tokens[low]
        if high - low > 1 or token.kind != "number" or not token.text.isdecimal():
            return span
        if not 0 < int(token.text) <= len(items):
            return span
        item = items[int(token.text) - 1]
        if self.is_called(item):
            raise self.reader.error("CEP_WINDOW_QUERY", "GROUP BY comes before windows; this column calls one.", low)
        return item[0], expression_end(self.s, *item)

    def visible(self, elements: list[Range], every: Collection[str]) -> dict[str, list[Range]]:
        """Grouped columns by their folded names; several of a name are of several relations."""
        s, found = self.s, dict[str, list[Range]]()
        for low, high in plain_names(s, elements):
            fold = self.reader.fold
            if fold(s.tokens[high - 1].text) in every and (high - low == 1 or fold(s.tokens[low].text) not in every):
                found.setdefault(fold(s.tokens[high - 1].text), []).append((low, high))
        return found

    def parts(
        self, elements: list[Range], every: Collection[str], visible: Collection[str], items: list[Range]
    ) -> list[Range]:
        """Ranges of tokens that a column is to stand for, each once; see :class:`GroupedParts`."""
        reader, s, windowed = self.reader, self.s, self.reader.windowed
        assert windowed.grouped is not None
        fold = reader.fold
        whole = {
            same_text(s, low, high)
            for low, high in elements
            if not (is_name(s, low, high) and fold(s.tokens[high - 1].text) in visible)
            and not (high - low == 1 and (s.tokens[low].kind != "word" or fold(s.tokens[low].text) not in every))
        }
        own = {a.name for a in reader.planner.settings.own_aggregates}
        finder = GroupedParts(
            s, windowed, whole, lambda _, name: fold(name) in every and fold(name) not in visible, own
        )
        found = dict.fromkeys(finder.of_windows(reader.windows))
        for low, high in items:
            if self.is_called((low, high)):
                found |= dict.fromkeys(finder.find(low, expression_end(s, low, high)))
        clause = windowed.clause or (windowed.grouped[1], windowed.grouped[1])
        for low, high in ((windowed.grouped[1], clause[0]), (clause[1], windowed.end)):
            found |= dict.fromkeys(finder.find(low, high))
        return list(found)

    def add_items(self, items: list[Range], every: Collection[str]) -> None:
        """Columns for the items of the SELECT list, at their places, which GROUP BY may count: those that call windows
        leave theirs empty. The name that one has is known to windows where no column of FROM has it."""
        s, reader = self.s, self.reader
        aliases = [reader.fold(s.tokens[h - 1].text) if expression_end(s, a, h) < h else "" for a, h in items]
        for (low, high), alias in zip(items, aliases, strict=True):
            own = f"{_OWN}{len(self.columns)}"
            if self.is_called((low, high)):
                self.columns.append(_Column(f"NULL AS {own}", own))
                continue
            known = alias and alias not in every and aliases.count(alias) == 1
            self.columns.append(_Column(reader.text(low, high), s.tokens[high - 1].text if known else own))

    def by_all(self, items: list[Range]) -> list[Range] | None:
        """What GROUP BY ALL groups by: items of the SELECT list without windows and aggregates; None without it."""
        s, windowed = self.s, self.reader.windowed
        assert windowed.grouped is not None
        low = windowed.grouped[0]
        ends = low + 3 == windowed.grouped[1] or s.word(low + 3) == "HAVING"
        if s.word(low) != "GROUP" or s.word(low + 2) != "ALL" or not ends:
            return None
        found = []
        for a, b in items:
            end = expression_end(s, a, b)
            computed = any(
                s.word(k) == "OVER" or (s.operator(k + 1) == "(" and is_aggregate(s.word(k), ())) for k in range(a, end)
            )
            if not computed:
                found.append((a, end))
        return found

    def source(self, by_all: list[Range] | None) -> str:
        """FROM, without the word, to HAVING, and the windows without patterns."""
        reader, s, windowed = self.reader, self.s, self.reader.windowed
        assert windowed.grouped is not None
        low, high = windowed.grouped
        windows = plain_windows(reader.planner.rewriter, windowed)
        if by_all is None:
            return f"{reader.text(windowed.source + 1, high)} {windows}"
        # A number alone would be the place of an item.
        grouped = [
            f"coalesce({reader.text(a, b)})" if b - a == 1 and s.tokens[a].kind == "number" else reader.text(a, b)
            for a, b in by_all
        ]
        group = f"GROUP BY {', '.join(grouped)}" if grouped else ""
        having = reader.text(low + 3, high) if low + 3 < high else ""
        return f"{reader.source} {group} {having} {windows}"

    def names(self, query: str, own: list[str], source: str) -> list[str]:
        """Names of the subquery's columns.

        Raises:
            PatternAnalysisError: CEP_WINDOW_QUERY, of what the windows name and the grouping does not give.
        """
        reader = self.reader
        try:
            return reader.planner.analyzer.run(query).columns
        except AnalysisException as error:
            reader.planner.analyzer.run(reader.query(own, source)).columns  # noqa: B018 - Spark's error of the rest
            assert reader.windowed.grouped is not None
            message = (error.getMessage() or str(error)).split("SQLSTATE")[0].splitlines()[0].strip()
            raise reader.error(
                "CEP_WINDOW_QUERY",
                f"A window with a pattern names what the grouping of its SELECT does not give: {message}",
                reader.windowed.grouped[0],
                "put the grouping into a subquery: FROM (SELECT ... GROUP BY ...) t",
            ) from None

    def edit(self, items: list[Range], names: list[str]) -> None:
        """From now on columns stand for what the subquery computes, and nothing is grouped."""
        reader = self.reader
        rewriter, grouped = reader.planner.rewriter, reader.windowed.grouped
        assert grouped is not None
        for span, column, name in zip(items, self.columns, names, strict=False):
            if not self.is_called(span):
                rewriter.put(*span, f"{quote(column.name)} AS {quote(name)}")
        for column in self.columns:
            for span in column.spans:
                rewriter.put(*span, column.name)
        rewriter.put(*grouped, "")
