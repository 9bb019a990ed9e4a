"""Which table the rows of a relation come from, and through which of its columns: read from the texts that make it.

What :mod:`sparkcep.lineage.from_plan` reads from plans on classic sessions, for Spark Connect, which shows none. A
column carries the values of the table's where each query on the way names it and nothing else; a filter's text is read
as far as it compares columns with constants. Where every text on the way says what a row is made of, the texts run over
other rows too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from sparkcep.index.events import TIMES
from sparkcep.index.tables import INTEGERS
from sparkcep.lineage.comparisons import Comparison
from sparkcep.lineage.descent import descended
from sparkcep.lineage.origin import Origin
from sparkcep.lineage.text_filters import column_comparisons
from sparkcep.lineage.text_relations import TextRelations
from sparkcep.lineage.text_steps import Leaf, Place, PlacedComparison, Step, UnknownOrigin, find, folded, origin_of
from sparkcep.query import PREFIX, SOURCE, in_backticks, quote
from sparkcep.spark.plan import CHAR_METADATA

_INTEGER = re.compile(r"\(*(-?\d{1,18})\)*")
_TEXT = re.compile(r"\(*'([^'\\{}]*)'\)*")
#: Constants that mean the same for all settings, and for all of the same time zone.
_DATE = re.compile(r"DATE\s*'\d{4}-\d\d-\d\d'", re.IGNORECASE)
_TIME = re.compile(r"TIMESTAMP(_NTZ|_LTZ)?\s*'\d[-\d :.]*'", re.IGNORECASE)
_BITS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
#: SQL of the number by which a constant of a type is compared.
_NUMBERS = {**TIMES, "date": "unix_date({0})", "string": "CAST({0} AS STRING)"}
#: Where a comparison of the session's own text stands.
_OWN = Place()


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement's way to its session.

    ``arguments``: what stands for names in braces. ``run``: Spark's own sql on formatted text, which may name a source.
    """

    spark: SparkSession
    arguments: Mapping[str, Any]
    case_sensitive: bool
    run: Callable[[str, DataFrame | None], DataFrame]


@dataclass(frozen=True, slots=True)
class _Test:
    """What is asked of a column, by its name and type, somewhere."""

    column: str
    type: str
    placed: PlacedComparison


def text_origin(
    statement: Statement, source: DataFrame, text: str, columns: Collection[str], predicates: Sequence[str] = ()
) -> tuple[Origin, Leaf]:
    """The table that the rows of a relation come from.

    Args:
        source: the relation; ``text``: the query that it is, fit for Spark's formatted sql.
        columns: those of the relation whose values matter.
        predicates: SQL over the relation, likewise fit; rows that do not meet it do not matter.

    Raises:
        UnknownOrigin: with the reason.
    """
    top = TextRelations(statement.spark, statement.arguments, statement.case_sensitive).read(text)
    steps, leaf = _chain(top)
    names = source.schema.names
    certain = top.certain
    if len(names) < certain or (top.gap is None and len(names) > certain):
        raise UnknownOrigin("the input has other columns than its text")
    if any(own.name not in (None, name) for own, name in zip(top.columns[:certain], names, strict=False)):
        raise UnknownOrigin("the input has other columns than its text")
    _check_files(source, steps, leaf)
    tests = _of_predicates(names, predicates)
    return _origin(statement, source, steps, leaf, columns, tests), leaf


def text_tests(statement: Statement, source: DataFrame, predicates: Sequence[str]) -> dict[str, tuple[Comparison, ...]]:
    """What SQL predicates over a relation, fit for Spark's formatted sql, ask of its columns."""
    fields = source.schema.fields
    tests = [
        _Test(fields[at].name, _compared_as(fields[at].dataType, fields[at].metadata), test)
        for at, test in _of_predicates(source.schema.names, predicates)
    ]
    return _by_column(statement, tests)


def _of_predicates(names: Sequence[str], predicates: Sequence[str]) -> list[tuple[int, PlacedComparison]]:
    tests = ((find(names, column), test) for text in predicates for column, test in column_comparisons(text))
    return [(at, PlacedComparison(test, _OWN)) for at, test in tests if at is not None]


def _chain(top: Step) -> tuple[list[Step], Leaf]:
    steps, below = [top], top.below
    while isinstance(below, Step):
        steps.append(below)
        below = below.below
    return steps, below


def _check_files(source: DataFrame, steps: Sequence[Step], leaf: Leaf) -> None:
    """Spark must read what the texts say, as far as it tells: the table's files and no others.

    Raises:
        UnknownOrigin: it reads others.
    """
    if leaf.format == "delta" or not all(step.whole and step.tested is not None for step in steps):
        return  # which may read other tables too, as subqueries do
    with suppress(PySparkException):
        if not set(source.inputFiles()) <= set(leaf.files.inputFiles()):
            raise UnknownOrigin(f"Spark reads other files for the input than those of {leaf.source}")


def _compared_as(type_: DataType | None, metadata: Mapping[str, object] | None) -> str:
    """A type by its name where its values compare as constants do here; CHAR and VARCHAR have blanks of their own."""
    if type_ is None or CHAR_METADATA in (metadata or {}):
        return ""
    return type_.simpleString()


def _origin(
    statement: Statement, source: DataFrame, steps: Sequence[Step], leaf: Leaf, columns: Collection[str],
    predicates: Sequence[tuple[int, PlacedComparison]],
) -> Origin:  # fmt: skip
    """The table at the end of some steps.

    Args:
        columns: those of the input whose values matter. predicates: what is asked of its columns.
    """
    names, certain = source.schema.names, steps[0].certain
    alone = Counter(map(folded, names))
    wanted = {at: name for at, name in enumerate(names[:certain]) if name in columns and alone[folded(name)] == 1}
    end = descended([step.passed for step in steps], wanted, [(at, test) for at, test in predicates if at < certain])
    by_row = (
        end.by_row
        and set(wanted.values()) >= set(columns)
        and all(_told_apart(step.below.names, needed) for step, needed in zip(steps, end.needed, strict=True))
        and all(_is_compared(statement, step, leaf) for step in steps if step.place.is_view)
    )
    own, types = dict(enumerate(leaf.files.schema.names)), {f.name: f.dataType for f in leaf.files.schema.fields}
    fields = {f.name: f.dataType for f in source.schema.fields}
    plain = {column: below for column, below in end.by_name(own) if fields[column] == types[below]}
    tests = _by_column(statement, [_test(leaf, leaf, at, placed) for at, placed in end.asks])
    query = _text(steps, sorted(wanted))
    over = partial(_over, statement, source, leaf, {at: _name(steps[0], at) for at in wanted}, query)
    tested = frozenset(own[at] for at in end.tested)
    return Origin(leaf.files, plain, end.repeats, end.made_from(own), tested, by_row, tests, over, query)


def _is_compared(statement: Statement, step: Step, leaf: Leaf) -> bool:
    """Whether all that a view's condition says compares here as it does there, where a setting may change it."""
    return None not in _comparisons(statement, [_test(step.below, leaf, at, placed) for at, placed in step.asks])


def _test(below: Leaf | Step, leaf: Leaf, at: int, placed: PlacedComparison) -> _Test:
    """What is asked of a column of some relation on the way."""
    name, type_ = origin_of(below, at)
    field = None if name is None else leaf.files.schema[name]
    return _Test(name or "", _compared_as(type_, field.metadata if field else None), placed)


def _told_apart(names: Sequence[str | None], wanted: Collection[int]) -> bool:
    """Whether some columns have names that mean no other of them."""
    own = [folded(names[at] or f"{PREFIX}c{at}") for at in wanted]
    return len(set(own)) == len(own)


# -- constants ---------------------------------------------------------------------------------------------------------


def _comparisons(statement: Statement, tests: Sequence[_Test]) -> list[Comparison | None]:
    """Tests with the values of their constants; None for those that do not compare here as they do in Spark."""
    values: dict[tuple[str, str], int | str | None] = {}
    asked_of_spark: list[tuple[str, str]] = []
    for test in tests:
        for constant in _constants(test.placed.comparison):
            key = constant, test.type
            if key in values:
                continue
            values[key] = _value(constant, test.type)
            if values[key] is None and _may_ask(constant, test):
                asked_of_spark.append(key)
    values |= _values(statement, asked_of_spark)
    allowed = set(asked_of_spark)

    def known(test: _Test, comparison: Comparison) -> Comparison | None:
        sides = [known(test, side) for side in comparison.either]
        if None in sides:
            return None
        found = []
        for constant in comparison.values:
            key = constant, test.type
            value = values[key]
            if value is None or (key in allowed and not _may_ask(constant, test)):
                return None
            if isinstance(value, int) and not -(2 ** _BITS.get(test.type, 63)) <= value < 2 ** _BITS.get(test.type, 63):
                return None
            found.append(value)
        return Comparison(comparison.operator, tuple(found), tuple(side for side in sides if side is not None))

    return [known(test, test.placed.comparison) for test in tests]


def _by_column(statement: Statement, tests: Sequence[_Test]) -> dict[str, tuple[Comparison, ...]]:
    """What tests ask of each column, as far as they compare."""
    out: dict[str, tuple[Comparison, ...]] = {}
    for test, found in zip(tests, _comparisons(statement, tests), strict=True):
        if found is not None:
            out[test.column] = (*out.get(test.column, ()), found)
    return out


def _constants(test: Comparison) -> Iterator[str]:
    yield from test.values
    for side in test.either:
        yield from _constants(side)


def _value(constant: str, type_: str) -> int | str | None:
    """The value of a constant whose text says it; None of others."""
    if type_ == "string" and (text := _TEXT.fullmatch(constant)):
        return text[1]
    if type_ in INTEGERS and (number := _INTEGER.fullmatch(constant)):
        return int(number[1])
    return None


def _may_ask(constant: str, test: _Test) -> bool:
    """Whether the session may say what a constant is that stands somewhere."""
    if test.type not in _NUMBERS:
        return False
    if test.placed.place.is_view:
        if test.type == "date":
            return _DATE.fullmatch(constant) is not None
        return test.placed.place.same_clock and test.type in TIMES and _TIME.fullmatch(constant) is not None
    if test.type == "string" or test.type in INTEGERS:
        return True
    # 'now' and the like are another time for each that asks.
    return '"' not in constant and all(re.match(r"\s*[-+]?\d", own) for own in re.findall(r"'([^']*)'", constant))


def _values(statement: Statement, wanted: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int | str | None]:
    """Constants by their text and the type that they are compared as; none where Spark does not say."""
    if not wanted:
        return {}
    with suppress(PySparkException):
        items = ", ".join(f"({constant}) AS {PREFIX}{k}" for k, (constant, _) in enumerate(wanted))
        own = [field.dataType.simpleString() for field in statement.run(f"SELECT {items}", None).schema.fields]
        texts = []
        for (constant, type_), given in zip(wanted, own, strict=True):
            text = None
            if given == type_ or (given in INTEGERS and type_ in INTEGERS):
                text = f"({constant})"
            elif given == "string" and type_ in ("timestamp", "timestamp_ntz", "date"):
                text = f"CAST(({constant}) AS {type_})"
            texts.append("NULL" if text is None else _NUMBERS[type_].format(text))
        row = statement.run(f"SELECT {', '.join(texts)}", None).collect()[0]
        return dict(zip(wanted, row, strict=True))
    return {}


# -- other rows --------------------------------------------------------------------------------------------------------


def _over(
    statement: Statement, source: DataFrame, leaf: Leaf, names: Mapping[int, str], text: str, rows: DataFrame
) -> DataFrame:
    """The input with other rows in the place of its table's; see :class:`Origin`.

    Args:
        names: of the columns that ``text`` makes, by their places in the input; the others are NULL.
    """
    types = {field.name: field.dataType for field in leaf.files.schema.fields}
    for field in rows.schema.fields:
        if types.get(field.name) != field.dataType:
            raise TypeError(f"{field.name} is {field.dataType.simpleString()}, not that of {leaf.source}")
    made = statement.run(text, rows)
    own = {field.name: field.dataType for field in made.schema.fields}  # Connect analyses lazily; errors belong here
    items = []
    for at, field in enumerate(source.schema.fields):
        name = names.get(at)
        if name is not None and own[name] != field.dataType:
            raise TypeError(f"{field.name} would be {own[name].simpleString()}")
        value = F.lit(None).cast(field.dataType) if name is None else F.col(in_backticks(name))
        items.append(value.alias(field.name))
    return made.select(*items)


def _text(steps: Sequence[Step], needed: Sequence[int]) -> str:
    """A query that makes some columns of the first of some steps, over the relation {SOURCE} below the last one."""
    step = steps[0]
    below = sorted({b for at in needed for b in step.made(at).reads or ()} | (step.tested or frozenset()))
    alias = quote(step.alias or f"{PREFIX}below")
    relation = f"{{{SOURCE}}}" if len(steps) == 1 else f"({_text(steps[1:], below)})"
    items = []
    for at in needed:
        column = step.columns[at]
        value = column.text if column.below is None else f"{alias}.{quote(_name(step.below, column.below))}"
        items.append(f"{value} AS {quote(_name(step, at))}")
    condition = step.where or ""
    if step.place.is_view:
        condition = condition.replace("{", "{{").replace("}", "}}")
    where = f" WHERE {condition}" if condition else ""
    return f"SELECT {', '.join(items) or '1'} FROM {relation} AS {alias}{where}"


def _name(relation: Leaf | Step, at: int) -> str:
    return relation.names[at] or f"{PREFIX}c{at}"
