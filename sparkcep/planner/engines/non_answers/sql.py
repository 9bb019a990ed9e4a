"""What Spark computes after the kernel of EXPLAIN NON ANSWERS: columns of their names and types, and warnings."""

from __future__ import annotations

from collections.abc import Sequence

from sparkcep.exec.engines.non_answers.spec import REASONS, RepairSpec
from sparkcep.expr.types import parse_type
from sparkcep.planner.output_sql import OutputSql
from sparkcep.query import ERROR, PREFIX, SOURCE, PatternQuery, quote, string_literal, unescape

#: How the statement names the operator that tells facts.
FACTS = PREFIX + "facts"
_WARNINGS = PREFIX + "warnings"


class NonAnswersSql(OutputSql):
    """Builds the statement over ``{SOURCE}``, the operator's output, and ``{FACTS}``.

    Args:
        keys: (expression, output name). time: field of the ORDER BY key, of type ``time_type``. step: in the kernel's
            units. warns: whether warnings are asked for.
    """

    def __init__(
        self, query: PatternQuery, keys: Sequence[tuple[str, str]], spec: RepairSpec, time: int, time_type: str,
        step: int, warns: bool,
    ) -> None:  # fmt: skip
        self.query = query
        self.keys = list(keys)
        self.spec = spec
        self.time = time
        self.time_type = time_type
        self.step = step
        self.warns = warns

    def sql(self) -> str:
        """One SELECT over ``{SOURCE}``."""
        items = [f"{PREFIX}k{i} AS {quote(name)}" for i, (_, name) in enumerate(self.keys)]
        items += [f"{value} AS {name}" for name, value in self.columns()]
        source = f"{{{SOURCE}}}"
        if self.warns:
            source = f"(SELECT *, {self.warnings()} AS {_WARNINGS} FROM {source})"
        return f"{self.query.with_prefix}SELECT {', '.join(items)} FROM {source}"

    def columns(self) -> list[tuple[str, str]]:
        """Expression and name of each output column, over the operator's; docs/non_answers.md says what they mean."""
        names = self.names("m.c")
        moved = f"m.f + {self.shift('m.n')}" if self.is_number else self.moved("m.f", "m.n")
        time = "m.f"
        changes = (
            f"transform({PREFIX}moves, m -> named_struct('variable', {names}, 'position', m.r, 'time', {time}, "
            f"'new_time', CAST({moved} AS {self.time_type}), 'shift', {self.shift('m.n')}))"
        )
        run = (
            f"transform({PREFIX}events, e -> named_struct('variable', {self.names('e.c')}, 'position', e.r, 'time', "
            f"e.f{self.time}))"
        )
        reasons = ", ".join(string_literal(r) for r in REASONS)
        out = [
            ("cost", self.shift(f"{PREFIX}cost")),
            ("changes", f"CASE WHEN {PREFIX}cost IS NOT NULL THEN {changes} END"),
            ("reason", f"get(array({reasons}), {PREFIX}reason)"),
            ("component", self.names(f"{PREFIX}component")),
            (
                "event",
                f"CASE WHEN {PREFIX}row IS NOT NULL THEN "
                f"named_struct('position', {PREFIX}row, 'time', {PREFIX}time) END",
            ),
            ("run", run),
        ]
        if self.warns:
            raised = (
                f"CASE WHEN {_WARNINGS}.error IS NULL THEN {_WARNINGS}.texts ELSE raise_error({_WARNINGS}.error) END"
            )
            out.append(("warnings", raised))
        return out

    # -- times -----------------------------------------------------------------------------------------------------

    @property
    def is_number(self) -> bool:
        """Whether times are numbers; otherwise a shift is an interval."""
        return parse_type(self.time_type).kind in ("int", "decimal")

    def shift(self, steps: str) -> str:
        """A number of steps as a difference of keys."""
        own = parse_type(self.time_type)
        kind = own.kind
        if kind == "int":
            return f"({steps} * {self.step}L)"
        if kind == "decimal":
            # Types that Spark multiplies and adds without rounding.
            one = f"CAST('1E-{own.scale}' AS DECIMAL(18,{own.scale}))"
            units = f"CAST({steps} * {self.step}L AS DECIMAL(19,0))"
            return f"CAST({units} * {one} AS DECIMAL({18 + own.scale},{own.scale}))"
        if kind == "date":
            return f"(date_from_unix_date(CAST({steps} * {self.step}L AS INT)) - DATE'1970-01-01')"
        return f"(timestamp_micros({steps} * {self.step}L) - timestamp_micros(0L))"

    def moved(self, time: str, steps: str) -> str:
        """A date or timestamp moved by steps; a day has 24 hours."""
        kind = parse_type(self.time_type).kind
        if kind == "date":
            return f"date_add({time}, CAST({steps} * {self.step}L AS INT))"
        if kind == "timestamp":
            return f"timestamp_micros(unix_micros({time}) + {steps} * {self.step}L)"
        return f"timestampadd(MICROSECOND, {steps} * {self.step}L, {time})"

    # -- names and warnings ----------------------------------------------------------------------------------------

    def names(self, code: str) -> str:
        """What users call a component, from its code."""
        return f"get(array({', '.join(string_literal(c.variable) for c in self.query.components)}), {code})"

    def warnings(self) -> str:
        """What the log says of the query itself, facts of all partitions, also those with a match; or the error."""
        words = [f"bit_or({PREFIX}w{w}) AS {PREFIX}w{w}" for w in range(self.spec.fact_words)]
        words.append(f"max({ERROR}) AS {ERROR}")
        tests = []
        for fact, text in enumerate(fact_texts(self.query, self.spec)):
            word, bit = divmod(fact, 63)
            if text:
                tests.append(f"CASE WHEN ({PREFIX}w{word} & {1 << bit}L) = 0L THEN {string_literal(text)} END")
        texts = f"array_compact(array({', '.join(tests)}))" if tests else "CAST(array() AS ARRAY<STRING>)"
        return f"(SELECT struct({texts} AS texts, {ERROR} AS error) FROM (SELECT {', '.join(words)} FROM {{{FACTS}}}))"


def fact_texts(query: PatternQuery, spec: RepairSpec) -> list[str]:
    """What to say where a fact is true of no partition; empty for nothing."""
    components = query.components

    def named(code: int) -> str:
        c = components[code]
        types = " or ".join(repr(t) for t in c.types)
        return f"{c.variable} ({types})" if types and types != repr(c.variable) else c.variable

    out = []
    for code, c in enumerate(components):
        what = f"of type {' or '.join(repr(t) for t in c.types)}" if c.types else f"that can be {c.variable}"
        known = spec.type_bits[code] >= 0 and not any(o.types == c.types and c.types for o in components[:code])
        out.append(f"there is no event {what}" if known else "")
    for a, b in spec.facts.pairs:
        out.append(f"in no partition is {named(a)} followed by {named(b)}")
    for x in spec.facts.bounds:
        both = f"{named(x.first)} and {named(x.second)}"
        out.append(f"no pair of {both} meets {unescape(x.source)}" if x.source else "")
    return [t.replace("{", "{{").replace("}", "}}") for t in out]
