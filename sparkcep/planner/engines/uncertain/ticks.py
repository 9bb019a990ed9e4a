"""UNCERTAINTY's bounds as ticks: SQL that counts them before matching, and SQL that turns them back behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from sparkcep.errors import PatternAnalysisError
from sparkcep.expr.types import TIMES, parse_type
from sparkcep.planner.lengths import DAY, fixed_distance, kernel_units
from sparkcep.planner.plan import Analyzer
from sparkcep.planner.within import check_length
from sparkcep.query import PatternQuery, Uncertainty, string_literal, unescape


@dataclass(frozen=True, slots=True)
class Ticks:
    """``low``, ``high``: SQL of an event's first and last tick, NULL where it has none; an error where they are the
    wrong way round. ``probability``: SQL of its ticks' probabilities, checked, or None. ``step``: a tick as the user
    or the default has it, ``length``: in the kernel's units of the ORDER BY key. ``within``: WITHIN in ticks.
    ``ahead``: the most by which an event may be before its time, as SQL; None where that is not said. ``time(n)``: SQL
    of the time at which tick ``n`` begins."""

    low: str
    high: str
    probability: str | None
    step: str
    length: Decimal
    within: int | None
    ahead: str | None
    time: Callable[[str], str]


class TickPlanner:
    """Plans the ticks of one block.

    Raises:
        PatternAnalysisError: CEP_UNCERTAINTY, CEP_WITHIN_TYPE.
    """

    def __init__(self, query: PatternQuery, uncertainty: Uncertainty, analyze: Analyzer) -> None:
        self.query = query
        self.uncertainty = uncertainty
        self.analyze = analyze
        self.key = query.order_by[0].expression
        self.type = analyze([self.key])[0][1]
        self.kind = parse_type(self.type).kind

    def error(
        self, sentence: str, hint: str | None = None, position: int = 0, error_class: str = "CEP_UNCERTAINTY"
    ) -> PatternAnalysisError:
        """An error with a caret, at UNCERTAINTY where ``position`` is 0; the caller raises it."""
        return PatternAnalysisError(
            error_class, sentence, text=self.query.text or None, position=position or self.uncertainty.position,
            hint=hint,
        )  # fmt: skip

    def plan(self) -> Ticks:
        """SQL of each event's first and last tick, checked when it runs, and of its probabilities.

        Raises:
            PatternAnalysisError: CEP_UNCERTAINTY, CEP_WITHIN_TYPE.
        """
        if self.kind not in (*TIMES, "int", "decimal", "double", "float"):
            raise self.error(
                f"UNCERTAINTY needs an ORDER BY key of a date, timestamp or numeric type; this one is {self.type}."
            )
        step = self.step()
        u = self.uncertainty
        if u.width is not None:
            bounds = [f"(({self.key}) - ({u.width}))", f"(({self.key}) + ({u.width}))"]
            self.check_width(u.width)
        else:
            bounds = [f"({u.lower})", f"({u.upper})"]
        low, high = (self.tick(b, step) for b in bounds)
        probability = None
        if u.probability is not None:
            probability = self.checked_probability(u.probability, low, high)
        wrong = self.raised("UNCERTAINTY: the lower bound is above the upper one", "BIGINT")
        tests = [f"WHEN {low} > {high} THEN {wrong}"]
        if u.at_most is not None:
            self.fixed(u.at_most, "AT MOST")
            far = self.raised(f"UNCERTAINTY: a bound is further than {unescape(u.at_most)} away", "BIGINT")
            least, most = (f"(({self.key}) {sign} ({u.at_most}))" for sign in "-+")
            tests.append(f"WHEN {bounds[0]} < {least} OR {bounds[1]} > {most} THEN {far}")
        checked = f"CASE {' '.join(tests)} ELSE {low} END"
        within = self.within(step)
        return Ticks(
            checked, high, probability, self.shown_step(), step, within, u.at_most or u.width,
            lambda n: self.time(n, step),
        )  # fmt: skip

    # -- units -----------------------------------------------------------------------------------------------------

    def step(self) -> Decimal:
        """A tick in microseconds, days of a date, or units of a number."""
        text = self.uncertainty.step
        if text is None:
            if self.kind in ("date", "int"):
                return Decimal(1)
            raise self.error(
                "UNCERTAINTY needs a STEP, the length of a tick, for an ORDER BY key of type " + self.type + ".",
                "UNCERTAINTY 5 SECONDS STEP 1 SECOND" if self.kind in TIMES else "UNCERTAINTY 0.5 STEP 0.1",
            )
        return self.fixed(text, "STEP")

    def fixed(self, text: str, name: str) -> Decimal:
        """The length that a part of UNCERTAINTY gives.

        Raises:
            PatternAnalysisError: CEP_UNCERTAINTY: it is not fixed.
        """
        length = self.length(text)
        if length is None or length <= 0:
            raise self.error(
                f"{name} must be a fixed length above zero in the units of the ORDER BY key; {unescape(text)} is not.",
                f"{name} 1 SECOND; months and years differ in length" if self.kind in TIMES else f"{name} 1",
            )
        return length

    def shown_step(self) -> str:
        """A tick's length as the user wrote it, or the default: 1, of a date one day."""
        default = "INTERVAL 1 DAY" if self.kind == "date" else "1"
        return unescape(self.uncertainty.step or default)

    def length(self, text: str) -> Decimal | None:
        """A length of time in the key's units; None where it is not fixed."""
        if self.kind in TIMES:
            # As in Spark's window(), a day has 24 hours.
            found = fixed_distance(text, "date" if self.kind == "date" else "timestamp_ntz")
            return None if found is None else Decimal(found)
        try:
            number = Decimal(text.strip().rstrip("LlDdFf").removesuffix("B"))
        except InvalidOperation:
            return None
        if self.kind == "int" and number != number.to_integral_value():
            return None
        return number if number.is_finite() else None

    def within(self, step: Decimal) -> int | None:
        """WITHIN in whole ticks, rounded down; None without WITHIN.

        Raises:
            PatternAnalysisError: CEP_WITHIN_TYPE: not a fixed length of time.
        """
        if self.query.within is None:
            return None
        check_length(self.query, "WITHIN", self.type, self.analyze)
        length = self.length(self.query.within)
        if length is None and self.kind == "int":
            number = TickPlanner.decimal(self.query.within)
            length = None if number is None else number.to_integral_value("ROUND_FLOOR")
        if length is None and self.kind == "date":  # hours within days
            micros = fixed_distance(self.query.within, "timestamp_ntz")
            length = None if micros is None else Decimal(micros // DAY)
        if length is None:
            raise self.error(
                f"With UNCERTAINTY, WITHIN must be a fixed length of time; {unescape(self.query.within)} is not.",
                "days have 24 hours here; months and years differ in length",
                self.query.within_position, "CEP_WITHIN_TYPE",
            )  # fmt: skip
        return int(length // step)

    @staticmethod
    def decimal(text: str) -> Decimal | None:
        """A plain number; None for any other expression."""
        try:
            return Decimal(text.strip())
        except InvalidOperation:
            return None

    def check_width(self, width: str) -> None:
        """Refuse a half width that cannot be added to the key.

        Raises:
            PatternAnalysisError: CEP_UNCERTAINTY.
        """
        kind = parse_type(self.analyze([f"({width})"])[0][1])
        fits = kind.kind == "interval" if self.kind in TIMES else kind.is_numeric
        if self.kind == "date":
            fits = fits or kind.kind == "int"
        if not fits:
            wanted = "an interval of days to seconds" if self.kind in TIMES else "a number"
            raise self.error(
                f"UNCERTAINTY over an ORDER BY key of type {self.type} takes {wanted}; this is another type.",
                "UNCERTAINTY 5 SECONDS, UNCERTAINTY (lower, upper)",
            )

    def tick(self, text: str, step: Decimal) -> str:
        """BIGINT SQL of the tick that an expression lies in: its floor."""
        type_ = self.analyze([text])[0][1]
        kind = parse_type(type_)
        fits = kind.kind in TIMES if self.kind in TIMES else kind.is_numeric
        if not fits:
            raise self.error(f"UNCERTAINTY's bound {unescape(text)} is {type_}, the ORDER BY key is {self.type}.")
        if self.kind not in TIMES:
            if kind.kind == "int" and self.kind == "int":
                return self.floored(f"CAST({text} AS BIGINT)", int(step))
            divided = text if step == 1 else f"{text} / {step}{'BD' if step % 1 else ''}"
            return f"CAST(floor({divided}) AS BIGINT)"
        same = text if type_ == self.type else f"CAST({text} AS {self.type})"
        return self.floored(kernel_units(same, self.type), int(step))

    @staticmethod
    def floored(units: str, step: int) -> str:
        """SQL of whole steps in ``units``, rounded down, also below zero."""
        return units if step == 1 else f"(({units} - pmod({units}, {step}L)) div {step}L)"

    def time(self, tick: str, step: Decimal) -> str:
        """SQL of a tick's time, of the ORDER BY key's type."""
        if self.kind == "int":
            return f"CAST(({tick} * {int(step)}L) AS {self.type})"
        if self.kind == "date":
            return f"date_from_unix_date(CAST({tick} * {int(step)}L AS INT))"
        if self.kind == "timestamp":
            return f"timestamp_micros({tick} * {int(step)}L)"
        if self.kind == "timestamp_ntz":
            # Through days and the rest: no time zone is asked.
            micros = f"({tick} * {int(step)}L)"
            rest = f"make_dt_interval(0, 0, 0, CAST(pmod({micros}, {DAY}L) AS DECIMAL(18, 0)) / 1000000)"
            day = f"date_from_unix_date(CAST(({micros} - pmod({micros}, {DAY}L)) div {DAY}L AS INT))"
            return f"(CAST({day} AS TIMESTAMP_NTZ) + {rest})"
        return f"CAST({tick} * {step}{'BD' if step % 1 else ''} AS {self.type})"

    # -- checks ----------------------------------------------------------------------------------------------------

    def raised(self, sentence: str, type_: str) -> str:
        """SQL that raises a sentence with the row's keys."""
        keys = [*(k.expression for k in self.query.partition_by), self.key]
        named = ", ', ', ".join(f"{string_literal(unescape(k) + ' = ')}, coalesce(CAST(({k}) AS STRING), 'NULL')"
                                for k in keys)  # fmt: skip
        text = string_literal(f"[CEP_UNCERTAINTY] {sentence}, at ")
        return f"CAST(raise_error(concat({text}, {named})) AS {type_})"

    def checked_probability(self, text: str, low: str, high: str) -> str:
        """SQL of an ARRAY<DOUBLE>, one probability per tick; it raises where they are too few or do not add up to 1.

        Raises:
            PatternAnalysisError: CEP_UNCERTAINTY: the expression is not an array of numbers.
        """
        type_ = self.analyze([text])[0][1]
        kind = parse_type(type_)
        if kind.kind != "array" or kind.element is None or not kind.element.is_numeric:
            raise self.error(
                f"PROBABILITY takes an array of numbers, one for each tick; {unescape(text)} is {type_}.",
                "PROBABILITY array(0.2, 0.8)",
            )
        p = f"CAST(({text}) AS ARRAY<DOUBLE>)"
        good = f"size({p}) = {high} - {low} + 1"
        whole = f"abs(aggregate({p}, 0D, (s, x) -> s + x) - 1) <= 1e-6 AND forall({p}, x -> x >= 0)"
        few = self.raised("PROBABILITY has not one element for each tick", "ARRAY<DOUBLE>")
        wrong = self.raised("PROBABILITY does not add up to 1", "ARRAY<DOUBLE>")
        return (
            f"CASE WHEN ({text}) IS NULL OR {low} IS NULL OR {high} IS NULL THEN NULL "
            f"WHEN NOT ({good}) THEN {few} "
            f"WHEN coalesce({whole}, false) THEN {p} "
            f"ELSE {wrong} END"
        )
