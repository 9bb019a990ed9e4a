"""Conditions on variables that took nothing, from their text and by their definition.

Under SKIP TILL ANY MATCH the matches of a pattern without repeated groups are the sequences of events that the pattern
alone allows and of which each condition says what SQL says of it: over single events nothing where the last of the
variables that it names took none, else with NULLs, and aggregates of no rows, for what took nothing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as st

from sparkcep.errors import PatternAnalysisError
from sparkcep.exec.batch import Batch
from sparkcep.exec.engines.runs.matcher import RunMatcher
from sparkcep.exec.engines.trends.engine import trend_matcher
from sparkcep.exec.engines.trends.enumeration import EnumeratingMatcher
from sparkcep.exec.engines.trends.matcher import TrendMatcher
from sparkcep.exec.masks import BITS_PER_WORD
from sparkcep.exec.shape import batch_of
from sparkcep.pattern import Concatenation, Negation, Pattern, children
from sparkcep.planner.engines.trends.conjunction import ConjunctionPlanner
from sparkcep.planner.engines.trends.plan import TrendsPlan
from sparkcep.planner.plan import PatternPlan
from sparkcep.query import Matches, PatternQuery, Selection, Uncertainty

from ..parsing.blocks import bind
from . import run_engine, trend_engine, uncertain_engine
from .reference_cases import ReferenceCases
from .reference_runs import Path, reference_runs
from .run_strategies import OPERATORS, RunCase
from .sql_values import sql_value
from .trend_engine import TrendCase
from .uncertain_worlds import UncertainCase

#: Patterns in which some variables may take nothing; components stand in the order of their letters, X is negated.
PATTERNS = """SEQ(A a, B? b, C c); SEQ(A a, B* b[], C c); SEQ(A a, B{0,2} b[], C c); SEQ(A a, B* b[], C* c[])
SEQ(A a, (B b | C c), D d); SEQ(A a, (B+ b[] | C c), D? d); SEQ(A? a, B b); SEQ(A a, B? b); SEQ(A a, B* b[])
SEQ(A a, (SEQ(B b, C c))?, D d); (A a | B b); SEQ(A* a[], B b); SEQ(A? a, B? b, C c, D? d)
SEQ(A a, (SEQ(B? b, C c) | D d)); SEQ(A a, !X x, B? b, C c); SEQ(A? a, !X x, B b, C? c); SEQ(A? a, !X x, B? b, C c)
SEQ((A a | B b), !X x, C c); SEQ(A a, B* b[], !X x, C c, D? d)
PERMUTE(A? a, B b); PERMUTE(A* a[], B b); SEQ(A a, PERMUTE(B? b, C c), D? d)"""
TEXTS = [text for line in PATTERNS.splitlines() for text in line.split("; ")]
COLUMNS = ("t", "e", "v", "w")
LOG = {"spark.sparkcep.log.time": "t", "spark.sparkcep.log.event": "e", "spark.sparkcep.log.case": "e"}


@dataclass(frozen=True)
class Value:
    """What a condition reads of a variable. ``form``: v.v, v[1].v, v[v.LEN].v or an aggregate's name."""

    variable: str
    form: str
    default: bool

    @property
    def text(self) -> str:
        v = self.variable
        texts = {"plain": f"{v}.v", "first": f"{v}[1].v", "last": f"{v}[{v}.LEN].v"}
        text = texts.get(self.form, f"{self.form}({v}[].v)")
        return f"coalesce({text}, 1)" if self.default else text

    @property
    def is_whole(self) -> bool:
        return self.form not in ("plain", "first")

    def of(self, values: Sequence[int | None]) -> Any:
        """The value, of the values of the variable's events; of ``plain`` there is one at most."""
        known = [v for v in values if v is not None]
        if self.form == "count":
            found: Any = len(known)
        elif self.form in ("sum", "max"):
            found = ({"sum": sum, "max": max}[self.form])(known) if known else None
        else:
            found = (values[0] if self.form == "first" else values[-1]) if values else None
        return 1 if found is None and self.default else found


@dataclass(frozen=True)
class Stated:
    """``x op n``, ``x op y``, ``x + y op n`` or ``x IS NULL``."""

    operator: str
    values: tuple[Value, ...]
    sums: bool
    number: int

    @property
    def text(self) -> str:
        texts = [v.text for v in self.values]
        if self.operator == "IS NULL":
            return f"{texts[0]} IS NULL"
        if len(texts) == 1:
            return f"{texts[0]} {self.operator} {self.number}"
        return (
            f"{texts[0]} + {texts[1]} {self.operator} {self.number}" if self.sums else f" {self.operator} ".join(texts)
        )

    def holds(self, of: dict[str, Sequence[int | None]]) -> bool:
        found = [v.of(of[v.variable]) for v in self.values]
        if self.operator == "IS NULL":
            return found[0] is None
        right = self.number if self.sums or len(found) == 1 else found[1]
        if None in found:
            return False
        return OPERATORS[self.operator](found[0] + found[1] if self.sums else found[0], right)

    def of_match(self, rows: dict[str, list[int]], column: Sequence[int | None], order: Sequence[str]) -> bool:
        """By the definition. ``rows``: by variable, with the event in question of a negated one; ``order``: variables
        as the pattern has them."""
        named = sorted({v.variable for v in self.values}, key=order.index)
        last = named[-1]
        if not rows[last] and not all(v.is_whole for v in self.values if v.variable == last):
            return True
        of = {v: [column[row] for row in rows[v]] for v in named}
        # v.v of several events means each of them; one variable at most is named so.
        several = next((v.variable for v in self.values if v.form == "plain" and len(of[v.variable]) > 1), None)
        if several is None:
            return self.holds(of)
        return all(self.holds({**of, several: [value]}) for value in of[several])


@dataclass(frozen=True)
class Block:
    text: str
    tests: tuple[Stated, ...]
    types: tuple[str, ...]
    values: tuple[int | None, ...]

    @property
    def where(self) -> str:
        return " AND ".join(t.text for t in self.tests)

    def sql(self, rest: str = "") -> str:
        return f"FROM log PATTERN {self.text} WHERE {self.where} {rest}"

    def bound(self, rest: str = "") -> PatternQuery:
        query = bind(self.sql(rest), COLUMNS, LOG, time_type="bigint")
        return replace(query, partition_by=(), hidden_keys=0)

    @property
    def case(self) -> RunCase:
        query = self.bound("EVENT SELECTION SKIP TILL ANY MATCH")
        times = tuple(range(len(self.types)))
        return RunCase(
            query.pattern, query.components, self.types, self.values, times, query.conditions, (), query.selection,
            query.matches, None, False,
        )  # fmt: skip

    def matches(self) -> set[Path]:
        """By the definition."""
        case = self.case
        found = reference_runs(positive(case.pattern), len(self.types), case.can_take, selection=Selection.ANY)
        return {path for path in found if self.is_match(path, case)}

    def is_match(self, path: Path, case: RunCase) -> bool:
        return any(self.holds(path, case, order) for order in orders(self.text))

    def holds(self, path: Path, case: RunCase, order: str) -> bool:
        rows = {v: [row for key, row in path if key == v] for v in order}
        taken = [v for v in order if rows[v]]
        if sorted(taken, key=lambda v: rows[v][0]) != taken:
            return False  # PERMUTE took them in another order
        if not all(t.of_match(rows, self.values, order) for t in self.tests if "x" not in names(t)):
            return False
        if "x" not in order:
            return True
        before = [rows[v][-1] for v in taken if order.index(v) < order.index("x")]
        after = [rows[v][0] for v in taken if order.index(v) > order.index("x")]
        inside = range(max(before, default=-1) + 1, min(after, default=len(self.types)))
        own = [t for t in self.tests if "x" in names(t)]
        return not any(
            case.can_take("x", row) and all(t.of_match({**rows, "x": [row]}, self.values, order) for t in own)
            for row in inside
        )


def names(test: Stated) -> set[str]:
    return {v.variable for v in test.values}


def orders(text: str) -> Iterator[str]:
    """Variables in the orders that the pattern allows."""
    order = "".join(re.findall(r"\b[a-dx]\b", text))
    yield order
    if found := re.search(r"PERMUTE\(\S+ (\w)\S*, \S+ (\w)", text):
        a, b = found.groups()
        yield order.translate(str.maketrans(a + b, b + a))


def positive(node: Pattern) -> Pattern:
    """Without negations."""
    if isinstance(node, Concatenation):
        return replace(node, items=tuple(positive(i) for i in node.items if not isinstance(i, Negation)))
    assert not any(isinstance(n, Negation) for n in children(node))
    return node


@st.composite
def blocks(draw: st.DrawFn, texts: Sequence[str] = TEXTS) -> Block:
    text = draw(st.sampled_from(texts))
    order = "".join(re.findall(r"\b[a-dx]\b", text))
    many = set(re.findall(r"(\w)\[\]", text))

    def value(variable: str, singly: bool) -> Value:
        """``singly``: a variable that is Kleene may be named by v.x, which means each of its events."""
        whole = ["last", "count", "sum", "max"]
        forms = ["plain", "plain", "plain", *whole]
        if variable in many:
            forms = [*(["plain"] * 3 if singly else []), "first", *whole]
        # What is negated has no last event; of what is behind it the first event decides.
        forms = ["plain"] if variable == "x" else forms
        return Value(variable, draw(st.sampled_from(forms)), draw(st.booleans()))

    tests = []
    for _ in range(draw(st.integers(1, 3))):
        operator = draw(st.sampled_from([*OPERATORS, "IS NULL"]))
        x = value(draw(st.sampled_from(order)), True)
        if operator == "IS NULL" or draw(st.integers(0, 3)) == 0:
            tests.append(Stated(operator, (x,), False, draw(st.integers(0, 3))))
            continue
        others = [v for v in order if v != x.variable]
        if x.variable in "x" or "x" in others:
            others = [v for v in others if v not in many or order.index(v) < order.index("x")]
        y = value(draw(st.sampled_from(others)), x.variable not in many or x.form != "plain")
        tests.append(Stated(operator, (x, y), draw(st.booleans()), draw(st.integers(0, 4))))
    types = draw(st.lists(st.sampled_from([v.upper() for v in order]), min_size=1, max_size=6))
    values = draw(st.lists(st.sampled_from([0, 1, 2, 3, None]), min_size=len(types), max_size=len(types)))
    return Block(text, tuple(tests), tuple(types), tuple(values))


def run(block: Block, rest: str) -> list[Path]:
    plan = run_engine.plan_of(block.bound(rest))
    return run_engine.paths(plan, *RunMatcher(plan.engine.spec).match(run_engine.batch_of_case(block.case, plan)))


def reference(block: Block, rest: str) -> list[Path]:
    plan = run_engine.plan_of(block.bound(rest))
    return ReferenceCases(plan.engine.spec).paths(run_engine.batch_of_case(block.case, plan))


@given(blocks())
def test_by_the_kernel(block: Block) -> None:
    assert set(run(block, "EVENT SELECTION SKIP TILL ANY MATCH")) == block.matches()


@given(blocks())
def test_by_the_reference(block: Block) -> None:
    assert set(reference(block, "EVENT SELECTION SKIP TILL ANY MATCH")) == block.matches()


@given(blocks(), st.sampled_from(["SKIP TILL NEXT MATCH", "STRICT CONTIGUITY"]), st.sampled_from(Matches))
def test_other_strategies(block: Block, strategy: str, matches: Matches) -> None:
    """What is decided when is the reference's to know."""
    rest = f"EVENT SELECTION {strategy} {matches.value}"
    assume("!" not in block.text or strategy != "STRICT CONTIGUITY")
    assert run(block, rest) == reference(block, rest)


@given(blocks())
def test_trends(block: Block) -> None:
    query = block.bound("EVENT SELECTION SKIP TILL ANY MATCH RETURN COUNT(*) AS n")
    plan = trend_engine.plan_of(query)
    case = TrendCase(block.case, None, None, (("count", None),))
    spec = plan.engine.spec
    matcher = EnumeratingMatcher(spec) if spec.enumerated else TrendMatcher(spec)
    table = matcher.aggregate(trend_engine.batch_of_case(case, plan))
    counts = [int(n) for n in table.partials[0].values.to_pylist()]
    assert sum(counts) == len(block.matches())


@given(blocks())
def test_imprecise_times(block: Block) -> None:
    """Of one tick each they are certain."""
    try:
        query = block.bound("EVENT SELECTION SKIP TILL ANY MATCH")
        known = tuple(uncertain_engine.COLUMNS)
        uncertainty = Uncertainty("lo", "hi", None, None, None)
        plan = uncertain_engine.plan_of(replace(query, columns=known, uncertainty=uncertainty))
    except PatternAnalysisError as error:
        assert error.error_class == "CEP_UNCERTAINTY"
        assume(False)
    case = UncertainCase(block.case, block.case.times, ((1.0,),) * len(block.types), probable=False)
    found = uncertain_engine.match_uncertain_case(case, plan)
    assert set(uncertain_engine.signatures_of(found, plan)) == block.matches()


def batch_of_all(case: RunCase, plan: PatternPlan[TrendsPlan]) -> Batch:
    """A batch whose masks hold the planner's own tests of one event."""
    columns = {"t": pa.array(case.times, pa.int64()), "e": pa.array(case.types), "v": pa.array(case.values, pa.int32())}
    rows = [{"e": e, "v": v} for e, v in zip(case.types, case.values, strict=True)]
    masks = np.zeros((plan.input.shape.masks, len(rows)), np.int64)
    for code, bit in plan.input.bits.items():
        holds = [all(sql_value(c.sql(), row) for c in plan.input.tests[code]) for row in rows]
        masks[bit // BITS_PER_WORD] |= np.array(holds, bool).astype(np.int64) << bit % BITS_PER_WORD
    fields = [run_engine.field(plan.input.fields.texts[i], columns) for i in plan.input.shape.kernel_fields]
    return batch_of(np.array([0, len(rows)], np.int64), [*map(pa.array, masks), *fields], plan.input.shape)


#: Sides of AND whose components differ in type.
SIDES = [text for text in TEXTS if "PERMUTE" not in text and "|" not in text]


@given(blocks(SIDES), blocks(SIDES))
def test_both_sides_of_and(left: Block, right: Block) -> None:
    """Pairs of two different sequences; what both sides match is counted by their product."""
    right = replace(right, types=left.types, values=left.values)
    others = [f"\\b{a}\\b" for a in "abcdx"]
    text, where = right.text, right.where
    for pattern, other in zip(others, "pqrsy", strict=True):
        text, where = (re.sub(pattern, other, part) for part in (text, where))
    sql = f"FROM log PATTERN AND({left.text}, {text}) WHERE {left.where} AND {where}"
    query = bind(f"{sql} EVENT SELECTION SKIP TILL ANY MATCH RETURN COUNT(*) AS n", COLUMNS, LOG, time_type="bigint")
    types = list(run_engine.COLUMNS.values())
    query = replace(query, partition_by=(), hidden_keys=0)
    plan = ConjunctionPlanner(query, run_engine.SETTINGS, run_engine.analyze, lambda *a: None, types).plan()
    table = trend_matcher(plan.engine.spec).aggregate(batch_of_all(left.case, plan))
    rows = [{tuple(row for _, row in path) for path in side.matches()} for side in (left, right)]
    pairs = {frozenset(pair) for pair in itertools.product(*rows) if pair[0] != pair[1]}
    assert sum(int(n) for n in table.partials[0].values.to_pylist()) == len(pairs)
