"""What one run of a pattern table's query has found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from sparkcep.index import sources
from sparkcep.session.tables.identity import case_of
from sparkcep.session.tables.storage import CASE, RULE

#: So many cases are sent to all executors.
BROADCAST_CASES = 1_000_000


@dataclass(slots=True)
class Matching:
    """One run of the query.

    ``frame``: the query's columns, then CASE, perhaps RULE, MATCH_ID and ROW. ``columns``: of the query alone.
    ``keys``, ``whole``, ``by_rule``: as of :class:`Definition`. ``cases``: a row for each case that is matched again,
    with its keys, in memory until :meth:`release`; None: all are. ``count``: how many. ``unchanged``: names of the
    rules for which only those are matched again; None: all. ``state``, ``plan``, ``meaning``, ``log_end``, ``rules``:
    as of :class:`Version`. ``nothing``: whether all is as it was. ``reason``: why all that, for people.
    ``new_files``: that only ``cases`` have rows in. ``by_file``: which cases lie in which files, where all are matched.
    """

    frame: DataFrame | None = None
    columns: StructType = field(default_factory=StructType)
    keys: tuple[str, ...] | None = None
    whole: str = ""
    by_rule: bool = False
    cases: DataFrame | None = None
    count: int = -1
    unchanged: frozenset[str] | None = None
    state: Mapping[str, Any] = field(default_factory=lambda: sources.UNKNOWN)
    plan: str = ""
    meaning: str = ""
    log_end: str = ""
    rules: Mapping[str, str] = field(default_factory=dict)
    nothing: bool = False
    reason: str = ""
    new_files: tuple[str, ...] = ()
    by_file: DataFrame | None = None

    def of_cases(self, rows: DataFrame) -> DataFrame:
        """Those of a table's rows whose case, or whose rule, is matched again."""
        if self.cases is None:
            return rows
        again = self.cases.select(case_of([F.col(name) for name in self.cases.columns]).alias(CASE))
        again = F.broadcast(again) if self.count <= BROADCAST_CASES else again
        if self.unchanged is None:
            return rows.join(again, CASE, "left_semi")
        stays = F.col(RULE).isin(*self.unchanged)
        return rows.where(stays).join(again, CASE, "left_semi").select(*rows.columns).union(rows.where(~stays))

    def release(self) -> None:
        """Forget which cases are matched."""
        if self.cases is not None:
            self.cases.unpersist()
        self.cases, self.count = None, -1
