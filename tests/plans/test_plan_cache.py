"""When a statement's plan is taken from the cache and when it is made anew, over what Spark has answered before."""

from __future__ import annotations

import pytest

from sparkcep.planner.plan import AnyPlan
from sparkcep.session import plan_cache
from sparkcep.session.statement import run_statement

from .answers import Answers, Session, State
from .corpus import CASES, Source
from .described import nothing_runs
from .plans import SETTINGS, answers_file, run_step

FILE = Source.of_cases(CASES / "planner" / "plan_cache.test")


def new_session() -> Session:
    return Session(Answers.read(answers_file(FILE)), State(dict(SETTINGS)))


def planned(session: Session, text: str) -> AnyPlan:
    with nothing_runs(session):
        _, run = run_statement(session, session.sql, text, explain_only=True)  # type: ignore[arg-type]
    assert run is not None
    return run.relations[0].plan


@pytest.fixture
def empty_cache() -> None:
    plan_cache.PLANS.clear()


def test_a_plan_serves_until_what_it_was_made_from_changes(empty_cache: None) -> None:
    session = new_session()
    plans: list[AnyPlan] = []
    kept: list[bool] = []
    for step in FILE.steps():
        if step.kind == "plan":
            plans.append(planned(session, step.text))
            kept.append(planned(session, step.text) is plans[-1])
        run_step(session.state, step)
    first, by_rows, again, of_doubles, of_neighbours, asked_of_spark = plans
    assert kept == [True, True, True, True, True, False]
    assert again is first
    assert (first.input.layout, by_rows.input.layout) == ("lists", "rows")
    assert len({id(plan) for plan in (first, by_rows, of_doubles, of_neighbours, asked_of_spark)}) == 5
    assert len(plan_cache.PLANS) == 4


def test_sessions_do_not_share_plans(empty_cache: None) -> None:
    steps = list(FILE.steps())
    one, other = new_session(), new_session()
    for session in (one, other):
        run_step(session.state, steps[0])
    assert planned(one, steps[1].text) is not planned(other, steps[1].text)


def test_a_full_cache_begins_anew(empty_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_cache, "MAX", 2)
    for key in range(5):
        plan_cache.keep(plan_cache.PLANS, (key,), key)  # type: ignore[arg-type]
        assert plan_cache.PLANS[key,] == key  # type: ignore[comparison-overlap]
        assert len(plan_cache.PLANS) <= 2
    plan_cache.PLANS.clear()
