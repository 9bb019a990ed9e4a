"""What a relation is, read from Spark's analysed plan (classic sessions only): cheaper than asking by statements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from sparkcep.spark.releases import dataset_class
from sparkcep.spark.session_settings import changed

#: Properties of a table that name the columns of its log.
LOG_PROPERTIES = tuple(f"sparkcep.{role}" for role in ("case", "time", "tiebreak", "event"))

#: What is numbered anew for each statement in a printed plan.
_NUMBERED = re.compile(
    r"_pyspark_(connect_temp_view_)?[0-9a-f]+|(?<=__cep_relation_)\d+|#\d+L?|(?<=- CTERelation(?:Def|Ref) )\d+"
)
#: A variable whose value is neither a plain text nor a number.
_LIKE_NUMBERED = re.compile(r"variablereference\([^=]*=(?!('[^'#)_]*'|-?[\w.]+)\))")
#: Where Spark says that a column is a CHAR or VARCHAR; it fills values of the former up with blanks to compare them.
CHAR_METADATA = "__CHAR_VARCHAR_TYPE_STRING"


def is_remote(spark: SparkSession) -> bool:
    """Whether it is a Spark Connect session, which has no JVM and may not see the storage."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def shows_plans(spark: SparkSession) -> bool:
    """Whether plans can be read: not on Spark Connect, nor where a runtime locks the JVM away."""
    with suppress(Exception):
        return not is_remote(spark) and spark._jvm is not None
    return False


def analysed(frame: DataFrame) -> Any:
    """The JVM's analysed plan. There is no public way to it: Spark Connect raises, and so do runtimes that lock the JVM
    away, each in its way. Whoever asks must do without."""
    return frame._jdf.queryExecution().analyzed()


def _files(frame: DataFrame) -> Any:
    """The plan of the files that a relation is nothing but, by whatever names: all their rows, with the columns they
    have. None where it is something else, and on Spark Connect, which shows no plans."""
    with suppress(Exception):
        plan = analysed(frame)
        while plan.nodeName() in ("SubqueryAlias", "View", "Project"):
            child = plan.children().head()
            if not plan.sameOutput(child):
                return None
            plan = child
        if plan.nodeName() == "LogicalRelation":
            return plan
    return None


def is_bare(frame: DataFrame) -> bool:
    """Whether a relation is nothing but files; False on Spark Connect."""
    return _files(frame) is not None


def bare(frame: DataFrame) -> DataFrame | None:
    """The files that a relation is nothing but; None as :func:`is_bare` is False."""
    spark = frame.sparkSession
    with suppress(Exception):
        if (plan := _files(frame)) is not None:
            return over_plan(spark, plan)
    return None


def over_plan(spark: SparkSession, plan: Any) -> DataFrame:
    """A DataFrame of one of the JVM's plans."""
    dataset = reduce(getattr, dataset_class().split("."), spark._jvm)
    return DataFrame(dataset.ofRows(spark._jsparkSession, plan), spark)  # type: ignore[union-attr]


@contextmanager
def all_columns_shown(spark: SparkSession) -> Iterator[None]:
    """Within it Spark prints plans with all columns instead of the first 25, however long they are.

    Raises:
        PySparkException: the session is locked down and refuses that; nothing within has run.
    """
    fields, length = "spark.sql.debug.maxToStringFields", "spark.sql.maxPlanStringLength"
    with changed(spark, fields, "1000000"), changed(spark, length, "2147483632"):
        yield


def plan_texts(spark: SparkSession, *plans: Any) -> list[str]:
    """Plans as Spark prints them, with all columns."""
    with all_columns_shown(spark):
        return [str(plan.toString()) for plan in plans]


def analysed_texts(*frames: DataFrame) -> list[str] | None:
    """Analysed plans as Spark prints them, with all columns; also on Spark Connect. None where nothing shows them."""
    spark = frames[0].sparkSession
    if shows_plans(spark):
        return plan_texts(spark, *map(analysed, frames))
    with suppress(Exception), all_columns_shown(spark):
        return [analysed_part(frame._explain_string(extended=True)) for frame in frames]  # type: ignore[operator]
    return None


def analysed_part(explained: str) -> str:
    """Of what EXPLAIN EXTENDED says the analysed plan, without the line of its columns.

    Raises:
        IndexError: it says none.
    """
    plan = explained.split("== Analyzed Logical Plan ==\n", 1)[1].split("\n", 1)[1]
    return plan.rpartition("\n\n== Optimized Logical Plan ==")[0] or plan


def same_for_all(plan: str) -> str | None:
    """A printed plan without what Spark, and this package, number anew for each statement; None where the value of a
    variable may look like such a number. So may other constants, which texts tell apart."""
    return None if _LIKE_NUMBERED.search(plan) else _NUMBERED.sub("", plan)


def list_files_again(frame: DataFrame) -> None:
    """Have Spark list the files that a relation is read from, which it does once for each plan."""
    leaves = analysed(frame).collectLeaves()
    for k in range(int(leaves.size())):
        with suppress(Exception):  # what is read from no files has no place of them
            leaves.apply(k).relation().location().refresh()


def inlined(frame: DataFrame) -> DataFrame:
    """A relation with its common tables in the places where they are read; as it is where Spark does not say how."""
    spark, plan = frame.sparkSession, analysed(frame)
    if plan.nodeName() != "WithCTE":
        return frame
    for more in ((False, False), (False,), ()):  # Spark 4.3, 4.0, 3.5
        with suppress(Exception):
            rule = spark._jvm.org.apache.spark.sql.catalyst.optimizer.InlineCTE(True, *more)  # type: ignore[union-attr]
            return over_plan(spark, rule.apply(plan))
    return frame


@dataclass(frozen=True, slots=True)
class FileRelation:
    """Files as a relation: their format's short name, in lower case, and the options they are read with.

    ``partition_columns``: None: not known. ``partitions``: values of a catalog table's partitions, by their places.
    ``root``: the first place that the files are below.
    """

    format: str
    options: Mapping[str, str]
    partition_columns: Sequence[str] | None
    partitions: Mapping[str, str]
    root: str = ""


def file_relation(frame: DataFrame) -> FileRelation | None:
    """How the files are read that a relation is nothing but; None as :func:`is_bare` is False."""
    with suppress(Exception):
        if (plan := _files(frame)) is not None:
            relation = plan.relation()
            names = list(relation.partitionSchema().fieldNames())
            options = texts_of(relation.options())
            format_, location = relation.fileFormat(), relation.location()
            # Delta's reader says that it is Parquet's, whose files it may leave rows out of.
            is_delta = "Delta" in format_.getClass().getSimpleName()
            name = "delta" if is_delta else str(format_.shortName()).lower()
            root = str(location.rootPaths().head().toString()) if is_delta else ""
            return FileRelation(name, options, names, _places(plan) if names else {}, root)
    return None


def _places(plan: Any) -> dict[str, str]:
    """Of a catalog's partitions, which may lie anywhere; the paths of other files tell their partitions' values."""
    location = plan.relation().location()
    if not plan.catalogTable().isDefined() or location.getClass().getSimpleName() != "CatalogFileIndex":
        return {}
    nothing = plan.relation().options().toSeq().take(0)
    between = "\u0001\u0002\u0001"
    listed = str(location.filterPartitions(nothing).partitionSpec().partitions().mkString(between))
    # As PartitionPath([values],path) prints itself.
    parts = (text.removeprefix("PartitionPath(").removesuffix(")").rpartition("],") for text in listed.split(between))
    return {path: values for values, _, path in parts if path}


def estimated_size(frame: DataFrame) -> float | None:
    """Bytes of a relation by Spark's estimate, before its optimizer; None on Spark Connect, which shows no plans."""
    with suppress(Exception):
        return float(str(analysed(frame).stats().sizeInBytes()))
    return None


def scans_columns(frame: DataFrame) -> bool:
    """Whether a few columns of a relation can be read at a small part of its whole cost: filters and projections over
    columnar files or rows in memory."""
    with suppress(Exception):
        plan = analysed(frame)
        while plan.nodeName() in ("SubqueryAlias", "View", "Project", "Filter"):
            plan = plan.children().head()
        if plan.nodeName() in ("LocalRelation", "Range"):
            return True
        if plan.nodeName() == "LogicalRelation":
            return str(plan.relation().fileFormat().shortName()).lower() in ("parquet", "orc", "delta")
    return False


def session_settings(spark: SparkSession) -> dict[str, str]:
    """All settings that a session was given, in one round trip."""
    with suppress(Exception):
        return texts_of(spark._jsparkSession.conf().getAll())
    return dict(spark.conf.getAll)


def log_properties(frame: DataFrame) -> Mapping[str, str] | None:
    """Which of LOG_PROPERTIES the table or view has that a relation is; None: its plan does not tell."""
    with suppress(Exception):
        plan = analysed(frame)
        # A Project casts CHAR columns, a Filter is a block's WHERE before PATTERN.
        while plan.nodeName() in ("SubqueryAlias", "Project", "Filter"):
            plan = plan.children().head()
        if plan.nodeName() == "View":
            return _properties(plan.desc())
        if plan.nodeName() == "LogicalRelation":
            table = plan.catalogTable()
            return _properties(table.get()) if table.isDefined() else {}
    return None


def _properties(table: Any) -> dict[str, str]:
    found = texts_of(table.properties())
    return {key: found[key] for key in LOG_PROPERTIES if key in found}


def texts_of(scala_map: Any) -> dict[str, str]:
    """A Scala Map of texts in one round trip, instead of one or two for each key. Keys have no blanks."""
    between = "\u0001\u0002\u0001"
    entries = str(scala_map.mkString(between)).split(between)
    return dict(entry.split(" -> ", 1) for entry in entries if entry)
