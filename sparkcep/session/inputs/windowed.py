"""What windows with patterns read where their SELECT joins relations or groups rows: a subquery of its FROM, WHERE,
GROUP BY and HAVING, as the user would write it."""

from __future__ import annotations

from collections.abc import Mapping

from sparkcep.session.inputs.window_groups import Grouping
from sparkcep.session.inputs.window_joins import joined_rows
from sparkcep.session.inputs.window_source import SelectReader, WindowedInput
from sparkcep.session.planning import OccurrencePlanner
from sparkcep.sql.statement import PatternOccurrence
from sparkcep.sql.windows.parser import WindowSyntax


def windowed_input(
    planner: OccurrencePlanner, form: PatternOccurrence, windows: Mapping[int, WindowSyntax]
) -> WindowedInput:
    """What the windows of a SELECT see, where it joins relations or groups rows. What of the text its columns stand for
    reads so from now on.

    Raises:
        PatternAnalysisError: CEP_WINDOW_QUERY, CEP_UNRESOLVED_COLUMN, CEP_CORRELATED_INPUT, CEP_RESERVED_COLUMN.
    """
    assert form.windowed is not None
    reader = SelectReader(planner, form, windows)
    return joined_rows(reader) if form.windowed.grouped is None else Grouping(reader).read()
