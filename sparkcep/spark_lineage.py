"""Which files the rows of a relation come from, and through which of its columns: read from Spark's analysed plan.

A relation made by views, CTEs, subqueries and joins has an origin where each of its rows is made from one row of the
origin's files and carries some of its values along unchanged. Filters, joins, limits and windows above change which
rows there are, and add columns; they never make a row of two. Classic sessions only: Spark Connect shows no plans.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sparkcep.origin import Origin
from sparkcep.spark_filters import Comparison, asked, asked_of
from sparkcep.spark_plan import analysed, over_plan

_BETWEEN = "\u0001\u0002\u0001"
#: Nodes that change neither rows nor values.
_SAME = ("SubqueryAlias", "View", "ResolvedHint")
#: Nodes that give some rows of their child, each at most once, with all of its columns; which ones depends on others.
_SOME = (
    "Distinct", "Sort", "GlobalLimit", "LocalLimit", "Offset", "Tail", "Window", "Repartition",
    "RepartitionByExpression", "RebalancePartitions", "Deduplicate",
)  # fmt: skip
#: Nodes that may give a row of their child more than once.
_REPEATING = ("Generate", "Sample")
#: Sides of a join whose rows are never filled up with NULLs.
_KEPT_SIDES = {
    "INNER": (0, 1), "CROSS": (0, 1), "LEFT OUTER": (0,), "RIGHT OUTER": (1,), "LEFT SEMI": (0,), "LEFT ANTI": (0,),
}  # fmt: skip
#: Stands for filters and join conditions among the columns that values go into.
_TESTED = ""
#: Deeper plans are left alone.
_MAX_DEPTH = 200

#: By an attribute's number, the relation's columns.
_Columns = Mapping[int, frozenset[str]]


def origins(frame: DataFrame, columns: Collection[str], predicates: Sequence[str] = ()) -> list[Origin]:
    """The files that the rows of a relation come from; none where that cannot be told.

    Args:
        columns: those of the relation whose values matter.
        predicates: SQL over the relation; rows that do not meet it do not matter.
    """
    with suppress(Exception):  # there is no public way to a plan: whoever asks does without
        plan = analysed(frame)
        numbers = [number for _, number in _outputs(plan)]
        named = {n: frozenset({c}) for n, c in zip(numbers, frame.columns, strict=True) if c in columns}
        asked = tuple(asked_of(frame, predicates))
        return list(_found(frame.sparkSession, _Descent(plan, named, named, tests=asked)))
    return []


@dataclass(frozen=True, slots=True)
class _Descent:
    """A node on the way down. ``plain``: its attributes that columns of the relation are nothing but; ``used``: those
    that their values are made from. ``above``: nodes passed, with the place of the child that was taken. ``tests``:
    what each row that matters meets, by attribute."""

    node: Any
    plain: _Columns
    used: _Columns
    above: tuple[tuple[Any, int], ...] = ()
    repeats: bool = False
    by_row: bool = True
    common: tuple[tuple[int, Any], ...] = ()
    tests: tuple[tuple[int, Comparison], ...] = ()

    def into(self, child: Any, place: int = 0, **changed: Any) -> _Descent:
        """The way down to a child."""
        values = {
            "plain": self.plain, "used": self.used, "repeats": self.repeats, "by_row": self.by_row,
            "common": self.common, "tests": self.tests, **changed,
        }  # fmt: skip
        return _Descent(child, above=(*self.above, (self.node, place)), **values)


def _found(spark: SparkSession, at: _Descent) -> Iterator[Origin]:
    while len(at.above) < _MAX_DEPTH:
        kind = str(at.node.getClass().getSimpleName())
        if kind == "LogicalRelation":
            yield _origin(spark, at)
            return
        if kind == "Join":
            for side in _sides(at):
                yield from _found(spark, side)
            return
        if kind in _SAME:
            at = at.into(at.node.children().head())
        elif kind in _SOME or kind in _REPEATING:
            at = _below_others(at, kind in _REPEATING)
        elif kind == "Filter":
            at = _below_filter(at)
        elif kind == "Project":
            at = _below_project(at)
        elif kind == "WithCTE":
            defined = ((int(d.id()), d.child()) for d in _items(at.node.cteDefs()))
            place = int(at.node.children().size()) - 1
            at = at.into(at.node.plan(), place, common=(*at.common, *defined))
        elif kind == "CTERelationRef":
            below = dict(at.common)[int(at.node.cteId())]
            outer, inner = ([number for _, number in _outputs(node)] for node in (at.node, below))
            of = dict(zip(outer, inner, strict=True))
            # Whether others refer to the same definition, with the numbers of its attributes, cannot be told here.
            tested = tuple((of[number], test) for number, test in at.tests if number in of)
            at = at.into(
                below, plain=_renumbered(at.plain, of), used=_renumbered(at.used, of), by_row=False, tests=tested
            )
        else:
            return


def _origin(spark: SparkSession, at: _Descent) -> Origin:
    names = {number: name for name, number in _outputs(at.node)}
    made_from: dict[str, frozenset[str]] = {}
    for number, columns in at.used.items():
        for column in columns:
            made_from[column] = made_from.get(column, frozenset()) | {names[number]}
    plain = {column: names[number] for number, columns in at.plain.items() for column in columns}
    tested = made_from.pop(_TESTED, frozenset())
    asked: dict[str, tuple[Comparison, ...]] = {}
    for number, test in at.tests:
        if number in names:
            asked[names[number]] = (*asked.get(names[number], ()), test)
    return Origin(
        over_plan(spark, at.node), plain, at.repeats, made_from, tested, at.by_row, asked,
        partial(_over, at.node, at.above),
    )  # fmt: skip


def _below_others(at: _Descent, repeats: bool) -> _Descent:
    """Below a node that looks at many rows, and may have columns of its own."""
    child = at.node.children().head()
    own = {number for _, number in _outputs(child)}
    plain = {n: c for n, c in at.plain.items() if n in own}
    used = {n: c for n, c in at.used.items() if n in own}
    return at.into(child, plain=plain, used=used, by_row=False, repeats=at.repeats or repeats, tests=_of(own, at.tests))


def _below_filter(at: _Descent) -> _Descent:
    condition = at.node.condition()
    used = _with_tested(at.used, _references(condition))
    found = (*at.tests, *asked(condition))
    return at.into(at.node.child(), used=used, by_row=at.by_row and bool(condition.deterministic()), tests=found)


def _below_project(at: _Descent) -> _Descent:
    items = at.node.projectList()
    places = {number: k for k, (_, number) in enumerate(_numbered(items))}
    plain: dict[int, frozenset[str]] = {}
    used: dict[int, frozenset[str]] = {}
    by_row = at.by_row
    for number, columns in at.used.items():
        item = items.apply(places[number])
        by_row = by_row and bool(item.deterministic())
        for reference in _references(item):
            used[reference] = used.get(reference, frozenset()) | columns
        below = _carried(item)
        if below is not None and (carried := at.plain.get(number)):
            plain[below] = plain.get(below, frozenset()) | carried
    asked = []
    for number, test in at.tests:
        if number in places and (below := _carried(items.apply(places[number]))) is not None:
            asked.append((below, test))
    return at.into(at.node.child(), plain=plain, used=used, by_row=by_row, tests=tuple(asked))


def _sides(at: _Descent) -> Iterator[_Descent]:
    """Both children of a join, as far as each row of its result has a row of them."""
    node = at.node
    kind = str(node.joinType().sql())
    used = at.used
    if node.condition().isDefined():
        condition = node.condition().get()
        used = _with_tested(used, _references(condition))
        by_row = at.by_row and bool(condition.deterministic())
        at = _Descent(node, at.plain, used, at.above, at.repeats, by_row, at.common, at.tests)
    for place in _KEPT_SIDES.get(kind, ()):
        child = node.children().apply(place)
        own = {number for _, number in _outputs(child)}
        yield at.into(
            child, place, plain={n: c for n, c in at.plain.items() if n in own},
            used={n: c for n, c in used.items() if n in own}, tests=_of(own, at.tests),
            repeats=at.repeats or kind not in ("LEFT SEMI", "LEFT ANTI"),
        )  # fmt: skip


def _of(own: Collection[int], asked: Sequence[tuple[int, Comparison]]) -> tuple[tuple[int, Comparison], ...]:
    """Tests of some attributes."""
    return tuple((number, test) for number, test in asked if number in own)


def _carried(item: Any) -> int | None:
    """The attribute that a projected expression is nothing but."""
    if _is(item, "Alias"):
        item = item.child()
    while _is(item, "Cast") and item.child().dataType().equals(item.dataType()):  # as views have them
        item = item.child()
    return int(item.exprId().id()) if _is(item, "AttributeReference") else None


def _is(expression: Any, kind: str) -> bool:
    return str(expression.getClass().getSimpleName()) == kind


def _with_tested(used: _Columns, numbers: Collection[int]) -> _Columns:
    return {**used, **{n: used.get(n, frozenset()) | {_TESTED} for n in numbers}}


def _renumbered(columns: _Columns, of: Mapping[int, int]) -> _Columns:
    return {of[number]: names for number, names in columns.items()}


def _outputs(node: Any) -> list[tuple[str, int]]:
    """Names and numbers of a node's attributes."""
    return _numbered(node.output())


def _numbered(expressions: Any) -> list[tuple[str, int]]:
    """Texts and numbers of named expressions, in one round trip: each is printed with its number at the end.

    Raises:
        ValueError: some expression is printed otherwise.
    """
    size = int(expressions.size())
    texts = str(expressions.mkString(_BETWEEN)).split(_BETWEEN) if size else []
    found = [re.fullmatch(r"(?s)(.*)#(\d+)L?", text) for text in texts]
    if len(texts) != size or None in found:
        raise ValueError(texts)
    return [(m.group(1), int(m.group(2))) for m in found if m is not None]


def _references(expression: Any) -> list[int]:
    return [int(a.exprId().id()) for a in _items(expression.references().toSeq())]


def _items(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(k) for k in range(int(sequence.size())))


# -- other rows --------------------------------------------------------------------------------------------------------


def _over(leaf: Any, path: Sequence[tuple[Any, int]], frame: DataFrame) -> DataFrame:
    """The relation with other rows in the place of a leaf's, below nodes of its plan; see :class:`Origin`."""
    spark = frame.sparkSession
    plan = _with_columns_of(spark, frame, leaf)
    for node, place in reversed(path):
        plan = _with_child(spark, node, place, plan)
    return over_plan(spark, plan)


def _with_columns_of(spark: SparkSession, frame: DataFrame, leaf: Any) -> Any:
    """A plan with the attributes of files, and the values that a frame has for them."""
    below = analysed(frame)
    given = dict(zip(frame.columns, _items(below.output()), strict=True))
    expressions = spark._jvm.org.apache.spark.sql.catalyst.expressions  # type: ignore[union-attr]
    items = []
    for attribute in _items(leaf.output()):
        value = given.get(str(attribute.name()))
        if value is None:
            value = expressions.Literal(None, attribute.dataType())
        elif not value.dataType().equals(attribute.dataType()):
            raise TypeError(f"{attribute.name()} is {value.dataType().sql()}, not {attribute.dataType().sql()}")
        items.append(_alias(spark, value, attribute))
    return _project(spark, items, below)


def _with_child(spark: SparkSession, node: Any, place: int, child: Any) -> Any:
    """A node with another child."""
    children = list(_items(node.children()))
    children[place] = child
    return node.withNewChildren(_sequence(spark, children))


def _alias(spark: SparkSession, value: Any, attribute: Any) -> Any:
    """An expression under the name and number of an attribute."""
    jvm = spark._jvm
    nothing = attribute.qualifier().take(0)
    no_metadata = getattr(getattr(jvm, "scala.None$"), "MODULE$")
    return jvm.org.apache.spark.sql.catalyst.expressions.Alias(  # type: ignore[union-attr]
        value, attribute.name(), attribute.exprId(), nothing, no_metadata, nothing
    )


def _project(spark: SparkSession, items: Sequence[Any], child: Any) -> Any:
    logical = spark._jvm.org.apache.spark.sql.catalyst.plans.logical  # type: ignore[union-attr]
    return logical.Project(_sequence(spark, items), child)


def _sequence(spark: SparkSession, items: Sequence[Any]) -> Any:
    return spark._jvm.PythonUtils.toSeq(list(items))  # type: ignore[union-attr]
