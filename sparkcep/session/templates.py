"""A statement's templates put into SQL, and errors of that put back to where the user called them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql.types import StructField

from sparkcep.errors import SparkCepError
from sparkcep.planner.fields import Fields
from sparkcep.query import quote, unescape
from sparkcep.session.analyzer import SqlMethod, shown_properties
from sparkcep.settings import Settings
from sparkcep.sql.log_columns import LogColumns, roles_of
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.statement import Statement, formatted
from sparkcep.sql.templates.events_of import EVENTS, expand_events
from sparkcep.sql.templates.expansion import Expanded, TemplateLog, expand


@dataclass(frozen=True, slots=True)
class Templates:
    """What was done to a statement. ``text``: the user's. ``steps``: in their order, each over the text of the one
    before. ``notes``: what EXPLAIN says."""

    text: str
    steps: list[Expanded] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def expanded(
        self, plain: SqlMethod, statement: Statement, settings: Settings, frames: Mapping[str, Any]
    ) -> Statement:
        """The statement with SQL in the place of its templates.

        Args:
            plain: the session's own sql. frames: what Spark puts into the text, where it formats that.

        Raises:
            SparkCepError: see :func:`expand`, with a place in the user's text.
        """

        def log_columns(log: TemplateLog) -> LogColumns:
            @functools.cache
            def fields() -> Sequence[StructField]:
                with suppress(AnalysisException):  # of a relation that only the statement knows
                    return plain(f"{log.with_prefix}SELECT * FROM {log.relation}", **frames).schema.fields
                return ()

            @functools.cache
            def types() -> Mapping[str, str]:
                return {f.name: f.dataType.simpleString() for f in fields()}

            def column(name: str) -> str | None:
                return Fields(list(types()), settings.case_sensitive).column_of(quote(name))

            @functools.cache
            def properties() -> Mapping[str, str]:
                return {} if log.name is None else shown_properties(plain, ".".join(map(quote, log.name)))

            return LogColumns(
                lambda: list(types()), lambda name: not types() or column(name) is not None,
                lambda name: types().get(column(name) or "", ""), properties,
                lambda: {} if log.name is None else roles_of(fields()), settings, log.error,
            )  # fmt: skip

        def columns(query: str) -> list[str]:
            return list(plain(query if frames else unescape(query), **frames).columns)

        while statement.templates:
            form = statement.templates[0]
            called = statement.text[form.start : form.end]
            with self.located():
                if form.keyword.upper == EVENTS:
                    step = expand_events(statement, form, columns, formatted=bool(frames))
                else:
                    step = expand(statement, form, log_columns, formatted=bool(frames))
                self.steps.append(step)
                self.notes.append(f"{' '.join(called.split())} stands for:")
                self.notes.extend(f"  {line}" for line in step.sql.splitlines())
                statement = read_statement(step.text)
                statement = formatted(statement) if frames else statement
        return statement

    @contextmanager
    def located(self) -> Iterator[None]:
        """Errors of what templates stand for come with the place of the call in the user's text."""
        try:
            yield
        except SparkCepError as error:
            if not self.steps or error.text != self.steps[-1].text or error.position is None:
                raise
            position = error.position
            for step in reversed(self.steps):
                position = step.place(position)
            raise error.placed(self.text, position) from None
