"""Bind the names of a parsed clause: ClauseSyntax and the input's columns to a PatternQuery."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sparkcep.errors import PatternAnalysisError, near_hint
from sparkcep.pattern import Pattern, Variable, has_exclusion, variables, walk
from sparkcep.query import (
    PREFIX,
    Aggregate,
    Condition,
    KeyExpression,
    Measure,
    Navigation,
    NonAnswers,
    PatternQuery,
    RowsPerMatch,
    Scalar,
    Selection,
    Skip,
    SortKey,
    clause_components,
    folded,
    string_literal,
    unescape,
)
from sparkcep.settings import Settings
from sparkcep.sql.clause.parser import ClauseSyntax
from sparkcep.sql.clause.row_pattern import variable_name
from sparkcep.sql.conjuncts import split_conjuncts
from sparkcep.sql.lexicon import Token
from sparkcep.sql.negation import negated_only
from sparkcep.sql.permutations import check_permutations
from sparkcep.sql.row_expressions import UNITS
from sparkcep.sql.rule_sets.keys import LogKeys, refuse_order
from sparkcep.sql.scalars import ScalarReader
from sparkcep.sql.scope import Scope, meant
from sparkcep.sql.statement import Statement
from sparkcep.sql.strategies import by_step, immediately
from sparkcep.sql.token_text import Range


class Binder:
    """Binds one clause.

    Args:
        statement: the statement the clause stands in.
        clause: its sections.
        body: the clause's token range.
        columns: the input's columns in table order.
        qualifiers: the input relation's own names, folded.
        render: text of a span with nested forms replaced.
        settings: limits and Spark's case sensitivity.
        keys: those of the rule set that the clause is a rule of.
        constants: see :class:`Scope`.

    Raises:
        PatternAnalysisError: CEP_RULE_KEYS, CEP_UNDEFINED_VARIABLE, CEP_UNRESOLVED_COLUMN, CEP_VARIABLE_NOT_IN_PATTERN,
            CEP_EXCLUSION_NOT_ALLOWED, CEP_SUBSET, CEP_DUPLICATE_COLUMN, and those of scalar expressions.
    """

    def __init__(
        self,
        statement: Statement,
        clause: ClauseSyntax,
        body: Range,
        columns: Sequence[str],
        qualifiers: frozenset[str],
        render: Callable[[int, int], str],
        settings: Settings,
        keys: LogKeys | None = None,
        constants: Mapping[int, int] | None = None,
    ) -> None:
        self.s = statement
        self.keys = keys
        self.clause = clause
        self.body = body
        self.render = render
        self.settings = settings
        assert clause.pattern is not None
        self.pattern: Pattern = clause.pattern
        self.primaries = variables(self.pattern)
        self.negated = negated_only(self.pattern)
        own = {a.name: a for a in settings.own_aggregates}
        self.scope = Scope(
            statement, self.primaries, {}, qualifiers, tuple(columns), settings.case_sensitive, render, own,
            constants=constants or {},
        )  # fmt: skip

    def error(self, error_class: str, message: str, position: int, hint: str | None = None) -> PatternAnalysisError:
        """An error with a caret; the caller raises it."""
        return PatternAnalysisError(error_class, message, text=self.s.text, position=position, hint=hint)

    def bind(self, with_prefix: str = "") -> PatternQuery:
        """The clause as a query. ``with_prefix``: the statement's WITH, which goes before SQL that is made of it.

        Raises:
            PatternAnalysisError: what the parts of a clause can be refused for; see docs/errors.md.
        """
        clause = self.clause
        self.check_columns()
        if self.keys is not None:
            refuse_order(self.s, self.clause.order_by)
        check_permutations(self.pattern, self.settings.limit_permute, self.error)
        self.bind_subsets()
        one_row = clause.rows_per_match is RowsPerMatch.ONE
        if clause.rows_per_match is RowsPerMatch.ALL_WITH_UNMATCHED and has_exclusion(self.pattern):
            raise self.error(
                "CEP_EXCLUSION_NOT_ALLOWED",
                "{- -} cannot be used with WITH UNMATCHED ROWS.",
                clause.rows_position,
                "use SHOW EMPTY MATCHES or OMIT EMPTY MATCHES",
            )
        conditions = self.bind_definitions()
        measures = self.bind_measures(one_row)
        within, within_position = self.bind_within()
        components = tuple(replace(c, step=clause.steps.get(c.key)) for c in clause_components(self.pattern))
        selection, components = by_step(clause.selection, components, self.pattern)
        if selection is Selection.BY_STEP and clause.non_answers:
            raise self.error(
                "CEP_UNSUPPORTED_SELECTION",
                "Strategies of single variables cannot be combined with EXPLAIN NON ANSWERS.",
                self.s.tokens[self.body[0] - 2].start,
                "give the whole pattern one strategy, with EVENT SELECTION",
            )
        return PatternQuery(
            columns=self.scope.columns,
            partition_by=self.bind_partition(),
            order_by=self.bind_order(),
            event_type=self.event_type(),
            measures=measures,
            rows_per_match=clause.rows_per_match,
            skip=self.bind_skip(),
            pattern=self.pattern,
            components=components,
            conditions=(*conditions, *immediately(components)),
            within=within,
            within_position=within_position,
            subsets=tuple(self.scope.unions.items()),
            selection=selection,
            non_answers=self.bind_non_answers(),
            omit_censored=clause.omit_censored,
            censored_position=clause.censored_position,
            identifiers=self.s.words(*self.body),
            named_beside_order=self.s.words(*self.body, [k.expression for k in clause.order_by]),
            with_prefix=with_prefix,
            text=self.s.text,
            start=self.s.tokens[self.body[0] - 2].start,
            expressions=self.expressions(),
        )

    def expressions(self) -> tuple[tuple[int, int], ...]:
        """Where in the statement the user's expressions stand."""
        clause, tokens = self.clause, self.s.tokens
        spans = [*clause.partition_by, *(k.expression for k in clause.order_by)]
        spans += [item.expression for item in (*clause.measures, *clause.definitions)]
        if clause.within is not None and tokens[clause.within[1] - 1].upper not in UNITS:
            spans.append(clause.within)
        return tuple((tokens[low].start, tokens[high - 1].end) for low, high in spans)

    # -- parts -----------------------------------------------------------------------------------------------------

    def check_columns(self) -> None:
        """Refuse an input whose columns cannot be told apart by name or are named like ours.

        Raises:
            PatternAnalysisError: CEP_RESERVED_COLUMN, CEP_DUPLICATE_COLUMN.
        """
        position = self.s.tokens[self.body[0] - 2].start
        seen: set[str] = set()
        for column in self.scope.columns:
            if column.casefold().startswith(PREFIX):
                raise self.error("CEP_RESERVED_COLUMN", f"Column {column} has the reserved prefix {PREFIX}.", position)
            name = folded(column, self.settings.case_sensitive)
            if name in seen:
                raise self.error(
                    "CEP_DUPLICATE_COLUMN",
                    f"The input has two columns named {column}.",
                    position,
                    f"give them different names in a subquery: FROM (SELECT a.{column}, b.{column} AS {column}_2, ...)",
                )
            seen.add(name)

    def plain(self, span: Range) -> str:
        """A key expression: text over the input's columns, without slots.

        Raises:
            PatternAnalysisError: CEP_PATTERN_VARIABLE_NOT_ALLOWED, CEP_UNDEFINED_VARIABLE, CEP_UNRESOLVED_COLUMN.
        """
        for k in range(*span):
            if self.scope.is_foreign(k):
                written = self.s.written(k, k + 3)
                raise self.error(
                    "CEP_UNDEFINED_VARIABLE",
                    f"PARTITION BY, ORDER BY and WITHIN take columns of the input, here {written}.",
                    self.s.tokens[k].start,
                    f"match a join that has it: FROM (SELECT {written} AS x, ... FROM ...) MATCH_RECOGNIZE (...)"
                    if self.s.words(0, self.body[0]) & {self.s.tokens[k].text.casefold()}
                    else f"its columns are {', '.join(self.scope.columns)}",
                )
        reader = ScalarReader(self.scope, running=True, in_define=False)
        scalar = reader.read(*span)
        if scalar.slots:
            raise self.error(
                "CEP_PATTERN_VARIABLE_NOT_ALLOWED",
                "PARTITION BY, ORDER BY and WITHIN cannot use pattern variables, aggregates or navigation.",
                scalar.slots[0].position,
            )
        self.check_bare(span)
        return scalar.text

    def key(self, span: Range) -> KeyExpression:
        """A PARTITION BY expression; parentheses around a column do not make it another column."""
        low, high = span
        while self.s.operator(low) == "(" and self.s.pairs.get(low) == high - 1 and high - low > 2:
            low, high = low + 1, high - 1
        return KeyExpression(self.plain((low, high)), self.s.tokens[low].start)

    def check_bare(self, span: Range) -> None:
        """A key that is one bare name must be a column; Spark answers for everything longer."""
        token = self.s.tokens[span[0]]
        if span[1] - span[0] == 1 and token.kind in ("word", "quoted") and not self.scope.is_column(token.text):
            if token.upper in ("TRUE", "FALSE", "NULL") or token.upper.startswith("CURRENT_"):
                return
            hint = meant(token.text, self.scope.columns)
            raise self.error("CEP_UNRESOLVED_COLUMN", f"The input has no column {token.text}.", token.start, hint)

    def event_type(self) -> str | None:
        """The column of EVENT TYPE as SQL; None without it."""
        token = self.clause.event_type
        if token is None:
            return None
        index = self.s.tokens.index(token)
        self.check_bare((index, index + 1))
        return self.render(token.start, token.end)

    def bind_within(self) -> tuple[str | None, int]:
        """WITHIN's interval as SQL, None without it, and its offset in the statement.

        Raises:
            PatternAnalysisError: CEP_WITHIN_ORDER.
        """
        span = self.clause.within
        if span is None:
            return None, 0
        tokens = self.s.tokens
        position = tokens[span[0]].start
        order = self.clause.order_by if self.keys is None else self.keys.order_by
        if not order:
            raise self.error("CEP_WITHIN_ORDER", "WITHIN needs an ORDER BY.", position)
        if not order[0].ascending:
            raise self.error(
                "CEP_WITHIN_ORDER",
                "WITHIN needs the first ORDER BY key to be ascending.",
                position,
                "order by the time column ASC",
            )
        sign = "-" if self.s.operator(span[0]) == "-" else ""
        low, high = span[0] + len(sign), span[1]
        if high - low == 2 and tokens[low].kind == "number" and tokens[low + 1].kind == "word":
            return f"{sign}INTERVAL {self.plain((low, high))}", position
        return self.plain(span), position

    def bind_non_answers(self) -> NonAnswers | None:
        """EXPLAIN NON ANSWERS, None without it.

        Raises:
            PatternAnalysisError: CEP_NON_ANSWERS.
        """
        clause = self.clause
        if not clause.non_answers:
            return None
        position = clause.non_answers_position
        wrong, hint = "", None
        if clause.selection is Selection.STRICT:
            wrong = "needs a pattern that may skip events"
            hint = "EVENT SELECTION SKIP TILL NEXT MATCH or SKIP TILL ANY MATCH"
        elif clause.measures:
            wrong, hint = "cannot be combined with MEASURES: its rows are partitions", "leave MEASURES out"
        elif clause.rows_per_match.is_all:
            wrong, hint = "cannot be combined with ALL ROWS PER MATCH: there is no match", "leave it out"
        elif clause.omit_censored:
            wrong, hint = "cannot be combined with OMIT CENSORED MATCHES: there is no match", "leave it out"
        elif not clause.order_by:
            wrong, hint = "needs an ORDER BY: it moves events in time", "ORDER BY the time of events"
        if wrong:
            raise self.error("CEP_NON_ANSWERS", f"EXPLAIN NON ANSWERS {wrong}.", position, hint)
        cost, uncertainty, step = (
            self.s.text[self.s.tokens[low].start : self.s.tokens[high - 1].end] for low, high in clause.non_answers
        )
        positions = tuple(self.s.tokens[low].start for low, _ in clause.non_answers)
        return NonAnswers(cost, uncertainty, step, position, positions)

    def bind_subsets(self) -> None:
        """Put SUBSET's unions of primary variables into the scope (ISO/IEC 19075-5).

        Raises:
            PatternAnalysisError: CEP_SUBSET, CEP_UNDEFINED_VARIABLE.
        """
        for name, parts in self.clause.subsets:
            union = variable_name(name)
            if union in self.primaries or union in self.scope.unions:
                raise self.error("CEP_SUBSET", f"{name.text} is already a pattern variable.", name.start)
            members: list[str] = []
            for part in parts:
                member = variable_name(part)
                if member in self.scope.unions:
                    raise self.error(
                        "CEP_SUBSET", f"{part.text} is a SUBSET itself; members are primary variables.", part.start
                    )
                if member not in self.primaries:
                    raise self.undefined(part)
                members.append(member)
            self.scope.unions[union] = tuple(dict.fromkeys(members))

    def undefined(self, token: Token, hint: str = "") -> PatternAnalysisError:
        """CEP_UNDEFINED_VARIABLE; the caller raises it."""
        known = (*self.primaries, *self.scope.unions)
        hint = hint or near_hint(token.text, known, f"the pattern has {', '.join(self.primaries)}")
        return self.error("CEP_UNDEFINED_VARIABLE", f"{token.text} is not a pattern variable.", token.start, hint)

    def bind_skip(self) -> Skip:
        """AFTER MATCH SKIP with the primary variables that its target stands for.

        Raises:
            PatternAnalysisError: CEP_UNDEFINED_VARIABLE, CEP_NEGATED_VARIABLE.
        """
        token = self.clause.skip_target
        if token is None:
            return Skip(self.clause.skip)
        name = variable_name(token)
        targets = self.scope.variables_of(name)
        if targets is None:
            rows = {"NEXT": "SKIP TO NEXT ROW", "ROW": "SKIP PAST LAST ROW"}.get(token.upper)
            raise self.undefined(token, f"did you mean {rows}?" if rows else "")
        if self.negated.issuperset(targets):
            raise self.error("CEP_NEGATED_VARIABLE", f"{token.text} is negated: a match has no row of it.", token.start)
        return Skip(self.clause.skip, name, targets)

    def bind_measures(self, one_row: bool) -> tuple[Measure, ...]:
        """MEASURES in order. ``one_row``: under ONE ROW PER MATCH, where functions are FINAL.

        Raises:
            PatternAnalysisError: CEP_DUPLICATE_COLUMN and those of :class:`ScalarReader`.
        """
        reader = ScalarReader(self.scope, running=not one_row, in_define=False, one_row=one_row)
        out: list[Measure] = []

        def fold(name: str) -> str:
            return folded(name, self.settings.case_sensitive)

        taken = set(map(fold, self.taken_names(one_row)))
        for item in self.clause.measures:
            if any(fold(m.name) == fold(item.name.text) for m in out):
                raise self.error("CEP_DUPLICATE_COLUMN", f"Two measures are named {item.name.text}.", item.name.start)
            if fold(item.name.text) in taken:
                raise self.error(
                    "CEP_DUPLICATE_COLUMN",
                    f"The output already has a column {item.name.text}.",
                    item.name.start,
                    "give the measure another name",
                )
            out.append(Measure(item.name.text, self.positive(reader.read(*item.expression))))
        return tuple(out)

    def taken_names(self, one_row: bool) -> set[str]:
        """Names of output columns that are no measures."""
        if self.keys is not None:  # a rule's measures stand in a map
            return set()
        if one_row:
            return {self.s.tokens[a].text for a, b in self.clause.partition_by if b - a == 1}
        return set(self.scope.columns)

    def bind_partition(self) -> tuple[KeyExpression, ...]:
        """PARTITION BY's keys."""
        own = tuple(map(self.key, self.clause.partition_by))
        return own if self.keys is None else self.keys.with_own(own)

    def bind_order(self) -> tuple[SortKey, ...]:
        """ORDER BY's keys."""
        if self.keys is not None:
            return self.keys.order_by
        return tuple(
            SortKey(
                self.plain(k.expression),
                k.ascending,
                k.nulls_first,
                self.s.tokens[k.expression[0]].start,
            )
            for k in self.clause.order_by
        )

    def positive(self, scalar: Scalar) -> Scalar:
        """What is no condition of a negated variable cannot read its rows."""
        for slot in scalar.slots:
            names = slot.variables or () if isinstance(slot, (Navigation, Aggregate)) else ()
            if names and self.negated.issuperset(names):
                raise self.error(
                    "CEP_NEGATED_VARIABLE",
                    f"{', '.join(names)} is negated: a match has no row of it.",
                    slot.position,
                    "write conditions that read it in its own DEFINE",
                )
        return scalar

    def bind_definitions(self) -> tuple[Condition, ...]:
        """DEFINE: a condition for each conjunct of a variable's."""
        reader = ScalarReader(self.scope, running=True, in_define=True)
        out: list[Condition] = []
        for item in self.clause.definitions:
            name = variable_name(item.name)
            if name not in self.primaries:
                raise self.error(
                    "CEP_VARIABLE_NOT_IN_PATTERN",
                    f"{item.name.text} is defined but does not occur in PATTERN.",
                    item.name.start,
                    near_hint(name, self.primaries, f"the pattern has {', '.join(self.primaries)}"),
                )
            low, high = item.expression
            source = self.s.text[self.s.tokens[low].start : self.s.tokens[high - 1].end]
            for a, b in split_conjuncts(self.s, low, high):
                if b == a:
                    at = self.s.tokens[a - (a > low)].start
                    raise self.error("CEP_SYNTAX_ERROR", "A condition is missing beside AND.", at, "leave AND out")
                out.append(self.defined(name, reader.read(a, b), source))
        if self.clause.event_type is not None:
            out.extend(self.event_definitions({variable_name(d.name) for d in self.clause.definitions}))
        return tuple(out)

    def defined(self, name: str, conjunct: Scalar, source: str) -> Condition:
        """One conjunct of DEFINE as a condition of a variable; ``source``: as the user wrote it."""
        if name not in self.negated:
            return Condition(self.positive(conjunct), (name,), source=source)
        # A negation is decided when what it reads has been taken.
        slots = [s for s in conjunct.slots if isinstance(s, (Navigation, Aggregate)) and s.variables]
        read = tuple(dict.fromkeys(s.variables for s in slots if s.variables and name not in s.variables))
        return Condition(conjunct, (name,), awaited=read, source=source)

    def event_definitions(self, defined: set[str]) -> list[Condition]:
        """With EVENT TYPE, an undefined variable means: the column equals the name as written in PATTERN."""
        out: list[Condition] = []
        spelling: dict[str, str] = {}
        column = self.event_type()
        for node in walk(self.pattern):
            if not isinstance(node, Variable) or node.name in defined:
                continue
            token = next(t for t in self.s.tokens if t.start == node.position)
            # In a format string the braces of a name come doubled.
            text = unescape(self.render(token.start, token.end))
            text = text[1:-1].replace("``", "`") if token.kind == "quoted" else text
            if spelling.setdefault(node.name, text) != text:
                raise self.error(
                    "CEP_AMBIGUOUS_EVENT_TYPE",
                    f"{token.text} and {spelling[node.name]} are one pattern variable but two event types.",
                    node.position,
                    "write event types in backticks",
                )
        for name, text in spelling.items():
            condition = f"{column} = {string_literal(text)}"
            out.append(Condition(Scalar((condition,)), (name,), source=condition))
        return out


def bind(
    statement: Statement,
    clause: ClauseSyntax,
    body: Range,
    columns: Sequence[str],
    qualifiers: frozenset[str],
    render: Callable[[int, int], str],
    settings: Settings,
    with_prefix: str = "",
    keys: LogKeys | None = None,
    constants: Mapping[int, int] | None = None,
) -> PatternQuery:
    """Bind one clause; see :class:`Binder`."""
    return Binder(statement, clause, body, columns, qualifiers, render, settings, keys, constants).bind(with_prefix)
