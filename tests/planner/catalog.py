"""A Spark Connect session that is a list of tables and views: what Spark says of them and of constants is given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sqlglot
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T
from pyspark.sql.catalog import Table as Listed
from sqlglot import exp

from sparkcep.session.analyzer import SparkAnalyzer
from sparkcep.settings import read
from sparkcep.spark.plan import CHAR_METADATA

CATALOG = "spark_catalog"
_TYPES: dict[str, T.DataType] = {
    "string": T.StringType(), "int": T.IntegerType(), "bigint": T.LongType(), "double": T.DoubleType(),
    "date": T.DateType(), "timestamp": T.TimestampType(), "boolean": T.BooleanType(), "void": T.NullType(),
}  # fmt: skip


def schema(columns: Mapping[str, str]) -> T.StructType:
    """Columns by the names of their types; CHAR and VARCHAR are STRING with a note, as Spark has them."""
    fields = []
    for name, type_ in columns.items():
        note = {CHAR_METADATA: type_} if "char" in type_ else {}
        fields.append(T.StructField(name, _TYPES["string" if note else type_], metadata=note))
    return T.StructType(fields)


@dataclass(slots=True)
class Table:
    """A table: its columns, and its files with size and time. ``is_told``: whether DESCRIBE knows it."""

    columns: Mapping[str, str]
    files: Mapping[str, Sequence[int]] = field(default_factory=dict)
    provider: str = "parquet"
    kind: str = "MANAGED"
    is_told: bool = True


@dataclass(slots=True)
class View:
    """A view: its text, and its columns. ``outputs``: names of the query's columns, where those are others.
    ``told``: what DESCRIBE says otherwise than of most views."""

    text: str
    columns: Mapping[str, str]
    outputs: Sequence[str] = ()
    told: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Frame:
    """A DataFrame: its columns, its files, and the rows that somebody asks for. ``text``: how it came about."""

    schema: T.StructType
    files: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    text: str = ""
    sparkSession: None = None

    def inputFiles(self) -> list[str]:
        """As Spark says."""
        return list(self.files)

    def collect(self) -> list[Sequence[Any]]:
        """The rows."""
        return list(self.rows)

    def made(self, *given: Any, **more: Any) -> Frame:
        """What is made of it: whoever makes it looks at no columns."""
        return self

    toDF = distinct = selectExpr = hint = union = where = join = made

    def select(self, *items: Any) -> Frame:
        """The text tells what is picked."""
        picked = ", ".join(str(item).removeprefix("Column<'").removesuffix("'>") for item in items)
        return replace(self, text=f"{self.text} -> {picked}")

    def __getitem__(self, name: str) -> Any:
        from pyspark.sql.connect.functions import col

        return col(name)


class Session:
    """Tables and views by `schema.name`, those of the schema `session` being temporary.

    Args:
        constants: types and values of constants; those of times are what Spark makes of them as numbers.
        settings: those that are set.
    """

    __module__ = "pyspark.sql.connect.session"  # which says what kind of session it is

    def __init__(
        self, tables: Mapping[str, Table], views: Mapping[str, View] = {}, *, schema: str = "one",
        constants: Mapping[str, tuple[str, Any]] = {}, settings: Mapping[str, str] = {},
    ) -> None:  # fmt: skip
        self.known: dict[str, Table | View] = {**tables, **views}
        self.schema = schema
        self.constants = {_normal(text): answer for text, answer in constants.items()}
        self.settings = dict(settings)
        self.read = self.conf = self.catalog = self.client = self
        self.session_id = str(id(self))

    # -- conf and reader -----------------------------------------------------------------------------------------------

    def get(self, key: str, default: str | None = None) -> str | None:
        """A setting."""
        return self.settings.get(key, default)

    @property
    def getAll(self) -> dict[str, str]:
        """All settings."""
        return self.settings

    def format(self, name: str) -> Session:
        """Of files by their path."""
        return self

    def load(self, path: str) -> Frame:
        """Files by their path, as the one table whose file it is."""
        for table in self.known.values():
            if isinstance(table, Table) and path in table.files:
                return _frame(table)
        raise AnalysisException(f"there is no {path}")

    # -- names ---------------------------------------------------------------------------------------------------------

    def found(self, name: str) -> tuple[str, Table | View]:
        """What a name means, as Spark looks it up."""
        parts = [part.lower() for part in name.replace("`", "").split(".")]
        if parts[0] in (CATALOG, "system") and len(parts) == 3:
            parts = parts[1:]
        tried = [[space, *parts] for space in ("session", self.schema)] if len(parts) == 1 else [parts]
        for own in map(".".join, tried):
            if own in self.known:
                return own, self.known[own]
        raise AnalysisException(f"there is no {name}")

    def table(self, name: str) -> Frame:
        """A table or view."""
        return _frame(self.found(name)[1])

    def getTable(self, name: str) -> Listed:
        """What the catalog says."""
        own, of = self.found(name)
        space, _, name = own.rpartition(".")
        if space == "session":
            return Listed(name, None, [], None, "TEMPORARY", True)
        return Listed(name, CATALOG, space.split("."), None, "VIEW" if isinstance(of, View) else of.kind, False)

    def described(self, name: str) -> dict[str, Any]:
        """What DESCRIBE says."""
        own, of = self.found(name)
        space, _, name = own.rpartition(".")
        catalog = "system" if space == "session" else CATALOG
        facts = {"table_name": name, "catalog_name": catalog, "namespace": [space]}
        if isinstance(of, Table):
            if not of.is_told:
                raise AnalysisException(f"{name} is of another format")
            return facts | {"type": of.kind, "provider": of.provider}
        facts |= {"type": "VIEW", "view_text": of.text, "view_query_output_columns": list(of.outputs or of.columns)}
        where = f"{CATALOG}.{self.schema if space == 'session' else space}"
        facts |= {"view_schema_mode": "COMPENSATION", "view_catalog_and_namespace": where}
        return facts | {"view_creation_spark_configuration": {}} | dict(of.told)

    def _set_relation_in_plan(self, plan: Any, relation: Any) -> None:
        """How a client puts together what it sends for a DataFrame."""
        plan.root.CopyFrom(relation)

    # -- statements ----------------------------------------------------------------------------------------------------

    def sql(self, text: str, args: Any = None, **frames: Any) -> Frame:
        """One of the statements that are asked; another one is Spark's error."""
        words = text.split()
        if words[:3] == ["DESCRIBE", "TABLE", "EXTENDED"]:
            facts = self.described(words[3])
            as_rows = [("Provider", facts.get("provider"), "")]
            return Frame(T.StructType(), rows=[[json.dumps(facts)]] if words[-1] == "JSON" else as_rows)
        if words[0] == "EXPLAIN":
            return Frame(T.StructType(), rows=[["Range (0, 1, step=1, splits=2)"]])
        select = sqlglot.parse_one(text.replace("{", "").replace("}", ""), dialect="spark")
        if select.args.get("from_") is not None:
            (rows,) = frames.values()
            names = {item.alias: _TYPES["string"] for item in select.expressions}
            own = {f.name: f.dataType for e in (rows, *self.frames()) for f in e.schema.fields}
            return Frame(T.StructType([T.StructField(n, own.get(n, t)) for n, t in names.items()]), text=text)
        answers = [self.constant(item) for item in select.expressions]
        fields = [T.StructField(f"c{at}", _TYPES[type_]) for at, (type_, _) in enumerate(answers)]
        return Frame(T.StructType(fields), rows=[[value for _, value in answers]])

    def frames(self) -> list[Frame]:
        """All tables and views."""
        return [_frame(of) for of in self.known.values()]

    def constant(self, item: exp.Expr) -> tuple[str, Any]:
        """Type and value of a constant in parentheses, whatever function is around it."""
        if isinstance(item, exp.Null):
            return "void", None
        text = next(own.this for own in item.walk() if isinstance(own, exp.Paren)).sql()
        if text not in self.constants:
            raise AnalysisException(f"{text} is no constant that is given")
        return self.constants[text]


def _normal(constant: str) -> str:
    return str(sqlglot.parse_one(constant, dialect="spark").sql())


def _frame(of: Table | View) -> Frame:
    files = of.files if isinstance(of, Table) else {}
    # Facts about its files are the only rows that are asked of a table.
    return Frame(schema(of.columns), list(files), [(path, *facts) for path, facts in files.items()])


def analyzer(session: Session, **frames: Any) -> SparkAnalyzer:
    """Asks a session what Spark is asked."""
    spark: Any = session
    return SparkAnalyzer(spark, spark.sql, "", None, frames, read(session.get))


def as_frame(frame: Frame) -> DataFrame:
    """A frame where types demand Spark's."""
    made: Any = frame
    return made  # type: ignore[no-any-return]


def as_spark(session: Session) -> SparkSession:
    """A session where types demand Spark's."""
    made: Any = session
    return made  # type: ignore[no-any-return]
