"""What Spark makes of the matches of a rule set: the same few columns, however many rules there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparkcep.planner.output_sql import OutputSql
from sparkcep.query import PREFIX, SOURCE, quote, string_literal

#: SQL of the measures of a rule that returns nothing.
NO_MEASURES = "CAST(map() AS MAP<STRING, STRING>)"
#: SQL of a returned value ``m`` as text; see exec/engines/shared/items.py.
_TEXT = (
    "coalesce(m.s, CAST(m.d AS STRING), CAST(m.f AS STRING), CAST(timestamp_micros(m.t) AS STRING), "
    "CAST(make_dt_interval(0, 0, 0, CAST(CAST(m.v AS DECIMAL(20, 0)) / 1000000 AS DECIMAL(18, 6))) AS STRING))"
)


@dataclass(frozen=True, slots=True)
class SharedOutput(OutputSql):
    """Names by the numbers that the matches have. ``keys``: of PARTITION BY; ``measures``: of what rules return;
    ``own``: how many keys stand behind those."""

    keys: Sequence[str]
    rules: tuple[str, ...]
    variables: tuple[str, ...]
    measures: tuple[str, ...]
    own: int = 0

    def sql(self, more: Sequence[str] = ()) -> str:
        """One SELECT over ``{SOURCE}``. ``more``: items behind the keys."""
        measures = NO_MEASURES
        if self.measures:
            name = named(self.measures, "m.n")
            measures = f"map_from_entries(transform({PREFIX}measures, m -> struct({name}, {_TEXT})))"
        event = f"struct({named(self.variables, 'e.v')} AS variable, e.p AS position, e.t AS time)"
        items = [
            f"{named(self.rules, f'{PREFIX}rule')} AS rule",
            *(f"{PREFIX}k{i} AS {quote(name)}" for i, name in enumerate(self.keys)),
            *more,
            f"{PREFIX}number AS match_number", f"{PREFIX}start AS start_time", f"{PREFIX}end AS end_time",
            f"transform({PREFIX}events, e -> {event}) AS events", f"{measures} AS measures",
        ]  # fmt: skip
        return f"SELECT {', '.join(items)} FROM {{{SOURCE}}}"

    def own_keys(self) -> str:
        """The keys that rules have besides, as one text."""
        return text_of_keys([f"{PREFIX}k{len(self.keys) + n}" for n in range(self.own)])


def text_of_keys(keys: Sequence[str]) -> str:
    """SQL of a text that is equal for equal keys."""
    return f"to_json(array({', '.join(f'CAST({key} AS STRING)' for key in keys)}))"


def named(names: Sequence[str], number: str) -> str:
    """SQL of the name at a number."""
    return f"get(array({', '.join(map(string_literal, names))}), {number})" if names else "''"
