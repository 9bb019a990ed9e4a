"""A statement's templates put into SQL, and errors of that put back to where the user called them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from sparkcep.errors import SparkCepError
from sparkcep.query import quote
from sparkcep.session.analyzer import SqlMethod, shown_properties
from sparkcep.settings import Settings
from sparkcep.sql.occurrences import read_statement
from sparkcep.sql.statement import Statement, formatted
from sparkcep.sql.templates.expansion import Expanded, expand

_ROLES = ("case", "time", "tiebreak", "event")


@dataclass(frozen=True, slots=True)
class Templates:
    """What was done to a statement. ``text``: the user's. ``steps``: in their order, each over the text of the one
    before. ``notes``: what EXPLAIN says."""

    text: str
    steps: list[Expanded] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def expanded(self, plain: SqlMethod, statement: Statement, settings: Settings, *, is_formatted: bool) -> Statement:
        """The statement with SQL in the place of its templates.

        Args:
            plain: the session's own sql. is_formatted: whether Spark formats the text.

        Raises:
            SparkCepError: see :func:`expand`, with a place in the user's text.
        """

        def roles(name: tuple[str, ...] | None) -> Mapping[str, str]:
            known = {role: getattr(settings, f"log_{role}") for role in _ROLES}
            properties = {} if name is None else shown_properties(plain, ".".join(map(quote, name)))
            return known | {r: v for r in _ROLES if (v := properties.get(f"sparkcep.{r}", "").strip())}

        while statement.templates:
            form = statement.templates[0]
            called = statement.text[form.start : form.end]
            with self.located():
                step = expand(statement, form, roles, formatted=is_formatted)
                self.steps.append(step)
                self.notes.append(f"{' '.join(called.split())} stands for:")
                self.notes.extend(f"  {line}" for line in step.sql.splitlines())
                statement = read_statement(step.text)
                statement = formatted(statement) if is_formatted else statement
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
