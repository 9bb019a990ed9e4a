"""A statement as it is planned, as text: its bound query, its plan, its condition programs, or why it is refused."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from dataclasses import MISSING, fields, is_dataclass
from typing import Any
from unittest import mock

import numpy as np
from pyspark.errors import PySparkException

from sparkcep.errors import SparkCepError
from sparkcep.exec.conditions.compiler import compile_conditions
from sparkcep.exec.conditions.condition_set import ConditionSet
from sparkcep.exec.conditions.programs import CallsBack, ConditionPrograms, Labels
from sparkcep.exec.engines.rows.spec import MatchSpec
from sparkcep.exec.kernels.conditions import codes
from sparkcep.exec.reports import Matched
from sparkcep.index import catalog
from sparkcep.planner.explain import explain_plan
from sparkcep.query import PREFIX
from sparkcep.session import plan_cache, relations, shared_forms, statement
from sparkcep.session.rules import costs as rule_costs
from sparkcep.session.rules import run as rule_sets
from sparkcep.session.statement import StatementExecution, run_statement
from sparkcep.spark.exceptions import condition_of
from sparkcep.sql.commands import Explain

from .answers import Frame, NeedsFiles, Session, digest

#: Names of instructions by number.
_OPERATIONS: dict[int, str] = {}
for _name, _value in vars(codes).items():  # operations come first; kinds of operands have the same numbers
    if _name.isupper() and isinstance(_value, int):
        _OPERATIONS.setdefault(_value, _name)
#: Of a query's dump: what the plan says again, and where things stand in the text.
_LEFT_OUT = {
    "text", "start", "position", "identifiers", "named_beside_order", "limit_steps", "limit_rows", "limit_events",
    "chunk_bytes", "task_memory",
}  # fmt: skip


def described(session: Session, text: str) -> str:
    """What becomes of a statement, without running it.

    Raises:
        Unrecorded: Spark has not been asked yet.
    """
    plan_cache.PLANS.clear()
    plan_cache.SAMPLES.clear()
    session.state.settings = dict(session.state.settings)
    with nothing_runs(session):
        try:
            _, run = run_statement(session, session.sql, text, explain_only=True)  # type: ignore[arg-type]
        except (SparkCepError, PySparkException) as error:
            return _refusal(error)
        except NeedsFiles:
            return "It reads an index.\n"
    if run is None:
        return "Spark answers it.\n"
    parts = list(run.notes)
    for relation in run.relations:
        plan = relation.plan
        parts.append(f"Query: {dumped(plan.query)}")
        parts.append(
            explain_plan(plan, relation.name, relation.pruning.lines, relation.warnings, shared=relation.shared)
        )
        parts.append(f"  To Python: {dumped(plan.input.shape)}")
        parts.append(f"  Spec: {dumped(plan.engine.spec)}")
        for programs in _programs(plan.engine.spec):
            parts += ["  Program:", *(f"    {line}" for line in programs)]
    for found in run.rule_sets:
        parts += [repr(error.row()) for error in found.set.errors]
        for plan in (shared.plan for shared in found.passes):
            parts += [f"Shared rules: {dumped(plan.spec)}", f"  To Python: {dumped(plan.input.shape)}"]
    return "\n".join(parts).replace(PREFIX, "_") + "\n"


def _refusal(error: Exception) -> str:
    if isinstance(error, SparkCepError):
        return f"{error}\n"
    assert isinstance(error, PySparkException)
    return f"Spark: {condition_of(error)}\n"


@contextmanager
def nothing_runs(session: Session) -> Iterator[None]:
    """Operators are not put behind their inputs, which needs a JVM: what they give is a question as others."""

    def matched(planned: Any, frame: Frame, name: str, before: Any = None) -> Matched:
        how = f"matched {digest(dumped(planned.engine.spec), dumped(planned.input.shape), planned.input.layout)}"
        columns: list[str] = []

        def make(real: Any) -> Any:
            found = real_matched(planned, real, name, None if before is None else before.real)
            columns.extend(found.columns)
            return found.frame

        made = frame.derived(how, make)
        return Matched(made, tuple(_columns(session, made, columns)))

    def operator(frame: Frame, layout: str, shape: Any, spec: Any) -> Matched:
        return derived(frame, digest(layout, dumped(shape), dumped(spec)), lambda r: real_match(r, layout, shape, spec))

    def costs(frame: Frame, shape: Any, spec: Any) -> Matched:
        return derived(frame, digest("costs", dumped(shape), dumped(spec)), lambda r: real_costs(r, shape, spec))

    def derived(frame: Frame, how: str, run: Callable[[Any], Matched]) -> Matched:
        columns: list[str] = []

        def make(real: Any) -> Any:
            found = run(real)
            columns.extend(found.columns)
            return found.frame

        made = frame.derived(f"match {how}", make)
        return Matched(made, tuple(_columns(session, made, columns)))

    def facts(frame: Frame, layout: str, shape: Any, spec: Any) -> Frame:
        return frame.derived(f"facts {digest(dumped(spec))}", lambda real: real_facts(real, layout, shape, spec))

    def shared(frame: Frame, lists: Any) -> Frame:
        return frame.derived(f"shared {digest(dumped(lists))}", lambda real: real_shared(real, lists))

    def explained(execution: StatementExecution, command: Explain) -> Any:
        return execution.rewritten(command.query_start)

    real_matched, real_facts, real_shared = relations.matched, relations.partition_facts, shared_forms.match_shared
    real_match, real_costs = rule_sets.match, rule_costs.rule_costs
    with ExitStack() as stack:
        for where, name, other in (
            (relations, "matched", matched),
            (relations, "partition_facts", facts),
            (shared_forms, "match_shared", shared),
            (rule_sets, "match", operator),
            (rule_costs, "rule_costs", costs),
            (catalog, "known", lambda spark: catalog.Indexes()),  # whatever folders the machine has
            (StatementExecution, "explain", explained),
            (statement, "_names", itertools.count()),
            (rule_sets, "_names", itertools.count()),
        ):
            stack.enter_context(mock.patch.object(where, name, other))
        yield


def _columns(session: Session, made: Frame, columns: list[str]) -> list[str]:
    found = session.answers.answer(digest("columns of", made.key), "columns", lambda: {"columns": columns})["columns"]
    return list(found)


def _programs(spec: Any) -> Iterator[list[str]]:
    """The condition programs of a spec's condition sets."""
    for found in _condition_sets(spec, 3):
        if not found.conditions:
            continue
        calls_back = CallsBack.WHERE_NEEDED if found.calls_back else CallsBack.NEVER
        try:
            labels = Labels.COLUMN if isinstance(spec, MatchSpec) else Labels.REGISTERS
            yield list(disassembled(compile_conditions(found, bool(getattr(spec, "ansi", True)), calls_back, labels)))
        except SparkCepError as error:
            yield [f"not compiled: {error.sentence}"]
        except Exception as error:
            yield [f"not compiled: {type(error).__name__}"]


def _condition_sets(value: Any, depth: int) -> Iterator[ConditionSet]:
    if isinstance(value, ConditionSet):
        yield value
    elif depth and is_dataclass(value):
        for each in fields(value):
            yield from _condition_sets(getattr(value, each.name), depth - 1)
    elif depth and isinstance(value, tuple):
        for item in value:
            yield from _condition_sets(item, depth - 1)


def disassembled(programs: ConditionPrograms) -> Iterator[str]:
    """A line for each instruction, under the condition that it is of; then the tables that instructions index."""
    for label, (start, end) in sorted(programs.spans.items()):
        yield f"condition {label}:"
        for number in range(start, end):
            operation, argument, *operands = programs.code[number]
            yield f"  {number} {_OPERATIONS[operation]} {argument} {operands[:3]} {operands[3:]}"
        yield f"  reads {dumped(programs.reads[label])}"
    for name in ("const_i", "const_f", "string_constants", "nav", "agg", "columns", "lacking"):
        if table := getattr(programs, name):
            yield f"{name}: {dumped(table)}"


def dumped(value: Any) -> str:
    """A value as text: of dataclasses the fields that say something, sets sorted."""
    if is_dataclass(value) and not isinstance(value, type):
        own = fields(value)
        if len(own) == 1:
            return f"{type(value).__name__}({dumped(getattr(value, own[0].name))})"
        items = [
            f"{each.name}={dumped(found)}"
            for each in own
            if each.name not in _LEFT_OUT and not each.name.endswith("_position")
            and not _is_default(each, found := getattr(value, each.name))
        ]  # fmt: skip
        return f"{type(value).__name__}({', '.join(items)})"
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, np.ndarray):
        return f"array({value.tolist()})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{dumped(k)}: {dumped(v)}' for k, v in value.items())}}}"
    if isinstance(value, Set):
        return f"{{{', '.join(sorted(map(dumped, value)))}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(dumped, value))}]"
    if isinstance(value, np.generic):
        return repr(value.item())
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    return type(value).__name__ if type(value).__repr__ is object.__repr__ else repr(value)


def _is_default(each: Any, found: Any) -> bool:
    if isinstance(found, np.ndarray):
        return False
    default = each.default_factory() if each.default_factory is not MISSING else each.default
    if default is MISSING:  # what is not there, or not so
        return found is None or found is False or (isinstance(found, tuple | Set | Mapping) and not found)
    return bool(found == default)
