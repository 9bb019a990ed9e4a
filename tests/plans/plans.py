"""The plans of a file's statements as text, over a real session or what one has answered."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .answers import Answers, Session, State, Unrecorded
from .corpus import Source, Step
from .described import described

HERE = Path(__file__).parent
ANSWERS, PLANS = HERE / "recorded", HERE / "expected"
#: Stands for the plan of a statement of which Spark was not asked all that its planner asks.
NOT_RECORDED = "NOT RECORDED"

#: What is planned with.
SETTINGS = {
    "spark.sql.session.timeZone": "UTC", "spark.sql.shuffle.partitions": "2",
    "spark.sparkcep.index.path": "/nonexistent/sparkcep-indexes",
}  # fmt: skip


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
        run_step(state, step)
        if run is not None:
            with contextlib.suppress(Exception):
                run(step)
    return "".join(parts)


def run_step(state: State, step: Step) -> None:
    """What a step changes."""
    if step.kind == "set":
        key, value = step.setting
        state.settings.pop(key, None) if not value else state.settings.update({key: value})
    elif step.kind == "files":
        exec(step.text, {})
    elif step.kind != "python":
        state.run(step.text)


def written(source: Source) -> list[str]:
    """The plans of a file's statements, as they are written down; none where the file has changed since."""
    file = plans_file(source)
    text = file.read_text() if file.exists() else ""
    heads = [f"{step.text.strip()}\n----\n" for step in source.steps() if step.kind == "plan"]
    found: list[str] = []
    at = 0
    for head, following in zip(heads, [*heads[1:], ""], strict=True):
        end = text.find(f"\n\n{following}", at) if following else len(text) - 1
        if not text.startswith(head, at) or end < 0:
            return []
        found.append(text[at + len(head) : end + 1])
        at = end + 2
    return found
