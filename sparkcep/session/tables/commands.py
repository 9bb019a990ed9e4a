"""Run statements about pattern tables; their results look like those of statements about indexes."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from sparkcep.errors import PatternAnalysisError, PatternIndexError
from sparkcep.index.path import check_shared
from sparkcep.index.snapshots import refresher
from sparkcep.index.storage import Location, call, delete_directory
from sparkcep.progress import activity
from sparkcep.session.analyzer import SqlMethod
from sparkcep.session.tables import names
from sparkcep.session.tables.errors import busy, changed
from sparkcep.session.tables.file_cases import delete_others
from sparkcep.session.tables.refresh import Done, create, optimize, refresh
from sparkcep.session.tables.storage import Version, list_tables, newest_commit, read_newest, vacuum
from sparkcep.spark.jobs import log, tagged
from sparkcep.spark.plan import is_remote
from sparkcep.sql.table_statements import TableStatement

#: What CREATE, REFRESH and OPTIMIZE say. `cases`: matched again, NULL: all; `rows`: of the whole table.
MADE_SCHEMA = (
    "name string, action string, reason string, version bigint, cases bigint, inserted bigint, withdrawn bigint, "
    "rows bigint, seconds double"
)
SHOW_SCHEMA = "name string, version bigint, rows bigint, bytes bigint, refreshed timestamp, comment string"
_DOING = {"CREATE": "Making", "REFRESH": "Refreshing", "OPTIMIZE": "Compacting"}


def run_table_statement(
    spark: SparkSession, plain: SqlMethod, text: str, statement: TableStatement, *, has_arguments: bool = False
) -> DataFrame:
    """Run a statement at once, as Spark runs its own commands.

    Args:
        has_arguments: whether values were given beside the text, which the next refresh would not have.

    Raises:
        SparkCepError: with the place of what is at fault.
    """
    if has_arguments:
        raise PatternAnalysisError(
            "CEP_PATTERN_TABLE_QUERY", "Statements about pattern tables take no arguments, as a refresh has none.",
            text=text, position=0, hint="write the values into the query; make the log a view",
        )  # fmt: skip
    try:
        return _run(spark, plain, statement)
    except PatternIndexError as error:
        blamed = statement.places.get(error.blame, statement.places.get("name"))
        raise (error if blamed is None else error.located(text, blamed)) from None


def _run(spark: SparkSession, plain: SqlMethod, s: TableStatement) -> DataFrame:
    if s.verb == "SHOW":
        return spark.createDataFrame(_shown(spark), SHOW_SCHEMA)
    if s.verb == "CREATE":
        return _created(spark, plain, s)
    if s.verb == "DROP":
        return _dropped(spark, s)
    checked = not s.full  # which makes the rows anew, whoever has written them
    table, version = names.newest(spark, s.name, checked=checked)
    if s.verb == "DESCRIBE":
        return spark.createDataFrame(_described(table, version, s.extended), "info_name string, info_value string")
    with _changing(spark, table):
        # Read again behind the lock: whoever held it may have committed.
        table, version = names.newest(spark, s.name, checked=checked)
        if s.verb == "VACUUM":
            deleted = call(spark, vacuum, table, s.retain_hours)
            call(spark, delete_others, table, tuple(version.case_sets))
            return spark.createDataFrame([deleted], "deleted_files bigint, deleted_bytes bigint")
        with activity(f"{_DOING[s.verb]} the pattern table {version.definition.name}") as shown:
            if s.verb == "REFRESH":
                done = refresh(spark, plain, table, version, s.full, shown.at)
            else:
                done = optimize(spark, table, version, shown.at)
    return _made(spark, done)


def _dropped(spark: SparkSession, s: TableStatement) -> DataFrame:
    """Delete a table, also one that cannot be read: its log first, without which it is none."""
    table = names.locate(spark, s.name)
    if not s.if_exists and not call(spark, newest_commit, table):
        names.newest(spark, s.name)  # which says that there is none
    with _changing(spark, table):
        for below in (f"{table.uri.rpartition('/')[2]}/_delta_log", table.uri.rpartition("/")[2]):
            call(spark, delete_directory, names.tables_path(spark), below)
    names.forget(spark, s.name.lower())
    return spark.createDataFrame([], StructType([]))


def _created(spark: SparkSession, plain: SqlMethod, s: TableStatement) -> DataFrame:
    table, name = names.locate(spark, s.name), s.name.lower()
    if not call(spark, newest_commit, table):
        names.forget(spark, name)
        if _is_there(spark, name):
            raise PatternIndexError(
                "CEP_PATTERN_TABLE_EXISTS",
                f"There is a table or view {name} already, which a pattern table would hide.", blame="name",
                hint="give the pattern table another name",
            )  # fmt: skip
    with _changing(spark, table), activity(f"{_DOING['CREATE']} the pattern table {name}") as shown:
        there = bool(call(spark, newest_commit, table))
        if there and not s.existing:
            if s.if_exists:
                return spark.createDataFrame([], MADE_SCHEMA)
            raise PatternIndexError(
                "CEP_PATTERN_TABLE_EXISTS", f"Pattern table {name} already exists.", blame="name",
                hint="CREATE OR REFRESH PATTERN TABLE brings it up to date, CREATE OR REPLACE makes it anew",
            )  # fmt: skip
        if there and s.existing == "REFRESH":
            _, base = names.newest(spark, name)
            if base.definition.query != s.query:
                raise changed("its query is another one", "CREATE OR REPLACE PATTERN TABLE makes it anew")
            return _made(spark, refresh(spark, plain, table, base, False, shown.at))
        return _made(spark, create(spark, plain, table, name, s.query, s.comment, shown.at))


def _is_there(spark: SparkSession, name: str) -> bool:
    try:
        return spark.catalog.tableExists(name)
    except AnalysisException:  # there is no such schema
        return False


@contextlib.contextmanager
def _changing(spark: SparkSession, table: Location) -> Iterator[None]:
    """The only one at work on a pattern table; the tag `sparkcep-table-NAME` cancels its jobs."""
    try:
        with refresher(table, not is_remote(spark)), tagged(spark, f"sparkcep-table-{table.uri.rpartition('/')[2]}"):
            check_shared(spark, table, names.tables_path(spark))
            yield
    except PatternIndexError as error:
        raise busy("it holds the table's lock") if error.error_class == "CEP_INDEX_BUSY" else error from None


def _made(spark: SparkSession, done: Done) -> DataFrame:
    v = done.version
    name = v.definition.name
    names.show(spark, name)
    log(
        f"pattern table {name}: {done.action} ({v.reason})", table=name, action=done.action, reason=v.reason,
        version=v.number, inserted=v.inserted, withdrawn=v.withdrawn, seconds=round(done.seconds, 3),
    )  # fmt: skip
    cases = None if v.cases < 0 else v.cases
    counts = v.number, cases, v.inserted, v.withdrawn, v.rows
    return spark.createDataFrame([(name, done.action, v.reason, *counts, round(done.seconds, 1))], MADE_SCHEMA)


def _shown(spark: SparkSession) -> list[tuple[object, ...]]:
    root = names.tables_path(spark)
    rows: list[tuple[object, ...]] = []
    for name in call(spark, list_tables, root):
        try:
            v = call(spark, read_newest, root.child(name))
        except PatternIndexError as error:  # one that cannot be read takes nothing from the others
            rows.append((name, None, None, None, None, error.error_class))
            continue
        if v is not None:
            rows.append((name, v.number, v.rows, _bytes(v), _moment(v), v.definition.comment))
    return rows


def _bytes(version: Version) -> int:
    return sum(file.size for file in version.files)


def _moment(version: Version) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(version.committed_at, datetime.UTC)


def _described(table: Location, v: Version, extended: bool) -> list[tuple[str, str]]:
    d = v.definition
    rows: list[tuple[str, object]] = [
        ("Name", d.name),
        ("Query", d.query),
        ("Comment", d.comment),
        ("Case", d.whole if d.keys is not None else f"everything is matched again: {d.whole}"),
        ("Version", v.number),
        ("Rows", v.rows),
        ("Bytes", _bytes(v)),
        ("Refreshed", _moment(v).strftime("%Y-%m-%d %H:%M:%S UTC")),
        ("Last change", f"{v.action} ({v.reason}): {v.inserted} rows inserted, {v.withdrawn} withdrawn"),
        ("Location", table.uri),
    ]
    if extended:
        rows += [("Files", len(v.files)), ("Changes since version", v.begins), ("Log's end", v.log_end)]
        rows += sorted(d.settings.items())
    return [(name, str(value)) for name, value in rows]
