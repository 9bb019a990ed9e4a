"""What a match needs of a case, so that an index can tell which cases are worth looking at.

From the pattern come, per alternative, the components that every match takes, in order; from the conditions the event
types that each of them can take. A case can match only if for some alternative it holds all consecutive pairs of types.
Nothing here knows what is indexed: `session/indexes/choice.py` asks the index.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from sparkcep.exec.shape import Within
from sparkcep.pattern import (
    Alternation,
    Concatenation,
    Conjunction,
    Exclusion,
    Pattern,
    Permutation,
    Quantified,
    Variable,
    can_be_empty,
)
from sparkcep.planner.conditions.row_conditions import RowCondition
from sparkcep.planner.conditions.symbols import compared_strings, never_null, values_where
from sparkcep.planner.fields import Fields
from sparkcep.planner.input_plan import InputPlan
from sparkcep.planner.plan import AnyPlan
from sparkcep.query import GROUP_ID, PatternQuery

#: Alternatives beyond this number are ambiguous: components that several types fit are then not asked for.
MAX_BRANCHES = 64
#: Copies of a repeated component that are asked for; more of them leave hardly fewer cases.
MAX_COPIES = 4


@dataclass(frozen=True, slots=True)
class Roles:
    """Columns of the input that an index is on.

    ``order``: those of its TIME and, where it has one, its TIEBREAK; None: the input has them not as they are.
    ``unique``: they alone order each case's events.
    """

    case: str
    order: tuple[str | None, ...]
    event: str
    unique: bool = True


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a match needs.

    ``branches``: per alternative the event types of its mandatory components, in order. ``unordered``: why the order of
    two types tells nothing, empty where it does. ``bound``: the most that a match's first and last event are apart, in
    microseconds or units of a number, None if unknown. ``only``: events of other types change nothing (None: they may).
    ``columns``: columns that the plan reads; ``placed``: of these, columns that only order events, and whose values
    numbers may stand for that order the events of a case as TIME and TIEBREAK do. ``groups``: cases that are merged: a
    match needs the types of a branch in the cases of one group; none where it needs them in one case. ``untyped``:
    whether events of which the type is NULL may change something.
    """

    branches: tuple[tuple[str, ...], ...]
    unordered: str
    bound: int | None
    only: frozenset[str] | None
    columns: frozenset[str]
    groups: tuple[tuple[int | str, ...], ...] = ()
    placed: frozenset[str] = frozenset()
    untyped: bool = True

    @property
    def ordered(self) -> bool:
        """Whether the order of two types tells anything."""
        return not self.unordered


class NotPrunable(Exception):
    """Why an index is of no use to a query."""


class Reads(Protocol):
    """What reads an input, be it one pattern or many at once."""

    @property
    def query(self) -> PatternQuery:
        """Which says how the input is ordered, and what is its case and its event type."""

    @property
    def input(self) -> InputPlan:
        """Its keys and fields."""


class Asks(Reads, Protocol):
    """What reads an input, as an index is asked for it."""

    def columns_read(self) -> frozenset[str]:
        """See :func:`columns_read`."""

    def requirements(self, roles: Roles) -> Requirements:
        """See :func:`requirements`."""

    def named(self, column: str) -> Sequence[str]:
        """Texts that conditions compare a column with."""


@dataclass(frozen=True, slots=True)
class PlanAsks:
    """See :class:`Asks`: one planned pattern."""

    plan: AnyPlan

    @property
    def query(self) -> PatternQuery:
        """See :class:`Asks`."""
        return self.plan.query

    @property
    def input(self) -> InputPlan:
        """See :class:`Asks`."""
        return self.plan.input

    def columns_read(self) -> frozenset[str]:
        """See :class:`Asks`."""
        return columns_read(self.plan)

    def requirements(self, roles: Roles) -> Requirements:
        """See :class:`Asks`."""
        return requirements(self.plan, roles)

    def named(self, column: str) -> Sequence[str]:
        """See :class:`Asks`."""
        given = self.plan.input
        return compared_strings(given.tests, given.fields, given.column_types).get(column, [])


def requirements(plan: AnyPlan, roles: Roles) -> Requirements:
    """What a planned pattern needs of a case.

    Raises:
        NotPrunable: with the reason.
    """
    query = plan.query
    if query.rows_per_match.has_unmatched:
        raise NotPrunable("the result has rows outside of matches")
    if query.timed_out:
        raise NotPrunable("a run that timed out needs no event but its first")
    needs = plan.engine.index_needs
    if needs.refused:
        raise NotPrunable(needs.refused)
    if can_be_empty(query.pattern):
        raise NotPrunable("an empty match needs no event")
    if isinstance(query.pattern, Conjunction):
        raise NotPrunable("each side of AND needs events that the other does not")
    keys = [plan.input.fields.column_of(text) for text, _ in plan.input.keys]
    # By case within groups, the cases of a group stay apart.
    groups = query.groups if roles.case not in keys else ()
    if groups and query.case is not None:
        keys.append(plan.input.fields.column_of(query.case.expression))
    if roles.case not in keys:
        raise NotPrunable(f"matches are not inside of one {roles.case}")
    reader = _Types(plan, roles.event)
    found = _expanded(_branches(query.pattern), reader)
    if found is None:
        raise NotPrunable(f"no condition on {roles.event} alone holds for a mandatory component")
    within = plan.input.shape.within if needs.bounded else None
    own = _unordered(plan, roles)
    unordered = "the cases of a group are merged" if groups else needs.unordered or own
    columns = columns_read(plan)
    placed = frozenset() if groups or own else _placed(plan, roles)
    bound = _bound(within, plan.input.within_type)
    return Requirements(
        found, unordered, bound, reader.only(plan), columns, groups, placed & columns, reader.untyped(plan)
    )


def without_repetitions(needs: Requirements) -> Requirements:
    """What a match needs where an event of the log may be in the input more than once: one event may then stand for
    neighbours of one type, which are equal in the index's order."""
    branches = (tuple(a for a, b in itertools.pairwise((*own, None)) if a != b) for own in needs.branches)
    return replace(needs, branches=tuple(dict.fromkeys(branches)))  # type: ignore[arg-type]


def _bound(within: Within | None, type_: str) -> int | None:
    if type_ not in ("bigint", "date", "timestamp", "timestamp_ntz"):  # other units, or no WITHIN
        return None
    if within is None or within.bound is not None or within.distance is None:
        return None
    return within.distance * (86_400_000_000 if type_ == "date" else 1)


def _unordered(plan: AnyPlan, roles: Roles) -> str:
    """Why the query's order of events may differ from the index's."""
    order = plan.query.order_by
    if None in roles.order:
        return "the input does not have the index's TIME and TIEBREAK as they are"
    named = ", ".join(map(str, roles.order))
    for k, column in enumerate(roles.order):
        if k >= len(order) or plan.input.fields.column_of(order[k].expression) != column:
            return f"ORDER BY does not begin with {named}"
        if not order[k].ascending or not order[k].nulls_first:
            return f"ORDER BY {column} is not ascending"
    return "" if roles.unique else f"{named} does not order all events of a {roles.case}"


def columns_read(plan: Reads) -> frozenset[str]:
    """Columns of the input that the plan's texts may name.

    Raises:
        NotPrunable: it reads more than columns.
    """
    query = plan.query
    of_groups = {GROUP_ID} if query.groups else set()
    if query.rows_per_match.has_columns:
        return frozenset(query.columns) - of_groups
    texts = [*(text for text, _ in plan.input.keys), *(k.expression for k in query.order_by), *plan.input.fields.texts]
    texts += [query.event_type or "", plan.input.where(), query.partition_predicate]
    words = query.identifiers | _words(texts)
    if "_metadata" in words:
        raise NotPrunable("the query asks for _metadata")
    return frozenset(c for c in query.columns if c.casefold() in words) - of_groups


def _words(texts: Sequence[str]) -> frozenset[str]:
    """Case-folded names that SQL texts may mention."""
    words: set[str] = set()
    for text in texts:
        words.update(w.casefold() for w in re.findall(r"\w+", text))
        words.update(w.replace("``", "`").casefold() for w in re.findall(r"`((?:[^`]|``)+)`", text))
    return frozenset(words)


def _placed(plan: AnyPlan, roles: Roles) -> frozenset[str]:
    """Columns that only ORDER BY names, behind TIME: where TIME and TIEBREAK tell all events of a case apart, whatever
    orders them alike may stand for TIEBREAK, and anything for what comes behind it."""
    query, fields = plan.query, plan.input.fields
    if query.rows_per_match.has_columns or query.named_beside_order is None:
        return frozenset()
    keys = [fields.column_of(k.expression) for k in query.order_by]
    texts = [
        *(text for text, _ in plan.input.keys),
        query.event_type or "",
        plan.input.where(),
        query.partition_predicate,
    ]
    texts += [k.expression for k, column in zip(query.order_by, keys, strict=True) if column is None]
    texts += [text for text in fields.texts if fields.column_of(text) is None]
    shape = plan.input.shape
    read = {*(g.field for g in shape.gathers), *shape.kernel_fields, *(shape.trace or ())}
    taken = {fields.column_of(fields.texts[k]) for k in read} | {roles.case, roles.order[0], roles.event}
    named = query.named_beside_order | _words(texts)
    return frozenset(c for c in keys[1:] if c is not None and c not in taken and c.casefold() not in named)


class _Types:
    """Event types that conditions on single events let through."""

    def __init__(self, plan: AnyPlan, event: str) -> None:
        self.fields: Fields = plan.input.fields
        self.column_types = plan.input.column_types
        self.event = event
        names = plan.engine.names
        self.of = {name: self.let(plan.input.tests.get(code, [])) for code, name in enumerate(names)}

    def let(self, conditions: Sequence[RowCondition]) -> frozenset[str] | None:
        """Types that satisfy all of the conditions; None: it cannot be told."""
        plain = [c for c in conditions if not c.shifts]
        return values_where(plain, self.event, self.fields, self.column_types) if plain else None

    def only(self, plan: AnyPlan) -> frozenset[str] | None:
        return self.let(_kept(plan))

    def untyped(self, plan: AnyPlan) -> bool:
        kept = _kept(plan)
        return not (kept and never_null(kept, self.event, self.fields, self.column_types))


def _kept(plan: AnyPlan) -> list[RowCondition]:
    """What the plan itself asks of rows before they are grouped."""
    kept = plan.input.where().removeprefix(" WHERE ")
    return [RowCondition((kept,))] if kept else []


#: Per alternative the leaves that a match takes, in order; None: there are too many alternatives.
_Branches = list[tuple[str, ...]] | None


def _branches(pattern: Pattern) -> _Branches:
    if isinstance(pattern, Variable):
        return [(pattern.name,)]
    if isinstance(pattern, Quantified):
        copies = min(pattern.minimum, MAX_COPIES)
        return _product([_branches(pattern.item)] * copies)
    if isinstance(pattern, Concatenation):
        return _product([_branches(item) for item in pattern.items])
    if isinstance(pattern, Exclusion):
        return _branches(pattern.item)
    if isinstance(pattern, Permutation):
        if len(pattern.items) > 4:
            return None
        parts = [_branches(item) for item in pattern.items]
        return _union([_product(list(order)) for order in itertools.permutations(parts)])
    if isinstance(pattern, Alternation):
        return _union([_branches(item) for item in pattern.items])
    return [()]


def _product(parts: list[_Branches]) -> _Branches:
    out: list[tuple[str, ...]] = [()]
    for part in parts:
        if part is None:
            continue  # what cannot be told apart is not asked for
        if len(out) * len(part) > MAX_BRANCHES:
            continue
        out = list(dict.fromkeys(a + b for a in out for b in part))
    return out


def _union(parts: list[_Branches]) -> _Branches:
    out: dict[tuple[str, ...], None] = {}
    for part in parts:
        if part is None:
            return None
        out.update(dict.fromkeys(part))
    return list(out) if len(out) <= MAX_BRANCHES else None


def _expanded(branches: _Branches, types: _Types) -> tuple[tuple[str, ...], ...] | None:
    """Branches of event types; None: some alternative needs no type that is known."""
    out: dict[tuple[str, ...], None] = {}
    for branch in branches or [()]:
        choices = [sorted(found) for name in branch if (found := types.of[name]) is not None]
        if [] in choices:
            continue  # a component that no event can be: this alternative never matches
        while math.prod(map(len, choices)) > MAX_BRANCHES:
            choices.remove(max(choices, key=len))
        if not choices:
            return None
        out.update(dict.fromkeys(itertools.product(*choices)))
    return tuple(out) if len(out) <= MAX_BRANCHES else None
