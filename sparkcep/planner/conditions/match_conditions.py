"""Match-dependent conditions: from the user's text to the kernel's expression tree.

Whatever looks at one row inside them is still Spark's: it becomes a column, and the tree loads it where the match
points (planner/conditions/hoisting.py, planner/conditions/trees.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sparkcep.errors import PatternAnalysisError, not_boolean, streaming_unsupported
from sparkcep.expr.nodes import ROW_COLUMN, Call, ConditionSlot, Expression, Load
from sparkcep.expr.types import NotCompilable, Type, parse_type
from sparkcep.expr.typing_pass import Typing
from sparkcep.pattern import mandatory, taken_before
from sparkcep.planner.conditions.comparable import Comparable
from sparkcep.planner.conditions.one_row import of_one_row
from sparkcep.planner.conditions.row_conditions import may_fail
from sparkcep.planner.conditions.trees import Conjunct, balanced
from sparkcep.planner.conditions.units import is_without_unit, without_unit
from sparkcep.planner.conditions.unread import read_by
from sparkcep.planner.fields import Fields
from sparkcep.planner.refusal import refusal
from sparkcep.query import (
    POSITION,
    PREFIX,
    Aggregate,
    Events,
    MatchNumber,
    Navigation,
    PatternQuery,
    Scalar,
    Waiting,
    escape,
    unescape,
)
from sparkcep.settings import LIMIT_PAIRS

MAXIMUM_DEPTH = 100


@dataclass(slots=True)
class MatchConditions:
    """Collects the match-dependent part of all definitions: conditions, their slots and the fields they load.

    ``conjuncts``, ``descriptions``: by label, what is evaluated and what EXPLAIN says. ``registers``: labels whose
    rows each holds; ``each``: those that a condition goes through row by row. ``columns``: fields, by kernel column.
    ``types_of_fields``: what Spark has told of them so far. ``zone``: the session's time zone.
    ``pairs``: Spark evaluates something for every pair of rows, in partitions of up to ``limit_pairs``. ``labels``:
    other names of registers' rows than the query's; then only rows of some variables are kept, the tested one by the
    last name. ``tests``: what rows must satisfy by themselves to be taken by a variable, where there is something;
    ``tested``: the variables that the row may be of whose condition is being read. ``analyze``: Spark's types of
    expressions over the input, with the session's ``ansi`` mode, ``precision_loss`` and ``escaped_literals`` as in
    :class:`settings.Settings`. ``prefers_interpreter``: functions of two rows that
    the interpreter has are left to it while a condition is read; ``left_to_interpreter``: one was.
    """

    query: PatternQuery
    fields: Fields
    column_types: Mapping[str, str] = field(default_factory=dict)
    limit_pairs: int = int(LIMIT_PAIRS.default)
    zone: str = ""
    pairs: bool = False
    conjuncts: dict[int, list[Expression]] = field(default_factory=dict)
    slots: list[ConditionSlot] = field(default_factory=list)
    registers: list[frozenset[int]] = field(default_factory=list)
    each: set[int] = field(default_factory=set)
    columns: list[int] = field(default_factory=list)
    types_of_fields: dict[int, str] = field(default_factory=dict)
    descriptions: dict[int, list[str]] = field(default_factory=dict)
    labels: tuple[str, ...] = ()
    tests: Mapping[str, str] = field(default_factory=dict)
    tested: tuple[str, ...] = ()
    analyze: Callable[[Sequence[str]], Sequence[tuple[str, str]]] | None = None
    ansi: bool = True
    precision_loss: bool = True
    escaped_literals: bool = False
    prefers_interpreter: bool = False
    left_to_interpreter: bool = False

    def add(self, label: int, scalar: Scalar) -> None:
        """Add one conjunct of a variable's condition.

        Raises:
            PatternAnalysisError: CEP_UNSUPPORTED_CONDITION.
        """
        try:
            condition = self.converted(scalar)
            if self.pairs and self.query.streaming:
                what = "a condition with a function of two rows of the match"
                hint = "compute it as a column of the input, or compare values of one row at a time"
                raise streaming_unsupported(what, self.query.text or None, scalar.position, hint)
            if not self.precision_loss:
                self.check_precision(condition)
            if _depth(condition) > MAXIMUM_DEPTH:
                raise NotCompilable(f"more than {MAXIMUM_DEPTH} operations inside each other")
        except NotCompilable as error:
            raise self.unsupported(scalar, str(error)) from None
        except RecursionError:
            raise self.unsupported(scalar, f"more than {MAXIMUM_DEPTH} operations inside each other") from None
        self.conjuncts.setdefault(label, []).append(condition)
        self.descriptions.setdefault(label, []).append(describe(scalar))

    def check_precision(self, condition: Expression) -> None:
        """Raises NotCompilable for decimals that Spark without precision loss gives other types than conditions do."""
        comparable = Comparable(self, self.ansi)
        read = self.state()
        if comparable.loses_precision(comparable.applied(condition)):
            raise NotCompilable(
                "decimals of more than 38 digits while spark.sql.decimalOperations.allowPrecisionLoss is false"
            )
        self.restore(read)

    @property
    def described(self) -> dict[int, str]:
        """Conditions as EXPLAIN shows them, by label."""
        return {label: " AND ".join(text.strip() for text in texts) for label, texts in self.descriptions.items()}

    @property
    def conditions(self) -> dict[int, Expression]:
        """What is evaluated for a row, by label."""
        return {label: balanced("and", nodes) for label, nodes in self.conjuncts.items()}

    def converted(self, scalar: Scalar) -> Expression:
        """A conjunct's tree; what the tree lacks may still be Spark's, over two rows of the match."""
        before = self.state()
        if (tree := self.interpreted(scalar)) is not None:
            return tree
        self.restore(before)
        try:
            return of_one_row(Conjunct(self, scalar.pieces).convert(), self)
        except NotCompilable:
            self.restore(before)
            whole = Conjunct(self, scalar.pieces).whole()
            if whole is None:
                raise
            return whole

    def interpreted(self, scalar: Scalar) -> Expression | None:
        """A conjunct's tree with functions of two rows that the interpreter evaluates, so that Spark need not for every
        pair of rows; None where it lacks one for values of these types."""
        self.prefers_interpreter, self.left_to_interpreter = self.analyze is not None, False
        try:
            tree = of_one_row(Conjunct(self, scalar.pieces).convert(), self)
            if self.left_to_interpreter:
                read = self.state()
                comparable = Comparable(self, self.ansi).applied(tree)
                Typing(tuple(self.slots), self.column_kinds(), self.ansi).condition(comparable)
                self.restore(read)
            return tree
        except NotCompilable:
            return None
        finally:
            self.prefers_interpreter = False

    def coerce(self) -> None:
        """Make values that meet in an operation of one type, which may add slots and columns."""
        comparable = Comparable(self, self.ansi)
        self.conjuncts = {k: list(map(comparable.applied, nodes)) for k, nodes in self.conjuncts.items()}

    def settle(self) -> None:
        """Coerce, and forget what no condition reads any more.

        To be called once all conditions are there, before slots and columns are handed out by their numbers.
        """
        self.coerce()
        read = read_by((node for nodes in self.conjuncts.values() for node in nodes), self.slots)
        self.conjuncts = {k: list(map(read.tree, nodes)) for k, nodes in self.conjuncts.items()}
        self.slots[:] = [read.slot(self.slots[number]) for number in read.slots]
        self.columns[:] = [self.columns[number] for number in read.columns]

    def column_kinds(self) -> tuple[Type, ...]:
        """Types of the columns so far, as conditions know them."""
        return tuple(map(parse_type, self.types()))

    def types(self) -> list[str]:
        """Spark's types of the columns; it is asked once for each."""
        self.types_of_fields = self.fields.types | self.types_of_fields
        unknown = [i for i in self.columns if i not in self.types_of_fields]
        if unknown:
            assert self.analyze is not None
            found = self.analyze([self.fields.typed(i) for i in unknown])
            self.types_of_fields |= {i: type_ for i, (_, type_) in zip(unknown, found, strict=True)}
        return [self.types_of_fields[i] for i in self.columns]

    def state(self) -> tuple[int, ...]:
        """What has been collected so far, to go back to."""
        return len(self.slots), len(self.registers), len(self.columns), int(self.pairs)

    def restore(self, state: tuple[int, ...]) -> None:
        """Forget what was collected since; fields stay, which only the columns make anything of."""
        slots, registers, columns, pairs = state
        del self.slots[slots:], self.registers[registers:], self.columns[columns:]
        self.each &= set(range(registers))
        self.pairs = bool(pairs)

    def unsupported(self, scalar: Scalar, what: str) -> PatternAnalysisError:
        """CEP_UNSUPPORTED_CONDITION at a condition. ``what``: the part that cannot be used; the caller raises it."""
        kinds = re.fullmatch(r"(\w+) \S+ (\w+)", what)
        if kinds is not None and is_without_unit(kinds[1], kinds[2]):
            found = without_unit(self.query.text, scalar.position)
            if found is not None:
                return PatternAnalysisError(
                    "CEP_UNSUPPORTED_CONDITION", found.message, text=self.query.text or None, position=found.position,
                    hint=found.hint,
                )  # fmt: skip
        if (condition := re.fullmatch(r"a condition of type (.*)", what)) is not None:
            return not_boolean(condition[1], self.query.text, scalar.position)
        return PatternAnalysisError(
            "CEP_UNSUPPORTED_CONDITION",
            f"A condition that depends on the match cannot use {what}.",
            text=self.query.text or None,
            position=scalar.position,
            hint=_way_out(what) or "compute it as a column of the input, or compare values of one row at a time",
        )

    def register(self, variables: tuple[str, ...] | None, each: bool = False) -> int:
        """The register of these variables' rows; with ``each`` one of its own, which a condition goes through."""
        labels = self.labels or self.query.labels
        if variables is None and self.labels:  # what looks at no row: a literal, a subquery
            variables = self.labels[-1:]
        of = frozenset(range(len(labels)) if variables is None else (labels.index(v) for v in variables))
        for g, other in enumerate(self.registers):
            if other == of and (g in self.each) == each:
                return g
        self.registers.append(of)
        if each:
            self.each.add(len(self.registers) - 1)
        return len(self.registers) - 1

    def variables(self, register: int) -> tuple[str, ...]:
        """The variables whose rows a register holds."""
        labels = self.labels or self.query.labels
        return tuple(labels[place] for place in sorted(self.registers[register]))

    def column(self, text: str) -> int:
        """Kernel column that holds a row expression."""
        if text == POSITION:
            return ROW_COLUMN
        number = self.fields.add(text)
        if number not in self.columns:
            self.columns.append(number)
        return self.columns.index(number)

    def guarded(self, text: str, variables: tuple[str, ...] | None) -> str:
        """A row expression that is evaluated for no row that none of the variables can take, if it may fail there.

        ``variables``: None for the tested row.
        """
        test = self.test(self.tested if variables is None else variables)
        return f"CASE WHEN {test} THEN {text} END" if test and may_fail(text) else text

    def test(self, variables: tuple[str, ...]) -> str:
        """What a row must satisfy by itself to be of one of some variables; empty where that is nothing."""
        tests = [self.tests.get(v, "") for v in variables]
        return " OR ".join(tests) if all(tests) else ""

    def is_accepted(self, text: str) -> bool:
        """Whether Spark analyses an expression over the input's rows."""
        return self.analyze is None or not refusal(self.analyze, escape(text))

    def is_there(self, slot: Navigation) -> bool:
        """Whether a navigation points at a row wherever the condition that is being read is decided.

        A block's condition is decided when the last of its variables has taken its event, a clause's on taking it.
        """
        of = slot.variables
        if self.labels or of is None or len(of) > 1 or slot.logical or slot.physical or slot.each:
            return False
        if self.query.is_block:
            return of[0] in mandatory(self.query.pattern)
        return bool(self.tested) and all(
            of == (at,) or taken_before(self.query.pattern, of[0], at) for at in self.tested
        )

    def slot(self, slot: ConditionSlot) -> Load:
        """A reference to a slot; equal slots are stored once."""
        if slot not in self.slots:
            self.slots.append(slot)
        return Load(self.slots.index(slot))


def _way_out(what: str) -> str:
    """What to do about a condition that cannot use something, as a hint; empty where nothing better is known."""
    if "subquery" not in what:
        return ""
    return (
        "a condition on one event may have it; else give the value as a column of the result, and test that: "
        "SELECT * FROM (...) WHERE value IN (SELECT ...)"
    )


def _depth(node: Expression) -> int:
    deepest, stack = 0, [(node, 1)]
    while stack:
        at, depth = stack.pop()
        deepest = max(deepest, depth)
        if isinstance(at, Call):
            stack.extend((a, depth + 1) for a in at.arguments)
    return deepest


def describe(scalar: Scalar) -> str:
    """A conjunct for EXPLAIN, slots written out."""
    return unescape("".join(p if isinstance(p, str) else describe_slot(p) for p in scalar.pieces))


def describe_slot(slot: object) -> str:
    """A slot as a user would write it, for EXPLAIN."""
    if isinstance(slot, MatchNumber):
        return "MATCH_NUMBER()"
    if isinstance(slot, Aggregate):
        inner = "*" if slot.star else ", ".join(a.text for a in slot.arguments)
        of = "" if slot.variables is None else " of " + "|".join(slot.variables)
        return f"{slot.function}({'DISTINCT ' if slot.distinct else ''}{inner}{of})"
    if isinstance(slot, Waiting):
        return "waiting_for"
    if isinstance(slot, Events):
        return "events"
    assert isinstance(slot, Navigation)
    text = slot.argument.text.replace(PREFIX + "label", "CLASSIFIER()")
    if slot.variables is not None:
        text = "|".join(slot.variables) + "." + text
    if slot.from_first or slot.logical:
        text = f"{'FIRST' if slot.from_first else 'LAST'}({text}{f', {slot.logical}' if slot.logical else ''})"
    if slot.physical:
        text = f"{'PREV' if slot.physical < 0 else 'NEXT'}({text}, {abs(slot.physical)})"
    return text
