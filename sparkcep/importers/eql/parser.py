"""Read an EQL query, after Elastic's EQL syntax reference."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from sparkcep.errors import PatternParseError
from sparkcep.importers.eql.nodes import (
    Call,
    EventQuery,
    Expression,
    Field,
    Literal,
    Logical,
    Lookup,
    Not,
    Operation,
    Query,
    Sequence,
    Step,
)

_TOKEN = re.compile(
    r'''
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/)
  | """(?P<raw>.*?)"""(?!")
  | "(?P<string>(?:\\.|[^"\\\n])*)"
  | (?P<time>\d+(?:ms|micros|nanos|[dhms])\b)
  | (?P<number>\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+)(?![\w])
  | (?P<word>[A-Za-z_@][\w@]*~?|\d[\w@]*)
  | `(?P<quoted>(?:``|[^`])+)`
  | (?P<sign>==|!=|<=|>=|[-<>=:+*/%()\[\],.?!|])
    ''',
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u\{\{?([0-9a-fA-F]{2,8})\}\}?|(.))", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "'": "'"}
_COMPARISONS = ("==", "!=", "<=", ">=", "<", ">")
_MOST_RUNS = 100
_UNITS = ("d", "h", "m", "s", "ms", "micros", "nanos")


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int


def read_eql(text: str) -> Query:
    """The tree of a query.

    Raises:
        PatternParseError: CEP_EQL_SYNTAX.
    """
    return _Parser(text).query()


def _tokens(text: str) -> list[_Token]:
    out, at = [], 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise _error(text, at, f"{text[at]!r} is not expected here.")
        assert found.lastgroup is not None
        if found.lastgroup != "skip":
            out.append(_Token(found.lastgroup, found[found.lastgroup], found.start()))
        at = found.end()
    return out


def _error(text: str, position: int, sentence: str) -> PatternParseError:
    """CEP_EQL_SYNTAX; the caller raises it."""
    return PatternParseError("CEP_EQL_SYNTAX", sentence, text=text, position=position)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0

    # -- tokens ----------------------------------------------------------------------------------------------------

    @property
    def token(self) -> _Token:
        if self.at < len(self.tokens):
            return self.tokens[self.at]
        return _Token("end", "", len(self.text))

    def is_word(self, *words: str) -> bool:
        return self.token.kind == "word" and self.token.text in words

    def is_sign(self, *signs: str) -> bool:
        return self.token.kind == "sign" and self.token.text in signs

    def taken(self) -> _Token:
        token = self.token
        self.at += 1
        return token

    def takes_sign(self, sign: str) -> bool:
        found = self.is_sign(sign)
        self.at += found
        return found

    def takes_word(self, word: str) -> bool:
        found = self.is_word(word)
        self.at += found
        return found

    def need(self, text: str) -> None:
        if not (self.takes_sign(text) or self.takes_word(text)):
            raise self.unexpected(f"{text} is expected here")

    def unexpected(self, expected: str) -> PatternParseError:
        found = f", not {self.token.text}" if self.token.text else ""
        return _error(self.text, self.token.start, f"{expected}{found}.")

    # -- queries ---------------------------------------------------------------------------------------------------

    def query(self) -> Query:
        """See :func:`read_eql`."""
        is_sequence = self.is_word("sequence", "sample") and not self.followed_by("where")
        body = self.sequence(self.taken().text == "sample") if is_sequence else self.event()
        pipes = []
        while self.takes_sign("|"):
            words = []
            while self.token.kind != "end" and not self.is_sign("|"):
                words.append(self.taken().text)
            pipes.append(" ".join(words))
        if self.token.kind != "end":
            raise self.unexpected("The end of the query is expected here")
        return Query(body, tuple(pipes))

    def followed_by(self, word: str) -> bool:
        behind = self.tokens[self.at + 1 : self.at + 2]
        return bool(behind) and behind[0].text == word

    def event(self) -> EventQuery:
        if self.token.kind not in ("word", "string", "raw"):
            raise self.unexpected("An event category is expected here")
        token = self.taken()
        category = None if token.kind == "word" and token.text == "any" else token.text
        self.need("where")
        return EventQuery(category, self.expression())

    def sequence(self, is_sample: bool) -> Sequence:
        by: tuple[Expression, ...] = ()
        maxspan = None
        while self.is_word("by", "with"):
            if self.taken().text == "by":
                by = self.keys()
                continue
            self.need("maxspan")
            self.need("=")
            maxspan = self.span()
        steps = []
        while self.is_sign("[", "!"):
            steps.append(self.step())
        until = self.step() if self.takes_word("until") else None
        if not steps:
            raise self.unexpected("[ is expected here")
        return Sequence(by, maxspan, tuple(steps), until, is_sample)

    def span(self) -> tuple[int, str]:
        token = self.taken()
        unit = token.text.lstrip("0123456789")
        if token.kind != "time" or unit not in _UNITS:
            raise _error(self.text, token.start, f"A time such as 30s is expected here, not {token.text}.")
        number = int(token.text.removesuffix(unit))
        if not number:
            raise _error(self.text, token.start, "maxspan is longer than nothing.")
        return number, unit

    def keys(self) -> tuple[Expression, ...]:
        out = [self.additive()]
        while self.takes_sign(","):
            out.append(self.additive())
        return tuple(out)

    def step(self) -> Step:
        missing = self.takes_sign("!")
        self.need("[")
        event = self.event()
        self.need("]")
        by = self.keys() if self.takes_word("by") else ()
        runs = 1
        if self.is_word("with") and self.followed_by("runs"):
            self.at += 2
            self.need("=")
            token = self.taken()
            if token.kind != "number" or not token.text.isdigit():
                raise _error(self.text, token.start, f"A number of runs is expected here, not {token.text}.")
            runs = int(token.text)
            if not 1 <= runs <= _MOST_RUNS:
                raise _error(self.text, token.start, f"There are runs of 1 to {_MOST_RUNS} events, not of {runs}.")
        return Step(event, by, runs, missing)

    # -- expressions -----------------------------------------------------------------------------------------------

    def expression(self) -> Expression:
        return self.logical("or", lambda: self.logical("and", self.negated))

    def logical(self, word: str, inner: Callable[[], Expression]) -> Expression:
        operands = [inner()]
        while self.takes_word(word):
            operands.append(inner())
        return operands[0] if len(operands) == 1 else Logical(word, tuple(operands))

    def negated(self) -> Expression:
        return Not(self.negated()) if self.takes_word("not") else self.comparison()

    def comparison(self) -> Expression:
        left = self.additive()
        position = self.token.start
        if self.is_sign(*_COMPARISONS):
            return Operation(self.taken().text, left, self.additive(), position)
        if self.takes_sign(":"):
            return Lookup("like", True, left, self.values(), position)
        negated = self.is_word("not") and any(self.followed_by(word) for word in ("in", "in~"))
        self.at += negated
        if not self.is_word("like", "like~", "regex", "regex~", "in", "in~"):
            return left
        word = self.taken().text
        found = Lookup(word.removesuffix("~"), word.endswith("~"), left, self.values(), position)
        return Not(found) if negated else found

    def values(self) -> tuple[Expression, ...]:
        if not self.takes_sign("("):
            return (self.additive(),)
        out = [self.additive()]
        while self.takes_sign(","):
            if self.is_sign(")"):
                break
            out.append(self.additive())
        self.need(")")
        return tuple(out)

    def additive(self) -> Expression:
        left = self.multiplicative()
        while self.is_sign("+", "-"):
            token = self.taken()
            left = Operation(token.text, left, self.multiplicative(), token.start)
        return left

    def multiplicative(self) -> Expression:
        left = self.signed()
        while self.is_sign("*", "/", "%"):
            token = self.taken()
            left = Operation(token.text, left, self.signed(), token.start)
        return left

    def signed(self) -> Expression:
        if self.is_sign("+", "-"):
            token = self.taken()
            inner = self.signed()
            return inner if token.text == "+" else Operation("-", Literal(0, token.start), inner, token.start)
        return self.primary()

    def primary(self) -> Expression:
        token = self.token
        if self.takes_sign("("):
            inner = self.expression()
            self.need(")")
            return inner
        if token.kind in ("string", "raw"):
            self.at += 1
            return Literal(token.text if token.kind == "raw" else self.unescaped(token), token.start)
        if token.kind == "number":
            self.at += 1
            return Literal(int(token.text) if token.text.isdigit() else float(token.text), token.start)
        if self.is_word("true", "false", "null"):
            self.at += 1
            return Literal({"true": True, "false": False, "null": None}[token.text], token.start)
        optional = self.takes_sign("?")
        if token.kind == "word" and not optional and self.followed_by("("):
            self.at += 2
            return self.call(token)
        return self.field(optional, token.start)

    def call(self, token: _Token) -> Call:
        arguments = []
        while not self.is_sign(")"):
            arguments.append(self.expression())
            if not self.takes_sign(","):
                break
        self.need(")")
        name = token.text.removesuffix("~")
        return Call(name.lower(), name != token.text, tuple(arguments), token.start)

    def field(self, optional: bool, position: int) -> Field:
        parts = []
        while True:
            if self.token.kind not in ("word", "quoted"):
                raise self.unexpected("A field, a value or a function is expected here")
            token = self.taken()
            parts += token.text.replace("``", "`").split(".")
            if not self.takes_sign("."):
                return Field(tuple(parts), optional, position)

    def unescaped(self, token: _Token) -> str:
        def value(escape: re.Match[str]) -> str:
            if escape[1]:
                code = int(escape[1], 16)
                if code > 0x10FFFF or 0xD800 <= code < 0xE000:
                    raise _error(self.text, token.start, f"There is no character {escape[1]}.")
                return chr(code)
            if escape[2] not in _ESCAPED:
                raise _error(self.text, token.start, f"There is no escape \\{escape[2]}.")
            return _ESCAPED[escape[2]]

        return _ESCAPE.sub(value, token.text)
