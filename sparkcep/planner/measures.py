"""What Spark computes after matching: MEASURES over the operator's output, as SQL text.

Slots become columns, aggregates become window functions over the rows of a match (so types, overflow and every
function's meaning are Spark's), all other text is the user's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sparkcep.errors import PatternAnalysisError, streaming_unsupported
from sparkcep.exec.kernels.rows.output import WAITING
from sparkcep.exec.shape import CURRENT_ROW, SELF_ROW
from sparkcep.exec.streaming.collected import MATCH, PLACE
from sparkcep.planner.conditions.match_conditions import describe_slot
from sparkcep.planner.output_sql import OutputSql
from sparkcep.planner.outputs import Outputs
from sparkcep.planner.streaming.aggregates import KNOWN, array_aggregate
from sparkcep.query import (
    DEFAULT_OUTPUT,
    GAP,
    LABEL,
    MATCH_NUMBER,
    PREFIX,
    SOURCE,
    Aggregate,
    Events,
    MatchNumber,
    Measure,
    Navigation,
    PatternQuery,
    RowExpression,
    RowsPerMatch,
    Scalar,
    Slot,
    Waiting,
    quote,
    string_literal,
    unescape,
)

_CODE = PREFIX + "code"
_FLAGS = PREFIX + "flags"
_SELF = PREFIX + "self"
_NUMBER = PREFIX + "number"
#: How many arguments of a function are values; what follows them must stay a constant. Of all others all are.
_VALUES = {"max_by": 2, "min_by": 2} | dict.fromkeys(
    "percentile percentile_approx approx_percentile approx_count_distinct histogram_numeric listagg string_agg "
    "mode nth_value".split(),
    1,
)
#: Functions of one row among those that are not NULL, as all others are outside of the aggregate's rows.
_WITHOUT_NULLS = frozenset({"nth_value"})
_TAKES_NULLS = frozenset({"any_value"})
#: Aggregates that are as large as the match: a window would copy them into each of its rows.
_LISTS = frozenset({"collect_list", "array_agg", "collect_set", "listagg", "string_agg"})
#: Aggregates that are one row's value, which may be NULL.
_NAVIGATED = frozenset({"first_value", "last_value"})


class MeasureSql(OutputSql):
    """Builds the statement over ``{SOURCE}``, the operator's output.

    Args:
        query: whose measures these are.
        keys: (expression, name) of PARTITION BY; the last ``query.hidden_keys`` of them are not shown.
        outputs: collects what the measures need of the operator.
        order: the operator's column that orders the rows of a match.
        analyze: types of expressions over the input, for aggregates over a stream.
    """

    def __init__(
        self,
        query: PatternQuery,
        keys: list[tuple[str, str]],
        outputs: Outputs,
        order: str = _SELF,
        analyze: Callable[[Sequence[str]], list[tuple[str, str]]] | None = None,
    ) -> None:
        self.query = query
        self.keys = keys
        self.outputs = outputs
        self.order = order
        self.analyze = analyze or (lambda items: [])
        #: Columns of the operator's output that it collects of all rows of a match, without prefix.
        self.collected: dict[str, None] = {}
        self.slot_columns: dict[Slot, str] = {}
        self.direct: dict[Slot, int] = {}
        self.inner: list[str] = []
        self.carried: list[tuple[str, list[str], str]] = []
        self.firsts: list[str] = []
        self.windows: list[str] = []
        #: Aggregates of each match that need no window, by their columns.
        self.lists: dict[str, str] = {}
        self.natural: dict[str, str] = {}
        self.passed: dict[str, str] = {}
        self.measures: list[tuple[str, str]] = []
        #: What matches must satisfy to be emitted, over the slots' columns.
        self.filters: list[str] = []

    @property
    def has_aggregates(self) -> bool:
        """Whether Spark must aggregate over the rows of a match."""
        return any(isinstance(s, Aggregate) for m in self.query.measures for s in m.expression.slots)

    def prepare(self) -> None:
        """Register everything the measures need of the operator."""
        query = self.query
        if query.window is not None and self.has_aggregates:  # SELF is the row that a match is looked for from
            self.order = PREFIX + "at"
            self.inner.append(f"{PREFIX}g{self.outputs.gather(CURRENT_ROW, quote(query.window.row))} AS {self.order}")
        text = " ".join(self.own_text(m.expression) for m in query.measures).casefold()
        key_columns = {name for text, name in self.keys if self.outputs.fields.column_of(text) is not None}
        for column in query.columns:
            if column not in key_columns and quote(column).strip("`").casefold() in text:
                self.natural[column] = f"{PREFIX}g{self.outputs.gather(CURRENT_ROW, quote(column))}"
        for measure in self.kept:
            for slot in measure.expression.slots:
                self.slot_column(slot)
            self.measures.append((measure.name, self.measure_text(measure)))
        if query.rows_per_match.has_columns:
            row = SELF_ROW if self.query.nullable_match else CURRENT_ROW
            for column in query.columns:
                if query.window is not None and column == query.window.row:
                    continue
                if column not in key_columns and query.wants(column):
                    self.passed[column] = f"{PREFIX}g{self.outputs.gather(row, quote(column))}"

    def is_unwanted(self, measure: Measure) -> bool:
        """Whether nobody asks for a measure, and it is a column's value, so that it hides no error either."""
        query = self.query
        if query.wants(measure.name):
            return False
        if query.is_block and not query.has_return and measure.name in DEFAULT_OUTPUT:
            return True
        pieces = [p for p in measure.expression.pieces if p != ""]
        if len(pieces) != 1 or not isinstance(pieces[0], Navigation) or pieces[0].argument.markers:
            return False
        return self.outputs.fields.column_of(pieces[0].argument.text) is not None

    def own_text(self, scalar: Scalar) -> str:
        """Text that Spark evaluates in the scope of the current row's columns."""
        out = []
        for p in scalar.pieces:
            if isinstance(p, str):
                out.append(p)
            elif isinstance(p, Aggregate):
                out += [a.text for a in p.arguments]
                if p.filter is not None:
                    out.append(p.filter.text)
        return " ".join(out)

    def measure_text(self, measure: Measure) -> str:
        """A measure over the columns that its slots have become; NULL in rows that no match takes."""
        text = "".join(p if isinstance(p, str) else self.slot_columns[p] for p in measure.expression.pieces)
        window = self.query.window
        is_call = window is not None and measure.name in window.calls
        if self.query.rows_per_match.has_unmatched and not is_call:
            text = f"CASE WHEN {MATCH_NUMBER} IS NOT NULL THEN ({text}) END"
        return text

    def place(self, fragments: Sequence[str]) -> tuple[int | None, dict[str, str]]:
        """Where the measure begins that holds some SQL text, as far as one does, and what slots are called by users."""
        at = {
            m.expression.position
            for m, (_, text) in zip(self.kept, self.measures, strict=True)
            if any(fragment in unescape(text) for fragment in fragments)
        }
        names = {column: describe_slot(slot) for slot, column in self.slot_columns.items() if column != MATCH_NUMBER}
        return (min(at) if at else None), names

    # -- slots -----------------------------------------------------------------------------------------------------

    def slot_column(self, slot: Slot) -> None:
        """Give a slot a column of the statement over the operator's output."""
        if slot in self.slot_columns:
            return
        hidden = f"{PREFIX}s{len(self.slot_columns)}"
        name = self.slot_columns[slot] = self.readable(slot) or hidden
        if isinstance(slot, MatchNumber):
            self.slot_columns[slot] = MATCH_NUMBER
        elif isinstance(slot, Events):
            time = self.outputs.trace(slot.time)
            more = f", e.f{self.outputs.trace(slot.event_id)} AS id" if slot.event_id else ""
            event = f"struct({name_sql(slot.shown, 'e.c')} AS variable, e.r AS position, e.f{time} AS time{more})"
            self.inner.append(f"transform({PREFIX}events, e -> {event}) AS {name}")
        elif isinstance(slot, Waiting):
            self.inner.append(f"{name_sql(slot.shown, f'{_FLAGS} DIV {WAITING} - 1')} AS {name}")
        elif isinstance(slot, Aggregate) and self.query.streaming:
            self.inner.append(f"{self.collected_aggregate(slot)} AS {name}")
        elif isinstance(slot, Aggregate) and self.is_grouped(slot):
            self.lists[name] = self.grouped_list(slot)
        elif isinstance(slot, Aggregate):
            self.windows.append(f"{self.aggregate(slot)} AS {name}")
        elif slot.argument.is_label:
            self.inner.append(f"{self.label_sql(f'{PREFIX}l{self.outputs.slot(slot, True)}')} AS {name}")
        elif not slot.argument.markers:
            row = self.outputs.slot(slot, False)
            self.direct[slot] = self.outputs.gather(row, slot.argument.text)
            self.inner.append(f"{PREFIX}g{self.direct[slot]} AS {name}")
        else:
            self.carry(slot, name, hidden)

    def readable(self, slot: Slot) -> str | None:
        """A column's name that is what the user has written: Spark's errors of rows show the SQL that it runs."""
        if not isinstance(slot, Navigation | Aggregate):
            return None
        text = describe_slot(slot)
        name = quote(text)
        taken = {quote(c).casefold() for c in self.query.columns} | {n.casefold() for n in self.slot_columns.values()}
        return name if PREFIX not in text and name.casefold() not in taken else None

    def carry(self, slot: Navigation, name: str, prefix: str) -> None:
        """CLASSIFIER or MATCH_NUMBER beside columns inside one navigation: evaluated in a scope that has both.

        Args:
            name: of the slot's column, ``prefix``: of those that it is made from.
        """
        row = self.outputs.slot(slot, False)
        text = slot.argument.text
        scope: list[str] = []
        for column in self.query.columns:
            if quote(column).strip("`").casefold() in text.casefold():
                hidden = f"{PREFIX}g{self.outputs.gather(row, quote(column))}"
                self.inner.append(f"{hidden} AS {prefix}_{len(scope)}")
                scope.append(f"{prefix}_{len(scope)} AS {quote(column)}")
        label = self.outputs.slot(slot, True)
        self.inner.append(f"{self.label_sql(f'{PREFIX}l{label}')} AS {prefix}_label")
        scope += [f"{prefix}_label AS {LABEL}", MATCH_NUMBER]
        # A navigation that points nowhere is NULL whatever its argument.
        self.carried.append((name, scope, f"CASE WHEN {LABEL} IS NOT NULL THEN ({text}) END"))

    def label_sql(self, code: str) -> str:
        """SQL of a variable's name from its code; NULL for a code outside of the pattern."""
        return name_sql([None if name == GAP else name for name in self.outputs.names], code)

    @property
    def groups(self) -> str:
        """The columns that tell matches apart."""
        return ", ".join([*(f"{PREFIX}k{i}" for i in range(len(self.keys))), MATCH_NUMBER])

    @property
    def is_one_row(self) -> bool:
        """Whether all of a match's rows are there when its one row is computed, so that RUNNING is FINAL."""
        return self.query.rows_per_match is RowsPerMatch.ONE and self.query.window is None

    def is_grouped(self, slot: Aggregate) -> bool:
        """Whether an aggregate is that of GROUP BY: a list, of which a match has one."""
        return slot.function in _LISTS and slot.own_aggregate is None and self.is_one_row

    def rows_inside(self, slot: Aggregate) -> str:
        """The condition on a match's row that an aggregate takes."""
        if slot.variables is None:
            inside = f"{LABEL} IS NOT NULL"
        else:
            inside = f"{LABEL} IN ({', '.join(string_literal(v) for v in slot.variables)})"
        return inside if slot.filter is None else f"{inside} AND ({slot.filter.text})"

    def grouped_list(self, slot: Aggregate) -> str:
        """A list of a match's values, in the order of its rows."""
        value, *others = slot.arguments
        values = self.inside(value, self.rows_inside(slot))
        if slot.distinct:
            (values,) = self.distinct([values], self.groups)
        if slot.function == "collect_set":
            return f"collect_set({values})"
        if slot.function in ("listagg", "string_agg"):
            items = ", ".join([values, *(o.text for o in others)])
            return f"{slot.function}({items}) WITHIN GROUP (ORDER BY {self.order})"
        kept = f"CASE WHEN ({values}) IS NOT NULL THEN struct({self.order} AS o, {values} AS v) END"
        # By the order alone: there is none of maps.
        return f"transform(array_sort(collect_list({kept}), (x, y) -> x.o - y.o), x -> x.v)"

    def aggregate(self, slot: Aggregate) -> str:
        """The aggregate as a window function over the rows of the match."""
        inside = self.rows_inside(slot)
        last = "CURRENT ROW" if slot.running and not self.is_one_row else "UNBOUNDED FOLLOWING"
        groups = self.groups
        over = f"OVER (PARTITION BY {groups} ORDER BY {self.order} ROWS BETWEEN UNBOUNDED PRECEDING AND {last})"
        if slot.star:
            return f"count(CASE WHEN {inside} THEN 1 END) {over}"
        if slot.function in _NAVIGATED:
            # NULL outside of the aggregate's rows, where inside a struct may hold one.
            value, *more = (a.text for a in slot.arguments)
            wanted = "".join(f" AND (NOT ({flag}) OR ({value}) IS NOT NULL)" for flag in more)
            struct = f"CASE WHEN {inside}{wanted} THEN named_struct('v', {value}) END"
            return f"({slot.function}({struct}, true) {over}).v"
        if slot.own_aggregate is not None:
            return f"{slot.own_aggregate.sql_name}({', '.join([inside, *(a.text for a in slot.arguments)])}) {over}"
        values = _VALUES.get(slot.function, len(slot.arguments))
        arguments = [self.inside(a, inside) for a in slot.arguments[:values]]
        if slot.distinct:
            arguments = self.distinct(arguments, groups)
        arguments += [a.text for a in slot.arguments[values:]]
        if slot.function == "median":  # which knows no window with an order
            return f"percentile({arguments[0]}, 0.5D) {over}"
        if slot.function in _TAKES_NULLS:
            arguments = [*arguments[:1], "true"]
        nulls = "IGNORE NULLS " if slot.function in _WITHOUT_NULLS else ""
        return f"{slot.function}({', '.join(arguments)}) {nulls}{over}"

    def collected_aggregate(self, slot: Aggregate) -> str:
        """The aggregate over the match's rows as the operator collects them: a stream has no windows.

        Raises:
            PatternAnalysisError: CEP_STREAMING_UNSUPPORTED.
        """
        function = "count" if slot.star else slot.function
        rows = f"slice({MATCH}, 1, {PLACE})" if slot.running else MATCH
        names = (
            range(len(self.outputs.names)) if slot.variables is None else map(self.outputs.names.index, slot.variables)
        )
        inside = f"r.code IN ({', '.join(map(str, names))})"
        self.collected.setdefault("code")
        if slot.filter is not None:
            inside += f" AND r.{self.collect(slot.filter, slot)}"
        rows = f"filter({rows}, r -> {inside})"
        if slot.star:
            return f"CAST(size({rows}) AS BIGINT)"
        first, *more = slot.arguments
        if first.is_label:
            values = f"transform({rows}, r -> {self.label_sql('r.code')})"
        else:
            values = f"transform({rows}, r -> r.{self.collect(first, slot)})"
        if slot.distinct:
            values = f"array_distinct({values})"
        typed = "''" if first.is_label else first.text
        parameters = [a.text for a in more]
        type_ = self.analyze([f"{function}({', '.join([typed, *parameters])})"])[0][1]
        found = array_aggregate(function, values, type_, parameters)
        if found is None:
            raise self.no_stream(slot, f"the aggregate {slot.function}()", f"over a stream there are {KNOWN}")
        return found

    def collect(self, expression: RowExpression, slot: Aggregate) -> str:
        """Name of the collected column with an expression of each row."""
        if expression.markers:
            raise self.no_stream(
                slot, "CLASSIFIER() or MATCH_NUMBER() inside of an aggregate's argument", "use CLASSIFIER() alone"
            )
        name = f"g{self.outputs.gather(CURRENT_ROW, expression.text)}"
        self.collected.setdefault(name)
        return name

    def no_stream(self, slot: Aggregate, what: str, hint: str) -> PatternAnalysisError:
        """CEP_STREAMING_UNSUPPORTED at the measure of an aggregate; the caller raises it."""
        query = self.query
        position = next((m.expression.position for m in query.measures if slot in m.expression.slots), query.start)
        return streaming_unsupported(what, query.text or None, position, hint)

    def inside(self, argument: RowExpression, condition: str) -> str:
        """An argument that is NULL outside of the aggregate's rows; aggregate functions ignore NULLs."""
        return f"CASE WHEN {condition} THEN ({argument.text}) END"

    def distinct(self, arguments: list[str], groups: str) -> list[str]:
        """Columns that hold the arguments on the first row of a match that has them, else NULL.

        Window functions know no DISTINCT; over these columns the plain function is the distinct one.
        """
        number = f"row_number() OVER (PARTITION BY {groups}, {', '.join(arguments)} ORDER BY {self.order})"
        names = []
        for argument in arguments:
            names.append(f"{PREFIX}d{len(self.firsts)}")
            self.firsts.append(f"CASE WHEN {number} = 1 THEN {argument} END AS {names[-1]}")
        return names

    # -- the statement ---------------------------------------------------------------------------------------------

    @property
    def shown_keys(self) -> list[tuple[str, str]]:
        """Keys without those that only equivalence tests make."""
        return self.keys[: len(self.keys) - self.query.hidden_keys]

    @property
    def kept(self) -> list[Measure]:
        """Measures that the statement around the clause may read, and those whose errors it must see."""
        return [m for m in self.query.measures if not self.is_unwanted(m)]

    @property
    def is_plain(self) -> bool:
        """Whether every measure is just a value that the operator gives."""
        if self.query.rows_per_match is not RowsPerMatch.ONE or self.query.nullable_match or not self.measures:
            return False
        if self.filters:
            return False
        pieces = [[p for p in m.expression.pieces if p != ""] for m in self.kept]
        return all(len(p) == 1 and p[0] in self.direct for p in pieces)

    def plain_columns(self) -> list[tuple[str, int]]:
        """Names of plain measures with the numbers of their gathered values."""
        return [(m.name, self.direct[s]) for m in self.kept for s in m.expression.slots]

    def sql(self) -> str:
        """One SELECT over ``{SOURCE}``."""
        if self.is_plain:
            plain = [f"{PREFIX}k{i} AS {quote(name)}" for i, (_, name) in enumerate(self.shown_keys)]
            plain += [f"{PREFIX}g{n} AS {quote(name)}" for name, n in self.plain_columns()]
            return f"SELECT {', '.join(plain)} FROM {{{SOURCE}}}"
        query = self.query
        keys = [f"{PREFIX}k{i}" for i in range(len(self.keys))]
        inner = [
            *keys,
            f"nullif(CAST({_NUMBER} AS BIGINT), 0L) AS {MATCH_NUMBER}",
            f"{self.label_sql(_CODE)} AS {LABEL}",
            _SELF,
            _FLAGS,
            *self.inner,
            *(f"{column} AS {quote(name)}" for name, column in self.natural.items()),
            *(f"{key} AS {quote(name)}" for key, (text, name) in zip(keys, self.keys, strict=True)
              if self.outputs.fields.column_of(text) is not None),
            *(f"{column} AS {PREFIX}p{i}" for i, column in enumerate(self.passed.values())),
        ]  # fmt: skip
        text = f"SELECT {', '.join(inner)} FROM {{{SOURCE}}}"
        for name, scope, expression in self.carried:
            carried = f"SELECT struct(*) AS {PREFIX}carry, {', '.join(scope)} FROM ({text})"
            text = f"SELECT {PREFIX}carry.*, {expression} AS {name} FROM ({carried})"
        if self.firsts:
            text = f"SELECT *, {', '.join(self.firsts)} FROM ({text})"
        if self.windows:
            text = f"SELECT *, {', '.join(self.windows)} FROM ({text})"
        if self.lists:
            lists = ", ".join(f"{sql} AS {name}" for name, sql in self.lists.items())
            row = f"any_value(struct(*)) FILTER (WHERE ({_FLAGS} & 2) <> 0) AS {PREFIX}last"
            grouped = f"SELECT {row}, {lists} FROM ({text}) GROUP BY {self.groups}"
            text = f"SELECT {PREFIX}last.*, {', '.join(self.lists)} FROM ({grouped})"
        conditions = list(self.filters)
        if self.query.filters_excluded:
            conditions.append(f"({_FLAGS} & 1) = 0")
        if self.has_aggregates and not query.rows_per_match.is_all:
            conditions.append(f"({_FLAGS} & 2) <> 0")
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        # Hidden names first, so that a measure cannot see another one's; and a row beside them, so that an aggregate
        # that slipped through is an error and not one row for the whole result.
        output = self.output()
        hidden = [f"{value} AS {PREFIX}o{i}" for i, (_, value) in enumerate(output)]
        named = [f"{PREFIX}o{i} AS {quote(name)}" for i, (name, _) in enumerate(output)]
        text = f"SELECT {', '.join([_SELF, *hidden])} FROM ({text}){where}"
        return f"{query.with_prefix}SELECT {', '.join(named)} FROM ({text})"

    def output(self) -> list[tuple[str, str]]:
        """(name, value): PARTITION BY columns; with ALL ROWS the ORDER BY columns; measures; with ALL ROWS the rest."""
        query = self.query
        keys = [(name, f"{PREFIX}k{i}") for i, (_, name) in enumerate(self.shown_keys)]
        measures = [(name, f"({text})") for name, text in self.measures]
        passed = {name: (name, f"{PREFIX}p{i}") for i, name in enumerate(self.passed)}
        if query.window is not None:  # the input's columns as they are, then the window's
            columns = {self.outputs.fields.column_of(text): key for (text, _), key in zip(self.keys, keys, strict=True)}
            shown = {name: (name, value) for name, (_, value) in columns.items() if name is not None} | passed
            return [*(shown[name] for name in query.columns if name in shown), *measures]
        ordered = [self.outputs.fields.column_of(k.expression) for k in query.order_by]
        first = [passed.pop(c) for c in dict.fromkeys(ordered) if c is not None and c in passed]
        out = [*keys, *first, *measures, *passed.values()]
        if out:
            return out
        # Nothing to show (ONE ROW PER MATCH without keys and measures) still has a row per match. Where the statement
        # asks for no column that there is, its names must not find one either.
        shows_nothing = not (query.measures or query.partition_by or query.rows_per_match.is_all)
        return [("match_number" if shows_nothing else f"{PREFIX}row", MATCH_NUMBER)]


def name_sql(names: Sequence[str | None], code: str) -> str:
    """SQL of the name at a code, a number from 0; NULL outside of them, and for what has no name."""
    texts = ("NULL" if name is None else string_literal(name) for name in names)
    return f"get(array({', '.join(texts)}), {code})"
