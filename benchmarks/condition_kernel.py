"""Speed of match-dependent conditions: row-condition evaluations per second on one core.

One partition of random-walk prices goes through the matcher; a plain Numba loop that does nothing but read the same
columns once is the floor. A hand-written automaton for each query counts the evaluations and checks the matches. Tests
of two rows are also left to the interpreter, as are those that the kernel has no instructions for.

    python -m benchmarks.condition_kernel [rows]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from benchmarks.harness import REPEATS, cpu_seconds
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.conditions.programs import CallsBack
from sparkcep.exec.engines.rows.matcher import Batch, Matcher
from sparkcep.exec.engines.rows.program import compile_pattern
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.expr.nodes import AggregateSlot, Call, ConditionSlot, Constant, Expression, Load, NavigationSlot, RowValue
from sparkcep.expr.types import DOUBLE
from sparkcep.pattern import Concatenation, Pattern, Quantified, Variable
from sparkcep.query import RowsPerMatch, SkipMode

A, B, C = (Variable(name) for name in "ABC")


def plus(item: Pattern) -> Pattern:
    return Quantified(item, 1, None)


@dataclass(frozen=True, slots=True)
class Query:
    """A pattern, its conditions by variable, and a hand-written run of it: (evaluations, matches) of a price column."""

    name: str
    pattern: Pattern
    conditions: dict[str, Expression]
    slots: tuple[ConditionSlot, ...]
    registers: tuple[str, ...]
    by_hand: Callable[[npt.NDArray[np.float64]], tuple[int, int]]


@njit
def run_above_average(price):
    """A B+ with B not below the running average of B, which counts the row itself."""
    evaluations = matches = start = 0
    while start < len(price):
        at, total = start + 1, 0.0
        while at < len(price):
            evaluations += 1
            total += price[at]
            if not total / (at - start) <= price[at]:
                break
            at += 1
        if at > start + 1:
            matches += 1
            start = at
        else:
            start += 1
    return evaluations, matches


@njit
def v_shape(price, factor):
    """A B+ C+ with B below A, C above the last B; longest B first, so the search gives back."""
    evaluations = matches = start = 0
    while start < len(price):
        low = start + 1
        while low < len(price):
            evaluations += 1
            if not price[low] < price[start] * factor:
                break
            low += 1
        end = -1
        while low > start + 1 and end < 0:
            at = low
            while at < len(price):
                evaluations += 1
                if not price[at] > price[low - 1]:
                    break
                at += 1
            if at > low:
                end = at
            low -= 1
        if end >= 0:
            matches += 1
            start = end
        else:
            start += 1
    return evaluations, matches


@njit
def read_once(price, null):
    """The floor: read a column and its NULL flags once."""
    total = 0.0
    for k in range(len(price)):
        if null[k] == 0:
            total += price[k]
    return total


def last(register: int, physical: int = 0) -> NavigationSlot:
    return NavigationSlot(register, False, 0, physical, 0)


QUERIES = (
    Query(
        "A B+, B.price >= avg(B.price)",
        Concatenation((A, plus(B))),
        {"B": Call("<=", (Load(0), Load(1)))},
        (AggregateSlot("avg", 0, (RowValue(0),)), last(0)),
        ("B",),
        run_above_average,
    ),
    Query(
        "A B+ C+, B.price < LAST(A.price), C.price > LAST(B.price)",
        Concatenation((A, plus(B), plus(C))),
        {"B": Call("<", (Load(1), Load(0))), "C": Call(">", (Load(2), Load(1)))},
        (last(0), last(1), last(2)),
        ("A", "B", "C"),
        lambda price: v_shape(price, 1.0),
    ),
    Query(
        "A B+ C+, B.price < 0.999 * A.price, C.price > LAST(B.price)",
        Concatenation((A, plus(B), plus(C))),
        {
            "B": Call("<", (Load(1), Call("*", (Constant(0.999, DOUBLE), Load(0))))),
            "C": Call(">", (Load(2), Load(1))),
        },
        (last(0), last(1), last(2)),
        ("A", "B", "C"),
        lambda price: v_shape(price, 0.999),
    ),
)


def spec(query: Query) -> MatchSpec:
    """ONE ROW PER MATCH, AFTER MATCH SKIP PAST LAST ROW, no measures."""
    program = compile_pattern(query.pattern)
    codes = {name: k for k, name in enumerate(program.names)}
    conditions = ConditionSet(
        {codes[name]: node for name, node in query.conditions.items()},
        query.slots,
        (DOUBLE,),
        tuple(frozenset([codes[name]]) for name in query.registers),
    )
    return MatchSpec(
        program, {}, 0, False, RowsPerMatch.ONE, SkipMode.PAST_LAST_ROW, frozenset(), "", (), (), False, conditions,
        True, 10**12, 10**9,
    )  # fmt: skip


def main(rows: int) -> None:
    price = 100 * np.exp(np.cumsum(np.random.default_rng(7).normal(0, 0.001, rows)))
    batch = Batch(np.array([0, rows], np.int64), (), (pa.array(price),))
    null = np.zeros(rows, np.uint8)
    floor = cpu_seconds(lambda: read_once(price, null))
    print(f"{rows} rows, medians of {REPEATS}; reading the columns once: {floor * 1e3:.2f} ms")
    for query in QUERIES:
        evaluations, matches = query.by_hand(price)
        matcher = Matcher(spec(query))
        found = len(matcher.match(batch))
        if found != matches:
            raise AssertionError(f"{query.name}: {found} matches, by hand {matches}")
        seconds = cpu_seconds(lambda matcher=matcher: matcher.match(batch))
        by_hand = cpu_seconds(lambda query=query: query.by_hand(price))
        print(
            f"{query.name}: {evaluations} evaluations, {matches} matches, {seconds:.3f} s, "
            f"{evaluations / seconds / 1e6:.1f} M evaluations/s, {seconds / floor:.0f} x reading, "
            f"{seconds / by_hand:.1f} x by hand"
        )
        if any(isinstance(slot, AggregateSlot) for slot in query.slots):
            continue
        calling = Matcher(spec(query), CallsBack.ALWAYS)
        interpreted = cpu_seconds(lambda calling=calling: calling.match(batch))
        print(f"  by the interpreter: {interpreted / evaluations * 1e9:.0f} ns each, {interpreted / seconds:.1f} x")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000)
