"""Bind a window with a pattern, and the calls over it, to a PatternQuery."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sparkcep.errors import PatternAnalysisError, near_hint, near_name
from sparkcep.pattern import Concatenation, Quantified, Variable
from sparkcep.query import (
    GAP,
    PREFIX,
    Aggregate,
    Measure,
    Navigation,
    PatternQuery,
    RowExpression,
    RowMarker,
    RowsPerMatch,
    Scalar,
    Slot,
    SortKey,
    Window,
    clause_components,
    string_literal,
)
from sparkcep.settings import Settings
from sparkcep.sql.clause.binder import Binder
from sparkcep.sql.clause.row_pattern import variable_name
from sparkcep.sql.lexicon import Token
from sparkcep.sql.match_functions import AGGREGATES
from sparkcep.sql.permutations import check_permutations
from sparkcep.sql.scalars import ScalarReader
from sparkcep.sql.scope import Scope
from sparkcep.sql.statement import Statement, WindowCall
from sparkcep.sql.windows.lengths import rows_after, rows_before
from sparkcep.sql.windows.parser import WindowSyntax

#: The input's column with a row's place in its partition, from 1.
ROW = PREFIX + "row"
#: Functions that see the partition, whatever the frame.
OF_PARTITION = frozenset("row_number rank dense_rank percent_rank cume_dist ntile lag lead".split())
#: Functions of one row of the frame, as the functions that do the same where NULLs are left out.
OF_FRAME = {
    "first": "first_value", "first_value": "first_value", "last": "last_value", "last_value": "last_value",
    "nth_value": "nth_value",
}  # fmt: skip
#: More rows than a partition has; a larger frame is as good as one of these.
_MOST_ROWS = 10**15


@dataclass(frozen=True, slots=True)
class BoundWindow:
    """``query``: over the input with the column ``ROW``, where ``order_by`` is that column alone. ``order``: the
    window's own, which gives rows their places. ``columns``: of each call that the pattern answers, the column. The
    ``others`` see the partition."""

    query: PatternQuery
    order: tuple[SortKey, ...]
    columns: dict[WindowCall, str]
    others: tuple[WindowCall, ...]


class WindowBinder(Binder):
    """Binds one window.

    Args:
        window: its sections.
        calls: over it.
        name: what its columns' names begin with.
        computed: see :class:`Scope`.
        other arguments: see :class:`Binder`.

    Raises:
        PatternAnalysisError: CEP_WINDOW_CALL, CEP_WINDOW_FRAME, CEP_WINDOW_PATTERN, and those of a clause.
    """

    def __init__(
        self,
        statement: Statement,
        window: WindowSyntax,
        calls: Sequence[WindowCall],
        name: str,
        columns: Sequence[str],
        qualifiers: frozenset[str],
        render: Callable[[int, int], str],
        settings: Settings,
        computed: Mapping[int, int],
    ) -> None:
        super().__init__(statement, window.clause, window.body, columns, qualifiers, render, settings)
        self.window = window
        self.calls = calls
        self.name = name
        own = [c for c in columns if not c.startswith(PREFIX)]
        self.scope = Scope(
            statement, self.primaries, {}, qualifiers, tuple(own), settings.case_sensitive, render, computed=computed
        )
        #: Text of how many rows follow the current one in its frame; None: all.
        self.frame: str | None = None

    def bind_window(self, columns: Sequence[str], with_prefix: str = "") -> BoundWindow:
        """The window as a query. ``columns``: of the input, beside ``ROW``. ``with_prefix``: see :meth:`Binder.bind`.

        Raises:
            PatternAnalysisError: see :class:`WindowBinder`.
        """
        self.check_columns()
        check_permutations(self.pattern, self.settings.limit_permute, self.error)
        self.bind_subsets()
        self.frame = self.bind_frame()
        seek, pattern = self.window.seek, self.pattern
        if seek:
            pattern = Concatenation((Quantified(Variable(GAP), 0, None, greedy=False), pattern))
        conditions = [replace(c, scalar=self.framed(c.scalar, c.decided_by[0])) for c in self.bind_definitions()]
        defined = {m.name.casefold(): m.expression for m in self.bind_measures(True)}
        measures: list[Measure] = []
        answered: dict[WindowCall, str] = {}
        others: list[WindowCall] = []
        functions: set[str] = set()
        for call in self.calls:
            is_function = self.s.operator(self.s_behind_name(call)) == "("
            if is_function and self.function(call) in OF_PARTITION:
                others.append(call)
                continue
            scalar = self.call(call) if is_function else self.measure(call, defined)
            same = next(
                (m.name for m in measures if m.expression == scalar and (m.name in functions) == is_function), ""
            )
            name = same or f"{self.name}{len(measures)}"
            if not same:
                measures.append(Measure(name, self.framed(scalar, None)))
            if is_function:
                functions.add(name)
            answered[call] = name
        order = self.bind_order()
        query = PatternQuery(
            columns=(*columns, ROW),
            partition_by=tuple(self.key(r) for r in self.clause.partition_by),
            order_by=(SortKey(ROW),),
            event_type=None,
            measures=tuple(measures),
            rows_per_match=RowsPerMatch.EACH_ROW,
            skip=self.bind_skip(),
            pattern=pattern,
            components=clause_components(pattern),
            conditions=tuple(conditions),
            within=self.frame,
            within_position=self.s.tokens[self.window.framed or 0].start,
            subsets=tuple(self.scope.unions.items()),
            selection=self.clause.selection,
            identifiers=self.s.words(*self.body),
            window=Window(ROW, self.shown_frame(), order, seek, frozenset(functions)),
            with_prefix=with_prefix,
            text=self.s.text,
            start=self.s.tokens[self.body[0] - 1].start,
            expressions=self.expressions(),
        )
        return BoundWindow(query, order, answered, tuple(others))

    def taken_names(self, one_row: bool) -> set[str]:
        """None: measures are called over the window, and hide no column."""
        return set()

    # -- the frame -------------------------------------------------------------------------------------------------

    def bind_frame(self) -> str | None:
        """How many rows follow the current one in its frame, as SQL of type BIGINT; None: all.

        Raises:
            PatternAnalysisError: CEP_WINDOW_FRAME.
        """
        span = self.window.frame
        if span is None:
            return None
        low, high = span
        tokens = self.s.tokens
        if low == high:
            return "0L"
        if high - low == 1 and tokens[low].kind == "number":
            if not tokens[low].text.isdecimal():
                raise self.wrong_frame(tokens[low])
            return f"{min(int(tokens[low].text), _MOST_ROWS)}L"
        if self.s.operator(low) == "-" and high - low == 2 and tokens[high - 1].kind == "number":
            raise self.wrong_frame(tokens[low])
        text = self.plain(span)
        wrong = string_literal("[CEP_WINDOW_FRAME] The rows of a frame are a number of 0 or more; here it is ")
        refused = f"raise_error(concat({wrong}, coalesce(CAST(({text}) AS STRING), 'NULL'), '.'))"
        return f"(CASE WHEN ({text}) >= 0 THEN CAST(least(({text}), {_MOST_ROWS}L) AS BIGINT) ELSE {refused} END)"

    def shown_frame(self) -> str:
        """The frame's end as it was written, for EXPLAIN."""
        if self.window.frame is None:
            return "UNBOUNDED FOLLOWING"
        low, high = self.window.frame
        if low == high:
            return "CURRENT ROW"
        return f"{self.render(self.s.tokens[low].start, self.s.tokens[high - 1].end)} FOLLOWING"

    def wrong_frame(self, token: Token) -> PatternAnalysisError:
        """CEP_WINDOW_FRAME at a number; the caller raises it."""
        return self.error(
            "CEP_WINDOW_FRAME",
            "The rows of a frame are a whole number of 0 or more.",
            token.start,
            "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING, or AND n FOLLOWING",
        )

    def framed(self, scalar: Scalar, variable: str | None) -> Scalar:
        """An expression that reads no row outside of the frame, and none before the match as one of the match.

        Args:
            variable: whose condition it is; None for a measure.

        Raises:
            PatternAnalysisError: CEP_WINDOW_PATTERN.
        """
        pieces: list[str | Slot] = []
        for piece in scalar.pieces:
            if isinstance(piece, str):
                self.put(pieces, piece)
                continue
            slot = self.of_match(piece)
            if isinstance(slot, Aggregate) or not slot.physical or self.is_inside(slot, variable):
                pieces.append(slot)
                continue
            # PREV sees no row before the current one, which is the first of all that the pattern takes.
            before = slot.physical < 0
            at = replace(slot, argument=RowExpression((ROW,)))
            labels = self.primaries if before and slot.argument.markers and self.window.seek else None
            end = RowExpression((ROW if before else f"({ROW} + {self.frame})",))
            bound = Navigation(end, labels, True, 0, 0, slot.running, slot.position)
            self.put(pieces, "(CASE WHEN ")
            pieces += [at, " >= " if before else " <= ", bound, " THEN ", slot]
            self.put(pieces, " END)")
        return Scalar(tuple(pieces), scalar.position)

    def of_match(self, slot: Slot) -> Navigation | Aggregate:
        """A slot that sees rows of the match alone, not those that SEEK has passed.

        Raises:
            PatternAnalysisError: CEP_WINDOW_PATTERN.
        """
        if not isinstance(slot, (Navigation, Aggregate)):
            raise self.no_match_number(slot.position)
        read = [slot.argument] if isinstance(slot, Navigation) else [*slot.arguments, *_some(slot.filter)]
        if any(RowMarker.MATCH_NUMBER in r.markers for r in read):
            raise self.no_match_number(slot.position)
        return replace(slot, variables=self.primaries) if self.window.seek and slot.variables is None else slot

    def put(self, pieces: list[str | Slot], text: str) -> None:
        """Append text; no two texts stand beside each other."""
        if pieces and isinstance(pieces[-1], str):
            pieces[-1] += text
        else:
            pieces.append(text)

    def is_inside(self, slot: Navigation, variable: str | None) -> bool:
        """Whether the row that PREV or NEXT points at is in the frame wherever it is asked for."""
        if slot.physical > 0 and self.frame is None:
            return True  # the partition's end
        own = variable is not None and not slot.from_first and not slot.logical
        if not own or variable is None or (slot.variables is not None and variable not in slot.variables):
            return False
        if slot.argument.markers:
            return False
        rows = rows_before(self.pattern, variable) if slot.physical < 0 else rows_after(self.pattern, variable)
        return abs(slot.physical) <= rows

    def no_match_number(self, position: int) -> PatternAnalysisError:
        """CEP_WINDOW_PATTERN at MATCH_NUMBER; the caller raises it."""
        return self.error(
            "CEP_WINDOW_PATTERN",
            "MATCH_NUMBER cannot be used in a window, where each row has its own match.",
            position,
            "row_number() OVER (PARTITION BY ... ORDER BY ...) numbers rows",
        )

    # -- calls -----------------------------------------------------------------------------------------------------

    def s_behind_name(self, call: WindowCall) -> int:
        """Index behind the name that is called."""
        k = call.low + 1
        while self.s.operator(k) == ".":
            k += 2
        return k

    def function(self, call: WindowCall) -> str:
        """The lower-case name of a function that is called."""
        return self.s.tokens[self.s_behind_name(call) - 1].text.lower()

    def measure(self, call: WindowCall, defined: dict[str, Scalar]) -> Scalar:
        """The measure that is called.

        Raises:
            PatternAnalysisError: CEP_WINDOW_CALL.
        """
        token = self.s.tokens[call.low]
        if call.over - call.low == 1 and token.text.casefold() in defined:
            return defined[token.text.casefold()]
        name = token.text if call.over - call.low == 1 else self.s.text[token.start : self.s.tokens[call.over - 1].end]
        near = near_name(name, defined)
        raise self.error(
            "CEP_WINDOW_CALL",
            f"The window has no measure {name}.",
            token.start,
            f"did you mean {near}?"
            if near
            else f"MEASURES has {', '.join(defined)}"
            if defined
            else "add it to MEASURES",
        )

    def call(self, call: WindowCall) -> Scalar:
        """A function over the rows of the match.

        Raises:
            PatternAnalysisError: CEP_WINDOW_CALL.
        """
        s, name = self.s, self.function(call)
        opens = self.s_behind_name(call)
        close = s.pairs[opens]
        first = s.tokens[call.low]
        self.refuse_variables(call)
        if opens - call.low > 1 or (name not in AGGREGATES and name not in OF_FRAME):
            known = sorted({*AGGREGATES, *OF_FRAME, *OF_PARTITION})
            raise self.error(
                "CEP_WINDOW_CALL",
                f"{name} cannot be called over a window with a pattern.",
                first.start,
                near_hint(name, known, "array_agg collects rows for any other function"),
            )
        scope = replace(self.scope, primaries=(), unions={})
        reader = ScalarReader(scope, running=False, in_define=False, one_row=True)
        nulls = s.word(call.over - 1) == "NULLS"
        behind = call.over - 2 * nulls
        if name in OF_FRAME:
            slot: Slot = self.value(reader, call, name, opens, nulls and s.word(call.over - 2) == "IGNORE")
            after = close + 1
        else:
            slot, after = reader.aggregate(opens - 1, close, False)
        if after != behind or (nulls and name not in OF_FRAME):
            raise self.error(
                "CEP_WINDOW_CALL",
                f"{s.tokens[after].text} cannot follow {name} over a window with a pattern.",
                s.tokens[after].start,
            )
        return Scalar((slot,), first.start)

    def value(self, reader: ScalarReader, call: WindowCall, name: str, opens: int, ignore: bool) -> Slot:
        """A function of one row of the frame.

        Raises:
            PatternAnalysisError: CEP_WINDOW_CALL.
        """
        s, first = self.s, self.s.tokens[call.low]
        arguments = reader.arguments(opens + 1, s.pairs[opens])
        if len(arguments) == 2 and name != "nth_value" and s.word(arguments[1][0]) in ("TRUE", "FALSE"):
            ignore = s.word(arguments.pop()[0]) == "TRUE"
        number = s.tokens[arguments[1][0]] if name == "nth_value" and len(arguments) == 2 else None
        whole = number is not None and number.kind == "number" and number.text.isdecimal() and int(number.text) > 0
        if len(arguments) != 1 + (name == "nth_value") or (number is not None and not whole):
            takes = "a value and a number from 1, a literal" if name == "nth_value" else "a value"
            raise self.error("CEP_WINDOW_CALL", f"{name} takes {takes}.", first.start)
        argument, _ = reader.row_expression(*arguments[0], name)
        place = int(number.text) if number is not None else 1
        if ignore:
            more = RowExpression((str(place) if number is not None else "true",))
            return Aggregate(OF_FRAME[name], (argument, more), False, None, False, False, None, first.start)
        from_first = OF_FRAME[name] != "last_value"
        return Navigation(argument, None, from_first, place - 1, 0, False, first.start)

    def refuse_variables(self, call: WindowCall) -> None:
        """A function over the window sees all rows of the match.

        Raises:
            PatternAnalysisError: CEP_WINDOW_CALL.
        """
        s = self.s
        for k in range(call.low, call.over):
            token = s.tokens[k]
            if s.operator(k + 1) != "." or s.operator(k - 1) == "." or token.kind not in ("word", "quoted"):
                continue
            names_input = token.text.casefold() in self.scope.qualifiers or self.scope.is_column(token.text)
            if not names_input and self.scope.variables_of(variable_name(token)) is not None:
                text = s.text[s.tokens[call.low].start : s.tokens[call.over - 1].end]
                raise self.error(
                    "CEP_WINDOW_CALL",
                    "A function over a window sees all rows of the match, not those of one variable.",
                    token.start,
                    f"make it a measure: MEASURES {text} AS name, and call name OVER the window",
                )


def _some(expression: RowExpression | None) -> list[RowExpression]:
    return [] if expression is None else [expression]
