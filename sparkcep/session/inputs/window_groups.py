"""What windows with patterns read where their SELECT groups rows: a subquery of its GROUP BY and HAVING."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from pyspark.errors import AnalysisException

from sparkcep.query import quote
from sparkcep.session.inputs.window_order import order_distinct
from sparkcep.session.inputs.window_source import OWN, SelectReader, WindowedInput, is_star
from sparkcep.spark.exceptions import reason
from sparkcep.sql.correlation import is_name
from sparkcep.sql.match_functions import is_aggregate
from sparkcep.sql.statement import Statement
from sparkcep.sql.token_text import Range
from sparkcep.sql.windows.grouping import GroupedParts, grouped_by, plain_names, same_text
from sparkcep.sql.windows.selected import expression_end, plain_windows, select_items


@dataclass(slots=True)
class GroupColumn:
    """A column of the subquery: its expression, the name that the windows know it by, and its place in the text."""

    sql: str
    name: str
    spans: list[Range] = field(default_factory=list)


@dataclass(slots=True)
class Grouping:
    """Reads the rows that GROUP BY and HAVING give: items of the SELECT list that no window is called in, grouped
    columns by their names, and a column for each other part of the text that they compute."""

    reader: SelectReader
    columns: list[GroupColumn] = field(default_factory=list)

    @property
    def s(self) -> Statement:
        """The statement."""
        return self.reader.planner.statement

    def read(self) -> WindowedInput:
        """The rows, and the text's edits.

        Raises:
            PatternAnalysisError: see :func:`windowed_input`.
        """
        reader, s, windowed = self.reader, self.s, self.reader.windowed
        every = {reader.fold(c) for c in reader.all_columns()}
        items = select_items(s, windowed)
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
        texts: dict[tuple[str, ...], GroupColumn] = {}
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
        order_distinct(reader, known, source)
        self.edit(items, names)
        computed = dict(parts)
        return WindowedInput(text, frame, computed=computed, notes=("windows see the groups as a subquery gives them",))

    def add(self, sql: str, name: str = "") -> GroupColumn:
        """Another column of the subquery, with a name of ours where the user has none for it."""
        own = f"{OWN}{len(self.columns)}"
        column = GroupColumn(f"{sql} AS {own}", name or own)
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
            if is_star(self.s, low):
                raise self.reader.error(
                    "CEP_WINDOW_QUERY",
                    "A star cannot be used with GROUP BY and a window with a pattern.",
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
            own = f"{OWN}{len(self.columns)}"
            if self.is_called((low, high)):
                self.columns.append(GroupColumn(f"NULL AS {own}", own))
                continue
            known = alias and alias not in every and aliases.count(alias) == 1
            self.columns.append(GroupColumn(reader.text(low, high), s.tokens[high - 1].text if known else own))

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

    def names(self, query: str, items: list[str], source: str) -> list[str]:
        """Names of the subquery's columns.

        Raises:
            PatternAnalysisError: CEP_WINDOW_QUERY, of what the windows name and the grouping does not give.
        """
        reader = self.reader
        try:
            return reader.planner.analyzer.run(query).columns
        except AnalysisException as error:
            reader.planner.analyzer.run(reader.query(items, source)).columns  # noqa: B018 - Spark's error of the rest
            assert reader.windowed.grouped is not None
            raise reader.error(
                "CEP_WINDOW_QUERY",
                f"A window with a pattern names what the grouping of its SELECT does not give: {reason(error)}.",
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
