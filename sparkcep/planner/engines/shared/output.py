"""What Spark makes of the matches of a rule set: the same few columns, however many rules there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparkcep.planner.output_sql import OutputSql
from sparkcep.query import PREFIX, SOURCE, quote, string_literal

#: SQL of the measures of a rule that returns nothing.
NO_MEASURES = "CAST(map() AS MAP<STRING, STRING>)"
#: Options of `to_json` by which it writes all of a value, whatever the session's time zone.
AS_JSON = {
    "ignoreNullFields": "false", "timeZone": "UTC", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}  # fmt: skip
#: SQL of a returned value ``m`` as text; see exec/engines/shared/items.py.
_TEXT = (
    "coalesce(m.s, CAST(m.d AS STRING), CAST(m.f AS STRING), CAST(timestamp_micros(m.t) AS STRING), "
    "CAST(make_dt_interval(0, 0, 0, CAST(CAST(m.v AS DECIMAL(20, 0)) / 1000000 AS DECIMAL(18, 6))) AS STRING))"
)


@dataclass(frozen=True, slots=True)
class SharedOutput(OutputSql):
    """Names by the numbers that the matches have. ``keys``: of PARTITION BY; ``measures``: of what rules return;
    ``own_key_count``: how many keys stand behind those. ``event_id``: whether events have one."""

    keys: Sequence[str]
    rules: tuple[str, ...]
    variables: tuple[str, ...]
    measures: tuple[str, ...]
    own_key_count: int = 0
    event_id: bool = False

    def sql(self, more: Sequence[str] = ()) -> str:
        """One SELECT over ``{SOURCE}``. ``more``: items behind the keys."""
        measures = NO_MEASURES
        if self.measures:
            name = named(self.measures, "m.n")
            measures = f"map_from_entries(transform({PREFIX}measures, m -> struct({name}, {_TEXT})))"
        variable, rule = named(self.variables, "e.v"), named(self.rules, f"{PREFIX}rule")
        event = f"struct({variable} AS variable, e.p AS position, e.t AS time)"
        known_by = f"struct({variable} AS v, {'e.i' if self.event_id else 'e.t'} AS e)"
        items = [
            f"{rule} AS rule",
            *(f"{key} AS {quote(name)}" for key, name in zip(self.key_columns, self.keys, strict=False)),
            *more,
            f"{PREFIX}number AS match_number", f"{PREFIX}start AS start_time", f"{PREFIX}end AS end_time",
            f"transform({PREFIX}events, e -> {event}) AS events", f"{measures} AS measures",
            match_id(rule, self.key_columns, f"transform({PREFIX}events, e -> {known_by})"),
        ]  # fmt: skip
        return f"SELECT {', '.join(items)} FROM {{{SOURCE}}}"

    @property
    def key_columns(self) -> list[str]:
        """The operator's columns with the keys, those that rules have besides at the end."""
        return [f"{PREFIX}k{n}" for n in range(len(self.keys) + self.own_key_count)]

    def own_keys(self) -> str:
        """The keys that rules have besides, as one text."""
        return text_of_keys(self.key_columns[len(self.keys) :])


def text_of_keys(keys: Sequence[str]) -> str:
    """SQL of a text that is equal for equal keys."""
    return f"to_json(array({', '.join(f'CAST({key} AS STRING)' for key in keys)}))"


def match_id(rule: str, keys: Sequence[str], events: str) -> str:
    """SQL of a column that says which match a row is of, whenever and wherever it is found: a digest of the rule's
    name, the partition, and each event's variable with its id or time, but no positions and numbers.

    Args:
        rule, keys, events: SQL.
    """
    parts = ", ".join(f"{part} AS c{n}" for n, part in enumerate((rule, *keys, events)))
    options = ", ".join(string_literal(text) for option in AS_JSON.items() for text in option)
    return f"md5(to_json(struct({parts}), map({options}))) AS match_id"


def named(names: Sequence[str], number: str) -> str:
    """SQL of the name at a number."""
    return f"get(array({', '.join(map(string_literal, names))}), {number})" if names else "''"
