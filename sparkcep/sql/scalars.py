"""Cut scalar expressions into the user's text and the slots whose values depend on the match.

Slots are navigation functions, aggregates, CLASSIFIER, MATCH_NUMBER and columns qualified by a pattern variable. All
other text is left as it stands for Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from sparkcep.errors import PatternAnalysisError
from sparkcep.query import Aggregate, MatchNumber, Navigation, RowExpression, RowMarker, Scalar, Slot
from sparkcep.sql.clause.row_pattern import variable_name
from sparkcep.sql.lambdas import Parameter, columns_behind, hidden, parameters, renamed
from sparkcep.sql.lexicon import BEHIND_OPERAND, Token
from sparkcep.sql.match_functions import NAVIGATION, is_aggregate
from sparkcep.sql.row_expressions import RowExpressionReader, refuse_parameters
from sparkcep.sql.scope import Scope
from sparkcep.sql.statement import Statement
from sparkcep.sql.token_text import Range

#: Rows are counted by 32 bits.
MAX_ROWS = 2**31 - 1


def own_names(s: Statement, low: int, high: int) -> set[str]:
    """Names that a subquery may give its own relations, folded: all that stand alone in it."""
    return {
        t.text.casefold()
        for k, t in enumerate(s.tokens[low:high], low)
        if t.kind in ("word", "quoted") and s.operator(k + 1) not in (".", "[") and s.operator(k - 1) != "."
    }


def qualifiers_in(s: Statement, low: int, high: int) -> Iterator[Token]:
    """Tokens that stand before a dot or an index, and behind none."""
    for k in range(low, high):
        if s.operator(k + 1) in (".", "[") and s.operator(k - 1) != ".":
            yield s.tokens[k]


class ScalarReader:
    """Reads expressions of one clause.

    Args:
        scope: the names in sight.
        running: whether RUNNING is the default (DEFINE, and MEASURES with ALL ROWS PER MATCH).
        in_define: FINAL is refused there.
        one_row: ONE ROW PER MATCH, where RUNNING and FINAL are the same.
    """

    def __init__(self, scope: Scope, *, running: bool, in_define: bool, one_row: bool = False) -> None:
        self.scope = scope
        self.s = scope.statement
        self.running = running
        self.in_define = in_define
        self.one_row = one_row
        self.parameters: Mapping[int, Parameter] = {}

    def read(self, low: int, high: int) -> Scalar:
        """The expression in a token range."""
        pieces: list[str | Slot] = []
        tokens = self.s.tokens
        text_start = tokens[low].start
        self.parameters = parameters(tokens, low, high, self.scope.case_sensitive)
        # The values of MEASURES' slots become columns of other names.
        columns = columns_behind(
            tokens, low, high, lambda k: k not in self.parameters and (self.in_define or self.scope.is_qualifier(k))
        )
        taken = hidden(tokens, self.parameters, columns, self.scope.case_sensitive)
        i = low
        while i < high:
            if (behind := self.scope.computed.get(i) or self.scope.constants.get(i)) is not None:
                i = behind
                continue
            if self.s.opens_subquery(i):
                after = self.s.pairs.get(i, high) + 1
                self.refuse_correlation(i, after)
                i = after
                continue
            self.scope.refuse_window(i)
            if i in self.parameters:
                if self.parameters[i] in taken:
                    self._flush(pieces, text_start, tokens[i].start)
                    pieces.append(renamed(tokens[i]))
                    text_start = tokens[i].end
                i += 1
                continue
            if tokens[i].kind in ("word", "quoted") and self.s.operator(i - 1) != ".":
                if found := self.slot(i, high):
                    slot, after = found
                    if not isinstance(slot, Aggregate):
                        self.refuse_options(i, after)
                    self._flush(pieces, text_start, tokens[i].start)
                    pieces.append(slot)
                    text_start = tokens[after - 1].end
                    i = after
                    continue
                if self.scope.is_qualifier(i):
                    self._flush(pieces, text_start, tokens[i].start)
                    text_start = tokens[i + 2].start
                    i += 3
                    continue
            i += 1
        self._flush(pieces, text_start, tokens[high - 1].end)
        return Scalar(tuple(pieces), tokens[low].start)

    def _flush(self, pieces: list[str | Slot], start: int, end: int) -> None:
        if end > start:
            pieces.append(self.scope.render(start, end))

    def refuse_correlation(self, low: int, high: int) -> None:
        """A subquery is Spark's, which knows no match; the row that is tested goes by its columns' bare names."""
        own = own_names(self.s, low, high)
        for token in qualifiers_in(self.s, low, high):
            if token.text.casefold() in own:
                continue
            variable = self.scope.variables_of(variable_name(token)) is not None
            if variable or (token.text.casefold() in self.scope.qualifiers and not self.scope.is_column(token.text)):
                raise self.scope.error(
                    "CEP_PATTERN_VARIABLE_NOT_ALLOWED",
                    f"A subquery cannot name {'a row of the match' if variable else 'the input'}, here {token.text}.",
                    token,
                    "columns of the row that is tested go by their bare names there; for others join the subquery's "
                    "table to the input",
                )

    # -- slots -----------------------------------------------------------------------------------------------------

    def slot(self, i: int, high: int) -> tuple[Slot, int] | None:
        """The slot that begins at a token and the index behind it."""
        s = self.s
        word = s.word(i)
        if word in ("RUNNING", "FINAL") and s.operator(i + 2) == "(":
            name = s.word(i + 1)
            if name in ("FIRST", "LAST") or is_aggregate(name, self.scope.own_aggregates):
                return self.call(i + 1, self.semantics(i))
            if name in ("PREV", "NEXT", "CLASSIFIER", "MATCH_NUMBER"):
                raise self.scope.error(
                    "CEP_SEMANTICS_NOT_ALLOWED",
                    f"{word} cannot be used before {name}.",
                    s.tokens[i],
                    f"write {name}({word} LAST(...))" if name in ("PREV", "NEXT") else None,
                )
            if name and name not in BEHIND_OPERAND:  # a column `running` has an operator behind it
                raise self.scope.error(
                    "CEP_SEMANTICS_NOT_ALLOWED",
                    f"{word} stands before FIRST, LAST or an aggregate, not before {s.tokens[i + 1].text}.",
                    s.tokens[i],
                    f"put it inside, as in {s.tokens[i + 1].text}({word} avg(x))",
                )
        if word in ("RUNNING", "FINAL") and s.operator(i + 2) == "." and self.scope.qualified(i + 1, high):
            written = s.written(i + 1, i + 4)
            raise self.scope.error(
                "CEP_SEMANTICS_NOT_ALLOWED",
                f"{word} stands before FIRST, LAST or an aggregate, not before {written}.",
                s.tokens[i],
                f"write {word} LAST({written})",
            )
        if s.operator(i + 1) == "(":
            return self.call(i, self.running)
        if found := self.scope.qualified(i, high):
            name, column = found
            after = i + 3
            # A field of it: what matching reads is no more than that.
            while s.operator(after) == "." and s.tokens[after + 1].kind in ("word", "quoted") and after + 1 < high:
                if s.operator(after + 2) == "(":
                    break
                after += 2
            argument = RowExpression((self.scope.render(column.start, s.tokens[after - 1].end),))
            variables = self.scope.variables_of(name)
            return Navigation(argument, variables, False, 0, 0, self.running, s.tokens[i].start), after
        if (
            s.operator(i + 1) == "."
            and s.operator(i + 2) == "*"
            and self.scope.variables_of(variable_name(s.tokens[i]))
        ):
            raise self.scope.error(
                "CEP_STAR_NOT_ALLOWED",
                f"{s.tokens[i].text}.* can be used only in count({s.tokens[i].text}.*).",
                s.tokens[i],
            )
        return None

    def refuse_options(self, i: int, after: int) -> None:
        """Refuse what only aggregates have, behind a value of one row.

        Raises:
            PatternAnalysisError: CEP_ARGUMENTS.
        """
        s = self.s
        name, low = s.tokens[i].text, i + 2
        is_filter = s.word(after) == "FILTER" and s.operator(after + 1) == "(" and s.word(after + 2) == "WHERE"
        if not is_filter and (s.word(after) not in ("IGNORE", "RESPECT") or s.word(after + 1) != "NULLS"):
            return
        option = "FILTER" if is_filter else f"{s.word(after)} NULLS"
        end = s.pairs.get(after + 1, after) + 1 if is_filter else after + 2
        hint = "aggregates take it, as last_value(x) does"
        if s.word(i) in ("FIRST", "LAST") and len(self.arguments(low, after - 1)) == 1:
            hint = f"{name.lower()}_value({s.written(low, after - 1)}) {s.written(after, end)}"
        raise self.scope.error(
            "CEP_ARGUMENTS",
            f"{s.written(i, after)} takes no {option}: it is the value of one row.",
            s.tokens[after],
            hint,
        )

    def semantics(self, i: int) -> bool:
        """RUNNING or FINAL at a token, as `running`."""
        if self.s.word(i) == "RUNNING":
            return not self.one_row
        if self.in_define:
            raise self.scope.error(
                "CEP_FINAL_IN_DEFINE",
                "FINAL cannot be used in DEFINE: the match is not complete there.",
                self.s.tokens[i],
                "drop FINAL",
            )
        return False

    def call(self, i: int, running: bool) -> tuple[Slot, int] | None:
        """A call that reads rows of the match, with the token behind it; None: it is Spark's.

        ``running``: under RUNNING, up to the current row, not FINAL.

        Raises:
            PatternAnalysisError: CEP_ARGUMENTS and those of :meth:`navigation` and :meth:`aggregate`.
        """
        s = self.s
        word = s.word(i)
        close = s.pairs.get(i + 1)
        if close is None:
            return None
        if word in NAVIGATION:
            return self.navigation(i, close, running), close + 1
        if word == "CLASSIFIER":
            variables = self.scope.classifier_variables(i + 2, close)
            label = RowExpression((RowMarker.LABEL,))
            return Navigation(label, variables, False, 0, 0, running, s.tokens[i].start), close + 1
        if word == "MATCH_NUMBER":
            if close != i + 2:
                raise self.scope.error("CEP_ARGUMENTS", "MATCH_NUMBER takes no arguments.", s.tokens[i])
            return MatchNumber(s.tokens[i].start), close + 1
        if is_aggregate(word, self.scope.own_aggregates) and s.word(i - 1) not in ("LIKE", "ILIKE"):  # s LIKE ANY (...)
            return self.aggregate(i, close, running)
        return None

    def arguments(self, low: int, high: int) -> list[Range]:
        """Token ranges between the commas of an argument list."""
        out = self.s.between_commas(low, high)
        return out if out[-1][0] < high else out[:-1]

    def offset(self, arguments: list[Range], default: int, name: str) -> int:
        """The second argument of a navigation, a literal; ``default`` where it is left out. ``name``: for the error.

        Raises:
            PatternAnalysisError: CEP_ARGUMENTS, CEP_NAVIGATION_OFFSET.
        """
        if len(arguments) < 2:
            return default
        low, high = arguments[1]
        token = self.s.tokens[low]
        if len(arguments) > 2:
            raise self.scope.error(
                "CEP_ARGUMENTS",
                f"{name} takes an expression and an offset, not {len(arguments)} arguments.",
                self.s.tokens[arguments[2][0]],
                f"write {name}({self.s.written(arguments[0][0], high)})",
            )
        if high - low != 1 or token.kind != "number" or not token.text.isdecimal():
            raise self.scope.error(
                "CEP_NAVIGATION_OFFSET",
                f"The offset of {name} is a whole number, written as a literal.",
                token,
                f"as in {name}({self.s.written(*arguments[0])}, 2)",
            )
        if len(token.text) > 10 or int(token.text) > MAX_ROWS:
            raise self.scope.error(
                "CEP_NAVIGATION_OFFSET", f"The offset of {name} must not be larger than {MAX_ROWS}.", token
            )
        return int(token.text)

    def navigation(self, i: int, close: int, running: bool) -> Navigation:
        """PREV, NEXT, FIRST or LAST with its offset; PREV and NEXT may hold FIRST or LAST."""
        s = self.s
        name = s.word(i)
        arguments = self.arguments(i + 2, close)
        if not arguments:
            raise self.scope.error("CEP_ARGUMENTS", f"{name} takes an expression and an optional offset.", s.tokens[i])
        if s.word(i + 2) in ("DISTINCT", "ALL") and s.tokens[i + 3].kind != "op":
            raise self.scope.error(
                "CEP_ARGUMENTS",
                f"{name} takes no {s.word(i + 2)}: it is the value of one row.",
                s.tokens[i + 2],
                f"write {name}({s.written(i + 3, close)})",
            )
        low, high = arguments[0]
        logical, physical, from_first = 0, 0, name == "FIRST"
        if name in ("PREV", "NEXT"):
            physical = self.offset(arguments, 1, name) * (-1 if name == "PREV" else 1)
            k = low + 1 if s.word(low) in ("RUNNING", "FINAL") and s.operator(low + 2) == "(" else low
            if s.word(k) in ("FIRST", "LAST") and s.pairs.get(k + 1) == high - 1:
                running = self.semantics(low) if k > low else self.running
                inner = self.arguments(k + 2, high - 1)
                if not inner:
                    raise self.scope.error("CEP_ARGUMENTS", f"{s.word(k)} takes an expression.", s.tokens[k])
                from_first = s.word(k) == "FIRST"
                logical = self.offset(inner, 0, s.word(k))
                low, high = inner[0]
        else:
            logical = self.offset(arguments, 0, name)
        argument, variables = self.row_expression(low, high, name, needs_column=True)
        return Navigation(argument, variables, from_first, logical, physical, running, s.tokens[i].start)

    def row_expression(
        self, low: int, high: int, function: str, *, needs_column: bool = False
    ) -> tuple[RowExpression, tuple[str, ...] | None]:
        """An expression over one row, an argument of a function, as :meth:`RowExpressionReader.read` gives it.

        Raises:
            PatternAnalysisError: CEP_STAR_NOT_ALLOWED, CEP_LAMBDA_PARAMETER, CEP_ARGUMENTS, and those of the reader.
        """
        if self.s.operator(high - 1) == "*" and (high - low == 1 or self.s.operator(high - 2) == "."):
            raise self.scope.error(
                "CEP_STAR_NOT_ALLOWED",
                f"{function} takes an expression; * can be used only in count(*).",
                self.s.tokens[low],
                "name a column",
            )
        refuse_parameters(self.parameters, self.s.tokens, low, high, function, self.scope.error)
        reader = RowExpressionReader(self.scope, low, high, function)
        found = reader.read()
        if needs_column and not (reader.variables or reader.bare):  # as the standard has it
            text = self.s.text[self.s.tokens[low].start : self.s.tokens[high - 1].end]
            raise self.scope.error(
                "CEP_ARGUMENTS",
                f"{function} reads a row, so that its argument needs a column; {text} has none.",
                self.s.tokens[low],
                f"write {text} without {function}",
            )
        return found

    def aggregate(self, i: int, close: int, running: bool) -> tuple[Aggregate, int]:
        """An aggregate over rows of the match, with the token behind it and its FILTER.

        Raises:
            PatternAnalysisError: CEP_UNSUPPORTED_AGGREGATE, CEP_MIXED_VARIABLES, CEP_UNDEFINED_VARIABLE.
        """
        s = self.s
        name = s.word(i).lower()
        low = i + 2
        distinct = s.word(low) == "DISTINCT"
        if distinct or s.word(low) == "ALL":
            low += 1
        after = close + 1
        if s.word(after) == "WITHIN" and s.word(after + 1) == "GROUP":
            raise self.scope.error(
                "CEP_UNSUPPORTED_AGGREGATE",
                f"{name} ... WITHIN GROUP cannot be used inside MATCH_RECOGNIZE.",
                s.tokens[after],
                "use percentile(x, p) or array_agg(x)",
            )
        ranges = self.arguments(low, close)
        variables: tuple[str, ...] | None = None
        star = False
        arguments: list[RowExpression] = []
        if name == "count" and not ranges:
            star = True
        elif name == "count" and len(ranges) == 1 and s.operator(close - 1) == "*":
            star = True
            if close - low == 3 and s.operator(low + 1) == ".":
                variables = self.scope.variables_of(variable_name(s.tokens[low]))
                if variables is None and not self.scope.is_qualifier(low):
                    raise self.scope.error(
                        "CEP_UNDEFINED_VARIABLE", f"{s.tokens[low].text} is not a pattern variable.", s.tokens[low]
                    )
        else:
            found: dict[tuple[str, ...] | None, Token] = {}
            for a, b in ranges:
                argument, of = self.row_expression(a, b, name)
                arguments.append(argument)
                inner = parameters(s.tokens, a, b, self.scope.case_sensitive)
                words = (s.tokens[k] for k in range(a, b) if k not in inner)
                looks = any(self.scope.is_column(t.text) for t in words if t.kind in ("word", "quoted"))
                if of is not None or looks or argument.markers:
                    found.setdefault(of, s.tokens[a])
            if len(found) > 1:
                raise self.scope.error(
                    "CEP_MIXED_VARIABLES",
                    f"All columns inside {name} must belong to the same pattern variable.",
                    list(found.values())[1],
                )
            variables = next(iter(found), None)
        condition: RowExpression | None = None
        if s.word(after) == "FILTER" and s.operator(after + 1) == "(" and s.word(after + 2) == "WHERE":
            end = s.pairs[after + 1]
            condition, of = self.row_expression(after + 3, end, f"FILTER of {name}")
            if of is not None and of != variables:
                named = (s.tokens[k] for k in range(after + 3, end) if s.operator(k + 1) == ".")
                raise self.scope.error(
                    "CEP_MIXED_VARIABLES",
                    f"FILTER must use the pattern variable of {name}.",
                    next((t for t in named if self.scope.variables_of(variable_name(t)) == of), s.tokens[after]),
                    f"name one variable in both, as in {name}(A.x) FILTER (WHERE A.y > 0), or none",
                )
            after = end + 1
        more, after = nulls_option(s, after, name, len(arguments), self.scope.error)
        arguments += more
        slot = Aggregate(name, tuple(arguments), distinct, variables, running, star, condition, s.tokens[i].start)
        return replace(slot, own_aggregate=self.scope.own_aggregates.get(name)), after


def nulls_option(
    s: Statement, at: int, name: str, arguments: int, error: Callable[[str, str, Token, str], PatternAnalysisError]
) -> tuple[list[RowExpression], int]:
    """`IGNORE NULLS` or `RESPECT NULLS` behind a call: what it is as a second argument, and the token behind it.

    Args:
        at: index of the token behind the call. arguments: how many the call has. error: makes an error of a scope.

    Raises:
        PatternAnalysisError: CEP_UNSUPPORTED_AGGREGATE, the aggregate has no such option.
    """
    if s.word(at) not in ("IGNORE", "RESPECT") or s.word(at + 1) != "NULLS" or s.word(at + 2) == "OVER":
        return [], at  # before OVER it is the window's
    if name not in ("first_value", "last_value", "any_value") or arguments != 1:
        raise error(
            "CEP_UNSUPPORTED_AGGREGATE",
            f"{name} takes no {s.word(at)} NULLS.",
            s.tokens[at],
            "first_value, last_value and any_value of one argument do",
        )
    return [RowExpression(("true",))] if s.word(at) == "IGNORE" else [], at + 2
