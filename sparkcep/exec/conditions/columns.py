"""Evaluates typed conditions in Python, a column of values at a time; a single value is a column of one.

Slower than the kernel by two orders of magnitude and chosen only where needed; EXPLAIN says so. Values are Python's:
int, float, Decimal, str, bool, date, datetime, timedelta, list and None. An error is a value, :class:`Failed`, until a
result depends on it, so that what AND, OR, CASE or a NULL operand leaves out does not fail, as in Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from sparkcep.expr.aggregates import distinct
from sparkcep.expr.functions.lambdas import LambdaBody, applied
from sparkcep.expr.nodes import (
    LABEL_COLUMN,
    ROW_COLUMN,
    AggregateSlot,
    ConditionSlot,
    Expression,
    NavigationSlot,
    loads,
)
from sparkcep.expr.order import compare
from sparkcep.expr.typed import Form, Typed

#: Which row a slot points at: register, whether from its first row, logical and physical offset.
Place: TypeAlias = tuple[int, int, int, int]


class Failed:
    """What an evaluation raised."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


@dataclass(slots=True)
class Failures:
    """``any``: whether a value of the evaluation, or of one that it is part of, is :class:`Failed`."""

    any: bool = False


class Labels(Protocol):
    """Names of the variables that took rows of a batch, by row."""

    def __getitem__(self, row: int, /) -> str | None: ...


@dataclass(slots=True)
class Values:
    """Python's values of a batch's columns. ``base``: the partition's first row in them; ``rows``: those of the
    partition; ``skipped``: rows of the partition that came before those of the batch."""

    columns: Sequence[Sequence[Any]]
    base: int = 0
    rows: int = 0
    skipped: int = 0
    labels: Labels = ()

    def at(self, column: int, rows: Sequence[int]) -> Sequence[Any]:
        """A column's values at rows of the partition, or the rows' labels or numbers."""
        if column == ROW_COLUMN:
            return [self.skipped + row for row in rows]
        base = self.base
        if column == LABEL_COLUMN:
            return [self.labels[base + row] for row in rows]
        values = self.columns[column]
        if isinstance(rows, range):  # without steps
            return values[base + rows.start : base + rows.stop]
        return [values[base + row] for row in rows]


class Frame(Protocol):
    """What a condition is evaluated over: so many rows, matches, pairs of rows, or elements of an array."""

    failures: Failures

    @property
    def count(self) -> int:
        """How many."""

    def at(self, k: int) -> Frame:
        """One of them."""


@dataclass(slots=True)
class Rows:
    """Rows of a partition. ``numbers``: of the matches that they are of."""

    batch: Values
    rows: Sequence[int]
    numbers: Sequence[int] = ()
    failures: Failures = field(default_factory=Failures)

    @property
    def count(self) -> int:
        """How many."""
        return len(self.rows)

    def at(self, k: int) -> Rows:
        """See :class:`Frame`."""
        return replace(self, rows=[self.rows[k]], numbers=self.numbers[k : k + 1])


@dataclass(slots=True)
class Matches:
    """Matches, or runs so far. ``registers``: of each, the rows that each register has seen."""

    batch: Values
    registers: Sequence[Sequence[Sequence[int]]]
    numbers: Sequence[int]
    failures: Failures = field(default_factory=Failures)

    @property
    def count(self) -> int:
        """How many."""
        return len(self.registers)

    def at(self, k: int) -> Matches:
        """See :class:`Frame`."""
        return replace(self, registers=[self.registers[k]], numbers=self.numbers[k : k + 1])


@dataclass(slots=True)
class Pairs:
    """Pairs of rows. The n-th one is of the rows ``first[0] + n * moves[0]`` and ``first[1] + n * moves[1]``.

    ``places``: how conditions name the two. ``moves``: 0 or 1 each.
    """

    batch: Values
    places: tuple[Place, Place]
    first: tuple[int, int]
    moves: tuple[int, int]
    count: int
    failures: Failures = field(default_factory=Failures)

    def at(self, k: int) -> Pairs:
        """See :class:`Frame`."""
        (i, j), (a, b) = self.first, self.moves
        return Pairs(self.batch, self.places, (i + k * a, j + k * b), self.moves, 1, self.failures)

    def column(self, column: int, side: int) -> Sequence[Any]:
        """A column's value at one of the rows of each pair."""
        batch, first, count = self.batch, self.first[side], self.count
        if column == ROW_COLUMN:
            first += batch.skipped
            return range(first, first + count) if self.moves[side] else [first] * count
        values, at = batch.columns[column], batch.base + first
        return values[at : at + count] if self.moves[side] else [values[at]] * count


@dataclass(slots=True)
class Elements:
    """Values of a lambda's parameters, by their numbers. ``outer``: the frame of one that the array is of."""

    outer: Frame
    parameters: dict[int, Sequence[Any]]
    count: int
    failures: Failures

    def at(self, k: int) -> Elements:
        """See :class:`Frame`."""
        return replace(self, parameters={n: v[k : k + 1] for n, v in self.parameters.items()}, count=1)


#: Evaluates a part over a frame: a value, None or Failed, for each of what it has.
Columnwise: TypeAlias = Callable[[Any], Sequence[Any]]


def value(of: Columnwise, frame: Frame) -> Any:
    """The one value over a frame of one; raises what it failed with."""
    (found,) = of(frame)
    if type(found) is Failed:
        raise found.error
    return found


def values(of: Columnwise, frame: Frame) -> Sequence[Any]:
    """The values over a frame; raises what the first one failed with."""
    found = of(frame)
    return settled(found) if frame.failures.any else found


def settled(evaluated: Sequence[Any]) -> Sequence[Any]:
    """Values, of which none has failed; raises what the first one failed with."""
    for each in evaluated:
        if type(each) is Failed:
            raise each.error
    return evaluated


def place_of(slot: NavigationSlot) -> Place:
    """The row that a slot points at."""
    return slot.register, int(slot.from_first), slot.logical, slot.physical


def places_of(test: Expression, slots: Sequence[ConditionSlot]) -> tuple[Place, Place] | None:
    """The two rows that a test looks at (twice the same where it is one); None where it looks at anything else."""
    found: dict[Place, None] = {}
    for slot in (slots[number] for number in loads(test)):
        if not isinstance(slot, NavigationSlot) or slot.argument is not None or slot.column == LABEL_COLUMN:
            return None
        found[place_of(slot)] = None
    if not 0 < len(found) <= 2:
        return None
    first, *rest = found
    return first, rest[0] if rest else first


def evaluator(of: Typed, places: tuple[Place, Place] | None = None) -> Columnwise:
    """What evaluates a typed condition.

    Args:
        places: of a condition over :class:`Pairs`, how it names their rows.
    """
    return _Evaluators(places).part(of, ())


class _Evaluators:
    def __init__(self, places: tuple[Place, Place] | None) -> None:
        self.places = places

    def part(self, of: Typed, scopes: tuple[frozenset[int], ...]) -> Columnwise:
        """What evaluates a part. ``scopes``: the parameters of each lambda that it is in, of the innermost last, over
        whose :class:`Elements` it is evaluated."""
        if scopes and of.form is not Form.CONSTANT and not scopes[-1] & parameters(of):
            return _outside(self.part(of, scopes[:-1]))
        form = of.form
        if form is Form.CONSTANT:
            constant = of.value
            return lambda frame: [constant] * frame.count
        if form is Form.PARAMETER:
            number = of.number
            return lambda frame: frame.parameters[number]
        if form is Form.COLUMN:
            column = of.number
            return lambda frame: frame.batch.at(column, frame.rows)
        if form is Form.NUMBER:
            return lambda frame: frame.numbers
        if form is Form.NAVIGATION:
            return self.navigation(of)
        if form is Form.AGGREGATE:
            return self.aggregate(of)
        if form is Form.WITH_LAMBDAS:
            return self.with_lambdas(of, scopes)
        arguments = [self.part(a, scopes) for a in of.arguments]
        if self.places is not None and len({self.sides(a) for a in of.arguments}) > 1:
            arguments = [self.once(a, f) for a, f in zip(of.arguments, arguments, strict=True)]
        if form in (Form.AND, Form.OR):
            return _logic(form is Form.OR, *arguments)
        if form is Form.CASE:
            return _case(arguments)
        if form is Form.COALESCE:
            return _coalesce(arguments)
        if form is Form.IN:
            return _membership(arguments)
        assert of.apply is not None
        if form is Form.LISTED:
            return _listed(of.apply, arguments)
        if form is Form.STRICT_BACKWARDS:
            apply = of.apply
            return _strict(lambda v, u: apply(u, v), arguments[::-1], lazy=True)
        return _strict(of.apply, arguments, lazy=form is not Form.STRICT_ALL)

    def sides(self, of: Typed) -> frozenset[int]:
        """The rows of pairs that a part looks at: 0, 1 or both."""
        if of.form is Form.NAVIGATION:
            assert self.places is not None and isinstance(of.slot, NavigationSlot)
            return frozenset([self.places.index(place_of(of.slot))])
        return frozenset[int]().union(*map(self.sides, of.arguments))

    def once(self, part: Typed, of: Columnwise) -> Columnwise:
        """A part's values, of which there is one while the only row of each pair that it looks at stays."""
        sides = self.sides(part)
        if len(sides) != 1 or part.form is Form.NAVIGATION:
            return of
        (side,) = sides

        def evaluate(frame: Any) -> Sequence[Any]:
            if type(frame) is not Pairs or frame.moves[side]:
                return of(frame)
            return list(of(frame.at(0))) * frame.count

        return evaluate

    def navigation(self, of: Typed) -> Columnwise:
        """Values of the rows that a navigation points at; NULL where there is none."""
        slot = of.slot
        assert isinstance(slot, NavigationSlot)
        if self.places is not None:
            side = self.places.index(place_of(slot))
            return lambda frame: frame.column(slot.column, side)
        inner = self.part(of.arguments[0], ())
        register, first, logical, physical = slot.register, slot.from_first, slot.logical, slot.physical

        def navigate(frame: Matches) -> Sequence[Any]:
            rows, found = frame.batch.rows, []
            for k, registers in enumerate(frame.registers):
                seen = registers[register]
                at = logical if first else len(seen) - 1 - logical
                if 0 <= at < len(seen) and 0 <= (row := seen[at] + physical) < rows:
                    found.append((k, row))
            out: list[Any] = [None] * frame.count
            numbers = [frame.numbers[k] for k, _ in found]
            looked = inner(Rows(frame.batch, [row for _, row in found], numbers, frame.failures))
            for (k, _), each in zip(found, looked, strict=True):
                out[k] = each
            return out

        return navigate

    def aggregate(self, of: Typed) -> Columnwise:
        """An aggregate over a register's rows, which are all read anew each time."""
        slot, fold = of.slot, of.fold
        assert isinstance(slot, AggregateSlot) and fold is not None
        arguments = [self.part(a, ()) for a in of.arguments[: len(slot.arguments)]]
        keep = self.part(of.arguments[-1], ()) if slot.filter is not None else None
        known = range(len(arguments))[fold.known]

        def over(frame: Matches, k: int) -> Any:
            seen: Sequence[int] = frame.registers[k][slot.register]
            taken = seen[:-1] if slot.before else list(seen)
            numbers = [frame.numbers[k]] * len(taken)
            if keep is not None:
                kept = values(keep, Rows(frame.batch, taken, numbers))
                taken = [row for row, holds in zip(taken, kept, strict=True) if holds is True]
            rows = Rows(frame.batch, taken, numbers[: len(taken)])
            columns = [values(f, rows) for f in arguments]
            found = list(zip(*columns, strict=True)) if columns else [()] * len(taken)
            if len(known):
                found = [row for row in found if all(row[n] is not None for n in known)]
            return fold.apply(distinct(found) if slot.distinct else found)

        return lambda frame: [_tried(frame, over, frame, k) for k in range(frame.count)]

    def with_lambdas(self, of: Typed, scopes: tuple[frozenset[int], ...]) -> Columnwise:
        """A function that takes lambdas, value by value; a lambda's body is evaluated over the array's elements."""
        numbers = of.parameters
        count = len(of.arguments) - len(numbers)
        arguments = [self.part(a, scopes) for a in of.arguments[:count]]
        own = zip(of.arguments[count:], numbers, strict=True)
        bodies = [self.part(a, (*scopes, frozenset(n))) for a, n in own]
        name = of.name
        collections = 2 if name == "zip_with" else 1
        indexed = any(len(n) == 2 for n in numbers)

        def one(frame: Any, k: int, row: tuple[Any, ...]) -> Any:
            if None in settled(row)[:collections]:
                return None
            outer = frame.at(k) if frame.count > 1 else frame

            def lambda_of(names: tuple[int, ...], body: Columnwise) -> LambdaBody:
                def over(*columns: Sequence[Any]) -> Sequence[Any]:
                    return body(
                        Elements(outer, dict(zip(names, columns, strict=True)), len(columns[0]), frame.failures)
                    )

                return over

            return applied(name, row, [lambda_of(n, b) for n, b in zip(numbers, bodies, strict=True)], indexed, settled)

        def evaluate(frame: Any) -> Sequence[Any]:
            rows = list(zip(*(f(frame) for f in arguments), strict=True))
            return [_tried(frame, one, frame, k, row) for k, row in enumerate(rows)]

        return evaluate


def parameters(of: Typed) -> frozenset[int]:
    """Numbers of the parameters that a part reads of lambdas around it."""
    if of.form is Form.PARAMETER:
        return frozenset([of.number])
    found = frozenset[int]().union(*map(parameters, of.arguments))
    return found.difference(*of.parameters) if of.form is Form.WITH_LAMBDAS else found


def _outside(of: Columnwise) -> Columnwise:
    """A part that reads no parameter of the lambda that it is in: one value for all elements."""
    return lambda frame: list(of(frame.outer)) * frame.count


def _tried(frame: Frame, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function gives, or what it has failed with."""
    try:
        return function(*arguments)
    except Exception as error:
        frame.failures.any = True
        return Failed(error)


def _strict(apply: Callable[..., Any], arguments: Sequence[Columnwise], lazy: bool) -> Columnwise:
    """A function that is NULL where an argument is. ``lazy``: arguments behind that one do not count, if they fail."""

    def one(*row: Any) -> Any:
        for each in row:
            if each is None and lazy:
                return None
            if type(each) is Failed:
                raise each.error
        return None if None in row else apply(*row)

    def every(columns: Sequence[Sequence[Any]]) -> Sequence[Any]:
        if len(columns) == 2:
            return [None if a is None or b is None else apply(a, b) for a, b in zip(*columns, strict=True)]
        if len(columns) == 1:
            return [None if v is None else apply(v) for v in columns[0]]
        return [None if None in row else apply(*row) for row in zip(*columns, strict=True)]

    def evaluate(frame: Frame) -> Sequence[Any]:
        columns = []
        for argument in arguments:
            columns.append(column := argument(frame))
            if lazy and column and column[0] is None and not frame.failures.any and column.count(None) == len(column):
                return column
        return _by_row(frame, columns, every, one)

    return evaluate


def _by_row(
    frame: Frame,
    columns: Sequence[Sequence[Any]],
    every: Callable[[Sequence[Sequence[Any]]], Sequence[Any]],
    one: Callable[..., Any],
) -> Sequence[Any]:
    """The values of ``every`` row at once; where some have failed, or do, of ``one`` row after the other."""
    if not frame.failures.any:
        try:
            return every(columns)
        except Exception:
            pass
    return [_tried(frame, one, *row) for row in zip(*columns, strict=True)]


def _listed(apply: Callable[..., Any], arguments: Sequence[Columnwise]) -> Columnwise:
    """A function of all values, NULLs among them."""
    if not arguments:
        return lambda frame: [apply() for _ in range(frame.count)]

    def every(columns: Sequence[Sequence[Any]]) -> Sequence[Any]:
        return [apply(*row) for row in zip(*columns, strict=True)]

    def one(*row: Any) -> Any:
        return apply(*settled(row))

    return lambda frame: _by_row(frame, [argument(frame) for argument in arguments], every, one)


def _logic(decisive: bool, x: Columnwise, y: Columnwise) -> Columnwise:
    """AND and OR in three values; the right side does not count where the left one decides."""

    def one(a: Any, b: Any) -> Any:
        if a is decisive or type(a) is Failed:
            return a
        if b is decisive or type(b) is Failed:
            return b
        return None if a is None or b is None else not decisive

    def evaluate(frame: Frame) -> Sequence[Any]:
        left = x(frame)
        if all(a is decisive for a in left):
            return left
        return [one(a, b) for a, b in zip(left, y(frame), strict=True)]

    return evaluate


#: What a value is until it is chosen.
_OPEN = object()


def _case(parts: Sequence[Columnwise]) -> Columnwise:
    """Condition, value, condition, value, ..., default: the first value whose condition is true."""
    *branches, default = parts
    tests, branch_values = branches[::2], branches[1::2]

    def evaluate(frame: Frame) -> Sequence[Any]:
        out: list[Any] = [_OPEN] * frame.count
        for test, of in zip(tests, branch_values, strict=True):
            held = test(frame)
            chosen = [k for k, v in enumerate(held) if v is True and out[k] is _OPEN]
            found = of(frame) if chosen else ()
            for k in chosen:
                out[k] = found[k]
            for k, v in enumerate(held) if frame.failures.any else ():
                if type(v) is Failed and out[k] is _OPEN:
                    out[k] = v
            if _OPEN not in out:
                return out
        found = default(frame)
        return [found[k] if v is _OPEN else v for k, v in enumerate(out)]

    return evaluate


def _coalesce(parts: Sequence[Columnwise]) -> Columnwise:
    """The first value that is not NULL."""

    def evaluate(frame: Frame) -> Sequence[Any]:
        out = parts[0](frame)
        for part in parts[1:]:
            if not any(v is None for v in out):
                break
            out = [b if a is None else a for a, b in zip(out, part(frame), strict=True)]
        return out

    return evaluate


def _membership(parts: Sequence[Columnwise]) -> Columnwise:
    """Whether a value is in a list; NULL instead of false where an element is NULL."""

    def one(wanted: Any, *options: Any) -> Any:
        if wanted is None:
            return None
        settled((wanted,))
        unknown = False
        for option in options:
            if option is None:
                unknown = True
            elif compare(wanted, *settled((option,))) == 0:
                return True
        return None if unknown else False

    return lambda frame: [_tried(frame, one, *row) for row in zip(*(part(frame) for part in parts), strict=True)]
