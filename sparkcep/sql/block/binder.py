"""Bind the names of a pattern block: BlockSyntax and the input's columns to a PatternQuery."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sparkcep.errors import PatternAnalysisError, PatternParseError, near_hint
from sparkcep.pattern import Conjunction, Quantified, walk
from sparkcep.query import (
    GROUP_ID,
    PREFIX,
    Component,
    Condition,
    KeyExpression,
    Matches,
    NonAnswers,
    PatternQuery,
    Selection,
    Skip,
    SortKey,
    Uncertainty,
    default_measures,
    folded,
    quote,
    unescape,
)
from sparkcep.settings import Settings
from sparkcep.sql.block.combinations import check_combinations, check_immediately
from sparkcep.sql.block.conditions import ConditionBinder, split_arguments
from sparkcep.sql.block.items import Returns
from sparkcep.sql.block.latest import LaterRun, with_later_runs
from sparkcep.sql.block.parser import BlockSyntax, parse_block
from sparkcep.sql.block.pattern import parse_block_pattern
from sparkcep.sql.block.returns import ReturnBinder
from sparkcep.sql.block.scope import BlockScope
from sparkcep.sql.block.source import (
    Indexed,
    Properties,
    Source,
    plain,
    read_source,
)
from sparkcep.sql.block.where import STRATEGIES, WhereSyntax, read_strategy, read_where
from sparkcep.sql.lexicon import Token
from sparkcep.sql.permutations import check_permutations
from sparkcep.sql.rule_sets.keys import LogKeys
from sparkcep.sql.statement import PatternOccurrence, Statement
from sparkcep.sql.strategies import by_step, immediately, not_the_next
from sparkcep.sql.token_text import Range

#: Spark's name of the type of an expression over the input.
TypeOf = Callable[[str], str]

_NUMERIC = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_UNITS = {
    unit: spark
    for spark, units in {
        "MICROSECOND": "microsecond microseconds us",
        "MILLISECOND": "millisecond milliseconds ms msec msecs",
        "SECOND": "second seconds s sec secs",
        "MINUTE": "minute minutes min mins",
        "HOUR": "hour hours h hr hrs",
        "DAY": "day days d",
        "WEEK": "week weeks w",
        "MONTH": "month months",
        "YEAR": "year years",
    }.items()
    for unit in units.split()
}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?\s*[A-Za-z]+\s*)+")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)")
#: `5 seconds` inside an expression; texts and INTERVAL 5 SECONDS are matched to be left alone.
_TIME_INSIDE = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|\bINTERVAL\s+\S+\s+\w+|"""
    r"(?<![\w.])(?P<number>\d+(?:\.\d+)?)\s+(?P<unit>[A-Za-z]+)\b",
    re.IGNORECASE,
)
_MAXIMUM_GROUPS = 1_000_000


class BlockBinder:
    """Binds one block; arguments as of :func:`bind_block`."""

    def __init__(
        self,
        statement: Statement,
        form: PatternOccurrence,
        columns: Sequence[str],
        qualifiers: frozenset[str],
        render: Callable[[int, int], str],
        settings: Settings,
        properties: Properties,
        type_of: TypeOf,
        indexed: Indexed,
        keys: LogKeys | None = None,
        constants: Mapping[int, int] | None = None,
    ) -> None:
        self.s = statement
        self.keys = keys
        self.form = form
        self.syntax: BlockSyntax = parse_block(statement, form)
        low, high = self.syntax.pattern
        until = self.syntax.until
        stop = None if until is None else (self.syntax.positions["UNTIL"], until)
        self.pattern = parse_block_pattern(statement, (low, high), statement.tokens[high - 1].end, stop)
        self.check_brackets(high)
        self.settings = settings
        self.properties = properties
        self.type_of = type_of
        self.indexed = indexed
        self.range_position = -1
        self.scope = BlockScope(
            statement,
            self.pattern.components,
            qualifiers,
            tuple(columns),
            settings.case_sensitive,
            render,
            self.syntax.closers,
            own_aggregates={a.name: a for a in settings.own_aggregates},
            constants=constants or {},
        )

    def error(self, error_class: str, message: str, position: int, hint: str | None = None) -> PatternAnalysisError:
        """An error with a caret; the caller raises it."""
        return PatternAnalysisError(error_class, message, text=self.s.text, position=position, hint=hint)

    def bind(self, with_prefix: str) -> PatternQuery:
        """The block as a query. ``with_prefix``: the statement's WITH, which goes before SQL that is made of it.

        Raises:
            PatternAnalysisError: what the sections of a block can be refused for; see docs/errors.md.
        """
        syntax, positions = self.syntax, self.syntax.positions
        self.check_columns()
        check_permutations(self.pattern.pattern, self.settings.limit_permute, self.error)
        source = read_source(
            self.scope, syntax, self.form, self.settings, self.properties, self.type_of, self.indexed, keys=self.keys
        )
        later = self.later_runs()
        components = self.pattern.components
        if source.event_type is None:
            components = tuple(replace(c, types=()) for c in components)
        self.scope.components = components
        self.pattern = replace(self.pattern, components=components)
        case = self.merged_case(source)
        if case is not None:
            # By time, then case, then position.
            source = replace(
                source, partition_by=(KeyExpression(GROUP_ID),), order_by=(*source.order_by, SortKey(case.expression))
            )
        self.scope.order_key = source.order_by[0].expression
        self.time_type: str | None = None
        conditions = ConditionBinder(self.scope, self.pattern)
        where = read_where(self.scope, syntax.where)
        equivalences = tuple(e for r in where.equivalences for e in conditions.equivalences(*r))
        keys = [e.expression.text for e in equivalences if not e.components]
        keys += [k.expression for k in source.partition_by]
        constants = {unescape(key).strip("`").casefold() for key in keys}
        returned = ReturnBinder(self.scope, conditions, syntax, frozenset(constants)).bind()
        strategy, in_partitions = self.selection(where, returned)
        selection, components = by_step(strategy, components, self.pattern.pattern)
        bound = [c for r in where.conjuncts for c in self.bind_everywhere(r, conditions, later)]
        bound += [self.constraint(conditions, r) for r in where.constraints]
        check_immediately(self.pattern, self.error)
        bound += self.not_the_next(components, bound) + immediately(components)
        within = self.length(syntax.within)
        groups = self.groups()
        self.check_within(source)
        self.check_conjunction(returned)
        query = PatternQuery(
            columns=self.scope.columns,
            partition_by=source.partition_by,
            tiebreak=source.tiebreak,
            notes=source.notes,
            order_by=source.order_by if source.tiebreak is None else (*source.order_by, SortKey(source.tiebreak)),
            event_type=source.event_type,
            components=components,
            pattern=self.pattern.pattern,
            conditions=tuple(bound),
            measures=tuple(returned.measures) or default_measures(source.order_by[0].expression, components),
            is_block=True,
            equivalences=equivalences,
            selection=selection,
            matches=self.matches(returned),
            skip=self.skip(),
            collapsed=syntax.collapsed,
            strict_time=syntax.strict_time,
            within=within,
            within_position=self.begin(syntax.within),
            slide=self.length(syntax.slide),
            slide_position=self.begin(syntax.slide),
            between=self.between(),
            has_return=bool(returned.measures),
            trends=tuple(returned.trends),
            group_by=tuple(returned.group_by),
            groups=groups,
            uncertainty=self.uncertainty(),
            confidence=self.confidence(),
            non_answers=self.non_answers(),
            identifiers=self.identifiers(source, returned),
            named_beside_order=self.identifiers(source, returned, with_order=False),
            partition_contiguity=in_partitions,
            case=case,
            omit_censored=syntax.omit_censored,
            censored_position=positions.get("OMIT CENSORED MATCHES", -1),
            timed_out=syntax.timed_out >= 0,
            timed_out_position=syntax.timed_out,
            groups_position=positions.get("GROUPS", -1),
            range_position=self.range_position,
            output=tuple(returned.output),
            having=returned.having,
            with_prefix=with_prefix,
            text=self.s.text,
            start=self.form.keyword.start,
            remarks=self.remarks(where, returned),
        )
        check_combinations(query, syntax, where, strategy, self.error)
        query = query.partitioned()
        self.check_output(query)
        return query

    def check_output(self, query: PatternQuery) -> None:
        """Refuse a PARTITION BY column with the name of one that stands beside it where there is no RETURN.

        Raises:
            PatternAnalysisError: CEP_DUPLICATE_COLUMN.
        """
        if query.has_return or query.trends or query.non_answers is not None:
            return
        own = {m.name for m in query.measures}
        for key in query.partition_by:
            name = unescape(key.expression).strip("`")
            if folded(name, self.settings.case_sensitive) in own:
                raise self.error(
                    "CEP_DUPLICATE_COLUMN",
                    f"Without RETURN the output has a column {name.casefold()} beside the PARTITION BY column {name}.",
                    key.position or query.start,
                    "say with RETURN what the output has, or give the column another name in a subquery",
                )

    # -- parts -----------------------------------------------------------------------------------------------------

    def check_brackets(self, behind_pattern: int) -> None:
        """Refuse a bracket without its partner outside of the pattern. ``behind_pattern``: the first token after it.

        Raises:
            PatternParseError: CEP_SYNTAX_ERROR.
        """
        matched = {*self.syntax.closers, *self.syntax.closers.values()}
        for i in (*range(*self.form.head), *range(behind_pattern, self.form.body[1])):
            bracket = self.s.operator(i)
            if bracket in ("(", "[", "{", ")", "]", "}") and i not in matched:
                what = "is not closed" if bracket in ("(", "[", "{") else "closes nothing"
                raise PatternParseError(
                    "CEP_SYNTAX_ERROR", f"{bracket!r} {what}.", text=self.s.text, position=self.s.tokens[i].start
                )

    def check_columns(self) -> None:
        """Refuse an input whose columns cannot be told apart by name or are named like ours.

        Raises:
            PatternAnalysisError: CEP_RESERVED_COLUMN, CEP_DUPLICATE_COLUMN.
        """
        seen: set[str] = set()
        for column in self.scope.columns:
            if column.casefold().startswith(PREFIX):
                raise self.error(
                    "CEP_RESERVED_COLUMN",
                    f"Column {column} has the reserved prefix {PREFIX}.",
                    self.form.relation_start,
                )
            name = folded(column, self.settings.case_sensitive)
            if name in seen:
                raise self.error(
                    "CEP_DUPLICATE_COLUMN",
                    f"The input has two columns named {column}.",
                    self.form.relation_start,
                    "select the columns by name in a subquery",
                )
            seen.add(name)

    def selection(self, where: WhereSyntax, returned: Returns) -> tuple[Selection, bool]:
        """The strategy, and whether it is contiguity within partitions."""
        named = list(where.strategies)
        if self.syntax.selection is not None:
            named.append(read_strategy(self.scope, self.syntax.selection))
        for name, token in named[1:]:
            if name != named[0][0]:
                raise self.error(
                    "CEP_SELECTION_CONFLICT", f"The block has two strategies, {named[0][0]} and {name}.", token.start
                )
        if named:
            return STRATEGIES[named[0][0]]
        return (Selection.ANY if returned.trends else Selection.NEXT), False

    def remarks(self, where: WhereSyntax, returned: Returns) -> tuple[str, ...]:
        """What is written and probably not meant: event types with blanks, and a count of trends for one of matches."""
        grouped = self.syntax.group_by or self.syntax.slide is not None
        named = self.syntax.selection is not None or where.strategies
        counts = any(t.function == "count" and not (t.components or t.distinct) for t in returned.trends)
        if not counts or grouped or named or isinstance(self.pattern.pattern, Conjunction):
            return self.pattern.remarks
        return (
            *self.pattern.remarks,
            "RETURN count(*) counts every combination of events that fits, by windows where there is a WITHIN (EVENT "
            "SELECTION SKIP TILL ANY MATCH); to count matches, write SELECT count(*) FROM (FROM ... PATTERN ...), and "
            "to count the partitions that have one, add MATCHES FIRST to the inner block",
        )

    def matches(self, returned: Returns) -> Matches:
        """Which matches of a partition count: as MATCHES says, else all (the first one in SIESTA's notation).

        Raises:
            PatternAnalysisError: CEP_TREND_MATCHES; CEP_UNSUPPORTED_PATTERN, a reluctant quantifier says which match is
                preferred, and all of them are asked for.
        """
        found = self.chosen(returned)
        if found is Matches.ALL and any(isinstance(n, Quantified) and not n.greedy for n in walk(self.pattern.pattern)):
            raise self.error(
                "CEP_UNSUPPORTED_PATTERN",
                "A reluctant quantifier says which match is preferred, but the block returns all matches.",
                self.s.tokens[self.syntax.pattern[0]].start,
                "MATCHES NON OVERLAPPING, MATCHES FIRST, or the quantifier without its question mark",
            )
        return found

    def chosen(self, returned: Returns) -> Matches:
        """See :meth:`matches`, by the words of the block."""
        named = self.syntax.matches
        if named and named != "ALL" and returned.trends:
            position = self.syntax.positions.get("MATCHES", self.syntax.positions.get("RETURN-ALL", 0))
            raise self.error(
                "CEP_TREND_MATCHES", "RETURN with aggregates is over every combination of events, not over the matches "
                "that MATCHES chooses.", position,
                f"write SELECT count(*) FROM (FROM ... PATTERN ... MATCHES {named})",
            )  # fmt: skip
        if named:
            return Matches("MATCHES " + named)
        return Matches.FIRST if self.pattern.siesta and not returned.trends else Matches.ALL

    def not_the_next(self, components: Sequence[Component], bound: Sequence[Condition]) -> list[Condition]:
        """What `!B n IMMEDIATELY` says of the component behind it.

        Raises:
            PatternAnalysisError: CEP_UNSUPPORTED_PATTERN.
        """
        named = frozenset(key for c in bound for key in c.decided_by)
        found = not_the_next(components, self.pattern.pattern, named)
        if isinstance(found, list):
            return found
        raise self.error(
            "CEP_UNSUPPORTED_PATTERN",
            f"The event behind !{found.variable} IMMEDIATELY may be a {found.variable}, and may be none.",
            found.position, "name other event types behind it, or leave out the conditions on it",
        )  # fmt: skip

    def skip(self) -> Skip:
        """Where the search goes on behind a match.

        Raises:
            PatternAnalysisError: CEP_UNDEFINED_VARIABLE, CEP_NEGATED_VARIABLE.
        """
        mode, token = self.syntax.skip, self.syntax.skip_target
        if token is None:
            return Skip(mode)
        variable = self.scope.variable(token)
        if variable is None:
            raise self.scope.no_variable(token)
        keys = tuple(c.key for c in self.scope.components if c.variable == variable and not c.negated)
        if not keys:
            raise self.error(
                "CEP_NEGATED_VARIABLE", f"{token.text} is negated: a match has no event of it.", token.start
            )
        return Skip(mode, variable, keys, self.syntax.skip_or_past)

    def check_conjunction(self, returned: Returns) -> None:
        """AND(P, Q) encloses the pattern, and trends are counted.

        Raises:
            PatternAnalysisError: CEP_CONJUNCTION.
        """
        found = [n for n in walk(self.pattern.pattern) if isinstance(n, Conjunction)]
        if not found:
            return
        trends = returned.trends
        if not trends or not all(t.function.endswith("count") for t in trends):
            raise self.error(
                "CEP_CONJUNCTION", "AND(...) is for counts of trends only.", found[0].position, "RETURN COUNT(*)"
            )
        if found != [self.pattern.pattern]:
            raise self.error(
                "CEP_CONJUNCTION", "AND(P, Q) must enclose the whole pattern.", found[-1].position,
                "PATTERN AND(SEQ(A, B), C+)",
            )  # fmt: skip
        if of_events := [t for t in trends if t.components]:
            raise self.error(
                "CEP_CONJUNCTION", "AND(P, Q) counts pairs of trends, not their events.", of_events[0].position,
                "RETURN COUNT(*)",
            )  # fmt: skip

    def check_within(self, source: Source) -> None:
        """WITHIN needs time to go up.

        Raises:
            PatternAnalysisError: CEP_WITHIN_ORDER.
        """
        position = self.syntax.positions.get("WITHIN")
        if position is not None and not source.order_by[0].ascending:
            raise self.error(
                "CEP_WITHIN_ORDER",
                "WITHIN needs the first ORDER BY key to be ascending.",
                position,
                "order by the time column ASC",
            )

    def identifiers(self, source: Source, returned: Returns, with_order: bool = True) -> frozenset[str]:
        """Case-folded names that the block mentions; other columns of the input need not be read.

        Args:
            with_order: also those that only ORDER BY or the log's tie-break mentions.
        """
        low = min(self.form.head[0], self.form.body[0])
        order = [] if with_order else [k.expression for k in self.syntax.order_by]
        names = self.s.words(low, self.form.body[1], order)
        outside = list(source.names)
        if not with_order and source.tiebreak is not None:
            outside.remove(next(n for n in outside if quote(n) == source.tiebreak))
        names |= {n.casefold() for n in outside}
        return names | frozenset(c.casefold() for c in self.scope.columns if returned.whole_events)

    # -- times -----------------------------------------------------------------------------------------------------

    def numeric_time(self) -> bool:
        """Whether the first ORDER BY key is a number."""
        if self.time_type is None:
            self.time_type = self.type_of(self.scope.order_key)
        return self.time_type.split("(")[0] in _NUMERIC

    def time(self, span: Range | None) -> str | None:
        """An interval: `10 minutes`, `INTERVAL '1' DAY`, a bare number for seconds or units of a numeric time."""
        if span is None:
            return None
        tokens = self.s.tokens[slice(*span)]
        source = self.s.text[tokens[0].start : tokens[-1].end]
        if len(tokens) == 1 and tokens[0].kind == "number" and re.fullmatch(r"\d+(\.\d+)?", tokens[0].text):
            return source if self.numeric_time() else f"INTERVAL {source} SECOND"
        words = source[8:].strip() if tokens[0].upper == "INTERVAL" else source
        if _DURATION.fullmatch(words):
            parts = [(n, self.unit(u, tokens)) for n, u in _DURATION_PART.findall(words)]
            if any("." in n and unit != "SECOND" for n, unit in parts):
                raise self.error(
                    "CEP_INTERVAL", "Only seconds have a fraction.", tokens[0].start, "90 seconds, 1 minute 30 seconds"
                )
            return "INTERVAL " + " ".join(f"{n} {unit}" for n, unit in parts)
        return plain(self.scope, span)

    def length(self, span: Range | None) -> str | None:
        """As :meth:`time`, with a sign before it."""
        if span is not None and self.s.operator(span[0]) == "-" and span[1] - span[0] > 1:
            return f"-({self.time((span[0] + 1, span[1]))})"
        return self.time(span)

    def begin(self, span: Range | None) -> int:
        """Where a length stands in the statement."""
        return self.s.tokens[span[0]].start if span is not None else 0

    def unit(self, name: str, tokens: Sequence[Token]) -> str:
        """Spark's name of a unit of time from a word for it. ``tokens``: where it stands.

        Raises:
            PatternAnalysisError: CEP_INTERVAL.
        """
        found = _UNITS.get(name.lower())
        if found is None:
            token = next((t for t in tokens if t.text.endswith(name)), tokens[0])
            raise self.error(
                "CEP_INTERVAL",
                f"{name} is not a unit of time.",
                token.start,
                near_hint(name, _UNITS, "seconds, minutes, hours, days, weeks, months and years are"),
            )
        return found

    def constraint(self, conditions: ConditionBinder, span: Range) -> Condition:
        """SIESTA's `(time | gap, within | atleast, length, a, b)` as a condition; `consecutive` in the place of both
        positions means each two events of the match that follow each other.

        ``span``: its tokens with the parentheses.

        Raises:
            PatternAnalysisError: CEP_CONSTRAINT, CEP_INTERVAL.
        """
        low, high = span
        parts = split_arguments(self.scope, low + 1, high - 1)
        length: tuple[str, bool] | None = None
        if len(parts) in (4, 5):
            tokens = self.s.tokens[slice(*parts[2])]
            whole = len(tokens) == 1 and tokens[0].text.isdigit()
            gap = self.s.word(low + 1) == "GAP"
            length = (tokens[0].text if gap and whole else self.time(parts[2]) or "", whole)
        return conditions.constraint(low, high, length, self.scope.order_key)

    def between(self) -> tuple[str, str] | None:
        """Expressions of the first and the last time of BETWEEN, both inclusive."""
        span = self.syntax.between
        return None if span is None else (plain(self.scope, span[0]), plain(self.scope, span[1]))

    # -- other clauses ---------------------------------------------------------------------------------------------

    def merged_case(self, source: Source) -> KeyExpression | None:
        """The key whose partitions GROUPS merges; from here on the input has a column for the group."""
        if self.syntax.groups is None or len(source.partition_by) != 1:
            return None
        if self.scope.is_column(GROUP_ID):
            raise self.error(
                "CEP_GROUPS",
                f"GROUPS makes a column {GROUP_ID}, which the input already has.",
                self.syntax.positions["GROUPS"],
                "rename it in a subquery",
            )
        self.scope.columns = (*self.scope.columns, GROUP_ID)
        return source.partition_by[0]

    def groups(self) -> tuple[tuple[int | str, ...], ...]:
        """`[(1-3,8),(5-7)]`, `[('a','b'),('c')]`"""
        span = self.syntax.groups
        if span is None:
            return ()
        low, high = span
        closers, s = self.scope.closers, self.s
        out: list[tuple[int | str, ...]] = []
        whole = closers.get(low) == high - 1
        if whole and s.operator(low) == "(" and s.operator(low + 1) != "(":
            parts = [(low, high)]
        else:
            parts = split_arguments(self.scope, low + 1, high - 1) if whole else []
        for a, b in parts:
            if s.operator(a) != "(" or closers.get(a) != b - 1:
                parts = []
                break
            out.append(self.group(a + 1, b - 1))
        if not parts:
            raise self.error(
                "CEP_GROUPS", "GROUPS takes lists of case numbers.", s.tokens[low].start, "GROUPS [(1-3,8),(5-7)]"
            )
        return tuple(out)

    def group(self, low: int, high: int) -> tuple[int | str, ...]:
        """One list of GROUPS: numbers (ranges spelled out) or names of cases, each once.

        Raises:
            PatternAnalysisError: CEP_GROUPS.
        """
        numbers: list[int | str] = []
        for a, b in split_arguments(self.scope, low, high):
            if b - a == 1 and self.s.tokens[a].kind == "string":
                numbers.append(self.s.tokens[a].text)
                continue
            text = "".join(t.text for t in self.s.tokens[a:b])
            found = re.fullmatch(r"(\d{1,18})(?:-(\d{1,18}))?", text)
            position = self.s.tokens[a].start
            if found is None:
                raise self.error(
                    "CEP_GROUPS",
                    f"{text} is neither a case number nor a range of case numbers.",
                    position,
                    "GROUPS [(1-3,8),(5-7)]",
                )
            first, last = int(found[1]), int(found[2] or found[1])
            if last < first:
                raise self.error("CEP_GROUPS", f"The range {text} ends before it begins.", position)
            if len(numbers) + last - first >= _MAXIMUM_GROUPS:
                raise self.error("CEP_GROUPS", f"A group has at most {_MAXIMUM_GROUPS} cases.", position)
            if found[2] and self.range_position < 0:
                self.range_position = position
            numbers += range(first, last + 1)
        return tuple(dict.fromkeys(numbers))

    def uncertainty(self) -> Uncertainty | None:
        """UNCERTAINTY with AT MOST, STEP and PROBABILITY: two bounds, or a half width around the ORDER BY key."""
        span = self.syntax.uncertainty
        if span is None:
            return None
        low, high = span
        step, at_most = self.time(self.syntax.step), self.time(self.syntax.at_most)
        probability = None if self.syntax.probability is None else plain(self.scope, self.syntax.probability)
        position = self.syntax.positions["UNCERTAINTY"]
        if self.s.operator(low) == "(" and self.scope.closers.get(low) == high - 1:
            parts = split_arguments(self.scope, low + 1, high - 1)
            if len(parts) == 2:
                first, second = (plain(self.scope, p) for p in parts)
                return Uncertainty(first, second, None, step, probability, at_most, position)
        return Uncertainty(None, None, self.width(span), step, probability, at_most, position)

    def width(self, span: Range) -> str:
        """A time, or an expression that gives one per row, in which times stand as they do elsewhere in a block."""
        if self.s.word(span[0]) != "CASE":
            return self.time(span) or ""

        def interval(time: re.Match[str]) -> str:
            unit = _UNITS.get((time["unit"] or "").lower())
            return f"INTERVAL {time['number']} {unit}" if unit else time[0]

        return _TIME_INSIDE.sub(interval, plain(self.scope, span))

    def later_runs(self) -> list[LaterRun]:
        """Of MATCHES LATEST, the runs that must not come as far as the match has come; the pattern says so from now on.

        Raises:
            PatternAnalysisError: CEP_UNSUPPORTED_PATTERN.
        """
        if self.syntax.latest < 0:
            return []
        found = with_later_runs(self.pattern, self.syntax.latest)
        if isinstance(found, str):
            raise self.error(
                "CEP_UNSUPPORTED_PATTERN", f"MATCHES LATEST needs {found}.", self.syntax.latest,
                "write out what must not come: SEQ(A a, !A later, B+ b[])",
            )  # fmt: skip
        self.pattern, runs = found
        return runs

    def bind_everywhere(self, conjunct: Range, conditions: ConditionBinder, later: list[LaterRun]) -> list[Condition]:
        """A conjunct of WHERE as conditions on the match, and on the later runs that it is about."""
        bound = conditions.bind(conjunct)
        own = [run for run in later if run.covers(bound)]
        for run in own:
            pattern = run.renamed(self.pattern)
            binder = ConditionBinder(replace(self.scope, components=pattern.components), pattern)
            bound = [*bound, *binder.bind(conjunct)]
        return bound

    def confidence(self) -> float | None:
        """The least confidence, from 0 to 1; percentages are converted.

        Raises:
            PatternAnalysisError: CEP_CONFIDENCE.
        """
        span = self.syntax.confidence
        if span is None:
            return None
        text = "".join(t.text for t in self.s.tokens[slice(*span)])
        if not re.fullmatch(r"(\d+\.?\d*|\.\d+)%?", text) or float(text.rstrip("%")) > (100 if "%" in text else 1):
            raise self.error(
                "CEP_CONFIDENCE",
                "CONFIDENCE >= takes a number from 0 to 1.",
                self.s.tokens[span[0]].start,
                "CONFIDENCE >= 0.5",
            )
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)

    def non_answers(self) -> NonAnswers | None:
        """EXPLAIN NON ANSWERS (k, uncertainty, step) as SQL; a bare k is a number whatever the ORDER BY key's type."""
        if not self.syntax.non_answers:
            return None
        # A bare k is a number whatever the ORDER BY key is; all else is a length of time.
        parts = self.syntax.non_answers
        bare = parts[0][1] - parts[0][0] == 1
        cost = plain(self.scope, parts[0]) if bare else self.time(parts[0]) or ""
        uncertainty, step = (self.time(r) or "" for r in parts[1:])
        positions = tuple(self.s.tokens[low].start for low, _ in parts)
        return NonAnswers(cost, uncertainty, step, self.syntax.positions["EXPLAIN NON ANSWERS"], positions)


def bind_block(
    statement: Statement,
    form: PatternOccurrence,
    columns: Sequence[str],
    qualifiers: frozenset[str],
    render: Callable[[int, int], str],
    settings: Settings,
    with_prefix: str = "",
    properties: Properties = lambda relation: {},
    type_of: TypeOf = lambda expression: "timestamp",
    indexed: Indexed = dict,
    keys: LogKeys | None = None,
    constants: Mapping[int, int] | None = None,
) -> PatternQuery:
    """Parse and bind one pattern block.

    Args:
        statement: the statement the block stands in.
        form: the block's spans.
        columns: the input's columns in table order.
        qualifiers: the input relation's own names, folded.
        render: text of a span with nested forms replaced.
        settings: the session's log columns and Spark's case sensitivity.
        with_prefix: the WITH list that the block's subqueries may need.
        properties: properties of the table that the relation's text names; asked only where the block leaves
            something out.
        type_of: Spark's name of the type of an expression over the input; asked only for the ORDER BY key, and only
            where a time is a bare number.
        indexed: the input's columns as an index names them; asked only where nothing else does.
        keys: those of the rule set that the block is a rule of.
        constants: see :class:`BlockScope`.

    Raises:
        PatternParseError: the block cannot be read.
        PatternAnalysisError: it names or combines what it may not.
    """
    binder = BlockBinder(
        statement, form, columns, qualifiers, render, settings, properties, type_of, indexed, keys, constants
    )
    return binder.bind(with_prefix)
