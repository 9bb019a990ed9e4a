"""Which files the rows of a relation come from, and through which of its columns: read from Spark's analysed plan.

A relation made by views, CTEs, subqueries and joins has an origin where each of its rows is made from one row of the
origin's files and carries some of its values along unchanged. Filters, joins, limits and windows above change which
rows there are, and add columns; they never make a row of two. Classic sessions only: Spark Connect shows no plans.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from sparkcep.lineage.comparisons import Comparison
from sparkcep.lineage.descent import Made, Step, descended, same
from sparkcep.lineage.origin import Origin
from sparkcep.lineage.plan_filters import comparisons, predicate_comparisons
from sparkcep.spark.plan import analysed, over_plan

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
#: Deeper plans are left alone.
_MAX_DEPTH = 200


def origins(frame: DataFrame, columns: Collection[str], predicates: Sequence[str] = ()) -> list[Origin]:
    """The files that the rows of a relation come from; none where that cannot be told.

    Args:
        columns: those of the relation whose values matter.
        predicates: SQL over the relation; rows that do not meet it do not matter.
    """
    with suppress(Exception):  # there is no public way to a plan: whoever asks does without
        plan = analysed(frame)
        numbers = [number for _, number in _outputs(plan)]
        wanted = {n: c for n, c in zip(numbers, frame.columns, strict=True) if c in columns}
        tests = predicate_comparisons(frame, predicates)
        return [_origin(frame.sparkSession, leaf, path, wanted, tests) for leaf, path in _leaves(plan, (), {})]
    return []


#: A node on the way, the place of the child that was taken, and what it does.
_Passed: TypeAlias = tuple[Any, int, Step[Comparison]]


def _leaves(
    node: Any, path: tuple[_Passed, ...], common: Mapping[int, Any]
) -> Iterator[tuple[Any, tuple[_Passed, ...]]]:
    """The files that each row of a node has a row of, with the nodes above them. ``common``: definitions of CTEs."""
    while len(path) < _MAX_DEPTH:
        kind = str(node.getClass().getSimpleName())
        place = 0
        step: Step[Comparison] = Step()
        if kind == "LogicalRelation":
            yield node, path
            return
        if kind == "Join":
            for place, side in _sides(node):
                yield from _leaves(node.children().apply(place), (*path, (node, place, side)), common)
            return
        if kind in _SAME:
            below = node.children().head()
        elif kind in _SOME or kind in _REPEATING:
            below = node.children().head()
            step = Step(_of(below), by_row=False, repeats=kind in _REPEATING)
        elif kind == "Filter":
            below, condition = node.child(), node.condition()
            tested = frozenset(_references(condition))
            step = Step(tested=tested, asks=tuple(comparisons(condition)), by_row=bool(condition.deterministic()))
        elif kind == "Project":
            below, step = node.child(), Step(_projected(node))
        elif kind == "WithCTE":
            common = {**common, **{int(d.id()): d.child() for d in _items(node.cteDefs())}}
            below, place = node.plan(), int(node.children().size()) - 1
        elif kind == "CTERelationRef":
            below = common[int(node.cteId())]
            outer, inner = ([number for _, number in _outputs(own)] for own in (node, below))
            # Whether others refer to the same definition, with the numbers of its attributes, cannot be told here.
            step = Step({n: same(other) for n, other in zip(outer, inner, strict=True)}.get, by_row=False)
        else:
            return
        node, path = below, (*path, (node, place, step))


def _origin(
    spark: SparkSession, leaf: Any, path: Sequence[_Passed], wanted: Mapping[int, str],
    tests: Sequence[tuple[int, Comparison]],
) -> Origin:  # fmt: skip
    names = {number: name for name, number in _outputs(leaf)}
    at = descended([step for _, _, step in path], wanted, tests)
    by_name: dict[str, tuple[Comparison, ...]] = {}
    for number, test in at.asks:
        if number in names:
            by_name[names[number]] = (*by_name.get(names[number], ()), test)
    return Origin(
        over_plan(spark, leaf), dict(at.by_name(names)), at.repeats, at.made_from(names),
        frozenset(names[number] for number in at.tested), at.by_row, by_name, partial(_over, leaf, path),
    )  # fmt: skip


def _of(child: Any) -> Callable[[int], Made | None]:
    """Of a node that may have columns of its own: those of its child."""
    return {number: same(number) for _, number in _outputs(child)}.get


def _projected(node: Any) -> Callable[[int], Made | None]:
    items = node.projectList()
    places = {number: k for k, (_, number) in enumerate(_numbered(items))}

    def made(number: int) -> Made | None:
        if number not in places:
            return None
        item = items.apply(places[number])
        return Made(_carried(item), frozenset(_references(item)) if bool(item.deterministic()) else None)

    return made


def _sides(node: Any) -> Iterator[tuple[int, Step[Comparison]]]:
    """Places of a join's children, as far as each row of its result has a row of them."""
    kind = str(node.joinType().sql())
    tested, by_row = frozenset[int](), True
    if node.condition().isDefined():
        condition = node.condition().get()
        tested, by_row = frozenset(_references(condition)), bool(condition.deterministic())
    for place in _KEPT_SIDES.get(kind, ()):
        own = {number: same(number) for _, number in _outputs(node.children().apply(place))}
        yield place, Step(own.get, tested & own.keys(), (), by_row, kind not in ("LEFT SEMI", "LEFT ANTI"))


def _carried(item: Any) -> int | None:
    """The attribute that a projected expression is nothing but."""
    if _is(item, "Alias"):
        item = item.child()
    while _is(item, "Cast") and item.child().dataType().equals(item.dataType()):  # as views have them
        item = item.child()
    return int(item.exprId().id()) if _is(item, "AttributeReference") else None


def _is(expression: Any, kind: str) -> bool:
    return str(expression.getClass().getSimpleName()) == kind


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


def _over(leaf: Any, path: Sequence[_Passed], frame: DataFrame) -> DataFrame:
    """The relation with other rows in the place of a leaf's, below nodes of its plan; see :class:`Origin`."""
    spark = frame.sparkSession
    plan = _with_columns_of(spark, frame, leaf)
    for node, place, _ in reversed(path):
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
