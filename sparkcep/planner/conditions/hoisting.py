"""The text of a match-dependent condition: what Spark can evaluate by itself is lifted out into columns.

That is whatever looks at one row, and functions of two rows of the match that the interpreter lacks, which Spark
evaluates for every pair.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

from sparkcep.expr.functions import FUNCTIONS, WRITTEN
from sparkcep.expr.functions.lambdas import LAMBDA, WITH_LAMBDAS
from sparkcep.expr.nodes import Call, Expression, NavigationSlot, RowValue
from sparkcep.expr.types import NotCompilable
from sparkcep.pattern import directly_before, repeats
from sparkcep.planner.conditions.call_tokens import (
    BINDS_TIGHTER,
    COMPARES,
    INTERVAL_WORDS,
    NOT_FUNCTIONS,
    argument_count,
    cast_to,
    is_strict,
    may_be_users,
    takes_lambda,
    wants_operand,
)
from sparkcep.planner.conditions.char_padding import declared_length
from sparkcep.planner.conditions.collector import Collector
from sparkcep.planner.conditions.pair_calls import (
    OTHER,
    PLACE_OF_OTHER,
    PairCall,
    listed,
    place_of_other,
    within_limit,
)
from sparkcep.planner.conditions.row_conditions import is_drawn, may_fail
from sparkcep.query import PREFIX, Navigation, Selection, escape, quote, unescape
from sparkcep.sql.lambdas import Parameter, find_lambdas, hidden, parameters, renamed
from sparkcep.sql.lexicon import Token, pair_parentheses, tokenize

SLOT = PREFIX + "s"
TEXT = PREFIX + "t"
FUNCTION = PREFIX + "f_"
PARAMETER = PREFIX + "p"


#: Calls with a syntax of their own that are evaluated without Spark over several rows, too.
_EVALUATED = frozenset(
    "TRIM IF NULLIF COALESCE NVL IFNULL LEAST GREATEST DATEDIFF DATE_DIFF TIMESTAMPDIFF CONCAT ARRAY CAST TRY_CAST "
    "EQUAL_NULL".split()
)


#: Types of casts that are evaluated so.
_CASTS_EVALUATED = frozenset("DOUBLE FLOAT REAL BIGINT LONG INT INTEGER STRING".split())


class Hoisting:
    """One expression (pieces of text and slots) with the columns taken out of it.

    ``in_row`` is set for the argument of an aggregate or a navigation: columns are then those of the row at hand, which
    is one of the variables ``of`` (none: of any). ``loads``: name in the text -> value that stands for a lifted part.
    """

    def __init__(
        self, owner: Collector, pieces: Sequence[object], in_row: bool = False, of: tuple[str, ...] = ()
    ) -> None:
        self.owner = owner
        self.in_row = in_row
        self.of = of
        self.slots: list[object] = []
        self.texts: list[str] = []
        text = ""
        for p in pieces:
            if isinstance(p, str):
                text += unescape(p)
            else:
                text += f" {SLOT}{len(self.slots)} "
                self.slots.append(p)
        self.text = self.apart(text) if "->" in text else text
        self.loads: dict[str, Expression] = {}
        #: How many parameters of lambda functions have got a number.
        self.numbered = 0

    def apart(self, text: str) -> str:
        """The expression with other names for parameters of lambda functions that would hide a slot's columns, once
        these are written in its place."""
        tokens = tokenize(text)
        case_sensitive = self.owner.fields.case_sensitive
        named = parameters(tokens, 0, len(tokens), case_sensitive)
        columns = [
            (k, word.text)
            for k, t in enumerate(tokens)
            if isinstance(slot := self.slot_at(t), Navigation)
            for word in tokenize(unescape(slot.argument.text))
            if word.kind in ("word", "quoted")
        ]
        taken = hidden(tokens, named, columns, case_sensitive)
        for k in sorted(named, reverse=True):
            if named[k] in taken:
                text = text[: tokens[k].start] + unescape(renamed(tokens[k])) + text[tokens[k].end :]
        return text

    def slot_at(self, token: Token) -> object:
        """The slot that a token stands for; None for any other token."""
        number = token.text.removeprefix(SLOT)
        is_slot = token.kind == "word" and number != token.text and number.isdigit()
        return self.slots[int(number)] if is_slot else None

    # Spark evaluates what it can: literals with types of their own, and calls over one row.

    def lift(self, text: str) -> str:
        """Replace what Spark can evaluate row by row with names; fills ``loads``."""
        tokens = tokenize(text)
        pairs = pair_parentheses(tokens)
        named = parameters(tokens, 0, len(tokens), self.owner.fields.case_sensitive)
        edits: list[tuple[int, int, str]] = []
        lifted_tokens: set[int] = set()
        i = 0
        while i < len(tokens):
            if i in named:
                i += 1
                continue
            if (found := self.of_rows(text, tokens, pairs, named, i)) is not None:
                value, end = found
                edits.append((tokens[i].start, tokens[end - 1].end, self.name(value)))
                lifted_tokens.update(range(i, end))
                i = end
                continue
            calls = tokens[i].kind == "word" and i + 1 in pairs and not (i and tokens[i - 1].upper == ".")
            if calls and tokens[i].text.lower() in WRITTEN:
                # sqlglot gives many functions a shape of their own; under another name they are as they stand.
                edits.append((tokens[i].start, tokens[i].end, FUNCTION + tokens[i].text.lower()))
            i += 1
        edits += self.lambda_calls(tokens, named, lifted_tokens)
        for start, stop, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[stop:]
        return text

    def of_rows(
        self, text: str, tokens: Sequence[Token], pairs: dict[int, int], named: Mapping[int, Parameter], i: int
    ) -> tuple[Expression, int] | None:
        """What begins at a token and Spark evaluates row by row, with the token behind it.

        Raises:
            NotCompilable: a subquery that names a parameter of a lambda function.
        """
        end = self.constant_end(tokens, pairs, i)
        if end is not None:
            if any(k in named for k in range(i, end)):
                raise NotCompilable("a subquery in a lambda function")
            return self.row_value(text[tokens[i].start : tokens[end - 1].end]), end
        if (shifted := self.interval_sum(text, tokens, pairs, i)) is not None:
            return shifted
        if (access := self.element_access(text, tokens, pairs, i, named)) is not None:
            return access
        if (
            tokens[i].kind == "word"
            and i + 1 in pairs
            and tokens[i + 1].upper == "("
            and (tokens[i].upper not in NOT_FUNCTIONS or takes_lambda(tokens, i))
            and not (i and tokens[i - 1].upper in (".", "AS"))  # AS DECIMAL(10, 2) is a type
        ):
            close = pairs[i + 1]
            if not _reads_outer(named, i, close + 1):
                lifted = self.lift_call(text, tokens[i : close + 1])
                return None if lifted is None else (lifted, close + 1)
        return None

    def lambda_calls(
        self, tokens: Sequence[Token], named: Mapping[int, Parameter], lifted: Container[int]
    ) -> list[tuple[int, int, str]]:
        """Edits that make lambda functions calls, `lambda(p0, p1, body)`, whose parameters are numbered."""
        edits = []
        numbers: dict[Parameter, int] = {}
        for of in find_lambdas(tokens, 0, len(tokens)):
            if of.first in lifted:
                continue
            for n in range(len(of.names)):
                numbers[Parameter(of, n)] = self.numbered
                self.numbered += 1
            heads = ", ".join(f"{PARAMETER}{numbers[Parameter(of, n)]}" for n in range(len(of.names)))
            edits.append((tokens[of.first].start, tokens[of.low - 1].end, f"{FUNCTION}{LAMBDA}({heads}, "))
            edits.append((tokens[of.high - 1].end, tokens[of.high - 1].end, ")"))
        edits += [
            (tokens[k].start, tokens[k].end, f" {PARAMETER}{numbers[parameter]} ")
            for k, parameter in named.items()
            if k not in parameter.of.names and parameter in numbers and k not in lifted
        ]
        return edits

    def name(self, value: Expression) -> str:
        """Text that stands for a value from here on: a name that no column has, with a space on either side."""
        name = f"{TEXT}{len(self.loads)}"
        self.loads[name] = value
        return f" {name} "

    def constant_end(self, tokens: Sequence[Token], pairs: dict[int, int], i: int) -> int | None:
        """End of an INTERVAL, DATE or TIMESTAMP literal, a parameter or a subquery that begins at a token; where
        backslashes are none of ours to read, of a string with one."""
        t = tokens[i]
        if t.kind == "string" and self.owner.escaped_literals and "\\" in self.text[t.start : t.end]:
            return i + 1
        following = tokens[i + 1] if i + 1 < len(tokens) else None
        if following is None:
            return None
        if t.upper == "INTERVAL" and following.kind in ("number", "string"):
            end = i + 2
            while end < len(tokens) and (
                tokens[end].upper in INTERVAL_WORDS or (tokens[end].kind in ("number", "string") and end > i + 2)
            ):
                end += 1
            return end
        if t.upper in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "X") and following.kind == "string":
            return i + 2
        if t.upper == ":" and following.kind == "word" and (i == 0 or wants_operand(tokens[i - 1])):
            return i + 2
        if t.upper == "{" and i + 2 < len(tokens) and tokens[i + 2].upper == "}":
            return i + 3
        if t.upper == "(" and following.upper in ("SELECT", "WITH", "VALUES", "FROM") and i in pairs:
            return pairs[i] + 1
        return None

    def interval_sum(
        self, text: str, tokens: Sequence[Token], pairs: dict[int, int], i: int
    ) -> tuple[Expression, int] | None:
        """`A.ts + INTERVAL 1 DAY`: Spark adds in local time, and needs one row to do so."""
        if tokens[i].kind not in ("word", "quoted") or (i and tokens[i - 1].upper in BINDS_TIGHTER):
            return None
        if i + 3 >= len(tokens) or tokens[i + 1].upper not in ("+", "-") or tokens[i + 2].upper != "INTERVAL":
            return None
        end = self.constant_end(tokens, pairs, i + 2)
        if end is not None and end < len(tokens) and tokens[end].upper in ("*", "/", "%", "DIV"):
            return None  # `A.ts + INTERVAL 1 DAY * 2` multiplies first
        lifted = None if end is None else self.lift_call(text, tokens[i:end], strict=True)
        return None if lifted is None or end is None else (lifted, end)

    def element_access(
        self, text: str, tokens: Sequence[Token], pairs: dict[int, int], i: int, named: Mapping[int, Parameter]
    ) -> tuple[Expression, int] | None:
        """`column[...]`, `A.column.field[...]`, paths into VARIANT as `A.column:path::int`: one row's value, so
        Spark's."""
        if tokens[i].kind not in ("word", "quoted") or (i and tokens[i - 1].upper == "."):
            return None
        end, brackets = i + 1, False
        while end < len(tokens):
            if tokens[end].upper == "." and end + 1 < len(tokens):
                end += 2
            elif tokens[end].upper == ":" and end + 1 < len(tokens) and self.is_value(tokens[i]):
                end, brackets = end + 2, True
            elif tokens[end].upper == "::" and brackets and end + 1 < len(tokens):
                end += 2
                end = pairs[end] + 1 if end in pairs else end
            elif tokens[end].upper == "[":
                depth = 0
                while end < len(tokens):
                    depth += {"[": 1, "]": -1}.get(tokens[end].upper, 0)
                    end += 1
                    if depth == 0:
                        break
                brackets = True
            else:
                break
        if not brackets or _reads_outer(named, i, end):
            return None
        lifted = self.lift_call(text, tokens[i:end], strict=True)
        return None if lifted is None else (lifted, end)

    def is_value(self, token: Token) -> bool:
        """Whether a token is a slot's or a column's, and not a word that a parameter may follow."""
        return self.slot_at(token) is not None or self.owner.fields.column_of(quote(token.text)) is not None

    def row_value(self, text: str, slot: Navigation | None = None) -> Expression:
        """A load of a row expression: at the row at hand, at the tested row, or where a navigation points."""
        # `{name}` alone is the user's keyword argument; Spark is to fill it in.
        is_field = text.startswith("{")
        text = text if is_field else escape(text)
        if slot is None:
            text = self.owner.guarded(text, self.of if self.in_row else None)
        elif not slot.physical:
            text = self.owner.guarded(text, slot.variables or ())
        column = self.owner.column(text)
        if self.in_row:
            return RowValue(column)
        if slot is None:
            return self.owner.slot(NavigationSlot(self.owner.register(None), False, 0, 0, column))
        return self.owner.slot(
            NavigationSlot(
                self.owner.register(slot.variables, slot.each), slot.from_first, slot.logical, slot.physical, column
            )
        )

    def lift_call(self, text: str, tokens: Sequence[Token], strict: bool = False) -> Expression | None:
        """A call whose arguments are all of one row becomes a column that Spark computes.

        ``strict``: it is known to be NULL where its operand is.
        """
        slots: set[tuple[object, ...]] = set()
        bare = False
        reads: list[tuple[Token, Navigation]] = []
        named = parameters(tokens, 0, len(tokens), self.owner.fields.case_sensitive)
        for k, t in enumerate(tokens):
            if t.upper == "SELECT":
                return None
            if t.kind not in ("word", "quoted") or k in named:
                continue
            if (slot := self.slot_at(t)) is not None:
                if not isinstance(slot, Navigation) or slot.argument.markers:
                    return None
                slots.add(_place(slot))
                reads.append((t, slot))
            elif self.owner.fields.column_of(quote(t.text)) is not None:
                is_part = k > 0 and tokens[k - 1].upper in (".", "AS", "{")
                calls = k + 1 < len(tokens) and tokens[k + 1].upper == "("
                bare = bare or not (is_part or calls)
        if len(slots) + bare > 1:
            return self.pair(text, tokens, reads, bare)
        if not slots:
            return self.row_value(text[tokens[0].start : tokens[-1].end])
        navigation = reads[0][1]
        value = self.row_value(_filled(text, tokens, reads, _argument), navigation)
        if strict or is_strict(tokens) or (may_be_users(tokens) and self.owner.is_there(navigation)):
            return value
        # Where the navigation points nowhere its columns are NULL, but the call need not be.
        there = self.row_value("true", navigation)
        return Call(
            "case", (Call("isnull", (there,)), self.row_value(_filled(text, tokens, reads, _no_argument)), value)
        )

    def is_evaluated(self, tokens: Sequence[Token]) -> bool:
        """Whether a call over several rows needs no Spark. ROUND does for a number of digits that is not a literal."""
        name = tokens[0].upper
        if name in ("ROUND", "BROUND"):
            return tokens[-2].kind == "number" or all(t.upper != "," for t in tokens)
        if name == "TRY_CAST" or (name == "CAST" and not self.owner.ansi):  # else a pair in no match might fail
            return cast_to(tokens) in _CASTS_EVALUATED
        if name in ("DATEADD", "DATE_ADD") and argument_count(tokens) == 3:  # of a unit
            return False
        written = WRITTEN.get(name.lower())
        if name in _EVALUATED or written in WITH_LAMBDAS or (written in FUNCTIONS and FUNCTIONS[written].in_kernel):
            return True
        if not self.owner.prefers_interpreter or written is None:
            return False
        self.owner.left_to_interpreter = True
        return True

    def pair(
        self, text: str, tokens: Sequence[Token], reads: Sequence[tuple[Token, Navigation]], bare: bool
    ) -> Expression | None:
        """A call over two rows of the match: Spark evaluates it for all pairs of rows of the partition that may be
        these two.

        One row's column holds an array, with a value for each row that may be the other.
        """
        rows = {_place(slot): slot for _, slot in reads}
        if self.in_row or len(rows) + bare != 2 or self.is_evaluated(tokens):
            return None
        *firsts, other = rows.values()
        one = firsts[0] if firsts else None  # None: the tested row

        def nowhere(*gone: Navigation) -> str:
            """The call where navigations point at no row."""
            places = set(map(_place, gone))
            return _filled(text, tokens, reads, lambda s: _no_argument(s) if _place(s) in places else _argument(s))

        if any(t.upper in COMPARES for t in tokens) and any(
            declared_length(s.argument.text, self.owner) for s in rows.values()
        ):
            raise NotCompilable("a comparison of CHAR columns inside a function of two rows")
        self.owner.pairs = True
        for at, before in ((one, other), (other, one)):
            if before is not None and self.is_neighbour(at, before):
                return self.row_value(self.over_neighbours(text, tokens, reads, at, before), at)
        values, place = self.pair_values(text, tokens, reads, one, other)
        value: Expression = Call("element", (self.row_value(values, one), self.row_value(place, other)))
        gone = [slot for slot in rows.values() if not (may_be_users(tokens) and self.owner.is_there(slot))]
        if not gone:
            return value
        there = self.row_value("true", other)
        value = Call("case", (Call("isnull", (there,)), self.row_value(nowhere(other), one), value))
        if one is not None:
            absent = Call("isnull", (self.row_value("true", one),))
            both = Call(
                "case",
                (Call("isnull", (there,)), self.row_value(nowhere(one, other)), self.row_value(nowhere(one), other)),
            )
            value = Call("case", (absent, both, value))
        return value

    def is_neighbour(self, at: Navigation | None, before: Navigation) -> bool:
        """Whether ``before`` points at the row directly before that of ``at`` (None: the tested row) wherever the
        condition is decided."""
        query = self.owner.query
        rows = [before] if at is None else [at, before]
        if query.selection is not Selection.STRICT or self.owner.labels or query.strict_time:
            return False
        if any(s.from_first or s.logical or s.physical or s.each or len(s.variables or ()) != 1 for s in rows):
            return False
        variables = self.variables_of(at)
        if at is not None:
            # Of several B the last one need not be that behind the last A.
            is_tested = variables == self.owner.tested
            if not (is_tested or (self.owner.is_there(at) and not repeats(query.pattern))):
                return False
        wanted = set(before.variables or ())
        return bool(variables) and all(directly_before(query.pattern, v) == wanted for v in variables)

    def over_neighbours(
        self, text: str, tokens: Sequence[Token], reads: Sequence[tuple[Token, Navigation]], at: Navigation | None,
        before: Navigation,
    ) -> str:  # fmt: skip
        """SQL of a call over the row of ``at`` and the one before it."""

        def argument(slot: Navigation) -> str:
            return f"lag{_argument(slot)} OVER {PREFIX}w" if _place(slot) == _place(before) else _argument(slot)

        call = _filled(text, tokens, reads, argument)
        tests = [self.owner.test(self.variables_of(at))]
        if test := self.owner.test(self.variables_of(before)):
            tests.append(f"lag({test}) OVER {PREFIX}w")
        tests = [unescape(test) for test in tests if test]
        fails = may_be_users(tokens) or may_fail(text[tokens[0].start : tokens[-1].end])
        return f"CASE WHEN {' AND '.join(f'({t})' for t in tests)} THEN {call} END" if fails and tests else call

    def test_of(self, at: Navigation | None) -> str:
        """What a row must satisfy by itself to be that of a navigation (None: the tested row), wherever it is asked;
        empty where that is nothing."""
        test = "" if at is not None and at.physical else self.owner.test(self.variables_of(at))
        return "" if test and is_drawn(test) else test

    def variables_of(self, at: Navigation | None) -> tuple[str, ...]:
        """Whose rows a navigation points at (None: the tested row)."""
        return self.owner.tested if at is None else at.variables or ()

    def pair_values(
        self, text: str, tokens: Sequence[Token], reads: Sequence[tuple[Token, Navigation]], one: Navigation | None,
        other: Navigation,
    ) -> tuple[str, str]:  # fmt: skip
        """SQL of an array with a call's value for each row of the partition that may be the ``other``, with ``one``
        (None: the tested row) at hand; and of the place of a row in it."""
        arguments = list(dict.fromkeys(_argument(s) for _, s in reads if _place(s) == _place(other)))
        names = {argument: f"{OTHER}.a{k}" for k, argument in enumerate(arguments)}
        one_test, other_test = self.test_of(one), self.test_of(other)

        def value_of(slot: Navigation) -> str:
            return names[_argument(slot)] if _place(slot) == _place(other) else _argument(slot)

        call = _filled(text, tokens, reads, value_of)
        able = unescape(other_test)
        rows = listed([f"{argument} AS a{k}" for k, argument in enumerate(arguments)], able)
        values = f"transform({rows}, {OTHER} -> {call})"
        every = within_limit(values, self.owner.limit_pairs, unescape(one_test), able)
        if not may_be_users(tokens) or self.owner.is_accepted(every):
            return every, place_of_other(able)
        column = self.owner.fields.pair(
            PairCall(
                call=escape(call),
                one_row=escape(_filled(text, tokens, reads, _argument)),
                arguments=tuple(map(escape, arguments)),
                one_test=one_test,
                other_test=other_test,
                limit=self.owner.limit_pairs,
            )
        )
        return column, PLACE_OF_OTHER


def _place(slot: Navigation) -> tuple[object, ...]:
    """Which row a navigation points at."""
    return slot.variables, slot.from_first, slot.logical, slot.physical, slot.each


def _argument(slot: Navigation) -> str:
    return f"({unescape(slot.argument.text)})"


def _no_argument(slot: Navigation) -> str:
    """A NULL of the argument's type."""
    return f"if(false, {_argument(slot)}, NULL)"


def _filled(
    text: str,
    tokens: Sequence[Token],
    reads: Sequence[tuple[Token, Navigation]],
    form: Callable[[Navigation], str],
) -> str:
    """Text of some tokens with the slots among them written out."""
    out, at = "", tokens[0].start
    for t, slot in reads:
        out += text[at : t.start] + form(slot)
        at = t.end
    return out + text[at : tokens[-1].end]


def _reads_outer(named: Mapping[int, Parameter], low: int, high: int) -> bool:
    """Whether some tokens name a parameter of a lambda function around them."""
    return any(k in named and named[k].of.first < low for k in range(low, high))
