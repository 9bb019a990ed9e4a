"""The names that expressions of a clause may use: pattern variables, columns, and the input's own names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sparkcep.errors import PatternAnalysisError, near_hint
from sparkcep.query import OwnAggregate
from sparkcep.sql.clause.row_pattern import variable_name
from sparkcep.sql.lexicon import Token
from sparkcep.sql.statement import Statement


def of_sides(name: str, columns: Sequence[str]) -> list[str]:
    """Columns of several sides of a join that go by one name."""
    return [column for column in columns if column.casefold().endswith("." + name.casefold())]


def meant(name: str, columns: Sequence[str]) -> str:
    """A hint to the column that a name may mean that none has."""
    if sides := of_sides(name, columns):
        return f"several sides of the join have it: write {' or '.join(sides)}"
    return near_hint(name, columns, f"its columns are {', '.join(columns)}")


class InputNames:
    """What scopes of clauses and blocks have in common: the columns and names of the input."""

    __slots__ = ()
    statement: Statement
    qualifiers: frozenset[str]
    columns: tuple[str, ...]
    case_sensitive: bool

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of pattern variables, each once."""
        raise NotImplementedError

    def is_column(self, name: str) -> bool:
        """Whether the input has it, by the session's case sensitivity."""
        if self.case_sensitive:
            return name in self.columns
        return name.casefold() in {c.casefold() for c in self.columns}

    def error(self, error_class: str, message: str, token: Token, hint: str | None = None) -> PatternAnalysisError:
        """An error with a caret at a token; the caller raises it."""
        return PatternAnalysisError(error_class, message, text=self.statement.text, position=token.start, hint=hint)

    def is_qualifier(self, i: int) -> bool:
        """Whether `name .` here names the input relation."""
        token = self.statement.tokens[i]
        return (
            self.statement.operator(i + 1) == "."
            and token.text.casefold() in self.qualifiers
            and not self.is_column(token.text)
        )

    def no_variable(self, token: Token) -> PatternAnalysisError:
        """CEP_UNDEFINED_VARIABLE; the caller raises it."""
        return self.error(
            "CEP_UNDEFINED_VARIABLE",
            f"{token.text} is neither a pattern variable nor a column of the input.",
            token,
            near_hint(token.text, self.variables, f"the pattern has {', '.join(self.variables)}"),
        )

    def no_column(self, token: Token) -> PatternAnalysisError:
        """CEP_UNRESOLVED_COLUMN; the caller raises it."""
        hint, index = meant(token.text, self.columns), self.statement.tokens.index(token)
        if index > 1 and (sides := of_sides(token.text, self.columns)):
            variable = self.statement.tokens[index - 2].text
            hint = f"several sides of the join have it: write {' or '.join(f'{variable}.`{side}`' for side in sides)}"
        return self.error("CEP_UNRESOLVED_COLUMN", f"The input has no column {token.text}.", token, hint)


@dataclass(frozen=True, slots=True)
class Scope(InputNames):
    """Names that scalar expressions of one clause may use.

    ``unions`` maps a SUBSET name to its primary variables; ``qualifiers`` are the input relation's own names;
    ``render`` gives the text of a span with nested forms replaced. ``own_aggregates``: users' functions by name.
    ``computed``: where text begins that a column of the input stands for, and the token behind it; ``constants``: the
    same, where it has one value in a partition.
    """

    statement: Statement
    primaries: tuple[str, ...]
    unions: dict[str, tuple[str, ...]]
    qualifiers: frozenset[str]
    columns: tuple[str, ...]
    case_sensitive: bool
    render: Callable[[int, int], str]
    own_aggregates: Mapping[str, OwnAggregate] = field(default_factory=dict)
    computed: Mapping[int, int] = field(default_factory=dict)
    constants: Mapping[int, int] = field(default_factory=dict)

    @property
    def variables(self) -> tuple[str, ...]:
        """Primary variables and SUBSETs."""
        return (*self.primaries, *self.unions)

    def variables_of(self, name: str) -> tuple[str, ...] | None:
        """Primary variables behind a variable's or a SUBSET's name."""
        if name in self.unions:
            return self.unions[name]
        return (name,) if name in self.primaries else None

    def qualified(self, i: int, high: int) -> tuple[str, Token] | None:
        """`variable . column` at a token: the variable's canonical name and the column's token."""
        s = self.statement
        token = s.tokens[i]
        if i + 2 >= high + 1 or s.operator(i + 1) != "." or i + 2 >= len(s.tokens):
            return None
        column = s.tokens[i + 2]
        if column.kind not in ("word", "quoted") or s.operator(i + 3) == "(":
            return None
        name = variable_name(token)
        if self.variables_of(name) is None:
            known = self.is_column(token.text) or token.text.casefold() in self.qualifiers
            if not known and not s.is_session_variable(i) and not s.begins_call(i):
                raise self.no_variable(token)
            return None
        if not self.is_column(column.text):
            raise self.no_column(column)
        return name, column

    def is_foreign(self, i: int) -> bool:
        """Whether `name . column` at a token names neither a variable nor the input."""
        s = self.statement
        names = all(s.tokens[k].kind in ("word", "quoted") for k in (i, i + 2)) if i + 2 < len(s.tokens) else False
        if not names or s.operator(i + 1) != "." or s.operator(i - 1) == "." or s.begins_call(i):
            return False
        token = s.tokens[i]
        known = token.text.casefold() in self.qualifiers or self.variables_of(variable_name(token)) is not None
        of_text = i in self.constants or i in self.computed
        return not (known or of_text or self.is_column(token.text) or s.is_session_variable(i))

    def refuse_window(self, i: int) -> None:
        """Refuse `f(...) OVER`.

        Raises:
            PatternAnalysisError: MATCH_RECOGNIZE_UNSUPPORTED_WINDOW_FUNCTION.
        """
        if self.statement.word(i) == "OVER" and self.statement.operator(i - 1) == ")":
            raise self.error(
                "MATCH_RECOGNIZE_UNSUPPORTED_WINDOW_FUNCTION",
                "Window functions cannot be used inside MATCH_RECOGNIZE.",
                self.statement.tokens[i],
                "compute it in the input relation or outside of the clause",
            )

    def classifier_variables(self, low: int, high: int) -> tuple[str, ...] | None:
        """The variables that CLASSIFIER(v) looks at; None for CLASSIFIER(), which looks at all.

        Raises:
            PatternAnalysisError: CEP_UNDEFINED_VARIABLE.
        """
        if low == high:
            return None
        token = self.statement.tokens[low]
        variables = self.variables_of(variable_name(token)) if high - low == 1 else None
        if variables is None:
            hint = near_hint(token.text, self.variables, f"the pattern has {', '.join(self.variables)}")
            if self.variables_of(variable_name(token)) is not None:
                hint = f"write CLASSIFIER({token.text})"
                token = self.statement.tokens[low + 1]
            raise self.error(
                "CEP_UNDEFINED_VARIABLE",
                f"CLASSIFIER takes a pattern variable; {self.statement.written(low, high)} is not one.",
                token,
                hint,
            )
        return variables
