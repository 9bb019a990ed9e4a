"""Calls of sparkcep's table functions: which arguments stand for which parameters, by Spark's rules."""

from __future__ import annotations

from dataclasses import dataclass

from sparkcep.errors import PatternAnalysisError, PatternParseError, near_name
from sparkcep.sql.statement import PatternOccurrence, Statement
from sparkcep.sql.templates import TEMPLATES


@dataclass(frozen=True, slots=True)
class Signature:
    """Names of a function's parameters, in order; those that are ``optional`` have a default."""

    parameters: tuple[str, ...]
    optional: tuple[str, ...] = ()


#: Of the functions that the pattern index answers.
_OF_INDEX = {
    "pattern_statistics": Signature(("log", "pattern")),
    "pattern_continuations": Signature(("log", "pattern", "mode", "k"), ("mode", "k")),
}
#: Of pattern tables.
_OF_TABLES = {"pattern_table_changes": Signature(("name", "from", "to"), ("from", "to"))}
#: Of streams.
_OF_STREAMS = {"pattern_stream_state": Signature(("checkpoint",))}
_RULES_OVER = ("log", "rules", "event_type", "on_error", "id")
#: Of rule sets.
_OF_RULES = {
    "pattern_rules": Signature(_RULES_OVER, _RULES_OVER[2:]),
    "pattern_rule_errors": Signature(_RULES_OVER, _RULES_OVER[2:]),
    "pattern_rule_costs": Signature(_RULES_OVER, _RULES_OVER[2:]),
    "pattern_rules_catalogue": Signature(("rules",)),
}


def signature(function: str) -> Signature:
    """The signature of a table function or a template."""
    if function in TEMPLATES:
        return Signature(TEMPLATES[function].parameters, TEMPLATES[function].optional)
    return (_OF_INDEX | _OF_TABLES | _OF_STREAMS | _OF_RULES)[function]


@dataclass(frozen=True, slots=True)
class Call:
    """A call: arguments as token ranges by their parameters."""

    function: str
    arguments: dict[str, tuple[int, int]]


def read_call(statement: Statement, form: PatternOccurrence) -> Call:
    """Read a call's arguments, positional ones first, then ``name => value``.

    Raises:
        PatternAnalysisError: Spark's own classes for arguments that do not fit the parameters.
        PatternParseError: CEP_SYNTAX_ERROR, an argument is missing between commas.
    """
    return _Reader(statement, form).read()


class _Reader:
    def __init__(self, statement: Statement, form: PatternOccurrence) -> None:
        self.s = statement
        self.form = form
        self.function = form.keyword.text.lower()
        self.signature = signature(self.function)
        self.parameters = self.signature.parameters

    def error(self, error_class: str, message: str, position: int) -> PatternAnalysisError:
        written = ", ".join(f"[{p} => ...]" if p in self.signature.optional else p for p in self.parameters)
        return PatternAnalysisError(
            error_class, message, text=self.s.text, position=position, hint=f"{self.function}({written})"
        )

    def ranges(self) -> list[tuple[int, int]]:
        low, high = self.form.body
        if low == high:
            return []
        out = self.s.between_commas(low, high)
        for a, b in out:
            if a == b:
                raise PatternParseError(
                    "CEP_SYNTAX_ERROR", "An argument is expected here.", text=self.s.text,
                    position=self.s.tokens[a].start,
                )  # fmt: skip
        return out

    def read(self) -> Call:
        found: dict[str, tuple[int, int]] = {}
        named = False
        for number, (start, high) in enumerate(self.ranges()):
            low = start
            token = self.s.tokens[low]
            if self.s.operator(low + 1) == "=>" and token.kind in ("word", "quoted"):
                named = True
                name = token.text.lower()
                if name not in self.parameters:
                    near = near_name(name, self.parameters)
                    more = f" Did you mean {near}?" if near else ""
                    raise self.error(
                        "UNRECOGNIZED_PARAMETER_NAME",
                        f"{self.function} has no parameter {token.text}.{more}", token.start,
                    )  # fmt: skip
                if name in found:
                    raise self.keys_without_parentheses(found) or self.error(
                        "DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.DOUBLE_NAMED_ARGUMENT_REFERENCE",
                        f"The parameter {name} of {self.function} has two arguments.", token.start,
                    )  # fmt: skip
                low += 2
            elif named:
                raise self.error(
                    "UNEXPECTED_POSITIONAL_ARGUMENT",
                    f"{self.function} has a positional argument after a named one.", token.start,
                )  # fmt: skip
            elif number >= len(self.parameters):
                raise self.keys_without_parentheses(found) or self.error(
                    "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
                    f"{self.function} takes {len(self.parameters)} arguments at most.", token.start,
                )  # fmt: skip
            else:
                name = self.parameters[number]
            if low >= high:
                raise self.error("CEP_SYNTAX_ERROR", "A value is expected after =>.", token.start)
            found[name] = (low, high)
        for name in self.parameters:
            if name not in found and name not in self.signature.optional:
                raise self.error(
                    "REQUIRED_PARAMETER_NOT_FOUND", f"{self.function} needs an argument for {name}.",
                    self.form.keyword.start,
                )  # fmt: skip
        return Call(self.function, found)

    def keys_without_parentheses(self, arguments: dict[str, tuple[int, int]]) -> PatternParseError | None:
        """The error of ``TABLE(log) PARTITION BY k ORDER BY ts, id``, whose last key is taken for an argument."""
        s, keyed = self.s, False
        for low, high in arguments.values():
            if keyed and s.operator(low - 1) == "," and s.tokens[low].kind != "string" and s.word(low) != "TABLE":
                return PatternParseError(
                    "CEP_SYNTAX_ERROR", "Several keys of a table argument stand in parentheses.", text=s.text,
                    position=s.tokens[low].start, hint="PARTITION BY (a, b) ORDER BY (c, d)",
                )  # fmt: skip
            keyed = any(s.word(i) == "BY" for i in range(low, high))
        return None


def relation_name(statement: Statement, low: int, high: int) -> tuple[str, ...] | None:
    """Parts of the name in ``orders``, ``shop.events``, ``TABLE(shop.events)``; None for any other expression."""
    s = statement
    if s.word(low) == "TABLE" and high - low > 1:
        low += 1
        if s.operator(low) == "(" and s.pairs.get(low) == high - 1:
            low, high = low + 1, high - 1
    parts = []
    while low < high and s.tokens[low].kind in ("word", "quoted"):
        parts.append(s.tokens[low].text)
        low += 1
        if low == high:
            return tuple(parts)
        if s.operator(low) != ".":
            return None
        low += 1
    return None


def plain_literal(statement: Statement, low: int, high: int) -> str | int | None:
    """The value of a plain string or whole number; None: Spark has to say what the expression is."""
    token = statement.tokens[low]
    if high - low != 1:
        return None
    if token.kind == "number" and token.text.isdecimal() and len(token.text) < 19:
        return int(token.text)
    inside = statement.text[token.start + 1 : token.end - 1]
    # Escapes, raw strings and doubled quotes are Spark's to read.
    if token.kind == "string" and inside == token.text and "\\" not in inside and statement.text[token.start] in "'\"":
        return inside
    return None
