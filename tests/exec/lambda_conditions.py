"""Random tests with lambda functions, each with what it says without them: every element put into the body."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Sequence

from hypothesis import strategies as st

from sparkcep.expr.functions.lambdas import LAMBDA, PARAMETER
from sparkcep.expr.nodes import Call, Constant, Expression, Load
from sparkcep.expr.types import BOOLEAN, DAYS, INT, Type

#: A body by the values of its parameters.
Body = Callable[..., Expression]
#: A test with lambdas, and the same without, of whole numbers.
Both = tuple[Expression, Expression]
#: Kinds of points in time -> what one whole number is there, and the first of them.
UNITS = {
    "timestamp": (dt.timedelta(minutes=7), dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)),
    "timestamp_ntz": (dt.timedelta(hours=5), dt.datetime(2026, 1, 5)),
    "date": (dt.timedelta(days=1), dt.date(2026, 1, 5)),
}
_COMPARISONS = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])


def lambda_tests(slots: int) -> st.SearchStrategy[Both]:
    """Over the values of so many slots."""
    numbers = st.one_of(st.integers(0, slots - 1).map(Load), st.integers(-2, 3).map(lambda v: Constant(v, INT)))
    bodies = st.one_of(_bodies(numbers), _nested(numbers))
    elements = st.lists(numbers, max_size=3)
    return st.one_of(
        st.builds(_decided, st.sampled_from(["exists", "forall"]), elements, bodies),
        st.builds(_of_kept, elements, bodies, _bodies(numbers)),
        st.builds(_of_changed, elements, numbers, _bodies(numbers)),
        st.builds(_of_two, elements, elements, st.sampled_from("+-*"), _bodies(numbers)),
        st.builds(_first, elements, bodies),
    )


def time_tests(slots: int, kind: str, zone: str) -> st.SearchStrategy[Both]:
    """Over the points in time of so many slots: differences beside intervals, and sums beside points in time."""
    unit, _ = UNITS[kind]
    interval = DAYS if kind == "date" else Type("interval")
    numbers = st.integers(0, slots - 1).map(Load)

    def test(
        name: str, elements: Sequence[Expression], compared: str, sign: str, other: Expression, value: int, form: int
    ) -> Both:
        def body(span: Expression, back: Expression, zone: str | None) -> Body:
            moved: Body = lambda p: Call(sign, (p, span), zone)  # noqa: E731
            if form == 0:
                return lambda p: Call(compared, (Call("-", (p, other), zone), span))
            if form == 1:
                return lambda p: Call(compared, (other, moved(p)), zone)
            return lambda p: Call(compared, (Call("-", (moved(p), other), zone), back))

        span = Constant(value * unit, interval)
        asked = body(span, Call("negate", (span,)), zone)
        plain = body(Constant(value, INT), Constant(-value, INT), None)
        return _call(name, [_array(elements)], 0, asked), _decided(name, elements, plain)[1]

    return st.builds(
        test, st.sampled_from(["exists", "forall"]), st.lists(numbers, min_size=1, max_size=3), _COMPARISONS,
        st.sampled_from("+-"), numbers, st.integers(-2, 3), st.integers(0, 2),
    )  # fmt: skip


def _bodies(numbers: st.SearchStrategy[Expression]) -> st.SearchStrategy[Body]:
    """A comparison of the parameter, or of a sum with it."""

    def body(name: str, other: Expression, added: Expression | None) -> Body:
        return lambda p: Call(name, (p if added is None else Call("+", (p, added)), other))

    return st.builds(body, _COMPARISONS, numbers, st.one_of(st.none(), numbers))


def _nested(numbers: st.SearchStrategy[Expression]) -> st.SearchStrategy[Body]:
    """Whether the parameter compares so with some number; numbered apart from what is around it."""

    def body(name: str, others: Sequence[Expression]) -> Body:
        def apply(p: Expression) -> Expression:
            if isinstance(p, Call) and p.name == PARAMETER:
                return _call("exists", [_array(others)], 7, lambda q: Call(name, (p, q)))
            return _joined("or", [Call(name, (p, q)) for q in others])

        return apply

    return st.builds(body, _COMPARISONS, st.lists(numbers, min_size=1, max_size=2))


def _array(elements: Sequence[Expression]) -> Expression:
    return Call("array", tuple(elements))


def _call(name: str, arguments: Sequence[Expression], number: int, body: Body, parameters: int = 1) -> Call:
    numbers = tuple(range(number, number + parameters))
    named = [Call(PARAMETER, (), parameters=(n,)) for n in numbers]
    return Call(name, (*arguments, Call(LAMBDA, (body(*named),), parameters=numbers)))


def _joined(name: str, tests: Sequence[Expression]) -> Expression:
    empty: Expression = Constant(name == "and", BOOLEAN)
    return functools.reduce(lambda a, b: Call(name, (a, b)), tests, empty)


def _decided(name: str, elements: Sequence[Expression], body: Body) -> Both:
    plain = _joined("or" if name == "exists" else "and", [body(e) for e in elements])
    return _call(name, [_array(elements)], 0, body), plain


def _of_kept(elements: Sequence[Expression], keeps: Body, body: Body) -> Both:
    kept = _call("filter", [_array(elements)], 0, keeps)
    true = Constant(True, BOOLEAN)
    plain = [Call("and", (Call("<=>", (keeps(e), true)), body(e))) for e in elements]
    return _call("exists", [kept], 1, body), _joined("or", plain)


def _of_changed(elements: Sequence[Expression], factor: Expression, body: Body) -> Both:
    def change(p: Expression, place: Expression) -> Expression:
        return Call("+", (p, Call("*", (place, factor))))

    changed = _call("transform", [_array(elements)], 0, change, 2)
    plain = [body(change(e, Constant(k, INT))) for k, e in enumerate(elements)]
    return _call("forall", [changed], 2, body), _joined("and", plain)


def _of_two(first: Sequence[Expression], second: Sequence[Expression], name: str, body: Body) -> Both:
    count = min(len(first), len(second))
    pairs = list(zip(first[:count], second[:count], strict=True))
    both = _call("zip_with", [_array(first[:count]), _array(second[:count])], 0, lambda x, y: Call(name, (x, y)), 2)
    return _call("exists", [both], 2, body), _joined("or", [body(Call(name, pair)) for pair in pairs])


def _first(elements: Sequence[Expression], body: Body) -> Both:
    """An aggregate whose state is a truth value."""

    def step(state: Expression, p: Expression) -> Expression:
        return Call("or", (state, body(p)))

    start = Constant(False, BOOLEAN)
    return _call("aggregate", [_array(elements), start], 0, step, 2), _joined("or", [body(e) for e in elements])
