"""Compiled conditions give what the interpreter gives: NULL, NaN, mixed types, overflow, guarded errors."""

from __future__ import annotations

import datetime as dt
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given, reject
from hypothesis import strategies as st

from sparkcep.errors import SparkCepError
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.kernels.conditions import functions
from sparkcep.expr.nodes import AggregateSlot, Call, Constant, Expression, Load, NavigationSlot, NumberSlot, RowValue
from sparkcep.expr.types import BIGINT, DOUBLE, FLOAT, INT, NotCompilable, Type
from sparkcep.pattern import Alternation, Concatenation, Quantified, Variable

from .helpers import batch, found_matches, make_spec

A, B = Variable("A"), Variable("B")
SOME = Quantified(Alternation((A, B)), 1, None)
FLOATS, INTS = 0, 1
REGISTERS = (frozenset([0]), frozenset([1]), frozenset([0, 1]))
LARGE = 2**63 - 1

SLOTS = (
    NavigationSlot(2, False, 0, 0, FLOATS),
    NavigationSlot(0, False, 0, 0, FLOATS),
    NavigationSlot(1, True, 0, -1, FLOATS),
    NavigationSlot(2, False, 0, 0, INTS),
    NavigationSlot(0, True, 1, 0, INTS),
    NavigationSlot(2, False, 0, 1, INTS),
    NumberSlot(),
    *(AggregateSlot(f, 2, (RowValue(c),)) for f in ("min", "max", "count") for c in (FLOATS, INTS)),
    AggregateSlot("avg", 0, (RowValue(INTS),)),
    AggregateSlot("count", 1, ()),
)

floats = st.one_of(st.none(), st.sampled_from([0.0, -0.0, 1.0, -1.5, float("nan"), float("inf")]))
ints = st.one_of(st.none(), st.sampled_from([0, 1, -1, 2, LARGE, LARGE - 1, -LARGE - 1]))
leaves = st.one_of(
    st.integers(0, len(SLOTS) - 1).map(Load),
    st.sampled_from([Constant(1, INT), Constant(0, INT), Constant(1.0, DOUBLE), Constant(None, BIGINT)]),
)
numbers = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda f, a, b: Call(f, (a, b)), st.sampled_from(["+", "-", "*", "/", "%"]), inner, inner),
        st.builds(lambda f, a: Call(f, (a,)), st.sampled_from(["negate", "abs"]), inner),
    ),
    max_leaves=3,
)
tests = st.one_of(
    st.builds(
        lambda f, a, b: Call(f, (a, b)), st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"]), numbers, numbers
    ),
    numbers.map(lambda a: Call("isnull", (a,))),
)
conditions = st.recursive(
    tests,
    lambda inner: st.one_of(
        st.builds(lambda f, a, b: Call(f, (a, b)), st.sampled_from(["and", "or"]), inner, inner),
        inner.map(lambda a: Call("not", (a,))),
    ),
    max_leaves=4,
)


def outcome(conditions: dict[int, Expression], rows, ansi: bool, calls_back: CallsBack = CallsBack.NEVER):
    """Matches, or the condition of the error."""
    columns = [pa.array([f for f, _ in rows], pa.float64()), pa.array([i for _, i in rows], pa.int64())]
    dependent = ConditionSet(conditions, SLOTS, (DOUBLE, BIGINT), REGISTERS)
    try:
        return found_matches(
            make_spec(SOME, {}, conditions=dependent, ansi=ansi), batch([0] * len(rows), columns), calls_back
        )
    except SparkCepError as error:
        return error.getCondition()


@given(conditions, conditions, st.lists(st.tuples(floats, ints), max_size=4), st.booleans())
def test_kernel_equals_interpreter(a: Expression, b: Expression, rows, ansi: bool) -> None:
    expected = outcome({0: a, 1: b}, rows, ansi, CallsBack.ALWAYS)
    if expected != "CEP_CONDITION_FAILED":  # Python's float division and powers have errors of their own
        assert outcome({0: a, 1: b}, rows, ansi) == expected


DECIMALS = tuple(
    Type("decimal", *size) for size in [(2, 1), (9, 2), (18, 6), (19, 0), (23, 5), (38, 10), (38, 38), (38, 0)]
)
#: None: with the precision and the scale.
ARROW = {"decimal": None, "int": pa.int64(), "double": pa.float64(), "float": pa.float32()}
COLUMNS = (*DECIMALS, INT, BIGINT, DOUBLE, FLOAT, FLOAT)
DECIMAL_SLOTS = (
    NavigationSlot(2, False, 0, 0, 0),
    NavigationSlot(2, False, 0, -1, 1),
    NavigationSlot(0, True, 0, 0, 1),
    NavigationSlot(1, False, 1, 0, 2),
    NavigationSlot(0, False, 0, 1, 2),
    *(AggregateSlot(f, 2, (RowValue(0),), before=f == "avg") for f in ("min", "max", "count", "sum", "avg")),
    *(AggregateSlot(f, 0, (RowValue(1),)) for f in ("min", "max", "sum", "avg")),
)


def column_values(kind: Type) -> st.SearchStrategy[Any]:
    """Values of a type: small ones, the largest, and any."""
    if kind == DOUBLE:
        return floats
    if kind == FLOAT:
        return st.one_of(floats, st.floats(width=32))
    if kind.kind == "int":
        most = 2 ** (kind.size - 1) - 1
        return st.one_of(st.none(), st.sampled_from([0, 1, -1, 5, most, -most - 1]), st.integers(-most, most))
    most = 10**kind.size - 1
    few = [0, 1, -1, 5, most, -most, 5 * 10 ** (kind.size - 1), 10 ** (kind.size - 1)]
    whole = st.one_of(st.sampled_from(few), st.integers(-most, most), st.integers(-min(most, 1000), min(most, 1000)))
    return st.one_of(st.none(), whole.map(lambda v: Decimal(v).scaleb(-kind.scale, Context(prec=80))))


decimal_constants = st.sampled_from(
    [
        Constant(Decimal("1.1"), Type("decimal", 2, 1)), Constant(Decimal("0.50"), Type("decimal", 2, 2)),
        Constant(Decimal(10**37 + 1), Type("decimal", 38, 0)), Constant(Decimal("-3"), Type("decimal", 1, 0)),
        Constant(3, INT), Constant(0, INT), Constant(2.5, DOUBLE), Constant(None, Type("null")),
    ]
)  # fmt: skip
of_one = st.one_of(st.integers(0, len(DECIMAL_SLOTS) - 1).map(Load), decimal_constants)


ONES = ["negate", "abs", "cast_double", "cast_float", "floor", "ceil", "cast_int", "cast_bigint"]


def _more(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    pairs = st.builds(lambda f, a, b: Call(f, (a, b)), st.sampled_from(["+", "-", "*", "/", "%"]), inner, inner)
    ones = st.builds(lambda f, a: Call(f, (a,)), st.sampled_from([*ONES, *ONES, *functions.NAMES, "log"]), inner)
    twos = st.builds(lambda f, a, b: Call(f, (a, b)), st.sampled_from([*functions.NAMES_OF_TWO]), inner, inner)
    roundings = st.sampled_from(["round", "round", "bround"])
    rounded = st.builds(lambda f, a, n: Call(f, (a, Constant(n, INT))), roundings, inner, st.sampled_from([0, 1, 6]))
    choices = st.builds(lambda f, v: Call(f, tuple(v)), st.sampled_from(["coalesce", "least", "greatest"]), few(inner))
    case = st.builds(lambda f, x, y, a, b: Call("case", (Call(f, (x, y)), a, b)), orders, inner, inner, inner, inner)
    return st.one_of(pairs, pairs, ones, twos, rounded, choices, case)


def few(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[list[Expression]]:
    return st.lists(inner, min_size=2, max_size=3)


orders = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])
decimal_numbers = st.recursive(of_one, _more, max_leaves=4)
decimal_tests = st.one_of(
    st.builds(lambda f, a, b: Call(f, (a, b)), orders, decimal_numbers, decimal_numbers),
    st.builds(lambda v: Call("in", tuple(v)), few(decimal_numbers)),
    st.builds(lambda a: Call("isnan", (a,)), decimal_numbers),
    st.builds(lambda a, b: Call("or", (Call("isnull", (a,)), Call("<", (a, b)))), decimal_numbers, decimal_numbers),
)


@given(decimal_tests, st.tuples(*[st.sampled_from(COLUMNS)] * 3), st.booleans(), st.data())
def test_decimals_and_choices(node: Expression, kinds: tuple[Type, ...], ansi: bool, data: st.DataObject) -> None:
    """Arithmetic of decimals of all sizes with integers and doubles, aggregates, CASE, COALESCE, IN."""
    rows = data.draw(st.lists(st.tuples(*map(column_values, kinds)), min_size=1, max_size=4))
    columns = [
        pa.array([row[k] for row in rows], ARROW[kind.kind] or pa.decimal128(kind.size, kind.scale))
        for k, kind in enumerate(kinds)
    ]

    def found(calls_back: CallsBack) -> Any:
        dependent = ConditionSet({0: node, 1: Call("not", (node,))}, DECIMAL_SLOTS, kinds, REGISTERS)
        try:
            spec = make_spec(SOME, {}, conditions=dependent, ansi=ansi)
            return found_matches(spec, batch([0] * len(rows), columns), calls_back)
        except SparkCepError as error:
            return error.getCondition()

    try:
        expected, compiled = found(CallsBack.ALWAYS), found(CallsBack.NEVER)
    except NotCompilable:
        reject()
    event(str(expected)[:20] if isinstance(expected, str) else "matches" if expected else "no match")
    if expected != "CEP_CONDITION_FAILED":
        assert compiled == expected


@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize("operation", ["/", "%"])
def test_a_quotient_of_the_most_digits(ansi: bool, operation: str) -> None:
    """38 digits by the least number of 38 places: 77 digits before the point, and those of the type behind it."""
    most, least = Type("decimal", 38, 0), Type("decimal", 38, 38)
    divided = Call(operation, (Constant(Decimal("9" * 38), most), Load(0)))
    outcomes = []
    for calls_back in (CallsBack.ALWAYS, CallsBack.NEVER):
        node = Call("=", (divided, divided))
        conditions = ConditionSet({0: node}, (NavigationSlot(2, False, 0, 0, 0),), (least,), REGISTERS)
        columns = [pa.array([Decimal("1E-38")], pa.decimal128(38, 38))]
        try:
            outcomes.append(
                found_matches(make_spec(SOME, {}, conditions=conditions, ansi=ansi), batch([0], columns), calls_back)
            )
        except SparkCepError as error:
            outcomes.append(error.getCondition())
    assert outcomes[0] == outcomes[1]
    if operation == "/" and ansi:
        assert outcomes[0] == "ARITHMETIC_OVERFLOW"


TEXT, DATE, TIME, SPAN, FLAG = map(Type, ("string", "date", "timestamp_ntz", "interval", "boolean"))
TEXTS = Type("array", element=TEXT)
#: The columns: two texts, a date, a time, an interval, a truth value, an array; two slots of each, by kind.
KINDS = (TEXT, TEXT, DATE, TIME, SPAN, FLAG, TEXTS)
MIXED_SLOTS = (
    *(NavigationSlot(2, False, 0, 0, column) for column in range(len(KINDS))),
    *(NavigationSlot(column % 2, column % 3 > 0, 0, -(column % 2), column) for column in range(len(KINDS))),
    AggregateSlot("min", 2, (RowValue(0),)), AggregateSlot("max", 0, (RowValue(1),)),
    AggregateSlot("max", 2, (RowValue(2),)), AggregateSlot("min", 2, (RowValue(3),)),
    AggregateSlot("count", 2, (RowValue(0),)),
)  # fmt: skip
FIRST_DAY = dt.date(2026, 2, 27)
some_texts = st.sampled_from(["", "a", "ab", "b", "A", "é", "a%", "_b", "ba"])
MIXED_VALUES = {
    TEXT: some_texts,
    DATE: st.integers(0, 3).map(lambda n: FIRST_DAY + dt.timedelta(days=n)),
    TIME: st.integers(0, 3).map(lambda n: dt.datetime(2026, 2, 27, 23) + dt.timedelta(minutes=45 * n)),
    SPAN: st.sampled_from([dt.timedelta(0), dt.timedelta(minutes=45), dt.timedelta(minutes=-90), dt.timedelta(days=1)]),
    FLAG: st.booleans(),
    TEXTS: st.lists(st.one_of(st.none(), some_texts), max_size=3),
}
MIXED_ARROW = (
    pa.string(),
    pa.string(),
    pa.date32(),
    pa.timestamp("us"),
    pa.duration("us"),
    pa.bool_(),
    pa.list_(pa.string()),
)


def loaded(kind: Type) -> st.SearchStrategy[Expression]:
    """A slot of a type."""
    places = [k for k, s in enumerate(MIXED_SLOTS) if isinstance(s, NavigationSlot) and KINDS[s.column] == kind]
    aggregated = [
        k for k, s in enumerate(MIXED_SLOTS)
        if isinstance(s, AggregateSlot) and s.function != "count" and KINDS[s.arguments[0].column] == kind  # type: ignore[union-attr]
    ]  # fmt: skip
    return st.sampled_from([*places, *aggregated]).map(Load)


def called(name: str, *arguments: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.tuples(*arguments).map(lambda given: Call(name, given))


def chosen(of: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """One of several values."""
    of_flag = st.one_of(loaded(FLAG), called("isnull", of))
    return st.one_of(
        called("coalesce", of, of), called("case", of_flag, of, of), called("least", of, of), called("greatest", of, of)
    )


small = st.integers(-1, 3).map(lambda n: Constant(n, INT))
plain_texts = st.one_of(loaded(TEXT), loaded(TEXT), some_texts.map(lambda v: Constant(v, TEXT)))
texts = st.one_of(
    plain_texts, plain_texts, called("concat", plain_texts, plain_texts), called("upper", plain_texts),
    chosen(plain_texts),
    called("substring", plain_texts, small, small), called("replace", plain_texts, plain_texts, plain_texts),
    called("get", loaded(TEXTS), small), called("array_max", loaded(TEXTS)),
)  # fmt: skip
plain_times, plain_days, plain_spans = map(loaded, (TIME, DATE, SPAN))
spans = st.one_of(plain_spans, called("-", plain_times, plain_times), called("-", plain_spans, plain_spans))
times = st.one_of(
    plain_times, chosen(plain_times), called("+", plain_times, spans), called("-", plain_times, plain_spans)
)
days = st.one_of(plain_days, chosen(plain_days), called("date_add", plain_days, small))
counts = st.one_of(
    small, called("length", texts), called("size", loaded(TEXTS)), called("datediff", plain_days, plain_days),
    called("instr", texts, texts), called("year", days), st.just(Load(len(MIXED_SLOTS) - 1)),
)  # fmt: skip


def compared(of: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.builds(lambda f, a, b: Call(f, (a, b)), orders, of, of)


mixed_tests = st.one_of(
    *(compared(of) for of in (texts, times, days, spans, counts)), called("like", texts, texts),
    called("in", texts, texts, texts),
    called("in", plain_days, plain_days, plain_days), called("array_contains", loaded(TEXTS), plain_texts),
    called("startswith", texts, plain_texts), loaded(FLAG), called("isnull", times),
)  # fmt: skip
#: What the kernel has of these.
compiled_tests = st.one_of(
    *(compared(st.one_of(of, chosen(of))) for of in (plain_texts, plain_times, plain_days, plain_spans)),
    compared(times), compared(spans), called("in", plain_texts, plain_texts, plain_texts), loaded(FLAG),
    compared(st.one_of(small, called("datediff", plain_days, plain_days), st.just(Load(len(MIXED_SLOTS) - 1)))),
)  # fmt: skip


def joined(tests: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    """A test, or a few of them with AND, OR and NOT."""
    several = st.builds(lambda f, a, b: Call(f, (a, b)), st.sampled_from(["and", "or"]), tests, tests)
    return st.one_of(tests, several, called("not", st.one_of(tests, several)))


def check_mixed(node: Expression, ansi: bool, data: st.DataObject, calls_back: CallsBack) -> None:
    row = st.tuples(*(st.one_of(st.none(), MIXED_VALUES[kind], MIXED_VALUES[kind]) for kind in KINDS))
    rows = data.draw(st.lists(row, min_size=1, max_size=4))
    columns = [pa.array([r[k] for r in rows], type_) for k, type_ in enumerate(MIXED_ARROW)]

    def found(calls_back: CallsBack) -> Any:
        dependent = ConditionSet({0: node, 1: Call("not", (node,))}, MIXED_SLOTS, KINDS, REGISTERS)
        spec = make_spec(SOME, {}, conditions=dependent, ansi=ansi)
        return found_matches(spec, batch([0] * len(rows), columns), calls_back)

    assert found(calls_back) == found(CallsBack.ALWAYS)


@given(joined(compiled_tests), st.booleans(), st.data())
def test_texts_and_times(node: Expression, ansi: bool, data: st.DataObject) -> None:
    """Comparisons, CASE, COALESCE, LEAST, IN and arithmetic of texts, dates, times and intervals, all in the kernel."""
    check_mixed(node, ansi, data, CallsBack.NEVER)


@given(joined(mixed_tests), st.booleans(), st.data())
def test_functions_of_texts_and_arrays(node: Expression, ansi: bool, data: st.DataObject) -> None:
    """LIKE, functions of texts and dates, elements of arrays beside what the kernel has."""
    check_mixed(node, ansi, data, CallsBack.WHERE_NEEDED)


@pytest.mark.parametrize("ansi", [True, False])
def test_an_average_of_a_sum_that_has_too_many_digits(ansi: bool) -> None:
    """0.99... and 1E-38 have the sum 1, which DECIMAL(38, 38) cannot hold."""
    kind = Type("decimal", 38, 38)
    column = pa.array([Decimal(f"0.{'9' * 38}"), Decimal("1E-38")], pa.decimal128(38, 38))
    unknown = Call("isnull", (Load(0),))
    found: list[Any] = []
    for calls_back in (CallsBack.ALWAYS, CallsBack.NEVER):
        slots = (AggregateSlot("avg", 0, (RowValue(0),)),)
        dependent = ConditionSet({1: unknown}, slots, (kind,), (frozenset([0, 1]),))
        spec = make_spec(Concatenation((A, B)), {}, conditions=dependent, ansi=ansi)
        try:
            found.append(len(found_matches(spec, batch([0, 0], [column]), calls_back)))
        except SparkCepError as error:
            found.append(error.getCondition())
    assert found == ["ARITHMETIC_OVERFLOW" if ansi else 1] * 2


ABSENT = Constant(None, INT)
ZERO_DIVISION = Call("/", (Constant(1, INT), Constant(0, INT)))
OVERFLOW = Call("*", (Constant(2**31 - 1, INT), Constant(2, INT)))
FAILS = Call("=", (ZERO_DIVISION, Constant(1, INT)))
FALSE, UNKNOWN = Call("<", (Constant(1, INT), Constant(0, INT))), Call("=", (ABSENT, Constant(0, INT)))


def operated(name: str, a: Expression, b: Expression) -> Expression:
    """An operation as a part of a comparison that a row cannot pass."""
    return Call("=", (Call(name, (a, b)), ABSENT))


@pytest.mark.parametrize("called_back", [False, True])
@pytest.mark.parametrize(
    ("node", "fails"),
    [
        (Call("and", (FALSE, FAILS)), False),
        (Call("and", (UNKNOWN, FAILS)), True),  # NULL does not decide AND
        (Call("and", (Call("and", (UNKNOWN, FALSE)), FAILS)), False),
        (Call("and", (UNKNOWN, Call("and", (FALSE, FAILS)))), False),
        (Call("or", (Call("not", (FALSE,)), FAILS)), False),
        (Call("or", (UNKNOWN, FAILS)), True),
        *((Call(name, (ABSENT, ZERO_DIVISION)), False) for name in ("=", "<", ">=", "<>")),
        *((Call(name, (ZERO_DIVISION, ABSENT)), True) for name in ("=", "<", ">=", "<>", "<=>")),
        (Call("<=>", (ABSENT, ZERO_DIVISION)), True),
        *((operated(name, ABSENT, ZERO_DIVISION), False) for name in ("+", "-", "*")),
        *((operated(name, ZERO_DIVISION, ABSENT), True) for name in ("+", "-", "*")),
        *((operated(name, OVERFLOW, ABSENT), False) for name in ("/", "%", "div")),  # whose divisor comes first
        *((operated(name, ABSENT, OVERFLOW), False) for name in ("+", "-", "*")),
        *((operated(name, OVERFLOW, Constant(1, INT)), True) for name in ("/", "%", "div", "+")),
        (operated("/", ABSENT, Constant(0, INT)), False),
        (operated("+", ABSENT, Call("negate", (Call("abs", (OVERFLOW,)),))), False),
        (operated("+", ABSENT, Call("coalesce", (ZERO_DIVISION, Constant(1.0, DOUBLE)))), False),
        (operated("+", ABSENT, Call("case", (FALSE, Constant(1.0, DOUBLE), ZERO_DIVISION))), False),
        (operated("+", ABSENT, Call("sqrt", (ZERO_DIVISION,))), False),
        (operated("greatest", ABSENT, ZERO_DIVISION), True),
        (Call("isnull", (ZERO_DIVISION,)), True),
        (Call("=", (Call("coalesce", (ZERO_DIVISION, Constant(1.0, DOUBLE))), Constant(1.0, DOUBLE))), True),
        (Call("=", (Call("case", (FALSE, Constant(1.0, DOUBLE), ZERO_DIVISION)), Constant(1.0, DOUBLE))), True),
        (Call("not", (FAILS,)), True),
        (Call("in", (ABSENT, ZERO_DIVISION)), False),
        (Call("=", (Call("case", (FAILS, Constant(1, INT), Constant(0, INT))), ABSENT)), True),
    ],
)
def test_what_is_decided_is_not_evaluated(node: Expression, fails: bool, called_back: bool) -> None:
    found = outcome({0: node, 1: FALSE}, [(0.0, 0)], True)
    assert (found in ("DIVIDE_BY_ZERO", "ARITHMETIC_OVERFLOW")) is fails


@pytest.mark.parametrize("guarded", [False, True])
def test_a_sum_overflows_where_it_is_read(guarded: bool) -> None:
    """A sum that no condition gets to read is no error; one that is read is, also once it is back in range."""
    rows = [1, LARGE, -5, 0]
    read = Call(">=", (Load(0), Constant(-(2**62), BIGINT)))
    last = Call("=", (Load(1), Constant(0, INT)))
    dependent = ConditionSet(
        {0: Call("or", (Call("not", (last,)), read)) if guarded else read},
        (AggregateSlot("sum", 0, (RowValue(0),)), NavigationSlot(0, False, 0, 0, 0)),
        (BIGINT,),
        (frozenset([0]),),
    )
    for end in (3, 4):
        spec, data = make_spec(Quantified(A, 1, None), {}, conditions=dependent), [pa.array(rows[:end])]
        if guarded and end == 3:
            assert len(found_matches(spec, batch([0] * end, data))) == 1
        else:
            with pytest.raises(SparkCepError, match="ARITHMETIC_OVERFLOW"):
                found_matches(spec, batch([0] * end, data))


def test_aggregates_of_a_register_that_later_positions_do_not_read() -> None:
    """`(A B)+ C`: the registers of A and B advance in the loop only, and come back after a retreat."""
    pattern = Concatenation((Quantified(Concatenation((A, B)), 1, None), Variable("C")))
    slots = (AggregateSlot("sum", 0, (RowValue(0),)), NavigationSlot(1, False, 0, 0, 0))
    dependent = ConditionSet({1: Call("=", (Load(0), Load(1)))}, slots, (BIGINT,), (frozenset([0]), frozenset([1])))
    spec = make_spec(pattern, {}, conditions=dependent)
    values = [1, 1, 2, 3, 4, 7, 5, 0, 9]
    found = found_matches(spec, batch([0] * len(values), [pa.array(values)]))
    assert [[v for v, _, _ in path] for _, _, path in found] == [list("ABABABC")]
