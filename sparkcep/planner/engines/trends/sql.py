"""What Spark computes after the kernel: partial results of partitions combined by group and window, exactly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sparkcep.exec.engines.trends.spec import TrendAggregate, TrendSpec
from sparkcep.exec.streaming.collected import PARTIALS, WINDOW_NUMBER
from sparkcep.planner.engines.trends.quotients import quotient_steps
from sparkcep.planner.output_sql import OutputSql
from sparkcep.planner.streaming.aggregates import sum_type
from sparkcep.query import (
    GROUP_KEY,
    PREFIX,
    SOURCE,
    TREND_VALUE,
    WINDOW_COLUMN,
    WINDOW_OF_GROUP,
    KeyExpression,
    PatternQuery,
    quote,
    string_literal,
    unescape,
)


@dataclass(frozen=True, slots=True)
class TrendValue:
    """How an aggregate of the query is read. ``type``: Spark's name of its type. ``quiet``: it is NULL where it passes
    that. ``parts``: places among the spec's aggregates, of an average of decimals those of its sum, its count and its
    double. ``scale``: of its argument."""

    type: str
    quiet: bool
    parts: tuple[int, ...]
    scale: int


class TrendSql(OutputSql):
    """Builds the statement over ``{SOURCE}``, the operator's output.

    Args:
        keys: expressions of the partition keys. time_type: Spark's type of the ORDER BY key. trends: of the query's
            aggregates.
    """

    def __init__(
        self, query: PatternQuery, keys: Sequence[str], spec: TrendSpec, time_type: str, trends: Sequence[TrendValue]
    ) -> None:
        self.query = query
        self.trends = trends
        self.spec = spec
        self.time_type = time_type
        # A key from the log's settings comes in backticks, and letters may differ in case.
        places = {KeyExpression(key).folded: n for n, key in reversed(list(enumerate(keys)))}
        #: Of the groups' keys, their places among the partition keys.
        self.group_keys = [places[k.folded] for k in query.group_by]
        numbers = range(len(self.group_keys))
        streamed = query.streaming
        #: The operator's columns of the groups' keys.
        self.group_columns = [f"{PREFIX}g{n}" if streamed else f"{PREFIX}k{self.group_keys[n]}" for n in numbers]

    def sql(self) -> str:
        """One SELECT over ``{SOURCE}``."""
        by = [*dict.fromkeys(self.group_columns), WINDOW_NUMBER]
        fold = self.folded_array if self.query.streaming else self.folded
        folded = [item for n, a in enumerate(self.spec.aggregates) for item in fold(n, a)]
        inner = f"SELECT {', '.join([*by, *folded])} FROM {{{SOURCE}}}"
        if not self.query.streaming:
            inner += f" GROUP BY {', '.join(by)}"
        largest = [item for n, a in enumerate(self.spec.aggregates) if a.is_scaled for item in self.largest(n, a)]
        if largest:
            inner = f"SELECT *, {', '.join(largest)} FROM ({inner})"
        for step in self.averages():
            inner = f"SELECT *, {', '.join(f'{value} AS {name}' for name, value in step.items())} FROM ({inner})"
        values = [f"{value} AS {name}" for name, value in self.values().items()]
        inner = f"SELECT {', '.join([WINDOW_NUMBER, *values])} FROM ({inner})"
        # Hidden names first, so that an item cannot see another one's; and a column beside them, so that an aggregate
        # function that slipped through is an error and not one row for the whole result.
        output = self.output()
        hidden = [f"{text} AS {PREFIX}c{n}" for n, (_, text) in enumerate(output)]
        where = f" WHERE {self.query.having.text}" if self.query.having is not None else ""
        inner = f"SELECT {', '.join([WINDOW_NUMBER, *hidden])} FROM ({inner}){where}"
        named = [f"{PREFIX}c{n} AS {quote(name)}" for n, (name, _) in enumerate(output)]
        return f"{self.query.with_prefix}SELECT {', '.join(named)} FROM ({inner})"

    def values(self) -> dict[str, str]:
        """What RETURN and HAVING may read, as SQL by column."""
        out = {f"{GROUP_KEY}{k}": column for k, column in enumerate(self.group_columns)}
        out |= {f"{TREND_VALUE}{n}": self.value(n) for n in range(len(self.query.trends))}
        return out | ({WINDOW_OF_GROUP: self.window()} if self.spec.windowed else {})

    def output(self) -> list[tuple[str, str]]:
        """(name, SQL) as RETURN lists them; the window comes last where RETURN does not list it."""
        out = [(e.name, e.text) for e in self.query.output]
        taken = {name.casefold() for name, _ in out}
        if self.spec.windowed and not any(text == WINDOW_OF_GROUP for _, text in out) and WINDOW_COLUMN not in taken:
            out.append((WINDOW_COLUMN, WINDOW_OF_GROUP))
        return out

    def place(self, fragments: Sequence[str]) -> tuple[int | None, dict[str, str]]:
        """See :class:`OutputSql`: where the item or the HAVING begins that holds some SQL text."""
        at = [e.position for e in self.query.trend_expressions if any(f in unescape(e.text) for f in fragments)]
        return (at[0] if len(at) == 1 else None), self.names()

    def names(self) -> dict[str, str]:
        """What is written for the columns of :meth:`values`."""
        out = {f"{TREND_VALUE}{n}": unescape(t.name) for n, t in enumerate(self.query.trends)}
        out |= {f"{GROUP_KEY}{k}": unescape(key.expression) for k, key in enumerate(self.query.group_by)}
        return out | {WINDOW_OF_GROUP: WINDOW_COLUMN}

    def as_written(self, text: str) -> str:
        """SQL over those columns as users write it."""
        names = self.names()
        return re.sub("|".join(rf"\b{n}\b" for n in sorted(names, key=len, reverse=True)), lambda m: names[m[0]], text)

    # -- windows ---------------------------------------------------------------------------------------------------

    def window(self) -> str:
        """A struct with the window's start, inclusive, and its end, of the ORDER BY key's type."""
        start = f"({WINDOW_NUMBER} * {self.spec.slide}L)"
        return f"named_struct('start', {self.time(start)}, 'end', {self.time(f'({start} + {self.spec.width}L)')})"

    def time(self, units: str) -> str:
        """The kernel's units as a value of the ORDER BY key's type."""
        if self.time_type == "timestamp":
            return f"timestamp_micros({units})"
        if self.time_type == "timestamp_ntz":
            return f"timestampadd(MICROSECOND, {units}, TIMESTAMP_NTZ'1970-01-01 00:00:00')"
        if self.time_type == "date":
            return f"date_from_unix_date(CAST({units} AS INT))"
        # A window may begin below or end above what the key's own type holds.
        return units

    # -- aggregates ------------------------------------------------------------------------------------------------

    def folded(self, n: int, a: TrendAggregate) -> list[str]:
        """What GROUP BY computes of an aggregate, as columns ``__cep_v<n>`` and others."""
        value = f"{PREFIX}v{n}"
        if a.function in ("min", "max"):
            return [f"{a.function}({value}) AS {value}"]
        if a.function == "approx_count":
            return [f"sum({value}) AS {value}"]
        if a.is_scaled:
            partial = self.scaled_partial(n, a, PREFIX)
            return [f"collect_list(CASE WHEN {value} IS NOT NULL THEN {partial} END) AS {PREFIX}s{n}"]
        fails = f"(bool_or({PREFIX}o{n}) OR (count({value}) > 0 AND try_sum({value}) IS NULL))"
        return [f"{fails} AS {PREFIX}o{n}", f"CAST(try_sum({value}) AS {a.type}) AS {value}"]

    def folded_array(self, n: int, a: TrendAggregate) -> list[str]:
        """The same of a stream, whose operator collects the partial results of a group and window."""
        value = f"{PREFIX}v{n}"
        some = f"filter(transform({PARTIALS}, p -> p.v{n}), x -> x IS NOT NULL)"
        if a.function in ("min", "max"):
            return [f"array_{a.function}({some}) AS {value}"]
        if a.function == "approx_count":
            return [f"CASE WHEN size({some}) > 0 THEN aggregate({some}, 0D, (a, x) -> a + x) END AS {value}"]
        if a.is_scaled:
            rows = f"filter({PARTIALS}, p -> p.v{n} IS NOT NULL)"
            return [f"transform({rows}, p -> {self.scaled_partial(n, a, 'p.')}) AS {PREFIX}s{n}"]
        type_ = sum_type(a.type)
        total = f"aggregate({some}, CAST(0 AS {type_}), (a, x) -> CAST(try_add(a, x) AS {type_}))"
        fails = f"(exists({PARTIALS}, p -> p.o{n}) OR (size({some}) > 0 AND {total} IS NULL))"
        return [f"{fails} AS {PREFIX}o{n}", f"CASE WHEN size({some}) > 0 THEN CAST({total} AS {a.type}) END AS {value}"]

    @staticmethod
    def scaled_partial(n: int, a: TrendAggregate, of: str) -> str:
        """A struct of a partition's mantissas and exponents. ``of``: what stands before the names of its columns."""
        names = [f"'m', {of}v{n}, 'e', {of}e{n}"]
        if a.function == "avg":
            names.append(f"'n', {of}n{n}, 'f', {of}f{n}")
        return f"named_struct({', '.join(names)})"

    def averages(self) -> list[dict[str, str]]:
        """Columns of averages of decimals, step by step: each exactly, ``__cep_d<n>q``, and as a double."""
        steps: list[dict[str, str]] = []
        for n, trend in enumerate(self.trends):
            if len(trend.parts) > 1:
                total, count, near = (f"{PREFIX}v{part}" for part in trend.parts)
                exact = f"NOT {PREFIX}o{trend.parts[0]} AND NOT {PREFIX}o{trend.parts[1]}"
                own = [
                    {f"{PREFIX}d{n}t": f"CASE WHEN {exact} THEN {total} END", near: self.quotient(trend.parts[2])},
                    *quotient_steps(f"{PREFIX}d{n}t", count, trend.type, trend.scale, f"{PREFIX}d{n}"),
                ]
                steps += [{} for _ in own[len(steps) :]]
                for step, more in zip(steps, own, strict=True):
                    step.update(more)
        return steps

    def value(self, n: int) -> str:
        """Aggregate ``n`` of a group. Where it passes its type it raises an error, or is NULL."""
        trend = self.trends[n]
        place = trend.parts[-1]
        a = self.spec.aggregates[place]
        value = f"{PREFIX}v{place}"
        if len(trend.parts) > 1:
            found = f"coalesce({PREFIX}d{n}q, try_cast({value} AS {trend.type}))"
            fails = f"{value} IS NOT NULL AND {found} IS NULL"
        elif a.is_scaled:
            return self.quotient(place) if a.function == "avg" else self.scaled_sum(place)
        elif a.function in ("min", "max", "approx_count"):
            return value
        else:
            found, fails = value, f"{PREFIX}o{place}"
        raised = "NULL" if trend.quiet else self.overflow(n)
        return f"CASE WHEN {fails} THEN CAST({raised} AS {trend.type}) ELSE {found} END"

    def overflow(self, n: int) -> str:
        """Raises; names what overflowed, the group and the window."""
        trend = self.query.trends[n]
        parts = [string_literal("[ARITHMETIC_OVERFLOW] "), string_literal(unescape(trend.name))]
        parts.append(string_literal(f" exceeds {self.trends[n].type.upper()}"))
        keys = zip(self.query.group_by, self.group_columns, strict=True)
        where = [(unescape(key.expression), f"CAST({column} AS STRING)") for key, column in keys]
        if self.spec.windowed:
            where.append(("window", f"CAST({self.window()} AS STRING)"))
        for k, (text, value) in enumerate(where):
            parts.append(string_literal(f"{', ' if k else ' for '}{text} = "))
            parts.append(f"coalesce({value}, 'NULL')")
        instead = f"try_{trend.function} gives NULL, a sum of DOUBLE values a DOUBLE"
        if trend.function == "count":
            instead = "try_count(*) gives NULL, approx_count(*) a DOUBLE"
        parts.append(string_literal(f".\nHint: {instead}; a shorter window holds fewer trends."))
        return f"raise_error(concat({', '.join(parts)}))"

    # Values are m * 2^(512 e); of sums of them the largest e decides.

    @staticmethod
    def largest(n: int, a: TrendAggregate) -> list[str]:
        """The largest exponents, as columns, so that they are looked for once."""
        names = "ef" if a.function == "avg" else "e"
        return [f"array_max({PREFIX}s{n}.{x}) AS {PREFIX}{x}{n}" for x in names]

    @staticmethod
    def total(n: int, m: str, e: str) -> str:
        """Mantissa of the sum over partitions. Powers below 2^-512 change no double."""
        scale = f"power(2D, 512D * (x.{e} - {PREFIX}{e}{n}))"
        return f"aggregate({PREFIX}s{n}, 0D, (a, x) -> a + x.{m} * {scale})"

    def scaled_sum(self, n: int) -> str:
        """A sum whose partial results are mantissas and exponents of 2^512, so that only the result can overflow."""
        half = f"power(2D, 256D * {PREFIX}e{n})"  # 2^512 itself may be too much where the mantissa is small
        return f"CASE WHEN size({PREFIX}s{n}) > 0 THEN {self.total(n, 'm', 'e')} * {half} * {half} END"

    def quotient(self, n: int) -> str:
        """An average from two such numbers, sum and count, whose exponents cancel before they are applied."""
        half = f"power(2D, 256D * ({PREFIX}e{n} - {PREFIX}f{n}))"
        parts = f"{self.total(n, 'm', 'e')} / {self.total(n, 'n', 'f')}"
        return f"CASE WHEN size({PREFIX}s{n}) > 0 THEN {parts} * {half} * {half} END"
