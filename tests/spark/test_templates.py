"""Templates beside their definitions: Declare's formulas over finite traces, Allen's by the intervals' ends."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from sparkcep import sql
from sparkcep.sql.templates.allen import ALLEN
from sparkcep.sql.templates.declare import DECLARE

from ..conftest import every

Trace = list[str | None]
#: Whether a formula holds at a position of a trace.
Formula = Callable[[Trace, int], bool]


def is_(event: str) -> Formula:
    return lambda t, i: t[i] == event


def not_(f: Formula) -> Formula:
    return lambda t, i: not f(t, i)


def and_(f: Formula, g: Formula) -> Formula:
    return lambda t, i: f(t, i) and g(t, i)


def or_(f: Formula, g: Formula) -> Formula:
    return lambda t, i: f(t, i) or g(t, i)


def next_(f: Formula) -> Formula:
    """The strong one: there is a next event."""
    return lambda t, i: i + 1 < len(t) and f(t, i + 1)


def before(f: Formula) -> Formula:
    return lambda t, i: i > 0 and f(t, i - 1)


def finally_(f: Formula) -> Formula:
    return lambda t, i: any(f(t, k) for k in range(i, len(t)))


def once(f: Formula) -> Formula:
    return lambda t, i: any(f(t, k) for k in range(i + 1))


def globally(f: Formula) -> Formula:
    return lambda t, i: all(f(t, k) for k in range(i, len(t)))


def until(f: Formula, g: Formula) -> Formula:
    return lambda t, i: any(g(t, k) and all(f(t, m) for m in range(i, k)) for k in range(i, len(t)))


def since(f: Formula, g: Formula) -> Formula:
    return lambda t, i: any(g(t, k) and all(f(t, m) for m in range(k + 1, i + 1)) for k in range(i + 1))


A, B = is_("A"), is_("B")
RESPONSE, PRECEDENCE = next_(finally_(B)), once(A)
ALTERNATE_RESPONSE, ALTERNATE_PRECEDENCE = next_(until(not_(A), B)), before(since(not_(B), A))
#: Of constraints on activations: what each activation by an event of a type asks at its place.
ACTIVATED: dict[str, list[tuple[Formula, Formula]]] = {
    "declare_responded_existence": [(A, or_(once(B), finally_(B)))],
    "declare_co_existence": [(A, or_(once(B), finally_(B))), (B, or_(once(A), finally_(A)))],
    "declare_response": [(A, RESPONSE)],
    "declare_alternate_response": [(A, ALTERNATE_RESPONSE)],
    "declare_chain_response": [(A, next_(B))],
    "declare_precedence": [(B, PRECEDENCE)],
    "declare_alternate_precedence": [(B, ALTERNATE_PRECEDENCE)],
    "declare_chain_precedence": [(B, before(A))],
    "declare_succession": [(A, RESPONSE), (B, PRECEDENCE)],
    "declare_alternate_succession": [(A, ALTERNATE_RESPONSE), (B, ALTERNATE_PRECEDENCE)],
    "declare_chain_succession": [(A, next_(B)), (B, before(A))],
    "declare_not_co_existence": [(A, not_(or_(once(B), finally_(B)))), (B, not_(or_(once(A), finally_(A))))],
    "declare_not_succession": [(A, not_(RESPONSE)), (B, not_(PRECEDENCE))],
    "declare_not_chain_succession": [(A, not_(next_(B))), (B, not_(before(A)))],
}
#: The constraints as formulas on the case, as the literature has them.
WHOLE: dict[str, Formula] = {
    "declare_participation": finally_(A),
    "declare_init": A,
    "declare_end": finally_(and_(A, not_(next_(lambda t, i: True)))),
    "declare_responded_existence": or_(not_(finally_(A)), finally_(B)),
    "declare_co_existence": lambda t, i: finally_(A)(t, i) == finally_(B)(t, i),
    "declare_response": globally(or_(not_(A), finally_(B))),
    "declare_alternate_response": globally(or_(not_(A), ALTERNATE_RESPONSE)),
    "declare_chain_response": globally(or_(not_(A), next_(B))),
    "declare_precedence": or_(until(not_(B), A), globally(not_(B))),
    "declare_alternate_precedence": and_(
        or_(until(not_(B), A), globally(not_(B))),
        globally(or_(not_(B), or_(not_(next_(lambda t, i: True)), next_(or_(until(not_(B), A), globally(not_(B))))))),
    ),
    "declare_chain_precedence": and_(not_(B), globally(or_(not_(next_(B)), A))),
    "declare_not_co_existence": not_(and_(finally_(A), finally_(B))),
    "declare_not_succession": globally(or_(not_(A), not_(next_(finally_(B))))),
    "declare_not_chain_succession": globally(or_(not_(A), not_(next_(B)))),
    "declare_choice": or_(finally_(A), finally_(B)),
    "declare_exclusive_choice": and_(or_(finally_(A), finally_(B)), not_(and_(finally_(A), finally_(B)))),
}
for _kind in ("", "alternate_", "chain_"):
    WHOLE[f"declare_{_kind}succession"] = and_(WHOLE[f"declare_{_kind}response"], WHOLE[f"declare_{_kind}precedence"])


def at_least(n: int) -> Formula:
    """F(a ∧ X F(a ∧ ...))."""
    formula = finally_(A)
    for _ in range(n - 1):
        formula = finally_(and_(A, next_(formula)))
    return formula if n else lambda t, i: True


def expected(name: str, n: int, trace: Trace) -> tuple[int, int, int, bool, list[int]]:
    """Activations, fulfilments, violations, whether it holds, positions of the events that violate it."""
    if name in ACTIVATED:
        asked = [(i, body(trace, i)) for i in range(len(trace)) for act, body in ACTIVATED[name] if act(trace, i)]
        kept = sum(holds for _, holds in asked)
        holds = WHOLE[name](trace, 0)
        assert holds == (kept == len(asked)), (name, trace)
        return len(asked), kept, len(asked) - kept, holds, [i for i, fulfilled in asked if not fulfilled]
    counted = [i for i, e in enumerate(trace) if e == "A"]
    holds, violating = {
        "declare_existence": (at_least(n)(trace, 0), []),
        "declare_absence": (not_(at_least(n))(trace, 0), counted[n - 1 :]),
        "declare_exactly": (at_least(n)(trace, 0) and not at_least(n + 1)(trace, 0), counted[n:]),
    }.get(name, (False, []))
    if name in WHOLE:
        holds = WHOLE[name](trace, 0)
        places = {
            "declare_init": [0],
            "declare_end": [len(trace) - 1],
            "declare_exclusive_choice": [i for i, e in enumerate(trace) if e in ("A", "B")],
        }
        violating = [] if holds else places.get(name, [])
    return 1, int(holds), int(not holds), holds, violating


@pytest.fixture(scope="module")
def traces(spark: SparkSession) -> Iterator[dict[int, list[tuple[int, str | None]]]]:
    """Every trace of up to four events, and longer ones with ties and events without a type."""
    draw = random.Random(24)
    logs = [
        list(enumerate(trace)) for k in range(1, 5) for trace in itertools.product(["A", "B", "C", None], repeat=k)
    ] + [
        [(time, draw.choice(["A", "B", "A", "B", "C", None])) for time in sorted(draw.choices(range(12), k=k))]
        for k in range(5, 13)
        for _ in range(60)
    ]
    found = {
        case: sorted(log, key=lambda event: (event[0], event[1] is not None, event[1] or ""))
        for case, log in enumerate(logs)
    }
    rows = [(case, *event) for case, log in found.items() for event in log]
    draw.shuffle(rows)
    spark.createDataFrame(rows, "c int, ts int, e string").createOrReplaceTempView("template_log")
    yield found
    spark.catalog.dropTempView("template_log")


CALLS = [(t.name, n) for t in DECLARE for n in (range(t.least, 4) if "n" in t.parameters else [1])]


@pytest.mark.parametrize(("name", "n"), every(4, CALLS))
def test_declare_equals_its_formula(
    spark: SparkSession, traces: dict[int, list[tuple[int, str | None]]], name: str, n: int
) -> None:
    template = next(t for t in DECLARE if t.name == name)
    more = f", n => {n}" if "n" in template.parameters else ", 'B'" if "b" in template.parameters else ""
    call = f"{name}(TABLE(template_log) PARTITION BY c ORDER BY ts EVENT TYPE e, 'A'{more})"
    rows = {r.c: r for r in sql(spark, f"SELECT * FROM {call}").collect()}
    assert rows.keys() == traces.keys()
    for case, log in traces.items():
        activations, fulfilments, violations, holds, places = expected(name, n, [e for _, e in log])
        row = rows[case]
        assert (row.activations, row.fulfilments, row.violations, row.holds) == (
            activations, fulfilments, violations, holds,
        ), log  # fmt: skip
        assert [(v.time, v.event) for v in row.violating] == [log[i] for i in places], log
    held = {r.holds for r in rows.values()}
    assert held == ({True} if (name, n) == ("declare_existence", 0) else {True, False})


def test_a_log_without_events_has_no_cases(spark: SparkSession) -> None:
    empty = "TABLE(SELECT 1 AS c, 1 AS ts, 'A' AS e WHERE false) PARTITION BY c ORDER BY ts EVENT TYPE e"
    for template in DECLARE:
        call = f"{template.name}({empty}, 'A'{', ' + repr('B') if 'b' in template.parameters else ''})"
        assert sql(spark, f"SELECT * FROM {call}").collect() == [], call


Interval = tuple[int, int]
#: By start and end, from Allen's own table: the relation of the first interval to the second.
RELATIONS: dict[str, Callable[[Interval, Interval], bool]] = {
    "before": lambda x, y: x[1] < y[0],
    "meets": lambda x, y: x[1] == y[0],
    "overlaps": lambda x, y: x[0] < y[0] < x[1] < y[1],
    "starts": lambda x, y: x[0] == y[0] and x[1] < y[1],
    "during": lambda x, y: y[0] < x[0] and x[1] < y[1],
    "finishes": lambda x, y: y[0] < x[0] and x[1] == y[1],
    "equals": lambda x, y: x == y,
}
INVERSES = {
    "after": "before", "met_by": "meets", "overlapped_by": "overlaps", "started_by": "starts", "contains": "during",
    "finished_by": "finishes",
}  # fmt: skip
for _name, _of in INVERSES.items():
    RELATIONS[_name] = lambda x, y, of=_of: RELATIONS[of](y, x)  # type: ignore[misc]


@pytest.fixture(scope="module")
def intervals(spark: SparkSession) -> Iterator[list[tuple[int, int | None, int | None, str]]]:
    """Cases of some intervals between few times, some of them empty, open or turned around."""
    draw = random.Random(13)
    rows = [
        (case, draw.choice([*range(7), None]), draw.choice([*range(9), *range(9), None]), draw.choice("ABC"))
        for case in range(400)
        for _ in range(draw.randint(1, 7))
    ]
    spark.createDataFrame(rows, "c int, s int, f int, kind string").createOrReplaceTempView("template_intervals")
    yield rows
    spark.catalog.dropTempView("template_intervals")


@pytest.mark.full
@pytest.mark.parametrize("types", [("A", "B"), pytest.param(("A", "A"), marks=pytest.mark.long)])
def test_allen_equals_a_join(
    spark: SparkSession, intervals: list[tuple[int, int | None, int | None, str]], types: tuple[str, str]
) -> None:
    assert {t.name for t in ALLEN} == {f"allen_{name}" for name in RELATIONS}
    proper = [(c, (s, f), k) for c, s, f, k in intervals if s is not None and f is not None and s < f]
    pairs = [
        (c, x, y) for (c, x, k), (d, y, m) in itertools.permutations(proper, 2) if c == d and (k, m) == types
    ]  # fmt: skip
    log = "TABLE(template_intervals) PARTITION BY c ORDER BY s EVENT TYPE kind"
    relations = 0
    for name, holds in RELATIONS.items():
        call = f"allen_{name}({log}, '{types[0]}', '{types[1]}', end => f)"
        found = sorted(tuple(r) for r in sql(spark, f"SELECT * FROM {call}").collect())
        assert found == sorted((c, *x, *y) for c, x, y in pairs if holds(x, y)), name
        assert found, name
        relations += len(found)
    assert relations == len(pairs)  # of the thirteen, each pair has one


def test_braces_and_parameters(spark: SparkSession) -> None:
    """What a template stands for has quantifiers in braces, which Spark's formatting must leave alone."""
    log = spark.createDataFrame([(1, 1, "A{"), (1, 2, "B"), (1, 3, "A{")], "c int, ts int, e string")
    head = "PARTITION BY c ORDER BY ts EVENT TYPE e"
    log.createOrReplaceTempView("template_braces")
    try:
        found = sql(
            spark, f"SELECT holds FROM declare_exactly(TABLE({{df}}) {head}, 'A{{{{', n => 2) WHERE c < {{lim}}",
            df=log, lim=5,
        )  # fmt: skip
        assert found.collect() == [(True,)]
        later = "TABLE(SELECT * FROM template_braces WHERE ts >= "
        found = sql(
            spark, f"SELECT holds, ?, '{{x}}' FROM declare_exactly({later}?) {head}, 'A{{', n => 1)", ["z", 2]
        )  # fmt: skip
        assert [tuple(r) for r in found.collect()] == [(True, "z", "{x}")]
        found = sql(spark, f"SELECT holds FROM declare_absence({later}:least) {head}, 'A{{', n => 2)", {"least": 2})
        assert found.collect() == [(True,)]
    finally:
        spark.catalog.dropTempView("template_braces")
