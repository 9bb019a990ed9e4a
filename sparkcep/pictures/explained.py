"""EXPLAIN as a page: the pattern drawn, what is left after each step where the query runs, and the plan's text."""

from __future__ import annotations

import html

from sparkcep.pictures.graph import pattern_picture
from sparkcep.pictures.page import page
from sparkcep.pictures.picture import Picture
from sparkcep.pictures.pruning_chart import pruning_picture
from sparkcep.pictures.source import drawable
from sparkcep.session.statement import StatementExecution


def explained_page(query: str, plan: str, run: StatementExecution | None, analyze: bool) -> str:
    """HTML of a statement, its pictures and its plan.

    Args:
        plan, run: as :func:`sparkcep.session.inspection.statements.explained` gives them.
        analyze: draw the funnel too, which runs the query.

    Raises:
        SparkCepError: as for :func:`sparkcep.pictures.pattern`.
    """
    pictures: list[Picture] = [pattern_picture((drawn := drawable(run)).relations)]
    if analyze:
        pictures.append(pruning_picture(drawn))
    before = f"<pre>{html.escape(query)}</pre>"
    return page("EXPLAIN", pictures, before, f"<pre>{html.escape(plan)}</pre>")
