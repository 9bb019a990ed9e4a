"""EXPLAIN as a page: the pattern drawn, what is left after each step where the query runs, and the plan's text."""

from __future__ import annotations

import html

from pyspark.sql import SparkSession

from sparkcep.pictures.funnel_chart import funnel_picture
from sparkcep.pictures.graph import pattern_picture
from sparkcep.pictures.picture import Picture, page
from sparkcep.pictures.source import planned


def explained_page(spark: SparkSession, query: str, plan: str, analyze: bool) -> str:
    """HTML of a statement, its pictures and its plan.

    Args:
        plan: its text. analyze: draw the funnel too, which runs the query.

    Raises:
        SparkCepError: as for :func:`sparkcep.pictures.pattern`.
    """
    run = planned(spark, query, None, {})
    pictures: list[Picture] = [pattern_picture(run.relations)]
    if analyze:
        pictures.append(funnel_picture(run))
    before = f"<pre>{html.escape(query)}</pre>"
    return page("EXPLAIN", pictures, before, f"<pre>{html.escape(plan)}</pre>")
