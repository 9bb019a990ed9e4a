"""Recursive-descent parser of the row pattern: tokens between the parentheses of PATTERN to a pattern tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparkcep.errors import PatternParseError
from sparkcep.pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Negation,
    Pattern,
    Permutation,
    Quantified,
    Variable,
    variables,
)
from sparkcep.query import Selection
from sparkcep.sql.lexicon import SIGNS, Token
from sparkcep.sql.negation import negation_fault
from sparkcep.sql.strategies import STEPS

_COUNTS = "write how often a variable occurs after it: {n}, {n,}, {,m} or {n,m}"
_FOLLOWS = "variables follow each other without a sign, as in PATTERN (A B)"
#: What stands for signs that are none of a row pattern's.
_INSTEAD = {
    ",": _FOLLOWS,
    "-": _FOLLOWS,
    "[": _COUNTS,
    ".": "a variable that DEFINE does not list takes any row",
}
#: Words of conditions: names of variables only in backticks.
_WORDS = {
    "OR": "alternatives are separated by |, as in PATTERN (A | B)",
    "AND": "PERMUTE(A, B) takes both in any order",
    "NOT": "EVENT SELECTION SKIP TILL NEXT MATCH has !A for no A in between",
}
MAXIMUM_DEPTH = 100
MAXIMUM_REPETITION = 2**31 - 1


def variable_name(token: Token) -> str:
    """Canonical name: unquoted names fold to upper case, as the standard says."""
    return token.text if token.kind == "quoted" else token.text.upper()


@dataclass(slots=True)
class _Symbol:
    """A name, a number or one punctuation character: operators are split, `A?|B` and `A||B` come glued otherwise."""

    kind: str
    text: str
    token: Token
    start: int


def _symbols(tokens: Sequence[Token], formatted: bool) -> list[_Symbol]:
    out: list[_Symbol] = []
    for t in tokens:
        if t.kind == "op":
            for k, c in enumerate(t.upper if t.text in SIGNS else t.text):
                doubled = formatted and c in "{}" and out and out[-1].text == c and out[-1].start == t.start + k - 1
                if doubled:
                    out[-1].start = -2  # used up: a third brace begins a new pair
                else:
                    out.append(_Symbol("op", c, t, t.start + k))
        else:
            out.append(_Symbol(t.kind, t.text, t, t.start))
    return out


class _Parser:
    def __init__(self, text: str, tokens: Sequence[Token], end: int, formatted: bool, skips: bool) -> None:
        self.text = text
        self.skips = skips
        self.symbols = _symbols(tokens, formatted)
        self.end = end
        self.at = 0
        self.depth = 0
        self.negated = False
        self.steps: dict[str, Selection] = {}

    def error(
        self, message: str, hint: str | None = None, error_class: str = "CEP_PATTERN_SYNTAX"
    ) -> PatternParseError:
        place = self.symbols[self.at].start if self.at < len(self.symbols) else self.end
        return PatternParseError(error_class, message, text=self.text, position=place, hint=hint)

    def peek(self, ahead: int = 0) -> str | None:
        k = self.at + ahead
        return self.symbols[k].text if k < len(self.symbols) and self.symbols[k].kind == "op" else None

    def accept(self, *chars: str) -> bool:
        if all(self.peek(k) == c for k, c in enumerate(chars)):
            self.at += len(chars)
            return True
        return False

    def alternation(self) -> Pattern:
        self.depth += 1
        if self.depth > MAXIMUM_DEPTH:
            raise self.error(f"The pattern nests deeper than {MAXIMUM_DEPTH} levels.")
        branches = [self.concatenation()]
        while self.accept("|"):
            branches.append(self.concatenation())
        self.depth -= 1
        return branches[0] if len(branches) == 1 else Alternation(tuple(branches))

    def concatenation(self) -> Pattern:
        items: list[Pattern] = []
        while (item := self.quantified()) is not None:
            items.append(item)
        if not items:
            if not self.symbols:
                raise self.error("PATTERN is empty.", "write PATTERN (()) for the pattern that takes no row")
            raise self.error("A pattern is expected here.", "write () for a part that takes no row")
        return items[0] if len(items) == 1 else Concatenation(tuple(items))

    def quantified(self) -> Pattern | None:
        if self.peek() in ("!", "~"):
            return self.negation()
        item = self.primary()
        if item is None:
            return None
        bounds = self.quantifier()
        node = item if bounds is None else Quantified(item, *bounds, greedy=not self.accept("?"))
        self.step(item)
        if bounds is None:
            return node
        if self.peek() in ("*", "+", "?") or (self.peek() == "{" and self.peek(1) != "-"):
            raise self.error("Two quantifiers follow each other.", "put the quantified pattern in parentheses")
        return node

    def quantifier(self) -> tuple[int, int | None] | None:
        if self.accept("*"):
            return 0, None
        if self.accept("+"):
            return 1, None
        if self.accept("?"):
            return 0, 1
        if self.peek() != "{" or self.peek(1) == "-":
            return None
        self.at += 1
        low = self.number()
        high: int | None = low
        if self.accept(","):
            high = self.number()
        elif low is None:
            raise self.error("A quantifier holds a number, as in {2}, {2,}, {,3} or {2,3}.")
        start = self.at
        if not self.accept("}"):
            raise self.error("The quantifier is not closed; '}' is expected here.", _COUNTS)
        if high is not None and (high < (low or 0) or high == 0):
            self.at = start
            raise self.error(
                f"The quantifier's upper bound {high} is below its lower bound or zero.",
                error_class="CEP_QUANTIFIER_BOUNDS",
            )
        return low or 0, high

    def number(self) -> int | None:
        if self.at < len(self.symbols) and self.symbols[self.at].kind == "number":
            text = self.symbols[self.at].text
            if not text.isdecimal() or len(text) > 10 or int(text) > MAXIMUM_REPETITION:
                raise self.error(f"A quantifier's bound is a whole number up to {MAXIMUM_REPETITION}.", _COUNTS)
            self.at += 1
            return int(text)
        return None

    def primary(self) -> Pattern | None:
        if self.at >= len(self.symbols):
            return None
        symbol = self.symbols[self.at]
        if symbol.kind == "word" and symbol.text.upper() in _WORDS:
            raise self.error(f"{symbol.text!r} cannot be used in a row pattern.", _WORDS[symbol.text.upper()])
        if symbol.kind in ("word", "quoted"):
            self.at += 1
            if symbol.kind == "word" and symbol.text.upper() == "PERMUTE" and self.peek() == "(":
                return self.permutation(symbol)
            return Variable(variable_name(symbol.token), symbol.start)
        if symbol.kind != "op":
            plain = f"write {symbol.text} without quotes" if symbol.text.isidentifier() else "names go in backticks"
            raise self.error(
                f"{symbol.text!r} cannot be used in a row pattern.", _COUNTS if symbol.kind == "number" else plain
            )
        if self.accept("^"):
            return Anchor(at_start=True)
        if self.accept("$"):
            return Anchor(at_start=False)
        if self.accept("{", "-"):
            inner = self.alternation()
            if not self.accept("-", "}"):
                raise self.error("The exclusion is not closed; '-}' is expected here.")
            return Exclusion(inner)
        if self.accept("("):
            if self.accept(")"):
                return Empty()
            inner = self.alternation()
            if not self.accept(")"):
                raise self.error("')' is expected here.")
            return inner
        if symbol.text in ("|", ")", "-", ","):
            return None
        raise self.unusable()

    def step(self, item: Pattern) -> None:
        """The strategy behind a variable, or behind a group for those of its variables that have none."""
        words = [s.text.upper() if s.kind == "word" else "" for s in self.symbols[self.at : self.at + 4]]
        found = next((w for w in STEPS if words[: w.count(" ") + 1] == w.split()), "")
        if self.skips and not found and words[:2] in (["SKIP", "TILL"], ["STRICT", "CONTIGUITY"]):
            raise self.error(
                f"{words[0]} {words[1]} is no strategy of a variable.",
                "IMMEDIATELY, SKIP TILL NEXT MATCH and SKIP TILL ANY MATCH are",
            )
        if not found or (found == "IMMEDIATELY" and not self.skips):
            return
        if not self.skips:
            raise self.error(
                f"{found} behind a variable needs a skip strategy of the whole pattern.",
                "EVENT SELECTION SKIP TILL NEXT MATCH comes before PATTERN",
                "CEP_UNSUPPORTED_SELECTION",
            )
        if self.negated:
            raise self.error(f"{found} says how a match comes to its rows, and what is negated has none.")
        for name in variables(item):
            if self.steps.setdefault(name, STEPS[found]) is not STEPS[found] and isinstance(item, Variable):
                raise self.error(f"{name} has two strategies.", "a variable has one strategy wherever it stands")
        self.at += found.count(" ") + 1
        words = [s.text.upper() if s.kind == "word" else "" for s in self.symbols[self.at : self.at + 2]]
        if words[:1] == ["IMMEDIATELY"] or words == ["SKIP", "TILL"]:
            raise self.error(f"{words[0]} begins the second strategy of this variable.", "leave one of them out")

    def unusable(self) -> PatternParseError:
        """The sign that stands here is none of a row pattern, or not here; the caller raises it."""
        text = self.symbols[self.at].text
        return self.error(f"{text!r} cannot be used in a row pattern here.", _INSTEAD.get(text))

    def negation(self) -> Pattern:
        """`!x`, under the skip strategies: under contiguity nothing can stand between two rows of a match."""
        if not self.skips:
            raise self.error(
                "Under STRICT CONTIGUITY no row lies between two rows of a match, so ! excludes nothing.",
                "EVENT SELECTION SKIP TILL NEXT MATCH or SKIP TILL ANY MATCH comes before PATTERN",
                "CEP_UNSUPPORTED_SELECTION",
            )
        start = self.symbols[self.at].start
        self.at += 1
        self.depth += 1
        if self.depth > MAXIMUM_DEPTH:
            raise self.error(f"The pattern nests deeper than {MAXIMUM_DEPTH} levels.")
        outside, self.negated = self.negated, True
        item = self.quantified()
        self.negated = outside
        self.depth -= 1
        if item is None:
            raise self.error("A pattern is expected here.")
        return Negation(item, start)

    def permutation(self, symbol: _Symbol) -> Pattern:
        self.at += 1
        items = [self.alternation()]
        while self.accept(","):
            items.append(self.alternation())
        if not self.accept(")"):
            raise self.error("PERMUTE is not closed; ',' or ')' is expected here.")
        if len(items) < 2:
            raise PatternParseError(
                "MATCH_RECOGNIZE_PERMUTE_TOO_FEW_PATTERNS",
                "PERMUTE needs at least two patterns.",
                text=self.text,
                position=symbol.start,
            )
        return Permutation(tuple(items), symbol.start)


def parse_row_pattern(
    text: str, tokens: Sequence[Token], end: int, formatted: bool = False, skips: bool = False
) -> tuple[Pattern, dict[str, Selection]]:
    """Parse the tokens between the parentheses of PATTERN: the pattern, and variables' strategies of their own.

    Args:
        text: the whole statement, for error messages.
        tokens: the tokens between the parentheses.
        end: offset of the closing parenthesis.
        formatted: braces come doubled.
        skips: whether the event selection is a skip strategy, which has negation.

    Raises:
        PatternParseError: CEP_PATTERN_SYNTAX, CEP_QUANTIFIER_BOUNDS, CEP_UNSUPPORTED_SELECTION, CEP_NEGATION,
            MATCH_RECOGNIZE_PERMUTE_TOO_FEW_PATTERNS.
    """
    parser = _Parser(text, tokens, end, formatted, skips)
    pattern = parser.alternation()
    if parser.at < len(parser.symbols):
        raise parser.unusable()
    if (fault := negation_fault(pattern)) is not None:
        raise PatternParseError("CEP_NEGATION", fault.message, text=text, position=fault.position, hint=fault.hint)
    return pattern, parser.steps
