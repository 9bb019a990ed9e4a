"""What a query over a stream means, so that its state is known again after a restart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sparkcep.exec.streaming.meaning import COLUMN, StreamMeaning, digest, text_digest
from sparkcep.exec.streaming.state import STATE_SINCE
from sparkcep.planner.conditions.row_conditions import all_of
from sparkcep.planner.input_plan import InputPlan
from sparkcep.query import unescape
from sparkcep.settings import STREAM_BUCKETS, Settings
from sparkcep.sql.lexicon import tokenize


@dataclass(frozen=True, slots=True)
class StreamSource:
    """What beside its plan says what a query over a stream is.

    ``text``: of the pattern, or of a rule set's log. ``arguments``: of the statement, those of args and those by name.
    ``types``: of the input's columns, by name. ``common``: texts of the WITH lists in which names of it may stand.
    """

    text: str
    arguments: tuple[Any, Mapping[str, Any]]
    types: Mapping[str, str]
    common: Sequence[str] = ()
    is_pattern: bool = True

    def first_format(self) -> list[str]:
        """The parts of it that states of format 1 know a query by."""
        text = " ".join(self.text.split()) if self.is_pattern else self.text
        return [text, *map(repr, self.arguments), *(f"{name} {type_}" for name, type_ in self.types.items())]

    def values(self) -> str:
        """The arguments, those with names in the order of these."""
        args, named = (sorted(a.items()) if isinstance(a, Mapping) else a for a in self.arguments)
        return repr((args, named))


def stream_meaning(
    source: StreamSource, prepared: Iterable[str], settings: Settings, first_formats: Iterable[Sequence[str]]
) -> StreamMeaning:
    """The meaning of a query.

    Args:
        prepared: SQL by which rows are prepared. Of a pattern only the types of columns that it may read matter; of a
            rule set all do, as a rule that comes may read any.
        first_formats: what states of format 1 may know it by, but for the source.
    """
    sql = "\n".join(prepared)
    tokens = tokenize(unescape(sql))
    read = {t.text.casefold() for t in tokens}
    columns = {
        f"{COLUMN}{name}": type_
        for name, type_ in source.types.items()
        if not source.is_pattern or name.casefold() in read
    }
    if any(t.text == "*" and before.text in ("(", ",", ".") for before, t in pairwise(tokens)):
        columns["the list of the input's columns"] = digest(repr(list(source.types.items())))
    parts = {
        "the pattern's text" if source.is_pattern else "the query of the log": digest(words(source.text)),
        "what WITH defines": digest(words(";".join(source.common))),
        "the value of a parameter": digest(source.values()),
        **columns,
        "the session's time zone": settings.time_zone,
        "ANSI mode": "on" if settings.ansi else "off",
        STREAM_BUCKETS.key: str(settings.stream_buckets),
        "the SQL that prepares rows": digest(words(sql)),
        "the first release that keeps rows as this one does": STATE_SINCE,
    }
    known_by = ("\0".join([*own, *source.first_format()]) for own in first_formats)
    return StreamMeaning(parts, tuple(map(text_digest, known_by)))


def prepared_sql(given: InputPlan) -> list[str]:
    """SQL of all that a query keeps of a row: what each key, field and bit of the masks stands for. How a condition is
    guarded against rows for which it fails does not belong to what it means."""
    query, of_bit = given.query, sorted((bit, code) for code, bit in given.bits.items())
    return [
        query.with_prefix, *given.key_items(), *(key.text for key in query.order_by), *given.field_items(),
        *(" AND ".join(c.sql() for c in given.tests[code]) or "true" for _, code in of_bit),
        unguarded("\n".join(given.filters), given), query.partition_predicate,
    ]  # fmt: skip


def unguarded(sql: str, given: InputPlan) -> str:
    """SQL of a plan, or of some of it, without the guards of its conditions: as 0.2.0, which had none, wrote it."""
    conjunctions = [[c.sql() for c in own] for own in given.tests.values()]
    conjunctions += [[c.sql() for c in own if not c.shifts] for own in given.tests.values()]
    for parts in filter(None, conjunctions):
        sql = sql.replace(all_of(parts), " AND ".join(f"({part})" for part in parts))
    return sql


def words(text: str) -> str:
    """A text's tokens: texts that differ in comments and white space only have the same."""
    return "\0".join(text[t.start : t.end] for t in tokenize(text))
