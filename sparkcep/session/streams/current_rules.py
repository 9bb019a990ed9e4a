"""A rule set over a stream whose rules change while it runs."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from sparkcep.errors import SparkCepError
from sparkcep.session.rules.sources import rules_at, table_rules
from sparkcep.sql.rule_sets.binder import parse_rule
from sparkcep.sql.rule_sets.rule import Rule

#: Seconds that a micro-batch is waited for before it is interrupted, after which it runs again.
_PATIENCE = 30.0

_log = logging.getLogger("sparkcep")


def follow_rules(
    start: Callable[[], StreamingQuery], rules: str | Callable[[], DataFrame], seconds: float = 60
) -> None:
    """Run a query with ``pattern_rules`` over a stream, and start it anew from its checkpoint when its rules change.

    Rules that stay go on where they were; see docs/rules.md. While a rule that ran before does not parse, as while its
    file is written, the query goes on as it is. Where it cannot be started, that is logged, and tried again with the
    next rules. Returns when the query is stopped::

        def start():
            found = spark.sql("SELECT * FROM pattern_rules(TABLE(logins), rules => TABLE(detections))")
            return found.writeStream.option("checkpointLocation", "/tmp/state").toTable("alerts")

        sparkcep.follow_rules(start, lambda: spark.table("detections"))

    Args:
        start: plans and starts the query. Its checkpoint must be the same each time.
        rules: those that the query names: a folder or URI, or what gives the table.
        seconds: between two looks at the rules.

    Raises:
        StreamingQueryException: the query has failed.
        SparkCepError: it cannot be started to begin with.
    """

    def read() -> list[Rule]:
        return rules_at(SparkSession.active(), rules) if isinstance(rules, str) else table_rules(rules())

    known = read()
    query: StreamingQuery | None = start()
    try:
        while not _ended(query, seconds):
            try:
                now, before = read(), {rule.name: rule for rule in known}
                for rule in now:
                    if before.get(rule.name, rule) != rule:
                        parse_rule(rule)
            except (SparkCepError, PySparkException) as error:
                _log.warning("The rules cannot be read, so the query goes on with those that it has: %s", error)
                continue
            if now == known:
                continue
            if query is not None:
                _stop(query)
            known, query = now, None
            try:
                query = start()
                _log.info("The rules have changed; the query goes on with %d rules.", len(now))
            except (SparkCepError, PySparkException) as error:
                _log.error("The query cannot be started with the rules as they are: %s", error)
    finally:
        if query is not None and query.isActive:
            query.stop()


def _ended(query: StreamingQuery | None, seconds: float) -> bool:
    """Whether a query has ended, after some seconds; raises StreamingQueryException where it has failed."""
    if query is None:
        time.sleep(seconds)
        return False
    return bool(query.awaitTermination(seconds))  # type: ignore[arg-type]  # fractions, too


def _stop(query: StreamingQuery) -> None:
    """Stop between two micro-batches, where that does not take too long."""
    until = time.monotonic() + _PATIENCE
    while query.isActive and query.status["isTriggerActive"] and time.monotonic() < until:
        time.sleep(0.05)
    query.stop()
