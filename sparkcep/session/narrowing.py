"""What leaves out parts of a statement's patterns before they are run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sparkcep.planner.input_plan import InputPlan
    from sparkcep.session.analyzer import SparkAnalyzer
    from sparkcep.session.indexes.choice import Pruning
    from sparkcep.sql.rewriter import InputSql
    from sparkcep.sql.rule_sets.rule import Rule


class Narrowing(Protocol):
    """Who asks for some of a statement's matches alone."""

    def rules(self, rules: Sequence[Rule]) -> list[Rule]:
        """Those of a set's rules that are to run."""

    def input(
        self, analyzer: SparkAnalyzer, given: InputPlan, source: DataFrame, input_sql: InputSql, pruning: Pruning
    ) -> Pruning:
        """How a pattern's input is read, without the partitions that are left out.

        Args:
            source: the input; ``input_sql``: the query that reads it. pruning: how it would be read.
        """
