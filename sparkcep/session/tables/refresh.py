"""Make a pattern table, bring it up to date, and put its files together.

What a refresh finds is compared with the rows that the table has of the same cases, by MATCH_ID and by all their
columns: those that are new are written, those that are gone are withdrawn, all others stay where they are.
"""

from __future__ import annotations

import json
import time as clock
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from sparkcep.index.files import SPARK_WRITES, data_files
from sparkcep.index.snapshots import fault_point
from sparkcep.index.storage import DataFile, Location, call
from sparkcep.query import PREFIX, quote
from sparkcep.session.analyzer import SqlMethod
from sparkcep.session.tables.case_sets import CaseSets
from sparkcep.session.tables.errors import changed
from sparkcep.session.tables.file_cases import of_files, write_cases, write_cases_by_file
from sparkcep.session.tables.found import Matching
from sparkcep.session.tables.identity import ROW, row_digest
from sparkcep.session.tables.matching import matched
from sparkcep.session.tables.reading import read_files
from sparkcep.session.tables.storage import (
    CHANGE,
    FOUND_AT,
    FOUND_VERSION,
    MATCH_ID,
    Definition,
    Version,
    commit_version,
    is_own,
    next_number,
)
from sparkcep.settings import LOG_CASE, LOG_EVENT, LOG_TIEBREAK, LOG_TIME
from sparkcep.spark.jobs import described

Progress = Callable[[str, float], None]
#: Of a withdrawn row the file that it is in.
_FILE = PREFIX + "file"
_INSERT, _WITHDRAW, _KEPT = "insert", "withdraw", "kept"
#: Files of fewer bytes are put together once there are so many of them.
SMALL_FILE, MANY_FILES = 32 << 20, 24
#: Settings of a session that rows may depend on, and the defaults of those that are ours.
SETTINGS: dict[str, tuple[str, ...]] = {
    "spark.sql.session.timeZone": (),
    "spark.sql.ansi.enabled": (),
    "spark.sql.caseSensitive": (),
    "spark.sql.legacy.timeParserPolicy": (),
    **{setting.key: (setting.default,) for setting in (LOG_CASE, LOG_TIME, LOG_TIEBREAK, LOG_EVENT)},
}


@dataclass(frozen=True, slots=True)
class Done:
    """What was done: the version that the table has now, and how long it took."""

    version: Version
    action: str
    seconds: float


def create(
    spark: SparkSession, plain: SqlMethod, table: Location, name: str, query: str, comment: str, progress: Progress
) -> Done:
    """Make a pattern table from all of its log, in the place of one that is there.

    Raises:
        SparkCepError: CEP_PATTERN_TABLE_QUERY and others of the query; CEP_PATTERN_TABLE_BUSY.
    """
    matching = matched(spark, plain, query, table, None)
    matching.reason = "created"
    columns, settings = matching.columns.json(), settings_of(spark)
    definition = Definition(name, query, comment, columns, matching.keys, matching.whole, settings, matching.by_rule)
    return _Refresh(spark, table, definition, matching, None, "created", progress).result()


def refresh(
    spark: SparkSession, plain: SqlMethod, table: Location, base: Version, full: bool, progress: Progress
) -> Done:
    """Bring a pattern table up to date with its log.

    Args:
        full: match everything again; settings and columns may be others than before.

    Raises:
        SparkCepError: CEP_PATTERN_TABLE_CHANGED, CEP_PATTERN_TABLE_BUSY, and errors of the query.
    """
    started = clock.perf_counter()
    d = base.definition
    now = settings_of(spark)
    for key, value in now.items() if not full else ():
        if d.settings.get(key) != value:
            raise changed(f"{key} is {value or 'not set'}, and was {d.settings.get(key) or 'not set'} when it was made")
    matching = matched(spark, plain, d.query, table, None if full else base)
    if matching.nothing:
        return _unchanged(base, matching.reason, started)
    has_others = _types(matching.columns) != _types(StructType.fromJson(json.loads(d.columns)))
    if has_others and not full:
        matching.release()
        raise changed("its query gives other columns than when it was made")
    compared: Version | None = base
    if full:
        matching.reason = "asked for"
        # What others have written is no part of the changes.
        if has_others or d.by_rule != matching.by_rule or not call(spark, is_own, table):
            compared = None
    definition = Definition(
        d.name, d.query, d.comment, matching.columns.json(), matching.keys, matching.whole, now, matching.by_rule
    )  # fmt: skip
    return _Refresh(spark, table, definition, matching, compared, "refreshed", progress).result()


def optimize(spark: SparkSession, table: Location, base: Version, progress: Progress) -> Done:
    """Put a table's small files together; its rows and their changes stay."""
    started = clock.perf_counter()
    if sum(file.size < SMALL_FILE for file in base.files) < 2:
        return _unchanged(base, "there are no small files", started)
    matching = Matching(
        state=base.state, plan=base.plan, meaning=base.meaning, log_end=base.log_end, rules=base.rules,
        reason="asked for",
    )  # fmt: skip
    return _Refresh(spark, table, base.definition, matching, base, "optimized", progress).result()


def _unchanged(base: Version, reason: str, started: float) -> Done:
    same = replace(base, reason=reason, inserted=0, withdrawn=0, cases=0)
    return Done(same, "unchanged", clock.perf_counter() - started)


def settings_of(spark: SparkSession) -> dict[str, str]:
    """Those of SETTINGS, as the session has them."""
    return {key: str(spark.conf.get(key, *default)) for key, default in SETTINGS.items()}


def _types(columns: StructType) -> list[tuple[str, str]]:
    return [(f.name, f.dataType.simpleString()) for f in columns.fields]


@dataclass(slots=True)
class _Refresh:
    """One version on its way to disk. ``base``: that its rows are compared with; None: it begins anew, perhaps with
    other columns."""

    spark: SparkSession
    table: Location
    definition: Definition
    matching: Matching
    base: Version | None
    action: str
    progress: Progress
    started: float = field(default_factory=clock.perf_counter)
    number: int = 0
    batch: str = ""

    def result(self) -> Done:
        self.number = call(self.spark, next_number, self.table)
        self.batch = f"{self.number:05d}-{uuid.uuid4().hex[:8]}"
        try:
            return self._result(self.matching.count)
        finally:
            self.matching.release()

    def _result(self, cases: int) -> Done:
        files = () if self.base is None else self.base.files
        # Before rows are read: files that are written again meanwhile are so for the next refresh too.
        case_sets = self.case_sets()
        insertions: tuple[DataFile, ...] = ()
        withdrawals: tuple[DataFile, ...] = ()
        if self.action != "optimized" and (cases != 0 or self.matching.unchanged is not None):
            self.progress("matching", 0.1)
            self.write(self.changes(files))
            insertions, withdrawals = self.written(_INSERT), self.written(_WITHDRAW)
        self.progress("rows that stay", 0.8)
        removed = self.rewritten(files, withdrawals)
        kept = self.keep(removed, withdrawals)
        begins = self.number if self.base is None else self.base.begins
        stay = tuple(f for f in files if f not in removed)
        version = Version(
            self.definition, self.number, begins, clock.time(), self.action, self.matching.reason, self.matching.state,
            self.matching.plan, self.matching.meaning, self.matching.log_end, cases, sum(f.rows for f in insertions),
            sum(f.rows for f in withdrawals), tuple(f.path for f in insertions), tuple(f.path for f in withdrawals),
            self.matching.rules, case_sets, (*stay, *kept, *insertions),
        )  # fmt: skip
        self.progress("commit", 0.95)
        added, columns = (*kept, *insertions), self.definition.schema().json()
        call(self.spark, commit_version, self.table, version, added, removed, columns)
        self.progress("done", 1.0)
        return Done(version, self.action, clock.perf_counter() - self.started)

    def case_sets(self) -> CaseSets:
        """Which cases lie in which files of the log, this refresh's files included."""
        matching, files = self.matching, self.matching.state.get("files", ())
        if matching.by_file is not None:
            return write_cases_by_file(self.spark, self.table, self.batch, matching.by_file, files)
        if self.base is None or (matching.cases is None and self.action != "optimized"):
            return {}
        sets = of_files(self.base.case_sets, set(files).difference(matching.new_files))
        if matching.cases is None or not matching.new_files:
            return sets
        return write_cases(self.table, sets, self.batch, matching.cases, matching.new_files)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def changes(self, files: Sequence[DataFile]) -> DataFrame:
        """Rows of this version that are new, and rows of the one before that are withdrawn."""
        assert self.matching.frame is not None
        names = self.definition.schema().names
        stamps = {FOUND_VERSION: F.lit(self.number).cast("bigint"), FOUND_AT: F.current_timestamp()}
        matches = self.matching.frame.withColumns({**stamps, _FILE: F.lit(None).cast("string")})
        if not files:
            return matches.select(*map(quote, (*names, _FILE)), F.lit(_INSERT).alias(CHANGE))
        rows = self.matching.of_cases(read_files(self.spark, self.table, files, self.definition.schema(), path=_FILE))
        rows = rows.withColumns({**stamps, ROW: row_digest(self.matching.columns.names)})
        old, new = rows.alias("old"), matches.alias("new")
        joined = old.join(new, F.col(f"old.{MATCH_ID}") == F.col(f"new.{MATCH_ID}"), "full")
        joined = joined.where(~F.col(f"old.{ROW}").eqNullSafe(F.col(f"new.{ROW}")))

        def row(side: str, change: str) -> Column:
            columns = [F.col(f"{side}.{quote(n)}").alias(n) for n in (*names, _FILE)]
            whole = F.struct(*columns, F.lit(change).alias(CHANGE))
            return F.when(F.col(f"{side}.{MATCH_ID}").isNotNull(), whole)

        both = F.array(row("old", _WITHDRAW), row("new", _INSERT))
        return joined.select(F.inline(F.array_compact(both)))

    def write(self, frame: DataFrame) -> None:
        """Write rows into this version's directory, parted by what becomes of them."""
        fault_point("before write")
        with described(self.spark, f"{self.definition.name}: {self.action}"):
            writer = frame.write.mode("append").option("compression", "zstd").options(**SPARK_WRITES)
            writer.partitionBy(CHANGE).parquet(self.table.child("data", self.batch).spark)

    def written(self, kind: str) -> tuple[DataFile, ...]:
        """Files of this version's rows of a kind."""
        files = call(self.spark, data_files, self.table, f"{self.batch}/{CHANGE}={kind}")
        return tuple(f for f in files if f.rows)

    def rewritten(self, files: Sequence[DataFile], withdrawals: Sequence[DataFile]) -> tuple[DataFile, ...]:
        """Files whose rows are written again: those that lose some, and small ones where they are many."""
        paths: set[str] = set()
        if withdrawals:
            lost = read_files(self.spark, self.table, withdrawals, None).select(_FILE).distinct().collect()
            places = [unquote(row[0]) for row in lost]
            paths = {f.path for f in files if any(place.endswith(f"/{f.path}") for place in places)}
            if len(paths) != len(places):
                raise changed("rows to be withdrawn are in files that the table does not have")
        small = [f for f in files if f.size < SMALL_FILE]
        if len(small) >= (2 if self.action == "optimized" else MANY_FILES):
            paths |= {f.path for f in small}
        return tuple(f for f in files if f.path in paths)

    def keep(self, removed: Sequence[DataFile], withdrawals: Sequence[DataFile]) -> tuple[DataFile, ...]:
        """Write the rows that stay of files that are written again."""
        if not removed:
            return ()
        rows = read_files(self.spark, self.table, removed, self.definition.schema())
        if withdrawals:
            gone = read_files(self.spark, self.table, withdrawals, None).select(MATCH_ID)
            rows = rows.join(gone, MATCH_ID, "left_anti").select(*map(quote, self.definition.schema().names))
        rows = rows.coalesce(max(1, round(sum(f.size for f in removed) / SMALL_FILE)))
        self.write(rows.withColumn(CHANGE, F.lit(_KEPT)))
        return self.written(_KEPT)
