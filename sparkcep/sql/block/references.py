"""Read what conditions and RETURN say of pattern variables: `v.x`, `v[i-1].x`, `avg(v[..i-1].x)`, `NEXT(E).x`.

All other text is left as it stands for Spark, but for the papers' signs, percentages and `//` comments.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from sparkcep.query import RowExpression
from sparkcep.sql.block.scope import ANY_EVENT, BlockScope, Call, Index, Part, Reference
from sparkcep.sql.lambdas import Parameter, columns_behind, hidden, parameters, renamed
from sparkcep.sql.lexicon import BEHIND_OPERAND, SIGNS, Token
from sparkcep.sql.match_functions import AGGREGATES, is_aggregate
from sparkcep.sql.row_expressions import UNITS, refuse_parameters
from sparkcep.sql.scalars import nulls_option, own_names, qualifiers_in
from sparkcep.sql.statement import Statement

#: Aggregates that conditions may use; RETURN has all of Spark's.
CONDITION_AGGREGATES = frozenset(
    """any any_value approx_percentile array_agg avg bit_and bit_or bit_xor bool_and bool_or collect_list collect_set
    count count_if covar_pop covar_samp every first_value kurtosis last_value listagg max max_by mean median min min_by
    mode percentile percentile_approx skewness some std stddev stddev_pop stddev_samp string_agg sum try_avg try_sum
    var_pop var_samp variance""".split()
)
_ROW_PATTERN_ONLY = {
    "PREV": "write b[i-1].x",
    "FIRST": "write b[1].x",
    "LAST": "write b[b.LEN].x",
    "CLASSIFIER": "RETURN without items gives the events with their variables",
    "MATCH_NUMBER": "RETURN without items gives match_number",
}
_INDEX = re.compile(
    r"(?P<all>)|(?P<number>\d+)|I(?:-(?P<back>\d+))?|(?P<of>.+)\.LEN|(?:1?\.\.)I(?P<before>-1)?", re.IGNORECASE
)
MAXIMUM_OFFSET = 2**31 - 1


@dataclass(slots=True)
class Reader:
    """Reads one expression of a block into text and references.

    ``constant`` tells of a column without a variable whether all events of a match have the same value in it; then it
    is a reference to :data:`ANY_EVENT`. ``bare``: the first other column without a variable, if there is one.
    ``hoists``: references become columns of other names, so that no parameter of a lambda function hides one.
    ``parameters``: those of the lambda functions that are read, by place.
    ``in_condition``: whether the scope's constants are such references too, and no text over an event.
    """

    scope: BlockScope
    aggregates: frozenset[str] = CONDITION_AGGREGATES
    constant: Callable[[str], bool] = lambda name: False
    in_condition: bool = False
    bare: Token | None = None
    hoists: bool = False
    parameters: dict[int, Parameter] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)
    text_start: int = 0

    def read(self, low: int, high: int) -> tuple[Part, ...]:
        """The expression in a token range.

        Raises:
            PatternAnalysisError: CEP_UNDEFINED_VARIABLE, CEP_UNRESOLVED_COLUMN, CEP_INDEX, CEP_MIXED_VARIABLES,
                CEP_UNSUPPORTED_AGGREGATE, CEP_AGGREGATE_RANGE, CEP_EQUIVALENCE, CEP_NEXT, CEP_NOT_IN_BLOCK.
        """
        s = self.scope.statement
        tokens = s.tokens
        self.parameters = parameters(tokens, low, high, self.scope.case_sensitive)
        taken = hidden(tokens, self.parameters, self.unqualified(low, high), self.scope.case_sensitive)
        self.text_start = tokens[low].start
        i = low
        while i < high:
            if (behind := self.scope.constants.get(i)) is not None:
                if self.in_condition:
                    text = self.scope.render(tokens[i].start, tokens[behind - 1].end)
                    of_all = Reference(ANY_EVENT, Index.PLAIN, tokens[i], RowExpression((text,)))
                    self.cut(tokens[i].start, tokens[behind - 1].end, of_all)
                i = behind
                continue
            if (known := self.known(i)) is not None:
                self.cut(tokens[i].start, tokens[known[1] - 1].end, known[0])
                i = known[1]
                continue
            if i > low and "//" in s.text[tokens[i - 1].end : tokens[i].start]:
                self.cut(tokens[i - 1].end, tokens[i].start, "\n")
            if s.opens_subquery(i):
                self.refuse_correlation(i + 1, self.scope.closers.get(i, high))
                i = self.scope.closers.get(i, high) + 1
                continue
            self.refuse(i, low)
            if i in self.parameters:
                if self.parameters[i] in taken:
                    self.cut(tokens[i].start, tokens[i].end, renamed(tokens[i]))
            elif tokens[i].text in SIGNS and tokens[i].kind in ("word", "op"):
                self.cut(tokens[i].start, tokens[i].end, f" {tokens[i].upper} ")
            elif tokens[i].kind == "number" and s.operator(i + 1) == "%" and i + 1 < high:
                i += self.percentage(i, low, high)
            elif tokens[i].kind in ("word", "quoted") and s.operator(i - 1) != ".":
                if found := self.reference(i, high):
                    reference, after = found
                    self.cut(tokens[i].start, tokens[after - 1].end, reference)
                    i = after
                    continue
                if self.scope.is_qualifier(i):
                    self.cut(tokens[i].start, tokens[i + 2].start, "")
                    i += 2
                if self.is_bare_column(i):
                    if self.constant(tokens[i].text):
                        text = self.scope.render(tokens[i].start, tokens[i].end)
                        of_all = Reference(ANY_EVENT, Index.PLAIN, tokens[i], RowExpression((text,)))
                        self.cut(tokens[i].start, tokens[i].end, of_all)
                    else:
                        self.bare = self.bare or tokens[i]
            i += 1
        self.cut(tokens[high - 1].end, tokens[high - 1].end, "")
        return _merged(self.parts)

    def unqualified(self, low: int, high: int) -> list[tuple[int, str]]:
        """Columns that lose their variable or their relation's name, by place."""
        s = self.scope.statement
        found = columns_behind(
            s.tokens, low, high, lambda k: k not in self.parameters and (not self.hoists or self.scope.is_qualifier(k))
        )
        key = self.scope.order_key.strip("`")
        return [(k, key if n.upper() == "TIMESTAMP" and not self.scope.is_column(n) else n) for k, n in found]

    def cut(self, start: int, resume: int, new: Part) -> None:
        """End a piece of copied text at offset ``start``, put ``new`` behind it and go on copying at ``resume``."""
        if start > self.text_start:
            self.parts.append(self.scope.render(self.text_start, start))
        if new:
            self.parts.append(new)
        self.text_start = resume

    def known(self, i: int) -> tuple[str, int] | None:
        """Text for an expression that begins at a token and stands for something else, and the token behind it."""
        return None

    # -- words -----------------------------------------------------------------------------------------------------

    def refuse(self, i: int, low: int) -> None:
        """Refuse a token that no expression of a block may have. ``low``: the expression's first token.

        Raises:
            PatternAnalysisError: MATCH_RECOGNIZE_UNSUPPORTED_WINDOW_FUNCTION, CEP_EQUIVALENCE.
        """
        s = self.scope.statement
        token = s.tokens[i]
        if s.word(i) == "OVER" and s.operator(i - 1) == ")":
            raise self.scope.error(
                "MATCH_RECOGNIZE_UNSUPPORTED_WINDOW_FUNCTION",
                "Window functions cannot be used inside a pattern block.",
                token,
                "compute it in the input relation",
            )
        before = s.tokens[i - 1]
        operand = before.kind in ("word", "quoted", "string") and before.upper not in BEHIND_OPERAND
        if token.upper == "[" and not (i > low and (operand or before.upper in (")", "]"))):
            raise self.scope.error(
                "CEP_EQUIVALENCE",
                "[x] is a condition of its own; it cannot be used inside an expression.",
                token,
                "make it a condition of its own with AND",
            )

    def refuse_correlation(self, low: int, high: int) -> None:
        """A subquery is Spark's, which knows no match. A name that it gives itself is not a variable there."""
        s = self.scope.statement
        own = own_names(s, low, high)
        for token in qualifiers_in(s, low, high):
            if token.text.casefold() not in own and self.scope.variable(token) is not None:
                raise self.scope.error(
                    "CEP_PATTERN_VARIABLE_NOT_ALLOWED",
                    f"A subquery cannot name an event of the match, here {token.text}.",
                    token,
                    "join its table to the block's input, or to the block's result",
                )

    def percentage(self, i: int, low: int, high: int) -> int:
        """`n%`: modulo before an operand, a hundredth beside `*` and `/`, else n. Tokens used beside the number."""
        s = self.scope.statement
        tokens = s.tokens
        behind = tokens[i + 2] if i + 2 < high else None
        if behind is not None and (
            behind.kind in ("number", "string", "quoted")
            or (behind.kind == "word" and behind.upper not in BEHIND_OPERAND)
            or behind.upper in ("(", ":", "?", "-", "+")
        ):
            return 0
        new = tokens[i].text
        factor = (behind is not None and behind.upper in ("*", "/")) or (i > low and s.operator(i - 1) in ("*", "/"))
        if factor and re.fullmatch(r"\d+\.?\d*|\.\d+", new):
            new = f"{Decimal(new).scaleb(-2):f}"
        elif factor:
            new = f"({new} / 100)"
        self.cut(tokens[i].start, tokens[i + 1].end, new)
        return 1

    def is_bare_column(self, i: int) -> bool:
        """Whether a word is a column without a variable; a variable, or a name that is nothing, is refused."""
        s = self.scope.statement
        token, behind = s.tokens[i], s.operator(i + 1)
        operator = token.kind == "word" and token.upper in BEHIND_OPERAND
        if operator or behind == "(" or i in self.parameters:
            return False
        if self.scope.is_column(token.text):
            before = s.tokens[i - 1]
            unit = s.word(i) in UNITS and before.kind in ("number", "string")
            literal = token.kind == "word" and i + 1 < len(s.tokens) and s.tokens[i + 1].kind == "string"
            return not (unit or literal or s.word(i - 1) == "AS" or before.upper == "{" or s.word(i + 1) == "FROM")
        if s.is_session_variable(i) or s.begins_call(i):
            return False
        if behind in (".", "["):
            raise self.scope.no_variable(token)
        if self.scope.variable(token) is not None and s.word(i - 1) != "AS" and s.tokens[i - 1].kind != "number":
            raise self.scope.error(
                "CEP_UNRESOLVED_COLUMN",
                f"{token.text} is a pattern variable, not a column.",
                token,
                f"write {token.text}.column",
            )
        return False

    def refuse_lengths(self, low: int, high: int) -> None:
        """Raise where a condition has `3 hours`, which Spark would not read; clauses that are lengths of time may."""
        s = self.scope.statement
        for i in range(low + 1, high):
            before = s.tokens[i - 1]
            if s.word(i) in UNITS and before.kind == "number" and not self.is_in_interval(i - 1):
                length = f"{before.text} {s.tokens[i].text}"
                raise self.scope.error(
                    "CEP_SYNTAX_ERROR", f"A condition cannot use {length} here.", before,
                    f"write INTERVAL {length.upper()}",
                )  # fmt: skip

    def is_in_interval(self, i: int) -> bool:
        """Whether the number at a token is one of an INTERVAL: INTERVAL 1 DAY 3 HOURS, INTERVAL -3 HOURS."""
        s = self.scope.statement
        while True:
            if s.operator(i - 1) in ("+", "-"):
                i -= 1
            if s.word(i - 1) not in UNITS:
                return s.word(i - 1) == "INTERVAL"
            i -= 2

    # -- references ------------------------------------------------------------------------------------------------

    def reference(self, i: int, high: int) -> tuple[Part, int] | None:
        """The reference that begins at a token and the index behind it."""
        s = self.scope.statement
        token = s.tokens[i]
        if i in self.parameters:
            return None
        if s.operator(i + 1) == "(":
            return self.call(i)
        variable = self.scope.variable(token)
        if variable is None or s.operator(i + 1) not in (".", "["):
            return None
        index, offset, after = self.index(i, variable)
        if index.is_range:
            raise self.scope.error(
                "CEP_AGGREGATE_RANGE",
                f"{_spelt(s, i, after)} means several events; use it inside an aggregate.",
                token,
                f"avg({_spelt(s, i, after)}.x)",
            )
        column, after = self.column(after)
        return Reference(variable, index, token, RowExpression((column,)), offset), after

    def index(self, i: int, variable: str) -> tuple[Index, int, int]:
        """The index behind a variable: its kind, k, and the index of the token behind it."""
        s = self.scope.statement
        if s.operator(i + 1) != "[":
            return Index.PLAIN, 0, i + 1
        close = self.scope.closers.get(i + 1)
        if close is None:
            raise self.scope.error("CEP_INDEX", "The index is not closed; ']' is missing.", s.tokens[i + 1])
        text = "".join(t.upper or t.text for t in s.tokens[i + 2 : close])
        found = _INDEX.fullmatch(text)
        after = close + 1
        if found is None or (found["number"] or "1") != "1" or (found["back"] or "1") == "0":
            raise self.scope.error(
                "CEP_INDEX",
                f"{_spelt(s, i, after)} cannot be used: only the first, the last and neighbouring events have names.",
                s.tokens[min(i + 2, close)],
                "v[1], v[i], v[i-1], v[v.LEN], v[], v[..i-1] and v[..i] can be",
            )
        if found["all"] is not None:
            return Index.ALL, 0, after
        if found["number"]:
            return Index.FIRST, 0, after
        if found["of"]:
            if self.scope.variable(s.tokens[i + 2]) != variable:
                raise self.scope.error(
                    "CEP_INDEX",
                    f"The last event of {variable} is {variable}[{variable}.LEN].",
                    s.tokens[i + 2],
                )
            return Index.LAST, 0, after
        if ".." in text:
            return (Index.BEFORE if found["before"] else Index.UP_TO), 0, after
        if len(found["back"] or "") > 10 or int(found["back"] or 0) > MAXIMUM_OFFSET:
            raise self.scope.error(
                "CEP_NAVIGATION_OFFSET",
                f"The offset of {variable}[i-k] must not be larger than {MAXIMUM_OFFSET}.",
                s.tokens[close - 1],
            )
        offset = int(found["back"] or 0)
        return (Index.BACK if offset else Index.EACH), offset, after

    def column(self, i: int) -> tuple[str, int]:
        """`. column` at a token: the column's text and the index behind it."""
        s = self.scope.statement
        if s.operator(i) != ".":
            raise self.scope.error(
                "CEP_SYNTAX_ERROR", "'.' and a column are expected after a pattern variable.", s.tokens[i - 1]
            )
        token = s.tokens[i + 1] if i + 1 < len(s.tokens) else s.tokens[i]
        if token.kind not in ("word", "quoted"):
            hint = "RETURN a.(x, y) is the only place for it" if token.upper == "(" else None
            error_class = "CEP_STAR_NOT_ALLOWED" if token.upper == "*" else "CEP_SYNTAX_ERROR"
            raise self.scope.error(error_class, "A column is expected after '.'.", token, hint)
        if not self.scope.is_column(token.text):
            if token.upper == "TIMESTAMP" and self.scope.order_key:
                return self.scope.order_key, i + 2
            raise self.scope.no_column(token)
        return self.scope.render(token.start, token.end), i + 2

    # -- calls -----------------------------------------------------------------------------------------------------

    def call(self, i: int) -> tuple[Part, int] | None:
        """A call that reads events of the match, with the token behind it; None: it is Spark's.

        Raises:
            PatternAnalysisError: CEP_SYNTAX_ERROR, CEP_NOT_IN_BLOCK and those of :meth:`aggregate`.
        """
        s = self.scope.statement
        word = s.word(i)
        close = self.scope.closers.get(i + 1)
        if close is None:
            raise self.scope.error("CEP_SYNTAX_ERROR", "The parenthesis is not closed.", s.tokens[i + 1])
        if word == "NEXT":
            return self.next(i, close)
        if word in _ROW_PATTERN_ONLY:
            raise self.scope.error(
                "CEP_NOT_IN_BLOCK",
                f"{word} belongs to MATCH_RECOGNIZE; a pattern block has no such function.",
                s.tokens[i],
                _ROW_PATTERN_ONLY[word],
            )
        if is_aggregate(word, self.scope.own_aggregates) and s.word(i - 1) not in ("LIKE", "ILIKE"):  # s LIKE ANY (...)
            return self.aggregate(i, close)
        return None

    def next(self, i: int, close: int) -> tuple[Reference, int]:
        """`NEXT(E).x`"""
        s = self.scope.statement
        variable = self.scope.variable(s.tokens[i + 2]) if close == i + 3 else None
        if variable is None:
            if close == i + 3 and s.tokens[i + 2].kind in ("word", "quoted"):
                raise self.scope.no_variable(s.tokens[i + 2])
            raise self.scope.error("CEP_NEXT", "NEXT takes one pattern variable.", s.tokens[i], "NEXT(E).x")
        column, after = self.column(close + 1)
        return Reference(variable, Index.PLAIN, s.tokens[i], RowExpression((column,)), next=True), after

    def aggregate(self, i: int, close: int) -> tuple[Reference, int]:
        """An aggregate over a variable's events, with the token behind it.

        Raises:
            PatternAnalysisError: CEP_UNSUPPORTED_AGGREGATE, CEP_AGGREGATE_RANGE, CEP_MIXED_VARIABLES.
        """
        s = self.scope.statement
        name = s.word(i).lower()
        own = self.scope.own_aggregates.get(name)
        if name not in self.aggregates and own is None:
            raise self.scope.error(
                "CEP_UNSUPPORTED_AGGREGATE",
                f"{name} cannot be used in a condition.",
                s.tokens[i],
                f"conditions have {', '.join(sorted(self.aggregates))}",
            )
        low = i + 2
        distinct = s.word(low) == "DISTINCT"
        low += distinct or s.word(low) == "ALL"
        events: list[tuple[str, Index]] = []
        arguments: list[RowExpression] = []
        star = False
        variable = self.scope.variable(s.tokens[low])
        if name == "count" and variable and s.operator(low + 1) == "[" and self.scope.closers.get(low + 1) == close - 1:
            index, _, _ = self.index(low, variable)
            events, star = [(variable, index)], True
        else:
            arguments = [self.row_expression(a, b, name, events) for a, b in self.arguments(low, close)]
        after = close + 1
        if s.word(after) == "WITHIN" and s.word(after + 1) == "GROUP" and s.operator(after + 2) == "(":
            raise self.scope.error(
                "CEP_UNSUPPORTED_AGGREGATE",
                f"{name} ... WITHIN GROUP cannot be used in a pattern block.",
                s.tokens[after],
                "use percentile(b[].x, p) or array_agg(b[].x)",
            )
        condition: RowExpression | None = None
        if s.word(after) == "FILTER" and s.operator(after + 1) == "(" and s.word(after + 2) == "WHERE":
            end = self.scope.closers.get(after + 1, after + 2)
            if end > after + 3:
                condition = self.row_expression(after + 3, end, f"FILTER of {name}", events)
            after = end + 1
        more, after = nulls_option(s, after, name, len(arguments), self.scope.error)
        arguments += more
        ranged = any(index.is_range for _, index in events)
        if not events or not (ranged or len(set(events)) > 1):
            of = events[0][0] if events else self.scope.variables[0]
            raise self.scope.error(
                "CEP_AGGREGATE_RANGE",
                f"{name} does not say which events it aggregates.",
                s.tokens[i],
                f"{name}({of}[].x) is over all of them, {name}({of}[..i-1].x) over those before",
            )
        if len(set(events)) > 1:
            raise self.scope.error(
                "CEP_MIXED_VARIABLES",
                f"All columns inside {name} must belong to the same events of one pattern variable.",
                s.tokens[i],
            )
        of, index = events[0]
        call = Call(name, tuple(arguments), distinct, star, condition, own)
        expression = arguments[0] if arguments else RowExpression(("1",))
        return Reference(of, index, s.tokens[i], expression, call=call), after

    def arguments(self, low: int, high: int) -> list[tuple[int, int]]:
        """Token ranges between the commas of an argument list."""
        return [r for r in self.scope.statement.between_commas(low, high, self.scope.closers) if r[0] < r[1]]

    def row_expression(
        self, low: int, high: int, function: str, events: list[tuple[str, Index]], any_event: bool = False
    ) -> RowExpression:
        """An argument of an aggregate: an expression over one event. Its variables are added to ``events``.

        ``any_event``: a column without a variable is one of :data:`ANY_EVENT`.
        """
        refuse_parameters(self.parameters, self.scope.statement.tokens, low, high, function, self.scope.error)
        inner = _ArgumentReader(self.scope, AGGREGATES, constant=lambda name: any_event)
        parts = inner.read(low, high)
        references = [p for p in parts if isinstance(p, Reference)]
        nested = next((r for r in references if r.call is not None or r.next), None)
        if nested is not None:
            raise self.scope.error(
                "CEP_NESTED_NAVIGATION", f"{nested.token.text} cannot be used inside {function}.", nested.token
            )
        if inner.bare is not None:
            raise self.scope.error(
                "CEP_MIXED_VARIABLES",
                f"All columns inside {function} must belong to the same pattern variable.",
                inner.bare,
                f"qualify it: v[].{inner.bare.text}, or v.{inner.bare.text} where it is over all trends",
            )
        events += [(r.variable, r.index) for r in references]
        return RowExpression(_texts(parts))


class _ArgumentReader(Reader):
    """Inside an aggregate a range of events stands for each of them."""

    def reference(self, i: int, high: int) -> tuple[Part, int] | None:
        s = self.scope.statement
        token = s.tokens[i]
        variable = self.scope.variable(token)
        if variable is None or s.operator(i + 1) not in (".", "[") or i in self.parameters:
            return super().reference(i, high)
        index, offset, after = self.index(i, variable)
        column, after = self.column(after)
        return Reference(variable, index, token, RowExpression((column,)), offset), after


def _texts(parts: tuple[Part, ...]) -> tuple[str]:
    return ("".join(p if isinstance(p, str) else p.expression.text for p in parts),)


def _merged(parts: list[Part]) -> tuple[Part, ...]:
    """Neighbouring texts as one."""
    out: list[Part] = []
    for part in parts:
        if out and isinstance(part, str) and isinstance(out[-1], str):
            out[-1] += part
        else:
            out.append(part)
    return tuple(out)


def _spelt(statement: Statement, low: int, high: int) -> str:
    return "".join(t.text for t in statement.tokens[low:high])
