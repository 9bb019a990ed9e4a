"""Where a block's case, order, tie-break and event type come from: its clauses, the table's properties, settings."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import KeyExpression, SortKey, quote
from sparkcep.settings import Settings
from sparkcep.sql.block.parser import BlockSyntax
from sparkcep.sql.block.references import Reader
from sparkcep.sql.block.scope import BlockScope, Reference
from sparkcep.sql.log_columns import KEYS, LogColumns
from sparkcep.sql.rule_sets.keys import LogKeys, refuse_order
from sparkcep.sql.statement import PatternOccurrence
from sparkcep.sql.token_text import Range

#: Properties of a table by its name as the statement writes it; empty where there are none.
Properties = Callable[[str], Mapping[str, str]]
#: Columns by `case`, `time`, `tiebreak` and `event` as an index on the input names them; empty where there is none.
Indexed = Callable[[], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Source:
    """The keys of a block; ``names`` are the columns that come from outside of the block's text, ``notes`` sentences
    about settings that are passed over.

    ``event_type``: None where none is known, and every row fits every component."""

    partition_by: tuple[KeyExpression, ...]
    order_by: tuple[SortKey, ...]
    tiebreak: str | None
    event_type: str | None
    names: tuple[str, ...]
    notes: tuple[str, ...]


def plain(scope: BlockScope, span: Range) -> str:
    """An expression over the input's columns, without pattern variables.

    Raises:
        PatternAnalysisError: CEP_PATTERN_VARIABLE_NOT_ALLOWED, CEP_UNRESOLVED_COLUMN.
    """
    low, high = span
    tokens = scope.statement.tokens
    parts = Reader(scope).read(low, high)
    used = next((p for p in parts if isinstance(p, Reference)), None)
    if used is not None:
        raise scope.error(
            "CEP_PATTERN_VARIABLE_NOT_ALLOWED", "Pattern variables cannot be used here.", used.token, "name a column"
        )
    token = tokens[low]
    named = high - low == 1 and token.kind in ("word", "quoted") and not scope.is_column(token.text)
    if named and token.upper not in ("TRUE", "FALSE", "NULL") and not token.upper.startswith("CURRENT_"):
        raise scope.no_column(token)
    return "".join(p for p in parts if isinstance(p, str))


class _SourceReader:
    def __init__(
        self,
        scope: BlockScope,
        syntax: BlockSyntax,
        form: PatternOccurrence,
        settings: Settings,
        properties: Properties,
        type_of: Callable[[str], str],
        indexed: Indexed,
        keys: LogKeys | None = None,
    ) -> None:
        self.scope = scope
        self.keys = keys
        self.syntax = syntax
        self.form = form
        self.indexed = indexed
        relation = functools.cache(lambda: properties(name) if (name := self.relation()) else {})
        self.log = LogColumns(
            lambda: scope.columns,
            scope.is_column,
            lambda name: type_of(quote(name)),
            relation,
            relation,
            settings,
            self.error,
        )
        self.names: list[str] = []

    def error(self, error_class: str, message: str, hint: str | None) -> PatternAnalysisError:
        return PatternAnalysisError(
            error_class, message, text=self.scope.statement.text, position=self.form.relation_start, hint=hint
        )

    def outside(self, role: str, *, needed: bool = True) -> list[str]:
        """Columns of a role as SQL, from the table's properties or the settings."""
        found = self.log.of(role, needed=needed)
        self.names += found
        return [quote(name) for name in found]

    def outside_column(self, role: str, *, needed: bool = True) -> str | None:
        return next(iter(self.outside(role, needed=needed)), None)

    def tiebreak(self, order_by: tuple[SortKey, ...]) -> str | None:
        """The tiebreak, unless it is a key of the order."""
        found = next(iter(self.log.of("tiebreak", needed=False)), None)
        if found is None or found.casefold() in (k.expression.strip("`").casefold() for k in order_by):
            return None
        self.names.append(found)
        return quote(found)

    def of_index(self, name: str) -> str:
        if not self.scope.is_column(name):
            raise self.log.unresolved("the pattern index", name)
        self.names.append(name)
        return quote(name)

    def relation(self) -> str:
        """The relation's text, where it is the plain name of a table."""
        s = self.scope.statement
        low, high = self.form.relation_tokens
        i = low
        while i < high and s.tokens[i].kind in ("word", "quoted"):
            i += 1
            if s.operator(i) != ".":
                break
            i += 1
        common = {t.name.casefold() for scope in self.form.scopes for t in scope}
        if i == low + 1 and s.tokens[low].text.casefold() in common:
            return ""
        simple = i > low and (i == high or s.tokens[i].kind in ("word", "quoted"))
        return s.text[s.tokens[low].start : s.tokens[i - 1].end] if simple else ""

    def read(self) -> Source:
        tokens = self.scope.statement.tokens
        partition_by = tuple(
            KeyExpression(plain(self.scope, r), tokens[r[0]].start)
            for r in map(self.unwrapped, self.syntax.partition_by)
        )
        if self.keys is not None:
            refuse_order(self.scope.statement, self.syntax.order_by)
            partition_by = self.keys.with_own(partition_by)
        elif not partition_by:
            partition_by = tuple(
                KeyExpression(name, self.form.start) for name in self.outside("case", needed=not self.syntax.order_by)
            )
        order_by = tuple(
            SortKey(
                plain(self.scope, k.expression),
                k.ascending,
                k.nulls_first,
                tokens[k.expression[0]].start,
            )
            for k in self.syntax.order_by
        )
        if self.keys is not None:
            order_by = self.keys.order_by
        elif not order_by and (time := self.outside_column("time")):
            order_by = (SortKey(time, position=self.form.start),)
        tiebreak = self.tiebreak(order_by)
        typed = [] if self.is_untyped() else [c for c in self.scope.components if c.types]
        # The relation's name is a type where one is known, and every row where none is.
        rows = relation_names(self.scope, self.form)
        needs_type = any(rows.isdisjoint(t.casefold() for t in c.types) for c in typed)
        event_type = self.event_type(needs_type)
        by_type = event_type is None and bool(typed)
        if (not order_by or by_type) and (by_index := self.indexed()):
            # Only what would be refused: that there is an index changes no answer.
            own = {role: self.of_index(name) for role, name in by_index.items()}
            if not partition_by:
                partition_by = (KeyExpression(own["case"], self.form.start),)
            if not order_by:
                order_by, tiebreak = (SortKey(own["time"], position=self.form.start),), tiebreak or own.get("tiebreak")
            event_type = own["event"] if by_type else event_type
        needs_type = needs_type and event_type is None
        if not order_by or needs_type:
            missing = [
                name for name, lacks in (("an order", not order_by), ("an event type column", needs_type)) if lacks
            ]
            lacks = " and no ".join(m.split(" ", 1)[1] for m in missing)
            if self.scope.statement.word(self.form.body[1]) == "ORDER":
                raise self.error(
                    "CEP_LOG_COLUMNS", f"The block has no {lacks}.",
                    "ORDER BY after PATTERN orders the result: write the log's ORDER BY and EVENT TYPE before PATTERN",
                )  # fmt: skip
            raise self.error(
                "CEP_LOG_COLUMNS",
                f"The block has no {lacks}.",
                "write FROM t PARTITION BY case ORDER BY time EVENT TYPE type PATTERN ..., or set the table's "
                "properties sparkcep.case, sparkcep.time, sparkcep.tiebreak and sparkcep.event, or "
                f"{', '.join(KEYS.values())}, or CREATE PATTERN INDEX on the table"
                + ("; EVENT TYPE NONE lets every row match" if needs_type else ""),
            )
        return Source(partition_by, order_by, tiebreak, event_type, tuple(self.names), tuple(self.log.notes))

    def event_type(self, needed: bool) -> str | None:
        if self.syntax.event_type is not None:
            return None if self.is_untyped() else plain(self.scope, self.syntax.event_type)
        if self.keys is not None and self.keys.event_type:
            self.names += sorted(self.keys.names)
            return self.keys.event_type
        return self.outside_column("event", needed=needed)

    def is_untyped(self) -> bool:
        """Whether the block says EVENT TYPE NONE."""
        low, high = self.syntax.event_type or (0, 0)
        return high - low == 1 and self.scope.statement.word(low) == "NONE" and not self.scope.is_column("none")

    def unwrapped(self, span: Range) -> Range:
        """Parentheses around a column do not make it another column."""
        low, high = span
        while self.scope.statement.operator(low) == "(" and self.scope.closers.get(low) == high - 1 and high - low > 2:
            low, high = low + 1, high - 1
        return low, high


def read_source(
    scope: BlockScope,
    syntax: BlockSyntax,
    form: PatternOccurrence,
    settings: Settings,
    properties: Properties,
    type_of: Callable[[str], str],
    indexed: Indexed = dict,
    *,
    keys: LogKeys | None = None,
) -> Source:
    """Find the keys of a block.

    Args:
        indexed: asked only where the block, the table and the settings leave out what must be known.
        keys: those of the rule set that the block is a rule of.

    Raises:
        PatternAnalysisError: CEP_LOG_COLUMNS, CEP_UNRESOLVED_COLUMN, CEP_TIME_TYPE, CEP_PATTERN_VARIABLE_NOT_ALLOWED,
            CEP_RULE_KEYS.
    """
    return _SourceReader(scope, syntax, form, settings, properties, type_of, indexed, keys).read()


def relation_names(scope: BlockScope, form: PatternOccurrence) -> frozenset[str]:
    """Case-folded names of the input relation: its own and its alias."""
    s = scope.statement
    low, high = form.relation_tokens
    i = low
    names = set(scope.qualifiers)
    if i < high and s.tokens[i].kind in ("word", "quoted"):
        while s.operator(i + 1) == "." and i + 2 < high:
            i += 2
        if s.operator(i + 1) != "(":
            names.add(s.tokens[i].text.casefold())
    return frozenset(names)
