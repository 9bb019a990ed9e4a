"""Relations as queries over one table each, from the texts of a statement and of the views that it reads.

For Spark Connect, which shows no plans. Names are looked up by `DESCRIBE TABLE EXTENDED ... AS JSON`, which tells the
text of a view and where its names are looked up; what a name means must not depend on anything it does not tell.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.catalog import Table

from sparkcep.errors import PatternIndexError
from sparkcep.index import source_of, sources
from sparkcep.index.tables import Source
from sparkcep.lineage.frame_relations import FrameRelations
from sparkcep.lineage.plain_select import Argument, Common, Named, NotPlain, Select, name_parts, plain_select
from sparkcep.lineage.text_filters import column_comparisons, columns_read
from sparkcep.lineage.text_steps import (
    Column,
    Leaf,
    Place,
    PlacedComparison,
    Step,
    UnknownOrigin,
    as_named,
    find,
    folded,
    is_called,
    origin_of,
)
from sparkcep.query import in_backticks

#: Views over views, and queries in queries, are followed so far.
_MOST_NESTED = 60
#: How views hold on to their columns: by name, and with casts where types have changed.
_SCHEMA_MODES = ("BINDING", "COMPENSATION")
#: Settings that times as text obey, with what holds where they are not set.
_CLOCK = {"spark.sql.session.timeZone": None, "spark.sql.timestampType": "TIMESTAMP_LTZ"}

#: A definition of a WITH list: its name, and what reads it.
_Common: TypeAlias = "tuple[str, Callable[[], Step]]"


@dataclass(slots=True)
class TextRelations:
    """Reads queries.

    Args:
        arguments: what stands for names in braces. case_sensitive: the session's rule.
    """

    spark: SparkSession
    arguments: Mapping[str, Any]
    case_sensitive: bool
    nested: int = 0
    _described: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)

    def read(self, text: str) -> Step:
        """A query of the user's statement.

        Raises:
            UnknownOrigin: with the reason.
        """
        if self.setting("spark.sql.parser.quotedRegexColumnNames") == "true":
            raise UnknownOrigin("names of columns are patterns of names")
        try:
            return self.query(plain_select(text), {}, Place(case_sensitive=self.case_sensitive))
        except NotPlain as error:
            raise UnknownOrigin(f"{error}") from None

    def query(self, select: Select, scope: Mapping[str, _Common], place: Place) -> Step:
        """A query, with the definitions of WITH lists in sight."""
        self.nested += 1
        if self.nested > _MOST_NESTED:
            raise UnknownOrigin("too many queries in each other")
        scope = dict(scope)
        before = frozenset(scope)
        for common in select.commons:
            if folded(common.name) in before:
                raise UnknownOrigin(f"{common.name} is defined in more than one WITH list")
            scope[folded(common.name)] = common.name, partial(self.common, common, dict(scope), place)
        relation = select.relation
        if isinstance(relation, Select):
            below: Leaf | Step = self.query(relation, scope, place)
        elif isinstance(relation, Argument):
            below = self.argument(relation.name)
        else:
            below = self.named(relation, scope, place)
        if select.names is not None:
            below = renamed(below, select.names)
        return step(select, below, place)

    def common(self, common: Common, scope: Mapping[str, _Common], place: Place) -> Step:
        """A definition of a WITH list, read where it is named."""
        if isinstance(common.query, str):
            raise UnknownOrigin(f"{common.query} in {common.name}")
        below = self.query(common.query, scope, place)
        return below if common.names is None else renamed(below, common.names)

    def named(self, relation: Named, scope: Mapping[str, _Common], place: Place) -> Leaf | Step:
        """What a name means in a query."""
        if len(relation.parts) == 1 and (found := scope.get(folded(relation.parts[0]))) is not None:
            name, common = found
            if name != relation.parts[0] and place.case_sensitive is not False:
                raise UnknownOrigin(f"{relation.text} may be {name} of a WITH list")
            return common()
        return self.table(relation.parts, place)

    # -- tables and views ------------------------------------------------------------------------------------------

    def table(self, parts: tuple[str, ...], place: Place) -> Leaf | Step:
        """What a table, a view or files are that Spark's catalogs, or the file system, know by a name."""
        source = source_of(parts)
        if source.kind == "path":
            return self.leaf(source, source.format)
        facts = self.facts(parts, place)
        if _is_temporary(facts) and parts[:-1] not in ((), ("session",), ("system", "session")):
            raise UnknownOrigin(f"Spark does not say where the view {'.'.join(parts)} is")
        whole = (facts["catalog_name"], *facts["namespace"], facts["table_name"])
        name = ".".join(map(in_backticks, whole))
        if facts.get("type") == "VIEW":
            return self.view(facts, name)
        if facts.get("type") not in ("MANAGED", "EXTERNAL"):
            raise UnknownOrigin(f"{'.'.join(parts)} is neither a table nor a view")
        return self.leaf(Source("table", whole), str(facts.get("provider", "")).lower())

    def leaf(self, source: Source, format_: str) -> Leaf:
        """A table or files, as they are now."""
        try:
            return Leaf(source, sources.load(self.spark, source), format_)
        except PatternIndexError as error:
            raise UnknownOrigin(error.sentence.rstrip(".")) from None

    def facts(self, parts: tuple[str, ...], place: Place) -> Mapping[str, Any]:
        """What Spark says of the table or view that a name means where it stands."""
        text = ".".join(parts)
        if not place.is_view:
            facts = self.described(parts)
        elif len(parts) == 1:
            facts = self.described((*place.namespace, *parts))
            # Which temporary views there were when a view was made is not told.
            if place.temporary and self.is_temporary(parts[0]):
                if facts is not None:
                    raise UnknownOrigin(f"{text} is a table and a temporary view")
                facts = self.described(parts)
        elif len(parts) == 2:
            known = ("global_temp", "session", "system")
            if parts[0].lower() in known or self.setting(f"spark.sql.catalog.{parts[0]}"):
                raise UnknownOrigin(f"{text} may be in another catalog")
            facts = self.described((place.namespace[0], *parts))
        else:
            facts = self.described(parts)
        if facts is None or not facts.get("catalog_name") or not facts.get("namespace") or not facts.get("table_name"):
            raise UnknownOrigin(f"Spark does not say what {text} is")
        return facts

    def described(self, parts: Sequence[str]) -> Mapping[str, Any] | None:
        """What Spark says of a name; None where it has nothing to say."""
        name = ".".join(map(in_backticks, parts))
        if name not in self._described:
            try:
                row = self.spark.sql(f"DESCRIBE TABLE EXTENDED {name} AS JSON").collect()[0]
                self._described[name] = json.loads(row[0])
            except (PySparkException, ValueError):
                self._described[name] = self.known(name)
        return self._described[name]

    def known(self, name: str) -> Mapping[str, Any] | None:
        """What its catalog says of a table that Spark does not describe, as some of other formats are."""
        table = self.listed(name)
        if table is None:
            return None
        space = ["session"] if table.isTemporary else table.namespace
        catalog = "system" if table.isTemporary else table.catalog
        return {"table_name": table.name, "namespace": space, "catalog_name": catalog, "type": table.tableType}

    def is_temporary(self, name: str) -> bool:
        """Whether a name without a schema is that of a temporary view."""
        table = self.listed(in_backticks(name))
        return table is not None and bool(table.isTemporary)

    def listed(self, name: str) -> Table | None:
        """What its catalog says of a table or view; None where it says nothing."""
        try:
            return self.spark.catalog.getTable(name)
        except PySparkException:
            return None

    def setting(self, key: str) -> str | None:
        """One of the session's; None where it is not set."""
        return self.spark.conf.get(key, None)

    def view(self, facts: Mapping[str, Any], name: str) -> Step:
        """The query that a view stands for, with the view's names."""
        shown = facts["table_name"] if _is_temporary(facts) else name.replace("`", "")
        text, outputs = facts.get("view_text"), facts.get("view_query_output_columns")
        if not text or not outputs:
            raise UnknownOrigin(f"Spark does not tell the text of the view {shown}")
        if facts.get("view_schema_mode") not in _SCHEMA_MODES or facts.get("collation", "UTF8_BINARY") != "UTF8_BINARY":
            raise UnknownOrigin(f"the view {shown} has columns or collations of its own kind")
        given = facts.get("view_creation_spark_configuration")
        try:
            below = self.query(plain_select(text), {}, self.place_of(facts, given, shown))
        except NotPlain as error:
            raise UnknownOrigin(f"{error} in the view {shown}") from None
        # Spark looks for the columns by their names, and casts those whose types have changed.
        fields = self.spark.table(name).schema.fields
        if len(fields) != len(outputs) or len({folded(output) for output in outputs}) != len(outputs):
            raise UnknownOrigin(f"the columns of the view {shown} are ambiguous")
        columns = []
        for output, own in zip(outputs, fields, strict=True):
            at = find(below.names, (output,))
            columns.append(Column(own.name, at if origin_of(below, at)[1] == own.dataType else None))
        return Step(below, tuple(columns))

    def place_of(self, facts: Mapping[str, Any], given: Mapping[str, str] | None, shown: str) -> Place:
        """Where the text of a view stands."""
        if self.setting("spark.sql.path.enabled") == "true":
            raise UnknownOrigin(f"names in the view {shown} are looked up by a path")
        if (given or {}).get("spark.sql.parser.quotedRegexColumnNames", "false") != "false":
            raise UnknownOrigin(f"names in the view {shown} are patterns of names")
        namespace = name_parts(str(facts.get("view_catalog_and_namespace", "")))
        if namespace is None or len(namespace) < 2:
            raise UnknownOrigin(f"Spark does not tell where names in the view {shown} are looked up")
        clock = given is not None and all(
            given.get(key, default) == (self.setting(key) or default) for key, default in _CLOCK.items()
        )
        return Place(namespace, _is_temporary(facts), clock)

    # -- DataFrames ------------------------------------------------------------------------------------------------

    def argument(self, name: str) -> Leaf | Step:
        """What a DataFrame is that stands in a statement."""
        frame: Any = self.arguments.get(name)
        place = Place(case_sensitive=self.case_sensitive)
        reader = FrameRelations(
            lambda select: self.query(select, {}, place), lambda parts: self.table(parts, place), place
        )
        try:
            if frame.sparkSession is not self.spark:
                raise UnknownOrigin(f"{{{name}}} is a DataFrame of another session")
            message = frame._plan.to_proto(frame.sparkSession.client).root
            return reader.relation(message)
        except UnknownOrigin:
            raise
        except Exception:  # the client's messages have no public interface
            raise UnknownOrigin(f"{{{name}}} does not tell what it is") from None


def _is_temporary(facts: Mapping[str, Any]) -> bool:
    return bool(facts.get("catalog_name") == "system" and facts.get("namespace") == ["session"])


def renamed(below: Leaf | Step, names: Sequence[str]) -> Step:
    """A relation whose columns are given names."""
    certain = len(below.names) if below.gap is None else below.gap
    if below.gap is None and len(names) != certain:
        raise UnknownOrigin("more or fewer names than columns")
    return Step(below, tuple(as_named(names[:certain])), gap=below.gap)


def step(select: Select, below: Leaf | Step, place: Place) -> Step:
    """A query over a relation."""
    names, alias = below.names, select.alias
    given = [item.name for item in select.items]
    columns: list[Column] = []
    gap: int | None = None
    repeats = select.repeats
    for number, item in enumerate(select.items):
        if item.star:
            of = item.column or ()
            if len(of) > 1 or (of and (alias is None or not is_called(of[0], alias, names))):
                raise UnknownOrigin(f"{item.text} may be columns of another relation")
            inner = below.gap
            if inner is None and select.more and not of:
                inner = len(names)
            if gap is None and inner is not None:
                gap = len(columns) + inner
            columns += as_named(names)
            continue
        if item.quoted and place.temporary and not all(part.isidentifier() for part in item.column or ()):
            raise UnknownOrigin(f"{item.text} may be a pattern of names")
        beside = [*given[:number], *given[number + 1 :]]
        at = None if item.column is None else find(names, item.column, alias, beside)
        if at is not None:
            columns.append(Column(item.name, at))
            continue
        reads = _reads(item.text, names, alias)
        # What is not read may make many rows of one.
        repeats = repeats or reads is None
        columns.append(Column(item.name, None, None if place.is_view else reads, item.text))
    found = Step(below, tuple(columns), alias, gap, whole=select.whole, repeats=repeats, place=place)
    if select.where is None:
        return found
    tests = ((find(names, column, alias), test) for column, test in column_comparisons(select.where))
    asks = tuple((at, PlacedComparison(test, place)) for at, test in tests if at is not None)
    tested = _reads(select.where, names, alias)
    if place.is_view:
        every = column_comparisons(select.where, whole=True)
        tested = tested if every and len(every) == len(asks) else None
    return replace(found, where=select.where, tested=tested, asks=asks)


def _reads(text: str, names: Sequence[str | None], alias: str | None) -> frozenset[int] | None:
    """Which of some columns a text is made of; None where it may be made of anything."""
    parts = columns_read(text)
    if parts is None:
        return None
    found = {find(names, own, alias) for own in parts}
    return None if None in found else frozenset(at for at in found if at is not None)
