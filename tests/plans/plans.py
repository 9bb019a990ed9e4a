"""The plans of a file's statements as text, over a real session or what one has answered."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..conftest import CONFIGURATION
from .answers import Answers, Session, State, Unrecorded
from .corpus import Source, Step
from .described import described

HERE = Path(__file__).parent
ANSWERS, PLANS = HERE / "recorded", HERE / "expected"
#: Stands for the plan of a statement of which Spark was not asked all that its planner asks.
NOT_RECORDED = "NOT RECORDED"

#: What is planned with: the tests' own settings, and an index path where nothing is.
SETTINGS = {**CONFIGURATION, "spark.sparkcep.index.path": "/nonexistent/sparkcep-indexes"}


def answers_file(source: Source) -> Path:
    return ANSWERS / f"{source.name}.jsonl"


def plans_file(source: Source) -> Path:
    return PLANS / f"{source.name}.plan"


def planned(source: Source, answers: Answers, real: Any = None, run: Callable[[Step], None] | None = None) -> str:
    """Every statement with its plan.

    Args:
        real: a session that is asked what is not known; run: runs a statement or a page's code in it.
    """
    state = State(dict(SETTINGS))
    session = Session(answers, state, real)
    parts: list[str] = []
    for step in source.steps():
        if step.kind == "plan":
            try:
                plan = described(session, step.text)
            except Unrecorded as question:
                plan = f"{NOT_RECORDED}: {question}\n"
            parts += [step.text.strip(), "\n----\n", plan, "\n"]
        if step.kind == "set":
            key, _, value = step.text.partition(" ")
            state.settings.pop(key, None) if not value else state.settings.update({key: value.strip()})
        elif step.kind != "python":
            state.run(step.text)
        if run is not None:
            with contextlib.suppress(Exception):
                run(step)
    return "".join(parts)
