"""Parse the MATCH_RECOGNIZE clause: its sections as token ranges, before any name is bound."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches

from sparkcep.errors import PatternParseError, near_name
from sparkcep.pattern import Pattern
from sparkcep.query import RowsPerMatch, Selection, SkipMode
from sparkcep.sql.clause.row_pattern import parse_row_pattern, variable_name
from sparkcep.sql.lexicon import BEHIND_OPERAND, CLOSES_OPERAND, WANTS_OPERAND, Token
from sparkcep.sql.non_answers import HINT, TAKES, WrongArgument, in_order
from sparkcep.sql.sort_item import SortItem, sort_item
from sparkcep.sql.statement import Statement
from sparkcep.sql.token_text import Range

#: Words behind which an expression goes on, so that what follows is a name and begins no section.
_WANTS_OPERAND = WANTS_OPERAND | {"TO"}

_SKIPS = "AFTER MATCH SKIP PAST LAST ROW, TO NEXT ROW, or TO FIRST | LAST variable"
#: Words that belong to an expression where they stand behind an operand.
_BEHIND = BEHIND_OPERAND | frozenset("NULLS FIRST LAST IGNORE RESPECT FILTER OVER AT COLLATE ANY SOME".split())

_ORDER = (
    "PARTITION BY",
    "ORDER BY",
    "EVENT TYPE",
    "MEASURES",
    "ROWS PER MATCH",
    "AFTER MATCH SKIP",
    "OMIT CENSORED MATCHES",
    "EVENT SELECTION",
    "PATTERN",
    "WITHIN",
    "SUBSET",
    "DEFINE",
    "EXPLAIN NON ANSWERS",
)
_ORDER_HINT = (
    "the order is PARTITION BY, ORDER BY, EVENT TYPE, MEASURES, ONE | ALL ROWS PER MATCH, AFTER MATCH SKIP, "
    "OMIT CENSORED MATCHES, EVENT SELECTION, PATTERN, WITHIN, SUBSET, DEFINE, EXPLAIN NON ANSWERS"
)


@dataclass(slots=True)
class NamedRange:
    """`expression AS name` or `name AS expression`."""

    name: Token
    expression: Range


@dataclass(slots=True)
class ClauseSyntax:
    """The sections of one clause; ranges are token indexes into the statement."""

    partition_by: list[Range] = field(default_factory=list)
    order_by: list[SortItem] = field(default_factory=list)
    event_type: Token | None = None
    measures: list[NamedRange] = field(default_factory=list)
    rows_per_match: RowsPerMatch = RowsPerMatch.ONE
    rows_position: int = 0
    skip: SkipMode = SkipMode.PAST_LAST_ROW
    skip_target: Token | None = None
    omit_censored: bool = False
    censored_position: int = -1
    selection: Selection = Selection.STRICT
    steps: dict[str, Selection] = field(default_factory=dict)
    pattern: Pattern | None = None
    within: Range | None = None
    non_answers: list[Range] = field(default_factory=list)
    non_answers_position: int = 0
    subsets: list[tuple[Token, list[Token]]] = field(default_factory=list)
    definitions: list[NamedRange] = field(default_factory=list)


#: How sections are written that do not begin one as they stand.
_WRITTEN = {"DEFINE": "DEFINE variable AS condition", "SUBSET": "SUBSET name = (variable, ...)"}
#: Clauses of other queries, and what stands for them here.
_ELSEWHERE = {
    "WHERE": "conditions on rows go into DEFINE; to filter the input, match a subquery with that WHERE",
    "RETURN": "MEASURES before PATTERN lists what comes out of a match",
    "GROUP": "group the result: SELECT ... FROM ... MATCH_RECOGNIZE (...) GROUP BY ...",
    "HAVING": "conditions on a variable's rows go into DEFINE",
    "LIMIT": "LIMIT goes after the closing parenthesis",
}


class ClauseParser:
    """Reads one clause of a statement.

    Raises:
        PatternParseError: CEP_SYNTAX_ERROR, CEP_CLAUSE_ORDER, CEP_DUPLICATE_CLAUSE, CEP_PATTERN_MISSING,
            CEP_UNSUPPORTED_SELECTION, MATCH_RECOGNIZE_EMPTY_MEASURES, MATCH_RECOGNIZE_MEASURES_MUST_BE_ALIASED, and
            those of the row pattern.
    """

    #: What is parsed, its sections in order, and all of them for a hint.
    what = "MATCH_RECOGNIZE"
    order: tuple[str, ...] = _ORDER
    order_hint = _ORDER_HINT
    #: How sections begin that are named otherwise.
    beginnings: tuple[str, ...] = ("ONE ROW PER MATCH", "ALL ROWS PER MATCH")

    def __init__(self, statement: Statement, body: Range, formatted: bool) -> None:
        self.s = statement
        self.formatted = formatted
        self.at, self.end = body
        self.start = self.at
        self.out = ClauseSyntax()

    def parse(self) -> ClauseSyntax:
        """The clause's token ranges; each part at most once and in the order of the standard.

        Raises:
            PatternParseError: CEP_SYNTAX_ERROR, CEP_DUPLICATE_CLAUSE, CEP_CLAUSE_ORDER, CEP_PATTERN_MISSING.
        """
        seen: list[str] = []
        while self.at < self.end:
            name = self.section(self.at)
            if name is None:
                raise self.no_section()
            if name not in self.order:
                raise self.error(f"{name} is not a clause of {self.what}.", hint=self.order_hint)
            if name in seen:
                raise self.error(f"{name} is given twice.", "CEP_DUPLICATE_CLAUSE")
            early = bool(seen) and self.order.index(name) < self.order.index(seen[-1])
            if early and "EVENT TYPE" not in (name, seen[-1]):
                raise self.error(f"{name} cannot follow {seen[-1]}.", "CEP_CLAUSE_ORDER", hint=self.order_hint)
            seen.append(name)
            getattr(self, "read_" + name.lower().replace(" ", "_"))()
        if self.out.pattern is None:
            raise self.error(f"{self.what} has no PATTERN.", "CEP_PATTERN_MISSING", hint="add PATTERN (...)")
        return self.out

    def no_section(self) -> PatternParseError:
        """What to say of a token that begins no section where one is wanted; the caller raises it."""
        word, behind = self.s.tokens[self.at].text, self.at + 1
        name = word.upper()
        if name == "PATTERN":
            return self.pattern_without_parentheses()
        if name == "DEFINE" and self.is_name(behind) and self.is_name(behind + 1, or_number=True):
            high = self.section_end(behind + 1)
            written = f"{self.s.tokens[behind].text} AS {self.s.written(behind + 1, high)}"
            return self.error("AS is missing before the condition.", hint=f"DEFINE {written}", at=behind + 1)
        if name == "SUBSET" and self.is_name(behind):
            return self.error(f"SUBSET is written {_WRITTEN[name]}.", at=behind + 1)
        if name in _WRITTEN:
            return self.error(f"{name} is written {_WRITTEN[name]}.", at=behind)
        if name in _ELSEWHERE:
            return self.error(f"{self.what} has no {name}.", hint=_ELSEWHERE[name])
        return self.error(f"{word!r} does not begin a clause of {self.what}.", hint=self.meant(word))

    def meant(self, word: str) -> str:
        """A hint to the section that a word is near to, else to the order of all."""
        names = (*self.beginnings, *self.order)
        known = {part: name for name in reversed(names) for part in reversed(name.split()) if len(part) > 2}
        near = near_name(word, known)
        return f"did you mean {known[near]}?" if near else self.order_hint if word.isidentifier() else "leave it out"

    def pattern_without_parentheses(self) -> PatternParseError:
        """`PATTERN SEQ(a, b)`, `PATTERN a b`; the caller raises it."""
        low = self.at + 1
        if self.s.operator(low + 1) == "(" and low + 1 in self.s.pairs:
            return self.no_call(low, low, self.s.pairs[low + 1] + 1)
        written = self.s.written(low, self.section_end(low)) or "..."
        return self.error(
            "Put the row pattern in parentheses after PATTERN.", "CEP_PATTERN_MISSING",
            hint=f"PATTERN ({written})", at=low,
        )  # fmt: skip

    def no_call(self, at: int, low: int, high: int) -> PatternParseError:
        """`SEQ(a, b)` in a row pattern, which is that of some tokens; the caller raises it."""
        tokens, close = self.s.tokens, self.s.pairs[at + 1]
        inner = " ".join(self.s.written(*part) for part in self.s.between_commas(at + 2, close))
        before, behind = (self.s.text[a:b] for a, b in ((tokens[low].start, tokens[at].start),
                                                        (tokens[close].end, tokens[high - 1].end)))  # fmt: skip
        written = inner if (low, high) == (at, close + 1) else f"{before}({inner}){behind}"
        return self.error(
            f"A row pattern has no {tokens[at].text}: its rows follow each other as they are written.",
            hint=f"PATTERN ({written})", at=at,
        )  # fmt: skip

    def section_end(self, i: int) -> int:
        """Where the section ends that a token is in."""
        while i < self.end and not self.begins(i):
            i += 1
        return i

    def is_name(self, i: int, or_number: bool = False) -> bool:
        """Whether a name stands at a token, or a number or a string."""
        kinds = ("word", "quoted", "number", "string") if or_number else ("word", "quoted")
        return i < self.end and self.s.tokens[i].kind in kinds

    def begins(self, i: int) -> bool:
        """Whether a section begins at a token, whatever stands before it."""
        name = self.section(i, after_name=True)
        if name in ("MEASURES", "WITHIN"):  # a column of that name?
            goes_on = self.s.word(i + 1) in _BEHIND or self.section(i + 1) is not None
            return not goes_on and self.is_name(i + 1, or_number=True)
        return name is not None and (name != "PATTERN" or self.is_pattern(i))

    def is_stray(self, i: int) -> bool:
        """Whether a word behind a whole operand belongs to no expression: it begins a section, or should."""
        word = self.s.word(i)
        if not word or word in _BEHIND or not self.ends_operand(i - 1):
            return False
        if ("WITHIN", "GROUP") in ((word, self.s.word(i + 1)), (self.s.word(i - 1), word)):
            return False
        known = ["SKIP", *(name.split()[0] for name in self.order)]
        return word in _ELSEWHERE or bool(get_close_matches(word, known, 1, 0.8))

    # -- helpers ---------------------------------------------------------------------------------------------------

    def closes_early(self) -> PatternParseError | None:
        """The error of a clause whose closing parenthesis should close something inside of it, since a later one closes
        nothing; None where parentheses are balanced."""
        if self.s.operator(self.end) != ")" or self.s.closes_nothing(self.end + 1) is None:
            return None
        message = f"This parenthesis closes {self.what}, and a later one closes nothing."
        return self.error(message, hint="leave one of the two out", at=self.end)

    def error(
        self, message: str, error_class: str = "CEP_SYNTAX_ERROR", hint: str | None = None, at: int | None = None
    ) -> PatternParseError:
        """An error with a caret at a token (the current one); the caller raises it."""
        index = self.at if at is None else at
        token = self.s.tokens[min(index, self.end, len(self.s.tokens) - 1)]
        return PatternParseError(error_class, message, text=self.s.text, position=token.start, hint=hint)

    def words(self, *expected: str) -> bool:
        """Consume a run of keywords if it stands here."""
        if all(self.s.word(self.at + k) == w for k, w in enumerate(expected)) and self.at + len(expected) <= self.end:
            self.at += len(expected)
            return True
        return False

    def expect_words(self, *expected: str, hint: str | None = None) -> None:
        """Pass these words. ``hint``: for the error.

        Raises:
            PatternParseError: CEP_SYNTAX_ERROR: other words stand here.
        """
        if not self.words(*expected):
            raise self.error(f"{' '.join(expected)} is expected here.", hint=hint)

    def name(self, what: str) -> Token:
        """Pass a word or a quoted name. ``what``: for the error.

        Raises:
            PatternParseError: CEP_SYNTAX_ERROR.
        """
        self.refuse_comma(what)
        token = self.s.tokens[self.at] if self.at < self.end else None
        if token is None or token.kind not in ("word", "quoted"):
            raise self.error(f"{what} is expected here.")
        self.at += 1
        return token

    def section(self, i: int, after_name: bool = False) -> str | None:
        """The section that begins at a token, if one does; keywords may also be column names elsewhere.

        ``after_name``: whatever stands before it.
        """
        w = self.s.word
        if i >= self.end:
            return None
        first, second, third = w(i), w(i + 1), w(i + 2)
        before = self.s.tokens[i - 1]
        if (
            i > self.start
            and not after_name
            and (before.upper in _WANTS_OPERAND or (before.kind == "op" and before.upper not in CLOSES_OPERAND))
        ):
            return None
        if first in ("PARTITION", "ORDER") and second == "BY":
            return f"{first} BY"
        if first == "EVENT" and second in ("TYPE", "SELECTION"):
            return f"EVENT {second}"
        if first in ("ONE", "ALL") and second in ("ROW", "ROWS") and third == "PER":
            return "ROWS PER MATCH"
        if first == "AFTER" and second == "MATCH":
            return "AFTER MATCH SKIP"
        if (first, second) == ("OMIT", "CENSORED"):
            return "OMIT CENSORED MATCHES"
        if first == "PATTERN" and self.s.operator(i + 1) == "(":
            return "PATTERN"
        named = self.s.tokens[i + 1].kind in ("word", "quoted") if i + 1 < self.end else False
        if (first, second, third) == ("EXPLAIN", "NON", "ANSWERS"):
            return "EXPLAIN NON ANSWERS"
        if first == "SUBSET" and named and self.s.operator(i + 2) == "=":
            return "SUBSET"
        if first == "DEFINE" and (i + 1 >= self.end or (named and (third == "AS" or i + 2 >= self.end))):
            return "DEFINE"
        if first == "WITHIN" and second == "GROUP" and self.s.operator(i + 2) == "(":
            return None
        if first in ("MEASURES", "WITHIN") and self.s.operator(i + 1) not in (",", ".") and second != "AS":
            return first
        return None

    def item(self, what: str) -> Range:
        """Tokens up to a comma at this level, the next section or the end.

        Raises:
            PatternParseError: CEP_SYNTAX_ERROR: there are none.
        """
        start = self.at
        self.refuse_comma(what)
        if self.begins(start):
            raise self.error(f"{what} is expected here.")
        while self.at < self.end:
            op = self.s.operator(self.at)
            if op == "," or (self.at > start and (self.section(self.at) or self.is_stray(self.at))):
                break
            if op == "(":
                self.at = self.s.pairs.get(self.at, self.end - 1)
            self.at += 1
        if self.at == start:
            raise self.error(f"{what} is expected here.")
        return start, self.at

    def refuse_comma(self, what: str) -> None:
        """Refuse a comma before the next section. ``what``: is missing behind it.

        Raises:
            PatternParseError: CEP_SYNTAX_ERROR.
        """
        if self.s.operator(self.at - 1) == "," and (self.at >= self.end or self.begins(self.at)):
            raise self.error(f"{what} is expected after the comma.", hint="leave the comma out", at=self.at - 1)

    def comma(self) -> bool:
        """Pass a comma if one stands here."""
        if self.at < self.end and self.s.operator(self.at) == ",":
            self.at += 1
            return True
        return False

    # -- sections --------------------------------------------------------------------------------------------------

    def read_partition_by(self) -> None:
        """PARTITION BY expression, ..."""
        self.at += 2
        self.out.partition_by.append(self.item("A partition expression"))
        while self.comma():
            self.out.partition_by.append(self.item("A partition expression"))

    def read_order_by(self) -> None:
        """ORDER BY expression [ASC | DESC] [NULLS FIRST | LAST], ..."""
        self.at += 2
        while True:
            self.out.order_by.append(sort_item(self.s, *self.item("A sort key")))
            if not self.comma():
                return

    def read_event_type(self) -> None:
        """EVENT TYPE column"""
        self.at += 2
        self.out.event_type = self.name("The event type column")

    def read_measures(self) -> None:
        """MEASURES expression AS name, ...

        Raises:
            PatternParseError: MATCH_RECOGNIZE_EMPTY_MEASURES, MATCH_RECOGNIZE_MEASURES_MUST_BE_ALIASED.
        """
        keyword = self.at
        self.at += 1
        if self.at >= self.end or self.section(self.at):
            raise self.error("MEASURES is empty.", "MATCH_RECOGNIZE_EMPTY_MEASURES", at=keyword)
        while True:
            start, end = self.item("A measure")
            self.refuse_trailing_words(start, end)
            name = self.s.tokens[end - 1]
            if self.s.word(end - 1) == "AS":
                raise self.no_alias(start, end, "A name is")
            if self.s.word(end - 2) == "AS" and name.kind == "string":
                raise self.no_alias(start, end - 1, "A name, not a string, is")
            if end - start < 3 or self.s.word(end - 2) != "AS" or name.kind not in ("word", "quoted"):
                named = end - start > 1 and name.kind in ("word", "quoted") and self.ends_operand(end - 2)
                low, high = self.s.tokens[start].start, self.s.tokens[end - 1 - named].end
                raise self.error(
                    "A measure's name needs AS before it." if named else "A measure needs a name.",
                    "MATCH_RECOGNIZE_MEASURES_MUST_BE_ALIASED",
                    hint=f"{self.s.text[low:high]} AS {name.text if named else 'name'}",
                    at=end - 1 if named else start,
                )
            self.out.measures.append(NamedRange(name, (start, end - 2)))
            if not self.comma():
                return

    def no_alias(self, start: int, at: int, what: str) -> PatternParseError:
        """The measure that begins at ``start`` has an AS without a name behind it; the caller raises it."""
        text = self.s.tokens[at].text if self.s.tokens[at].kind == "string" else ""
        return self.error(
            f"{what} expected after AS.", "MATCH_RECOGNIZE_MEASURES_MUST_BE_ALIASED",
            hint=f"{self.s.written(start, at)} {text if text.isidentifier() else 'name'}", at=at,
        )  # fmt: skip

    def is_pattern(self, i: int) -> bool:
        """Whether `PATTERN (...)` begins at a token, and not a measure of that name."""
        close = self.s.pairs.get(i + 1, -1)
        return self.s.word(i) == "PATTERN" and close > 0 and self.s.word(close + 1) != "AS"

    def ends_operand(self, i: int) -> bool:
        """Whether an expression may end with a token, so that a word behind it is a name of its own."""
        token = self.s.tokens[i]
        if token.kind == "op":
            return token.upper in CLOSES_OPERAND
        return token.upper not in _WANTS_OPERAND and not (token.upper == "INTERVAL" or self.s.word(i - 1) == "INTERVAL")

    def refuse_trailing_words(self, start: int, end: int) -> None:
        """`x AS name something`: the measure is complete before its last words.

        Raises:
            PatternParseError: CEP_SYNTAX_ERROR.
        """
        named = [i for i in self.own_words(start, end - 2, "AS") if self.is_name(i + 1)]
        if not named:
            return
        at = named[0] + 2
        if self.begins(at - 1):
            raise self.no_alias(start, at - 1, "A name is")
        if self.own_words(at, end, "AS"):
            raise self.no_comma(start, at, end)
        word = self.s.tokens[at].text
        raise self.error(f"{word!r} is not expected here.", hint=self.meant(word), at=at)

    def own_words(self, low: int, high: int, word: str) -> list[int]:
        """Where a word stands in a range of tokens, outside of parentheses."""
        out = []
        while low < high:
            if self.s.operator(low) == "(":
                low = self.s.pairs.get(low, high)
            elif self.s.word(low) == word:
                out.append(low)
            low += 1
        return out

    def no_comma(self, start: int, at: int, end: int) -> PatternParseError:
        """Two items of a list have no comma between them, and the second begins at ``at``; the caller raises it."""
        hint = f"{self.s.written(start, at)}, {self.s.written(at, end)}"
        return self.error(f"A comma is missing before {self.s.tokens[at].text!r}.", hint=hint, at=at)

    def read_rows_per_match(self) -> None:
        """ONE ROW PER MATCH | ALL ROWS PER MATCH [SHOW | OMIT EMPTY MATCHES | WITH UNMATCHED ROWS]"""
        self.out.rows_position = self.s.tokens[self.at].start
        if self.words("ONE"):
            self.expect_words("ROW", "PER", "MATCH")
            if (word := self.s.word(self.at)) in ("WITH", "SHOW", "OMIT") and self.section(self.at) is None:
                options = "SHOW EMPTY MATCHES, OMIT EMPTY MATCHES and WITH UNMATCHED ROWS"
                raise self.error(f"ONE ROW PER MATCH takes no {word}.", hint=f"ALL ROWS PER MATCH takes {options}")
            return
        self.expect_words("ALL", "ROWS", "PER", "MATCH")
        self.out.rows_per_match = RowsPerMatch.ALL_SHOW_EMPTY
        if self.words("SHOW"):
            self.expect_words("EMPTY", "MATCHES")
        elif self.section(self.at) is None and self.words("OMIT"):
            self.expect_words("EMPTY", "MATCHES")
            self.out.rows_per_match = RowsPerMatch.ALL_OMIT_EMPTY
        elif self.words("WITH"):
            self.expect_words("UNMATCHED", "ROWS")
            self.out.rows_per_match = RowsPerMatch.ALL_WITH_UNMATCHED

    def read_after_match_skip(self) -> None:
        """AFTER MATCH SKIP PAST LAST ROW | TO NEXT ROW | TO [FIRST | LAST] variable"""
        self.expect_words("AFTER", "MATCH", "SKIP")
        if self.words("PAST"):
            self.expect_words("LAST", "ROW", hint=_SKIPS)
            return
        self.expect_words("TO", hint=_SKIPS)
        if self.words("NEXT", "ROW"):
            self.out.skip = SkipMode.TO_NEXT_ROW
            return
        w = self.s.word
        self.out.skip = SkipMode.TO_LAST
        if w(self.at) in ("FIRST", "LAST") and self.at + 1 < self.end and not self.section(self.at + 1):
            self.out.skip = SkipMode.TO_FIRST if w(self.at) == "FIRST" else SkipMode.TO_LAST
            self.at += 1
        self.out.skip_target = self.name("A pattern variable")

    def read_omit_censored_matches(self) -> None:
        """OMIT CENSORED MATCHES"""
        self.out.omit_censored, self.out.censored_position = True, self.s.tokens[self.at].start
        self.expect_words("OMIT", "CENSORED")
        self.expect_words("MATCHES")

    def read_event_selection(self) -> None:
        """EVENT SELECTION strategy; its words may be joined by underscores."""
        self.at += 2
        for selection in Selection:
            name = selection.value.split()
            if self.words(*name) or self.words("_".join(name)):
                self.out.selection = selection
                return
        raise self.error("STRICT CONTIGUITY, SKIP TILL NEXT MATCH or SKIP TILL ANY MATCH is expected here.")

    def read_pattern(self) -> None:
        """PATTERN (row pattern)"""
        open_ = self.at + 1
        close = self.s.pairs[open_]
        self.refuse_seq(open_, close)
        tokens = self.s.tokens[open_ + 1 : close]
        skips = self.out.selection is not Selection.STRICT
        end = self.s.tokens[close].start
        self.out.pattern, self.out.steps = parse_row_pattern(self.s.text, tokens, end, self.formatted, skips)
        self.at = close + 1

    def refuse_seq(self, opens: int, close: int) -> None:
        """A pattern block's `SEQ(a, b)` would be any row, and then a and b.

        Raises:
            PatternParseError: CEP_SYNTAX_ERROR.
        """
        pairs = {(self.s.word(k), self.s.word(k + 1)) for k in range(self.start, self.end)}
        calls = (k for k in range(opens, close) if self.s.word(k) == "SEQ" and self.s.operator(k + 1) == "(")
        if not pairs & {("EVENT", "TYPE"), ("SEQ", "AS")} and (at := next(calls, None)) is not None:
            raise self.no_call(at, opens + 1, close)

    def read_within(self) -> None:
        """WITHIN interval"""
        self.at += 1
        self.out.within = self.item("An interval")

    def read_subset(self) -> None:
        """SUBSET union = (variable, ...), ..."""
        self.at += 1
        while True:
            name = self.name("A union variable")
            for sign in "=(":
                if self.s.operator(self.at) != sign:
                    raise self.error(f"SUBSET is written {name.text} = (variable, ...).")
                self.at += 1
            parts = [self.name("A pattern variable")]
            while self.comma():
                parts.append(self.name("A pattern variable"))
            if self.s.operator(self.at) != ")":
                raise self.error("',' or ')' is expected here.", hint=f"SUBSET {name.text} = (A, B)")
            self.at += 1
            self.out.subsets.append((name, parts))
            if not self.comma():
                return

    def read_define(self) -> None:
        """DEFINE variable AS condition, ...

        Raises:
            PatternParseError: CEP_DUPLICATE_DEFINITION.
        """
        self.at += 1
        while True:
            name = self.name("A pattern variable")
            if any(variable_name(name) == variable_name(d.name) for d in self.out.definitions):
                raise self.error(f"{name.text} is defined twice.", "CEP_DUPLICATE_DEFINITION", at=self.at - 1)
            self.expect_words("AS")
            start, end = self.item("A condition")
            if self.s.word(start) == "AS":
                raise self.error("A condition is expected here.", at=start)
            if (more := self.own_words(start, end, "AS")) and self.is_name(more[0] - 1):
                raise self.no_comma(start, more[0] - 1, end)
            self.out.definitions.append(NamedRange(name, (start, end)))
            if not self.comma():
                return

    def read_explain_non_answers(self) -> None:
        """EXPLAIN NON ANSWERS (k, uncertainty, step), by place or by name."""
        self.out.non_answers_position = self.s.tokens[self.at].start
        self.at += 3
        start = self.at
        close = self.s.pairs.get(start, -1) if self.s.operator(start) == "(" else -1
        if not start < close < self.end:
            raise self.error(TAKES, hint=HINT)
        end, self.end, self.at = self.end, close, start + 1
        parts = [self.item("A value")]
        while self.comma():
            parts.append(self.item("A value"))
        try:
            self.out.non_answers = in_order(self.s, parts)
        except WrongArgument as wrong:
            raise self.error(TAKES, hint=HINT, at=wrong.at if wrong.at >= 0 else start) from None
        self.end, self.at = end, close + 1


def parse_clause(statement: Statement, body: Range, formatted: bool = False) -> ClauseSyntax:
    """Parse the tokens between the parentheses of MATCH_RECOGNIZE.

    ``formatted``: the statement is a format string, where `{2,3}` is written `{{2,3}}`.
    """
    parser = ClauseParser(statement, body, formatted)
    try:
        return parser.parse()
    except PatternParseError as error:
        raise parser.closes_early() or error from None
