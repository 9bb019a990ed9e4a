"""Take the WHERE of a block apart: conjuncts, equivalences, time and gap constraints, strategies with their bodies."""

from __future__ import annotations

from dataclasses import dataclass, field

from sparkcep.errors import PatternAnalysisError, PatternParseError, near_hint
from sparkcep.query import Selection
from sparkcep.sql.block.scope import BlockScope
from sparkcep.sql.lexicon import Token
from sparkcep.sql.token_text import Range

STRATEGIES = {
    "STRICT CONTIGUITY": (Selection.STRICT, False),
    "PARTITION CONTIGUITY": (Selection.STRICT, True),
    "SKIP TILL NEXT MATCH": (Selection.NEXT, False),
    "SKIP TILL ANY MATCH": (Selection.ANY, False),
}
_WORDS = {name.replace(" ", "_"): name for name in STRATEGIES}
_COMPARES = frozenset("= == < > <= >= <> != <=>".split())
_COMPARE_WORDS = frozenset("LIKE ILIKE RLIKE IN IS BETWEEN".split())


@dataclass(slots=True)
class WhereSyntax:
    """The parts of a WHERE as token ranges. ``strategies``: names with their tokens."""

    conjuncts: list[Range] = field(default_factory=list)
    equivalences: list[Range] = field(default_factory=list)
    constraints: list[Range] = field(default_factory=list)
    strategies: list[tuple[str, Token]] = field(default_factory=list)


class _WhereReader:
    def __init__(self, scope: BlockScope) -> None:
        self.scope = scope
        self.s = scope.statement
        self.closers = scope.closers
        self.out = WhereSyntax()

    def error(self, message: str, i: int, hint: str | None = None) -> PatternParseError:
        token = self.s.tokens[min(i, len(self.s.tokens) - 1)]
        return PatternParseError("CEP_SYNTAX_ERROR", message, text=self.s.text, position=token.start, hint=hint)

    def read(self, low: int, high: int) -> WhereSyntax:
        # Without recursion: conditions may nest deeply.
        waiting: list[Range] = [(low, high)]
        while waiting:
            low, high = waiting.pop()
            low, high = self.bare(low, high)
            if high <= low:
                raise self.error("A condition is expected here.", low)
            if found := self.strategy(low, high):
                if found[1] > found[0]:
                    waiting.append(found)
                continue
            parts = self.parts(low, high)
            if len(parts) > 1:
                waiting += reversed(parts)
            elif self.s.operator(low) == "[" and self.closers.get(low) == high - 1:
                self.out.equivalences.append((low, high))
            elif self.is_constraint(low, high):
                self.out.constraints.append((low, high))
            else:
                self.out.conjuncts.append((low, high))
        return self.out

    def bare(self, low: int, high: int) -> Range:
        """Without parentheses around the whole."""
        while (
            self.s.operator(low) == "("
            and self.closers.get(low) == high - 1
            and not self.s.opens_subquery(low)
            and not self.is_constraint(low, high)
        ):
            low, high = low + 1, high - 1
        return low, high

    def is_constraint(self, low: int, high: int) -> bool:
        """`(time, within, ...)` or `(gap, ...)`"""
        alone = self.s.operator(low) == "(" and self.closers.get(low) == high - 1
        return alone and self.s.word(low + 1) in ("TIME", "GAP") and self.s.operator(low + 2) == ","

    def strategy(self, low: int, high: int) -> Range | None:
        """Note a strategy that stands here, with or without variables; the range of its body, which may be empty."""
        name = _WORDS.get(self.s.word(low))
        if name is None:
            return None
        i = low + 1
        if self.s.operator(i) == "(" and i < high:
            close = self.closers.get(i, high)
            self.variables(i + 1, min(close, high))
            i = close + 1
        body = (i, i)
        if self.s.operator(i) == "{" and i < high:
            close = self.closers.get(i, high)
            if close >= high:
                raise self.error("The strategy's body is not closed; '}' is expected.", i)
            body = (i + 1, close)
            i = close + 1
            if self.s.operator(body[0]) == "{" and self.closers.get(body[0]) == body[1] - 1:
                body = (body[0] + 1, body[1] - 1)  # doubled in a format string
            if body[1] <= body[0]:
                raise self.error("A condition is expected here.", close)
        if i < high:
            return None
        self.out.strategies.append((name, self.s.tokens[low]))
        return body

    def variables(self, low: int, high: int) -> None:
        """The list behind a strategy names pattern variables, which says nothing new; a wrong name is a mistake."""
        i = low
        while i < high:
            token = self.s.tokens[i]
            if self.scope.variable(token) is None:
                raise self.scope.no_variable(token)
            i += 1
            if self.s.operator(i) == "[" and self.s.operator(i + 1) == "]":
                i += 2
            if i < high and self.s.operator(i) != ",":
                raise self.error("',' or ')' is expected here.", i)
            i += 1

    def parts(self, low: int, high: int) -> list[Range]:
        """The operands of the outermost ANDs, `^` and commas; one range where an OR binds looser."""
        s = self.s
        commas = False
        out: list[Range] = []
        between = cases = 0
        start = i = low
        while i < high:
            word = s.word(i) if s.operator(i - 1) != "." else ""
            if s.operator(i) == "->":
                return [(low, high)]
            if word == "CASE":
                cases += 1
            elif word == "END" and cases:
                cases -= 1
            elif cases == 0 and word == "BETWEEN":
                between += 1
            elif cases == 0 and word == "OR":
                return [(low, high)]
            elif cases == 0 and word == "AND" and between:
                between -= 1
            elif cases == 0 and (word == "AND" or s.operator(i) == ","):
                commas = commas or not word
                out.append((start, i))
                start = i + 1
            i = self.closers.get(i, i) + 1
        if cases:  # a column named case: better whole than cut in the wrong place
            return [(low, high)]
        out.append((start, high))
        if commas and not any(self.is_constraint(a, b) for a, b in out):
            raise self.error("',' cannot part conditions.", out[0][1], "use AND")
        empty = next((a for a, b in out if b <= a), None)
        if empty is not None:
            raise self.error("A condition is expected here.", min(empty, high))
        return [p for a, b in out for p in self.at_carets(a, b)]

    def at_carets(self, low: int, high: int) -> list[Range]:
        """`^` between two conditions is AND; elsewhere it is Spark's."""
        out: list[Range] = []
        start = i = low
        while i < high:
            if self.s.operator(i) == "^" and self.is_condition(start, i):
                end = self.next_caret(i + 1, high)
                while end < high and not self.is_condition(i + 1, end):
                    end = self.next_caret(end + 1, high)
                if self.is_condition(i + 1, end):
                    out.append((start, i))
                    start = i + 1
            i = self.closers.get(i, i) + 1
        return [*out, (start, high)]

    def next_caret(self, i: int, high: int) -> int:
        while i < high and self.s.operator(i) != "^":
            i = self.closers.get(i, i) + 1
        return min(i, high)

    def is_condition(self, low: int, high: int) -> bool:
        s = self.s
        if s.operator(low) == "[" or s.word(low) in _WORDS or self.is_constraint(low, high):
            return True
        return any(s.operator(i) in _COMPARES or s.word(i) in _COMPARE_WORDS for i in range(low, high))


def read_where(scope: BlockScope, where: Range | None) -> WhereSyntax:
    """Take a WHERE apart.

    Raises:
        PatternParseError: CEP_SYNTAX_ERROR.
        PatternAnalysisError: CEP_UNDEFINED_VARIABLE.
    """
    return WhereSyntax() if where is None else _WhereReader(scope).read(*where)


def read_strategy(scope: BlockScope, clause: Range) -> tuple[str, Token]:
    """The strategy of EVENT SELECTION.

    Raises:
        PatternAnalysisError: CEP_SYNTAX_ERROR.
    """
    tokens = scope.statement.tokens[slice(*clause)]
    name = " ".join(t.upper for t in tokens).replace("_", " ")
    if name not in STRATEGIES:
        raise PatternAnalysisError(
            "CEP_SYNTAX_ERROR",
            "EVENT SELECTION is followed by a strategy.",
            text=scope.statement.text,
            position=tokens[0].start,
            hint=near_hint(name, STRATEGIES, ", ".join(STRATEGIES)),
        )
    return name, tokens[0]
