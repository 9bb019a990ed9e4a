"""Read expressions over one row of a match: arguments of navigation functions and aggregates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import RowExpression, RowMarker
from sparkcep.sql.lambdas import Parameter, columns_behind, hidden, parameters, renamed
from sparkcep.sql.lexicon import Token
from sparkcep.sql.match_functions import NAVIGATION, is_aggregate
from sparkcep.sql.scope import Scope

#: Of time; behind a number they are no columns.
UNITS = frozenset(
    "NANOSECOND MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR "
    "NANOSECONDS MICROSECONDS MILLISECONDS SECONDS MINUTES HOURS DAYS WEEKS MONTHS QUARTERS YEARS".split()
)


class RowExpressionReader:
    """Reads one expression, all columns of which have to belong to one variable, or to none.

    Args:
        scope: the names in sight.
        low, high: the range of its tokens.
        function: what it is an argument of, for errors.
    """

    def __init__(self, scope: Scope, low: int, high: int, function: str) -> None:
        self.scope = scope
        self.s = scope.statement
        self.low, self.high = low, high
        self.function = function
        tokens = self.s.tokens
        self.parameters = parameters(tokens, low, high, scope.case_sensitive)
        columns = columns_behind(tokens, low, high, lambda k: k not in self.parameters)
        self.hidden = hidden(tokens, self.parameters, columns, scope.case_sensitive)
        self.pieces: list[str | RowMarker] = []
        self.text_start = tokens[low].start
        # Where a variable and where none is named first.
        self.variables: dict[tuple[str, ...], Token] = {}
        self.bare: Token | None = None

    def read(self) -> tuple[RowExpression, tuple[str, ...] | None]:
        """The expression, and the variables that its columns belong to; None: the rows of all.

        Raises:
            PatternAnalysisError: CEP_MIXED_VARIABLES, CEP_NESTED_NAVIGATION, and those of :class:`Scope`.
        """
        tokens = self.s.tokens
        i = self.low
        while i < self.high:
            i = self.behind(i)
        self.cut(tokens[self.high - 1].end, tokens[self.high - 1].end)
        if len(self.variables) > 1 or (self.variables and self.bare):
            raise self.scope.error(
                "CEP_MIXED_VARIABLES",
                f"All columns inside {self.function} must belong to the same pattern variable.",
                self.bare or list(self.variables.values())[1],
            )
        return RowExpression(tuple(self.pieces)), next(iter(self.variables), None)

    def cut(self, start: int, resume: int) -> None:
        """Keep the text up to a position as it stands; go on at another one."""
        if start > self.text_start:
            self.pieces.append(self.scope.render(self.text_start, start))
        self.text_start = resume

    def behind(self, i: int) -> int:
        """Read what begins at a token; gives the token behind it."""
        s, scope = self.s, self.scope
        token = s.tokens[i]
        if i in scope.constants:
            return scope.constants[i]
        if i in scope.computed:
            self.bare = self.bare or token
            return scope.computed[i]
        scope.refuse_window(i)
        if s.opens_subquery(i):
            return s.pairs.get(i, self.high) + 1
        if i in self.parameters:
            if self.parameters[i] in self.hidden:
                self.cut(token.start, token.end)
                self.pieces.append(renamed(token))
            return i + 1
        if token.kind not in ("word", "quoted") or s.operator(i - 1) == ".":
            return i + 1
        return self.behind_call(i) if s.operator(i + 1) == "(" else self.behind_name(i)

    def behind_call(self, i: int) -> int:
        """CLASSIFIER and MATCH_NUMBER stand for their values; of other calls the arguments are read next."""
        s = self.s
        word = s.word(i)
        if word in ("CLASSIFIER", "MATCH_NUMBER"):
            close = s.pairs.get(i + 1, self.high)
            if word == "CLASSIFIER" and (of := self.scope.classifier_variables(i + 2, close)):
                self.variables.setdefault(of, s.tokens[i + 2])
            elif word == "CLASSIFIER":
                self.bare = self.bare or s.tokens[i]
            self.cut(s.tokens[i].start, s.tokens[close].end)
            self.pieces.append(RowMarker.LABEL if word == "CLASSIFIER" else RowMarker.MATCH_NUMBER)
            return close + 1
        if word in NAVIGATION or is_aggregate(word, self.scope.own_aggregates):
            raise self.scope.error(
                "CEP_NESTED_NAVIGATION",
                f"{word} cannot be used inside {self.function}.",
                s.tokens[i],
                "only FIRST and LAST can be used, directly, inside PREV and NEXT",
            )
        return i + 2

    def behind_name(self, i: int) -> int:
        """A column, with or without its variable; any other name is Spark's."""
        s, tokens = self.s, self.s.tokens
        if found := self.scope.qualified(i, self.high):
            name, column = found
            of = self.scope.variables_of(name)
            assert of is not None
            self.variables.setdefault(of, tokens[i])
            self.cut(tokens[i].start, column.start)
            return i + 3
        if self.scope.is_qualifier(i):
            self.cut(tokens[i].start, tokens[i + 2].start)
            self.bare = self.bare or tokens[i]
            return i + 3
        # A unit of time, a type behind AS, or a keyword argument in braces is no column.
        unit = s.word(i) in UNITS and tokens[i - 1].kind in ("number", "string")
        unit = unit or s.word(i - 1) == "AS" or s.operator(i - 1) == "{"
        if self.scope.is_column(tokens[i].text) and not unit:
            self.bare = self.bare or tokens[i]
        return i + 1


def refuse_parameters(
    parameters: Mapping[int, Parameter], tokens: Sequence[Token], low: int, high: int, function: str,
    error: Callable[[str, str, Token, str], PatternAnalysisError],
) -> None:  # fmt: skip
    """What reads rows of the match, in a range of tokens, knows nothing of a lambda function around it.

    Args:
        parameters: those of the lambda functions that are read, by place. error: makes an error of a scope.

    Raises:
        PatternAnalysisError: CEP_LAMBDA_PARAMETER.
    """
    for k in range(low, high):
        found = parameters.get(k)
        if found is not None and found.of.first < low:
            raise error(
                "CEP_LAMBDA_PARAMETER",
                f"{function} reads rows of the match, not {tokens[k].text}, the parameter of the lambda function "
                "around it.",
                tokens[k],
                "give the parameter another name if a column is meant; else apply functions of it outside, as in "
                "x -> x + LAST(A.v)",
            )
