"""Spans out, relations in: the user's statement with each pattern form replaced by a relation name.

Text outside of the forms is copied byte for byte; only braces are doubled, since Spark formats the text, and positional
parameters get names, since the pieces reach Spark in several statements.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from sparkcep.query import PREFIX
from sparkcep.sql import text_tests
from sparkcep.sql.block.parser import pattern_range
from sparkcep.sql.block.spans import JOIN_TYPES
from sparkcep.sql.statement import CommonTable, OccurrenceKind, PatternOccurrence, Statement

_QUERY_WORDS = ("SELECT", "WITH", "FROM")
_VERSIONS = ("VERSION", "TIMESTAMP", "SYSTEM_VERSION", "SYSTEM_TIME")


@dataclass(frozen=True, slots=True)
class InputSql:
    """A query that reads an input, fit for Spark's formatted sql. ``table``: the name that stands in FROM, where the
    input is nothing but a table, a view or files."""

    text: str
    table: str | None = None

    @property
    def plain_table(self) -> str | None:
        """That name where it has no backticks, which says that it is no path either."""
        return None if self.table is None or "`" in self.table else self.table


@dataclass(slots=True)
class Rewriter:
    """Gives texts of a statement's spans with the forms done so far replaced.

    Args:
        statement: the statement.
        formatted: whether the text is already a format string (the user passed keyword arguments).
        positional: whether `?` markers are the user's parameters.
        constants: where text begins that the same value stands for in all rows of a partition, and the token behind it.
    """

    statement: Statement
    formatted: bool = False
    positional: bool = False
    edits: list[tuple[int, int, str]] = field(default_factory=list)
    parameters: int = 0
    constants: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.edits += text_tests.edits(self.statement)
        if self.positional:
            patterns = [span for f in self.statement.forms for span in self._pattern_spans(f)]
            for token in self.statement.tokens:
                if token.kind == "op" and token.upper == "?":
                    if any(a <= token.start < b for a, b in patterns):
                        continue
                    self.edits.append((token.start, token.end, f":{PREFIX}p{self.parameters}"))
                    self.parameters += 1

    def _pattern_spans(self, form: PatternOccurrence) -> list[tuple[int, int]]:
        """Where a form's pattern stands, or those of its windows."""
        s = self.statement
        if form.kind is OccurrenceKind.BLOCK:
            low, high = pattern_range(s, form)
            return [(s.tokens[low].start, s.tokens[high - 1].end)]
        if form.windowed is not None:
            return [span for at in form.windowed.patterns for span in self._pattern_in(at + 1, s.pairs[at], [])]
        nested = [f for f in s.forms if form.keyword.start < f.start and f.end < form.end]
        return self._pattern_in(*form.body, nested)

    def _pattern_in(self, low: int, high: int, nested: list[PatternOccurrence]) -> list[tuple[int, int]]:
        s = self.statement
        for i in range(low, high):
            if any(f.start <= s.tokens[i].start < f.end for f in nested):
                continue
            if s.word(i) == "PATTERN" and s.operator(i + 1) == "(" and i + 1 in s.pairs:
                return [(s.tokens[i].start, s.tokens[s.pairs[i + 1]].end)]
        return []

    def replace(self, form: PatternOccurrence, relation: str) -> None:
        """From now on the form's whole span reads ``relation``, text fit for Spark's formatted sql."""
        self.edits.append((form.start, form.end, relation))

    def put(self, low: int, high: int, text: str) -> None:
        """From now on a range of tokens reads ``text``, fit for Spark's formatted sql, whatever it read before."""
        start, end = self.statement.tokens[low].start, self.statement.tokens[high - 1].end
        self.edits[:] = [e for e in self.edits if not (start <= e[0] and e[1] <= end)]
        self.edits.append((start, end, text))

    def tokens_text(self, low: int, high: int) -> str:
        """Text of a range of tokens, fit for Spark's formatted sql."""
        return self.render(self.statement.tokens[low].start, self.statement.tokens[high - 1].end)

    def render(self, start: int, end: int) -> str:
        """Text of a span, fit for Spark's formatted sql."""
        inside = [e for e in self.edits if start <= e[0] and e[1] <= end]
        outermost = [e for e in inside if not any(o is not e and o[0] <= e[0] and e[1] <= o[1] for o in inside)]
        out: list[str] = []
        at = start
        for a, b, new in sorted(outermost):
            out += [self._escape(self.statement.text[at:a]), new]
            at = b
        out.append(self._escape(self.statement.text[at:end]))
        return "".join(out)

    def _escape(self, text: str) -> str:
        return text if self.formatted else text.replace("{", "{{").replace("}", "}}")

    # -- inputs ----------------------------------------------------------------------------------------------------

    def input_sql(self, form: PatternOccurrence, items: str = "*") -> InputSql:
        """A query that reads the form's input relation, with the WITH lists it may use.

        Args:
            items: the SELECT list, fit for Spark's formatted sql.
        """
        relation = self.render(form.relation_start, form.relation_end).rstrip()
        filtered = f"{relation} WHERE {self.tokens_text(*form.where)}" if form.where else relation
        text = self.query_over(form, filtered, items)
        plain = text == f"SELECT * FROM {relation}"
        return InputSql(text, relation if plain and self._is_name(form) else None)

    def query_over(self, form: PatternOccurrence, source: str, items: str = "*") -> str:
        """A query that reads what a FROM near the form reads, with the WITH lists in the form's sight.

        Args:
            source: what stands behind FROM, rendered. items: the SELECT list. Both fit for Spark's formatted sql.
        """
        return self._with_scopes(form, f"SELECT {items} FROM {source}", f"{items} {source}")

    def _is_name(self, form: PatternOccurrence) -> bool:
        """Whether an input is a name without an alias."""
        s = self.statement
        low, high = form.relation_tokens
        return s.tokens[high - 1].end >= len(s.text[: form.relation_end].rstrip()) and all(
            s.tokens[k].kind in ("word", "quoted") if (k - low) % 2 == 0 else s.operator(k) == "."
            for k in range(low, high)
        )

    def with_prefix(self, form: PatternOccurrence) -> str:
        """The WITH list that subqueries inside the clause may use, with a trailing space, or nothing."""
        s = self.statement
        text = s.text[s.tokens[form.head[0]].start : s.span_end(form)]
        # One flat list: of two definitions of a name the inner one counts.
        tables = {table.name.casefold(): table for used in reversed(self._read(form, text)) for table in used}
        return self._with_list(list(tables.values()))

    def tables_read(self, form: PatternOccurrence) -> list[CommonTable]:
        """Definitions of WITH lists that a form's text may read, its input's or those of subqueries in it."""
        s = self.statement
        return [table for used in self._read(form, s.text[form.start : s.span_end(form)]) for table in used]

    def _read(self, form: PatternOccurrence, text: str) -> list[list[CommonTable]]:
        """Definitions that a text reads, or those of inner WITH lists before them, by list from the innermost."""
        read: list[list[CommonTable]] = []
        for scope in reversed(form.scopes):
            read.append(self._used(scope, text))
            text += "".join(self.statement.text[table.start : table.end] for table in read[-1])
        return read

    def _with_scopes(self, form: PatternOccurrence, query: str, text: str) -> str:
        for scope in reversed(form.scopes):
            used = self._used(scope, text)
            if used:
                text += "".join(self._definition(t) for t in used)
                query = self._with_list(used) + query
                if scope is not form.scopes[0]:
                    query = f"SELECT * FROM ({query}\n)"  # it may end in a comment
        return query

    def _with_list(self, tables: list[CommonTable]) -> str:
        if not tables:
            return ""
        recursive = "RECURSIVE " if any(t.recursive for t in tables) else ""
        return f"WITH {recursive}{', '.join(self._definition(t) for t in tables)} "

    def _definition(self, table: CommonTable) -> str:
        return self.render(table.start, table.end)

    def _used(self, scope: tuple[CommonTable, ...], text: str) -> list[CommonTable]:
        """Definitions whose names occur in a text, or in another definition that is used."""
        used: list[CommonTable] = []
        words = _words(text)
        for table in reversed(scope):
            if re.fullmatch(r"\w+", table.name):
                found = table.name.casefold() in words
            else:
                found = re.search(rf"(?<!\w){re.escape(table.name)}(?!\w)", text, re.IGNORECASE) is not None
            if found:
                used.append(table)
                text += self.statement.text[table.start : table.end]
                words |= _words(self.statement.text[table.start : table.end])
        return used[::-1]

    def qualifiers(self, form: PatternOccurrence) -> frozenset[str]:
        """Names by which the input relation may be called inside the clause: its alias, or its own last name."""
        s = self.statement
        low, high = form.relation_tokens
        names = {side.casefold() for side in self.sides(form)}
        last = high - 1
        if s.operator(last) == ")" and high - low > 1:  # t(a, b): the alias stands before the column list
            opens = [i for i, close in s.pairs.items() if close == last]
            last = opens[0] - 1 if opens and opens[0] > low else last
        if last >= low and s.tokens[last].kind in ("word", "quoted"):
            names.add(s.tokens[last].text.casefold())
        return frozenset(names)

    def sides(self, form: PatternOccurrence) -> list[str]:
        """Names of the relations of an input that is a join in parentheses, in their order."""
        s = self.statement
        low, high = form.relation_tokens
        return join_sides(s, low + 1, high - 1) if _is_join(s, low, high) else []

    def names_variable(self, form: PatternOccurrence, names: Collection[str]) -> bool:
        """Whether a word of the form's pattern is one of some names."""
        folded = {n.casefold() for n in names}
        return any(
            start <= t.start < end and t.text.casefold() in folded
            for start, end in self._pattern_spans(form)
            for t in self.statement.tokens
        )

    def rename_columns(self, form: PatternOccurrence, new: Callable[[str, str], str | None]) -> None:
        """From now on the column of each ``qualifier . column`` that has a new name reads so in the form's own text."""
        s = self.statement
        start = s.tokens[form.relation_tokens[1]].start
        of_input = range(*form.where or (0, 0))
        for i, token in enumerate(s.tokens[:-2]):
            if start <= token.start < form.end and s.operator(i + 1) == "." and i not in of_input:
                column = s.tokens[i + 2]
                if (name := new(token.text, column.text)) is not None:
                    self.edits.append((column.start, column.end, name))


def _is_join(s: Statement, low: int, high: int) -> bool:
    """Whether tokens are relations in parentheses without an alias, and no query."""
    return s.operator(low) == "(" and s.pairs.get(low) == high - 1 and s.word(low + 1) not in _QUERY_WORDS


def join_sides(s: Statement, low: int, high: int) -> list[str]:
    """Names of the relations of a FROM: their aliases, or the last parts of the tables' names. Those of a join in
    parentheses are its relations' own, where it has no alias."""
    names: list[str] = []
    own: list[str] = []
    name, in_relation, begin, k = "", True, low, low
    while k <= high:
        word = s.word(k) if k < high else ""
        if k == high or word in ("JOIN", "ON", "USING") or word in JOIN_TYPES or s.operator(k) == ",":
            if in_relation:
                names += own if own and not name else [name] if name else []
            name, own, begin = "", [], k + 1
            in_relation = (in_relation or word == "JOIN" or s.operator(k) == ",") and word not in ("ON", "USING")
        elif s.operator(k) == "(":
            close = s.pairs.get(k, high)
            if in_relation and k == begin and _is_join(s, k, close + 1):
                own = join_sides(s, k + 1, close)
            k = close
        elif name and (behind := _behind_version(s, k)) > k:
            k = behind
            continue
        elif s.tokens[k].kind in ("word", "quoted"):
            name = s.tokens[k].text
        k += 1
    return names


def _behind_version(s: Statement, k: int) -> int:
    """The token behind a sample or a version, which stand between a table's name and its alias; k where none begins."""
    if s.word(k) == "TABLESAMPLE" and s.operator(k + 1) == "(":
        k = s.pairs.get(k + 1, k + 1) + 1
        if s.word(k) == "REPEATABLE" and s.operator(k + 1) == "(":
            k = s.pairs.get(k + 1, k + 1) + 1
        return k
    at = k + (s.word(k) == "FOR")
    return at + 4 if s.word(at) in _VERSIONS and s.word(at + 1) == "AS" and s.word(at + 2) == "OF" else k


def _words(text: str) -> set[str]:
    return {word.casefold() for word in re.findall(r"\w+", text)}
